"""How streams are cut, what was judged of sessions and corrected by people, and what became of their lines, in SQL."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from sqlalchemy import Connection, and_, delete, func, insert, or_, select, update

from assay.sessions.links import rank_segment
from assay.stores.contract import CutStream, JoinedSession, StoredSegment, StreamFiles
from assay.stores.contract.fates import Fate
from assay.stores.contract.told import StreamName
from assay.stores.sql.changes import note_changed, note_news, note_turns
from assay.stores.sql.database import AT_ONCE, Database, add_many, pack_ids, split_values, unpack_ids
from assay.stores.sql.schema import (
    corrections,
    cuts,
    generation,
    joined,
    remembered,
    rework,
    segments,
    streams,
    verdicts,
)
from assay.stores.sql.selection import match_names, match_streams
from assay.stores.sql.set_aside import bring_back, find_aside, put_aside
from assay.stores.sql.stream_settling import ALL_CUT, COUNT_UP, FILES, GENERATION, NAME, drop_cuts, group_files
from assay.types import AuditDraw, PersonCorrection, PersonVerdict, Segment

PACK = msgspec.msgpack.Encoder().encode
SEGMENT = msgspec.msgpack.Decoder(Segment).decode
DRAW = msgspec.json.Decoder(AuditDraw).decode
REPORT, AUDIT = "report", "audit"
"""What is remembered, by name."""

OF = (segments.c.agent, segments.c.stream)


class SqlSessions:
    """Keeps cuts, segments and judgements."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def list_uncut(
        self, version: str, roots: Sequence[str] | None, since: str = "", until: str = "", project: str = ""
    ) -> list[StreamFiles]:
        with self.database.reading() as connection:
            if is_all_cut(connection, version):
                return []
            is_aside = bool(find_aside(connection, version))
        is_cut = and_(cuts.c.agent == streams.c.agent, cuts.c.stream == streams.c.id, cuts.c.version == version)
        query = FILES.outerjoin(cuts, is_cut).where(
            cuts.c.agent.is_(None), *match_streams(roots, since, until, project)
        )
        if is_aside:
            with self.database.writing() as connection:
                bring_back(connection, version)
        with self.database.reading() as connection:
            names = select(*NAME).outerjoin(cuts, is_cut).where(cuts.c.agent.is_(None)).limit(AT_ONCE + 1)
            some = [(agent, stream) for agent, stream in connection.execute(names)]
            if len(some) <= AT_ONCE:  # looked up one by one, so that all others are left alone
                query = query.where(match_names(some, *NAME))
            return group_files(connection, query)

    def note_cut(self, version: str) -> None:
        with self.database.reading() as connection:
            if is_noted(connection, version):
                return
        with self.database.writing() as connection:
            if is_all_cut(connection, version):
                n = connection.execute(GENERATION).scalar_one()
                replace_remembered(connection, ALL_CUT, PACK((version, n)))

    def load_inputs(self, names: Iterable[StreamName]) -> dict[StreamName, frozenset[str]]:
        found: dict[StreamName, set[str]] = {}
        with self.database.reading() as connection:
            for some in split_values(list(names)):
                for agent, stream, hashed in connection.execute(
                    select(*OF, segments.c.input).where(match_names(some, *OF), segments.c.input != "")
                ):
                    found.setdefault((agent, stream), set()).add(hashed)
        return {name: frozenset(inputs) for name, inputs in found.items()}

    def save_cuts(self, found: Sequence[CutStream]) -> set[StreamName]:
        with self.database.writing() as connection:
            names = [one.name for one in found]
            current = {
                (row.agent, row.id): row.generation
                for row in connection.execute(select(*NAME, streams.c.generation).where(match_names(names, *NAME)))
            }
            before = load_judged(connection, [one.name for one in found if is_reusing(one)])
            fresh = [
                one
                for one in found
                if current.get(one.name) == one.generation
                and all(part.judged or (*one.name, part.input) in before for part in one.segments)
            ]
            replace_cuts(connection, fresh, before)
        return {one.name for one in fresh}

    def list_segments(
        self, roots: Sequence[str] | None, names: Sequence[StreamName] | None = None
    ) -> list[StoredSegment]:
        query = (
            select(segments, cuts.c.branch)
            .join(cuts, and_(cuts.c.agent == segments.c.agent, cuts.c.stream == segments.c.stream))
            .join(streams, and_(streams.c.agent == segments.c.agent, streams.c.id == segments.c.stream))
            .where(*match_streams(roots))
            .order_by(*OF, segments.c.n)
        )
        portions = [query] if names is None else [query.where(match_names(some, *OF)) for some in split_values(names)]
        with self.database.reading() as connection:
            return [
                StoredSegment(
                    segment=SEGMENT(row.segment),
                    n=row.n,
                    input=row.input,
                    turns=unpack_ids(row.turns),
                    judged=row.judged,
                    branch=row.branch,
                )
                for portion in portions
                for row in connection.execute(portion)
            ]

    def find_segments(self, ids: Iterable[str]) -> list[Segment]:
        query = select(segments.c.segment)
        with self.database.reading() as connection:
            found = [
                SEGMENT(row.segment)
                for some in split_values(sorted(set(ids)))
                for row in connection.execute(query.where(segments.c.id.in_(some)))
            ]
        return sorted(found, key=rank_segment)

    def load_joined(self, names: Iterable[StreamName]) -> dict[StreamName, JoinedSession]:
        with self.database.reading() as connection:
            return {
                (row.agent, row.id): JoinedSession(agent=row.agent, id=row.id, input=row.input, judged=row.judged)
                for some in split_values(sorted(names))
                for row in connection.execute(select(joined).where(match_names(some, joined.c.agent, joined.c.id)))
            }

    def save_joined(self, sessions: Sequence[JoinedSession]) -> None:
        with self.database.writing() as connection:
            for some in split_values([(one.agent, one.id) for one in sessions]):
                connection.execute(delete(joined).where(match_names(some, joined.c.agent, joined.c.id)))
            add_many(connection, joined, [(one.agent, one.id, one.input, one.judged) for one in sessions])

    def save_last_report(self, how: bytes) -> None:
        if self.load_last_report() == how:  # nothing is written that would change nothing
            return
        with self.database.writing() as connection:
            replace_remembered(connection, REPORT, how)

    def load_last_report(self) -> bytes:
        with self.database.reading() as connection:
            return load_remembered(connection, REPORT)


