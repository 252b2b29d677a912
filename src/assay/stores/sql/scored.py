"""What was made of turns: how streams are cut, what was judged, and what people corrected."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Select, and_, delete, insert, select, update

from assay.sessions.linking import order
from assay.stores.sql import settling
from assay.stores.sql.bulk import add_many, among
from assay.stores.sql.paths import chosen
from assay.stores.sql.schema import corrections, cuts, files, generation, joined, remembered, segments, streams
from assay.stores.sql.settling import COUNT_UP, DROP_CUT, NAME, Name, Pieces, StreamFiles
from assay.types import Corrected, Segment

PACK = msgspec.msgpack.Encoder().encode
SEGMENT = msgspec.msgpack.Decoder(Segment).decode
AT_ONCE = 400
REPORT = "report"
ID_BYTES = 6

T = TypeVar("T")

OF = (segments.c.agent, segments.c.stream)
FILES = select(*NAME, streams.c.shares, streams.c.generation, files.c.id.label("file_id"), files.c.size).join(
    files, and_(files.c.agent == streams.c.agent, files.c.stream == streams.c.id)
)


class KeptSegment(Struct, frozen=True, kw_only=True):
    """A segment of a stream and what was judged of it."""

    segment: Segment
    n: int
    input: str
    """Hash of all that was looked at; empty for what should be judged again."""
    turns: tuple[str, ...] = ()
    """Ids of its turns."""
    judged: bytes = b""
    """JSON; empty for what is kept already under the same input."""
    branch: str = ""


class Cut(Struct, frozen=True, kw_only=True):
    """A stream, cut."""

    agent: str
    stream: str
    generation: int
    """Of the stream when its turns were read."""
    version: str
    """Of all that decides where it is cut and what is judged; empty for what should be judged again."""
    branch: str
    segments: tuple[KeptSegment, ...]

    @property
    def name(self) -> Name:
        return self.agent, self.stream


class Whole(Struct, frozen=True, kw_only=True):
    """A session of several segments, judged as one."""

    agent: str
    id: str
    input: str
    judged: bytes


Connecting = Callable[[], AbstractContextManager[Connection]]


class ScoredSessions:
    """Keeps segments, judgements and corrections in SQL."""

    def __init__(self, reading: Connecting, writing: Connecting) -> None:
        self.reading = reading
        self.writing = writing

    def uncut(
        self, version: str, roots: Sequence[str] | None, since: str = "", until: str = "", project: str = ""
    ) -> list[StreamFiles]:
        """Streams below the paths, or all, that are not cut in this version or changed since."""
        is_cut = and_(cuts.c.agent == streams.c.agent, cuts.c.stream == streams.c.id, cuts.c.version == version)
        query = FILES.outerjoin(cuts, is_cut).where(cuts.c.agent.is_(None), *chosen(roots, since, until, project))
        with self.reading() as connection:
            return grouped(connection, query)

    def files_of(self, names: Iterable[Name]) -> list[StreamFiles]:
        """The files of streams."""
        with self.reading() as connection:
            return [
                one for some in portions(sorted(names)) for one in grouped(connection, FILES.where(among(some, *NAME)))
            ]

    def pieces(self, wanted: Sequence[StreamFiles]) -> list[Pieces]:
        """The turns of several streams at once."""
        with self.reading() as connection:
            return settling.pieces(connection, wanted)

    def inputs(self, names: Iterable[Name]) -> dict[Name, frozenset[str]]:
        """Of which inputs judgements are kept, by stream."""
        found: dict[Name, set[str]] = {}
        with self.reading() as connection:
            for some in portions(list(names)):
                for agent, stream, hashed in connection.execute(
                    select(*OF, segments.c.input).where(among(some, *OF), segments.c.input != "")
                ):
                    found.setdefault((agent, stream), set()).add(hashed)
        return {name: frozenset(inputs) for name, inputs in found.items()}

    def keep(self, found: Sequence[Cut]) -> set[Name]:
        """Keep how streams are cut, in one transaction; which ones, for some may have changed meanwhile."""
        with self.writing() as connection:
            names = [one.name for one in found]
            current = {
                (row.agent, row.id): row.generation
                for row in connection.execute(select(*NAME, streams.c.generation).where(among(names, *NAME)))
            }
            before = kept_before(connection, [one.name for one in found if is_reusing(one)])
            fresh = [
                one
                for one in found
                if current.get(one.name) == one.generation
                and all(part.judged or (*one.name, part.input) in before for part in one.segments)
            ]
            replace_cuts(connection, fresh, before)
        return {one.name for one in fresh}

    def segments(self, roots: Sequence[str] | None) -> list[KeptSegment]:
        """The segments of all streams below the paths."""
        query = (
            select(segments, cuts.c.branch)
            .join(cuts, and_(cuts.c.agent == segments.c.agent, cuts.c.stream == segments.c.stream))
            .join(streams, and_(streams.c.agent == segments.c.agent, streams.c.id == segments.c.stream))
            .where(*chosen(roots))
        )
        with self.reading() as connection:
            return [
                KeptSegment(
                    segment=SEGMENT(row.segment),
                    n=row.n,
                    input=row.input,
                    turns=unpacked(row.turns),
                    judged=row.judged,
                    branch=row.branch,
                )
                for row in connection.execute(query.order_by(*OF, segments.c.n))
            ]

    def called(self, ids: Iterable[str]) -> list[Segment]:
        """The segments with these ids, in order of time."""
        query = select(segments.c.segment).where(segments.c.id.in_(sorted(ids)))
        with self.reading() as connection:
            found = [SEGMENT(row.segment) for row in connection.execute(query)]
        return sorted(found, key=order)

    def wholes(self, names: Iterable[Name]) -> dict[Name, Whole]:
        """Sessions of several segments by agent and id, as far as they are kept."""
        with self.reading() as connection:
            return {
                (row.agent, row.id): Whole(agent=row.agent, id=row.id, input=row.input, judged=row.judged)
                for some in portions(sorted(names))
                for row in connection.execute(select(joined).where(among(some, joined.c.agent, joined.c.id)))
            }

    def keep_wholes(self, found: Sequence[Whole]) -> None:
        """Keep sessions of several segments in place of those that began with the same one."""
        with self.writing() as connection:
            drop_wholes(connection, [(one.agent, one.id) for one in found])
            add_many(connection, joined, [(one.agent, one.id, one.input, one.judged) for one in found])

    def drop_wholes(self, names: Sequence[Name]) -> None:
        """Forget sessions of several segments that are no such any more."""
        with self.writing() as connection:
            drop_wholes(connection, names)

    def remember(self, how: bytes) -> None:
        """Keep how a report was made, in place of the one before."""
        with self.writing() as connection:
            connection.execute(delete(remembered))
            connection.execute(insert(remembered).values(name=REPORT, value=how))

    def remembered(self) -> bytes:
        """How the last report was made; nothing where there is none."""
        with self.reading() as connection:
            found: bytes | None = connection.execute(select(remembered.c.value)).scalar()
        return found or b""

    def corrections(self) -> list[Corrected]:
        """What people corrected, in order."""
        with self.reading() as connection:
            return [
                Corrected(kind=row.kind, turn=row.turn, into=row.into, title=row.title, at=row.at)
                for row in connection.execute(select(corrections).order_by(corrections.c.id))
            ]

    def correct(self, said: Corrected, stream: Name | None = None) -> None:
        """Keep a correction; the stream in which it splits a segment must be cut anew."""
        with self.writing() as connection:
            connection.execute(insert(corrections).values(msgspec.structs.asdict(said)))
            if stream:
                connection.execute(COUNT_UP)
                connection.execute(
                    update(streams)
                    .where(streams.c.agent == stream[0], streams.c.id == stream[1])
                    .values(generation=select(generation.c.n).scalar_subquery())
                )
                connection.execute(DROP_CUT, {"its_agent": stream[0], "its_id": stream[1]})


def grouped(connection: Connection, query: Select[Any]) -> list[StreamFiles]:
    """Rows of files as the streams they belong to."""
    found = []
    for name, rows in groupby(connection.execute(query.order_by(*NAME, files.c.id)), lambda row: (row.agent, row.id)):
        of_stream = list(rows)
        found.append(
            StreamFiles(
                agent=name[0],
                id=name[1],
                file_ids=tuple(row.file_id for row in of_stream),
                shares=of_stream[0].shares,
                generation=of_stream[0].generation,
                size=sum(row.size for row in of_stream),
            )
        )
    return found


def is_reusing(cut: Cut) -> bool:
    """Whether some of its segments are judged already."""
    return not all(one.judged for one in cut.segments)


def kept_before(connection: Connection, names: Sequence[Name]) -> dict[tuple[str, str, str], bytes]:
    """What was judged of the segments of streams, by stream and input."""
    query = select(*OF, segments.c.input, segments.c.judged)
    return {
        (row.agent, row.stream, row.input): row.judged
        for some in portions(names)
        for row in connection.execute(query.where(among(some, *OF)))
    }


def replace_cuts(connection: Connection, found: Sequence[Cut], before: dict[tuple[str, str, str], bytes]) -> None:
    """Put segments in place of those that are there."""
    if not found:
        return
    names = [one.name for one in found]
    connection.execute(delete(segments).where(among(names, *OF)))
    connection.execute(delete(cuts).where(among(names, cuts.c.agent, cuts.c.stream)))
    rows = [
        (*one.name, part.n, part.segment.id, part.input, PACK(part.segment), packed(part.turns), judged)
        for one in found
        for part in one.segments
        for judged in [part.judged or before[(*one.name, part.input)]]
    ]
    if rows:
        add_many(connection, segments, rows)
    add_many(connection, cuts, [(*one.name, one.version, one.branch) for one in found])


def packed(ids: Iterable[str]) -> bytes:
    return b"".join(bytes.fromhex(one) for one in ids)


def unpacked(ids: bytes) -> tuple[str, ...]:
    return tuple(ids[n : n + ID_BYTES].hex() for n in range(0, len(ids), ID_BYTES))


def drop_wholes(connection: Connection, names: Sequence[Name]) -> None:
    for some in portions(names):
        connection.execute(delete(joined).where(among(some, joined.c.agent, joined.c.id)))


def portions(values: Sequence[T]) -> list[Sequence[T]]:
    """Values in lists that a statement can take."""
    return [values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE)]