class SqlCorrections:
    """Keeps what people said."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def load_corrections(self) -> list[PersonCorrection]:
        with self.database.reading() as connection:
            return [
                PersonCorrection(kind=row.kind, turn=row.turn, into=row.into, title=row.title, at=row.at)
                for row in connection.execute(select(corrections).order_by(corrections.c.id))
            ]

    def save_correction(self, correction: PersonCorrection, stream: StreamName | None = None) -> None:
        with self.database.writing() as connection:
            connection.execute(insert(corrections).values(msgspec.structs.asdict(correction)))
            note_turns(connection, [correction.turn, correction.into])
            if stream:
                connection.execute(COUNT_UP)
                connection.execute(
                    update(streams)
                    .where(streams.c.agent == stream[0], streams.c.id == stream[1])
                    .values(generation=select(generation.c.n).scalar_subquery())
                )
                drop_cuts(connection, [stream])

    def load_verdicts(self) -> list[PersonVerdict]:
        with self.database.reading() as connection:
            return list(list_verdicts(connection))

    def save_verdicts(self, said: Sequence[PersonVerdict]) -> None:
        if not said:
            return
        with self.database.writing() as connection:
            connection.execute(insert(verdicts), [msgspec.structs.asdict(one) for one in said])
            note_turns(connection, [one.turn for one in said])

    def load_draw(self) -> AuditDraw | None:
        with self.database.reading() as connection:
            found = load_remembered(connection, AUDIT)
        return DRAW(found) if found else None

    def save_draw(self, draw: AuditDraw) -> AuditDraw:
        with self.database.writing() as connection:
            found = load_remembered(connection, AUDIT)
            kept = msgspec.structs.replace(draw, seed=DRAW(found).seed) if found else draw
            replace_remembered(connection, AUDIT, msgspec.json.encode(kept))
        return kept


class SqlRework:
    """Keeps the fates of sessions."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def load_fates(self, names: Iterable[StreamName]) -> dict[StreamName, Fate]:
        with self.database.reading() as connection:
            return {
                (row.agent, row.id): Fate(
                    agent=row.agent,
                    id=row.id,
                    input=row.input,
                    seen=row.seen,
                    final_at=row.final_at,
                    found=row.found,
                    is_told=row.is_told,
                )
                for some in split_values(sorted(names))
                for row in connection.execute(select(rework).where(match_names(some, rework.c.agent, rework.c.id)))
            }

    def save_fates(self, fates: Sequence[Fate]) -> None:
        if not fates:
            return
        with self.database.writing() as connection:
            for some in split_values([one.name for one in fates]):
                connection.execute(delete(rework).where(match_names(some, rework.c.agent, rework.c.id)))
            rows = [(*one.name, one.input, one.seen, one.final_at, one.found, one.is_told) for one in fates]
            add_many(connection, rework, rows)
            for is_told in (True, False):
                note_news(connection, [one.name for one in fates if one.is_told is is_told], is_told=is_told)


def is_noted(connection: Connection, version: str) -> bool:
    """Whether it was noted that every stream is cut in this version, and no other version or file came since."""
    others = select(cuts.c.stream).where(or_(cuts.c.version < version, cuts.c.version > version)).limit(1)
    noted = select(remembered.c.value).where(remembered.c.name == ALL_CUT)
    query = select(GENERATION.scalar_subquery(), noted.scalar_subquery(), others.scalar_subquery())
    n, value, other = connection.execute(query).one()
    return bool(other is None and value == PACK((version, n)))


def is_all_cut(connection: Connection, version: str) -> bool:
    """Whether every stream there is is cut in this version, which is told without looking at any."""
    if is_noted(connection, version):
        return True
    others = select(cuts.c.stream).where(or_(cuts.c.version < version, cuts.c.version > version)).limit(1)
    if connection.execute(others).first():
        return False
    count = [select(func.count()).select_from(table).scalar_subquery() for table in (streams, cuts)]
    there, cut = connection.execute(select(*count)).one()
    return bool(there == cut)


def list_verdicts(connection: Connection) -> Iterator[PersonVerdict]:
    """All verdicts, by their time."""
    for row in connection.execute(select(verdicts).order_by(verdicts.c.at, verdicts.c.id)):
        yield PersonVerdict(
            turn=row.turn, verdict=row.verdict, why=row.why, at=row.at, is_sampled=row.is_sampled, turns=row.turns
        )


def load_remembered(connection: Connection, name: str) -> bytes:
    """What is remembered under a name; empty where there is nothing."""
    found: bytes | None = connection.execute(select(remembered.c.value).where(remembered.c.name == name)).scalar()
    return found or b""


def replace_remembered(connection: Connection, name: str, value: bytes) -> None:
    """Remember a value in place of what stood under its name."""
    connection.execute(delete(remembered).where(remembered.c.name == name))
    connection.execute(insert(remembered).values(name=name, value=value))


def is_reusing(cut: CutStream) -> bool:
    """Whether some of its segments are judged already."""
    return not all(one.judged for one in cut.segments)


def load_judged(connection: Connection, names: Sequence[StreamName]) -> dict[tuple[str, str, str], bytes]:
    """What was judged of the segments of streams, by stream and input."""
    query = select(*OF, segments.c.input, segments.c.judged)
    return {
        (row.agent, row.stream, row.input): row.judged
        for some in split_values(names)
        for row in connection.execute(query.where(match_names(some, *OF)))
    }


def replace_cuts(connection: Connection, found: Sequence[CutStream], before: dict[tuple[str, str, str], bytes]) -> None:
    """Put segments in place of those that are there."""
    if not found:
        return
    names = [one.name for one in found]
    for version in {one.version for one in found}:
        put_aside(connection, [one.name for one in found if one.version == version], version)
    connection.execute(delete(segments).where(match_names(names, *OF)))
    connection.execute(delete(cuts).where(match_names(names, cuts.c.agent, cuts.c.stream)))
    rows = [
        (*one.name, part.n, part.segment.id, part.input, PACK(part.segment), pack_ids(part.turns), judged)
        for one in found
        for part in one.segments
        for judged in [part.judged or before[(*one.name, part.input)]]
    ]
    if rows:
        add_many(connection, segments, rows)
    add_many(connection, cuts, [(*one.name, one.version, one.branch) for one in found])
    note_changed(connection, names)
