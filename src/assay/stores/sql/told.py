"""Sessions as they were told, in SQL: rows that are replaced where they differ, and queries of just what is wanted."""

import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)

from assay.stores.contract.told import (
    CommitDeed,
    KeptNeighbourhood,
    Neighbourhood,
    PlacedRow,
    StreamName,
    StreamPlace,
    ToldChoice,
    ToldNeighbourhood,
    ToldRow,
)
from assay.stores.sql.changes import NAME, OF_STREAM, find_streams
from assay.stores.sql.database import add_many, read_values, split_values
from assay.stores.sql.schema import (
    AGED,
    changed_streams,
    commit_deeds,
    cuts,
    neighbourhoods,
    remembered,
    told,
    told_ledger,
    told_streams,
)
from assay.stores.sql.selection import forget_index, has_outside, limit_rows, match_names, to_literal
from assay.stores.sql.shipped_changes import STANDING
from assay.stores.sql.told_whole import IN_TIME, PORTION, ToldWhole
from assay.types import LedgerLine
from assay.types.shipping import SHIPPED_ROOT

PACK = msgspec.msgpack.Encoder().encode
LINE = msgspec.json.Decoder(LedgerLine).decode
PLACE = msgspec.msgpack.Decoder(StreamPlace).decode
NODES = msgspec.msgpack.Decoder(tuple[str, ...]).decode
FOLDERS = msgspec.msgpack.Decoder(tuple[tuple[str, int, bool], ...]).decode
VIEW = "view"
"""Under which name is remembered how sessions were told."""
CHANGED = (changed_streams.c.agent, changed_streams.c.stream)
IS_LINE = and_(told.c.agent == told_ledger.c.agent, told.c.id == told_ledger.c.id)
SHIPPED = SHIPPED_ROOT
"""What the names of neighbourhoods begin with that other machines told of."""
FEW = 10_000
"""Sessions that are put in order without an index."""
ZLIB = b"x"
"""What begins so is packed; JSON does not."""
DEED = ("commit", "how", "agent", "id", "began_at")


class SqlTold(ToldWhole):
    """Keeps sessions as they were told."""

    # --- what changed -----------------------------------------------------------------------------

    def load_view(self) -> bytes:
        return self.load_remembered(VIEW)

    def load_remembered(self, name: str) -> bytes:
        with self.database.reading() as connection:
            query = select(remembered.c.value).where(remembered.c.name == name)
            found: bytes | None = connection.execute(query).scalar()
        return found or b""

    def load_standing(self) -> bytes:
        kept = self.load_remembered(STANDING)
        return zlib.decompress(kept) if kept.startswith(ZLIB) else kept

    def save_standing(self, report: bytes) -> None:
        packed = zlib.compress(report, 1)  # a twelfth of it, on the way from a server too
        with self.database.writing() as connection:
            connection.execute(delete(remembered).where(remembered.c.name == STANDING))
            connection.execute(insert(remembered).values(name=STANDING, value=packed))

    def has_changes(self) -> bool:
        with self.database.reading() as connection:
            return connection.execute(select(changed_streams.c.id).limit(1)).first() is not None

    def begin_view(self, view: bytes) -> None:
        with self.database.writing() as connection:
            for table in (commit_deeds, told_ledger, told, told_streams, neighbourhoods, changed_streams):
                connection.execute(delete(table))
            connection.execute(delete(remembered).where(remembered.c.name.in_((VIEW, STANDING))))
            connection.execute(insert(remembered).values(name=VIEW, value=view))
            every = select(cuts.c.agent, cuts.c.stream).order_by(cuts.c.agent, cuts.c.stream)
            connection.execute(insert(changed_streams).from_select(["agent", "stream"], every))

    def list_changed(self) -> tuple[list[StreamName], int]:
        with self.database.reading() as connection:
            names = [(agent, stream) for agent, stream in connection.execute(select(*CHANGED).distinct())]
            return sorted(names), find_last_change(connection)

    def find_streams(self, turns: Iterable[str]) -> dict[str, StreamName]:
        with self.database.reading() as connection:
            return find_streams(connection, turns)

    def has_outside(self, roots: Sequence[str]) -> bool:
        with self.database.reading() as connection:
            return has_outside(connection, roots)

    # --- neighbourhoods ---------------------------------------------------------------------------

    def list_neighbourhoods(self) -> list[Neighbourhood]:
        columns = [column for column in neighbourhoods.columns if column.name not in ("tally", "months")]
        with self.database.reading() as connection:
            return [
                Neighbourhood(
                    name=row.name,
                    nodes=NODES(row.nodes),
                    key=row.key,
                    told_at=row.told_at,
                    valid_until=row.valid_until,
                    folders=FOLDERS(row.folders),
                )
                for row in connection.execute(select(*columns).order_by(neighbourhoods.c.name))
            ]

    def load_tallies(self) -> Iterator[bytes]:
        with self.database.reading() as connection:
            yield from read_values(connection, select(neighbourhoods.c.tally).order_by(neighbourhoods.c.name))

    def load_kept(self, name: str) -> KeptNeighbourhood:
        query = select(*NAME, told.c.digest, told.c.crushed).where(told.c.neighbourhood == name)
        of_it = select(neighbourhoods.c.months).where(neighbourhoods.c.name == name)
        with self.database.reading() as connection:
            months = connection.execute(of_it).scalar() or b""
            rows = {(row.agent, row.id): (row.digest, row.crushed) for row in connection.execute(query)}
        return KeptNeighbourhood(rows=rows, months=months)

    def list_places(self, names: Sequence[str]) -> list[StreamPlace]:
        query = select(told_streams.c.place)
        with self.database.reading() as connection:
            return [
                PLACE(place)
                for some in split_values(names)
                for place in connection.execute(query.where(told_streams.c.neighbourhood.in_(some))).scalars()
            ]

    def find_places(self, names: Iterable[StreamName]) -> dict[StreamName, StreamPlace]:
        with self.database.reading() as connection:
            found = [
                PLACE(place)
                for some in split_values(sorted(names))
                for place in connection.execute(
                    select(told_streams.c.place).where(match_names(some, *OF_STREAM))
                ).scalars()
            ]
        return {one.name: one for one in found}

    def list_continuing(self) -> list[StreamPlace]:
        query = select(told_streams.c.place).where(told_streams.c.continues.is_(True))
        with self.database.reading() as connection:
            return [PLACE(place) for place in connection.execute(query.order_by(*OF_STREAM)).scalars()]

    def find_neighbourhoods(self, names: Iterable[StreamName]) -> dict[StreamName, str]:
        query = select(*OF_STREAM, told_streams.c.neighbourhood)
        with self.database.reading() as connection:
            return {
                (row.agent, row.stream): row.neighbourhood
                for some in split_values(sorted(names))
                for row in connection.execute(query.where(match_names(some, *OF_STREAM)))
            }

    def save_told(self, found: ToldNeighbourhood, instead_of: Iterable[str], known: int) -> None:
        name = found.about.name
        with self.database.writing() as connection:
            replace_neighbourhood(connection, found, {*instead_of} - {name})
            replace_places(connection, name, found.places)
            replace_rows(connection, found)
            settle_changes(connection, [one.name for one in found.places], known)

    def drop_neighbourhoods(self, names: Iterable[str]) -> None:
        with self.database.writing() as connection:
            for some in split_values(sorted(names)):
                connection.execute(delete(remembered).where(remembered.c.name == STANDING))
                connection.execute(delete(neighbourhoods).where(neighbourhoods.c.name.in_(some)))

    def settle_changes(self, names: Iterable[StreamName], known: int) -> None:
        some = sorted(names)
        if not some:  # nobody waits for a writer who has nothing to write
            return
        with self.database.writing() as connection:
            for portion in split_values(some):  # of streams that are gone, nothing is left in any neighbourhood
                connection.execute(delete(told_streams).where(match_names(portion, *OF_STREAM)))
            settle_changes(connection, some, known)

    # --- what others did --------------------------------------------------------------------------

    def list_deeds(self, commits: Iterable[str], hows: Sequence[str]) -> list[tuple[CommitDeed, str]]:
        query = select(commit_deeds, told.c.neighbourhood).join(
            told, and_(told.c.agent == commit_deeds.c.agent, told.c.id == commit_deeds.c.id)
        )
        with self.database.reading() as connection:
            rows = [
                row
                for some in split_values(sorted(set(commits)))
                for row in connection.execute(
                    query.where(commit_deeds.c.commit.in_(some), commit_deeds.c.how.in_(hows))
                )
            ]
        deeds = [(CommitDeed(**{name: getattr(row, name) for name in DEED}), str(row.neighbourhood)) for row in rows]
        return sorted(deeds, key=lambda one: (one[0].began_at, one[0].agent, one[0].id, one[0].commit))

    def list_own_deeds(self, names: Sequence[str]) -> set[CommitDeed]:
        query = select(commit_deeds).join(
            told, and_(told.c.agent == commit_deeds.c.agent, told.c.id == commit_deeds.c.id)
        )
        with self.database.reading() as connection:
            return {
                CommitDeed(**{name: getattr(row, name) for name in DEED})
                for some in split_values(names)
                for row in connection.execute(query.where(told.c.neighbourhood.in_(some)))
            }

    def load_works(self, names: Iterable[StreamName]) -> list[bytes]:
        with self.database.reading() as connection:
            rows = [
                row
                for some in split_values(sorted(names))
                for row in connection.execute(select(*IN_TIME, told.c.work).where(match_names(some, *NAME)))
            ]
        return [row.work for row in sorted(rows, key=lambda row: (row.began_at, row.agent, row.id))]

    def list_works(self, since: str, until: str, but_in: Collection[str] = ()) -> list[bytes]:
        query = select(told.c.work).where(
            told.c.ended_at >= since, told.c.ended_at <= until, told.c.neighbourhood.not_in(but_in)
        )
        with self.database.reading() as connection:
            return list(connection.execute(query.order_by(*IN_TIME)).scalars())

    # --- sessions ---------------------------------------------------------------------------------

    def find_begun(self, prefix: str) -> list[tuple[StreamName, str]]:
        is_like = and_(told_ledger.c.session >= prefix, told_ledger.c.session < prefix + "g")
        query = select(*IN_TIME, told_ledger.c.session).join(told_ledger, IS_LINE)
        found = query.where(is_like, told_ledger.c.effect == "began").order_by(*IN_TIME, told_ledger.c.session)
        with self.database.reading() as connection:
            return [((row.agent, row.id), row.session) for row in connection.execute(found)]

    def find_in_stream(self, stream: StreamName) -> list[StreamName]:
        query = select(*IN_TIME, told_ledger.c.line).join(told_ledger, IS_LINE)
        query = query.where(told_ledger.c.stream == stream[1], told_ledger.c.effect == "began").order_by(*IN_TIME)
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        # A session may go on in another agent's stream than the one it began in.
        return list(dict.fromkeys((row.agent, row.id) for row in rows if LINE(row.line).agent == stream[0]))

    def find_last(self) -> StreamName | None:
        query = select(*NAME).order_by(told.c.ended_at.desc(), *IN_TIME).limit(1)
        with self.database.reading() as connection:
            found = connection.execute(query).first()
        return (found.agent, found.id) if found else None

    def list_ids(self, choice: ToldChoice) -> list[str]:
        query = select(told.c.id).where(*match_choice(choice)).order_by(told.c.began_at, told.c.id)
        with self.database.reading() as connection:
            return list(connection.execute(query).scalars())

    def list_ages(self, choice: ToldChoice) -> Iterator[bytes]:
        query = select(told.c.ages).where(AGED, *match_choice(choice))
        return self.stream_values(query)

    def list_bodies(self, choice: ToldChoice, offset: int = 0, limit: int | None = None) -> Iterator[bytes]:
        conditions = match_choice(choice)
        query = select(told.c.body).where(*conditions)
        order = forget_index(IN_TIME) if self.is_few(conditions) else IN_TIME
        return self.stream_values(limit_rows(query.order_by(*order), offset, limit))

    def list_newest(self, choice: ToldChoice, after: Sequence[str], limit: int) -> list[PlacedRow]:
        return self.list_placed(select(told.c.body).where(*match_choice(choice)), IN_TIME, after, limit)

    def list_newest_lines(self, choice: ToldChoice, after: Sequence[str], limit: int) -> list[PlacedRow]:
        query, conditions = select(told_ledger.c.line), match_choice(choice)
        if conditions:
            query = query.join(told, IS_LINE).where(*conditions)
        return self.list_placed(query, tuple(told_ledger.primary_key.columns), after, limit)

    def list_placed(
        self, query: Select[Any], order: Sequence[Column[Any]], after: Sequence[str], limit: int
    ) -> list[PlacedRow]:
        """Rows from behind a place on, with the place of each, the last ones first."""
        wanted = query.add_columns(*order).order_by(*(column.desc() for column in order)).limit(limit)
        if after:
            place = [to_literal(one, column) for one, column in zip(after, order, strict=True)]
            wanted = wanted.where(tuple_(*order) < tuple_(*place))
        with self.database.reading() as connection:
            return [(tuple(map(str, row[1:])), row[0]) for row in connection.execute(wanted)]

    def count_ledger(self) -> int:
        with self.database.reading() as connection:
            return int(connection.execute(select(func.count()).select_from(told_ledger)).scalar_one())

    def list_ledger(self, choice: ToldChoice, offset: int = 0, limit: int | None = None) -> Iterator[bytes]:
        order = [column for column in told_ledger.primary_key.columns if column.name != "agent"]
        order.append(told_ledger.c.agent)
        query, conditions = select(told_ledger.c.line), match_choice(choice)
        if self.is_few(conditions):
            named = select(*NAME).where(*conditions)
            query = query.where(tuple_(told_ledger.c.agent, told_ledger.c.id).in_(named))
            return self.stream_values(limit_rows(query.order_by(*forget_index(order)), offset, limit))
        if conditions:
            query = query.join(told, IS_LINE).where(*conditions)
        return self.stream_values(limit_rows(query.order_by(*order), offset, limit))

    def is_few(self, conditions: Sequence[ColumnElement[bool]]) -> bool:
        """Whether conditions leave so few sessions that these are better found first, and put in order then."""
        if not conditions:
            return False
        some = select(told.c.id).where(*conditions).limit(FEW + 1).subquery()
        with self.database.reading() as connection:
            return int(connection.execute(select(func.count()).select_from(some)).scalar_one()) <= FEW

    def load_beside(self, names: Sequence[StreamName]) -> dict[StreamName, tuple[bytes, list[bytes]]]:
        lines = told_ledger.c.agent, told_ledger.c.id
        with self.database.reading() as connection:
            found: dict[StreamName, tuple[bytes, list[bytes]]] = {
                (row.agent, row.id): (row.ages, [])
                for some in split_values(names)
                for row in connection.execute(select(*NAME, told.c.ages).where(match_names(some, *NAME)))
            }
            for some in split_values(names):
                query = select(told_ledger).where(match_names(some, *lines))
                for row in connection.execute(query.order_by(*told_ledger.primary_key.columns)):
                    found[row.agent, row.id][1].append(row.line)
        return found

    def stream_values(self, query: Select[Any]) -> Iterator[bytes]:
        """The values of one column, some at a time: what nobody holds takes no memory."""
        with (
            self.database.reading() as connection,
            connection.execute(query, execution_options={"yield_per": PORTION}) as rows,
        ):
            for some in rows.scalars().partitions():
                yield from some

    def list_news(self, choice: ToldChoice) -> list[tuple[StreamName, bool]]:
        query = select(*NAME, told.c.crushed).where(told.c.is_news.is_(True), *match_choice(choice))
        with self.database.reading() as connection:
            return [((row.agent, row.id), row.crushed is True) for row in connection.execute(query)]


def find_last_change(connection: Connection) -> int:
    return int(connection.execute(select(func.max(changed_streams.c.id))).scalar() or 0)


def settle_changes(connection: Connection, names: Sequence[StreamName], known: int) -> None:
    """Note that changes of streams up to a number are told; those that came since are not."""
    for some in split_values(names):
        connection.execute(delete(changed_streams).where(match_names(some, *CHANGED), changed_streams.c.id <= known))


def match_choice(choice: ToldChoice) -> list[ColumnElement[bool]]:
    """What a session must be like; of what is not given, nothing."""
    found = []
    if choice.since:
        found.append(told.c.ended_at >= choice.since)
    if choice.until:
        found.append(told.c.began_at < choice.until)
    if choice.folders is not None:
        found.append(or_(*(told.c.folder.in_(some) for some in split_values(choice.folders)), told.c.folder.in_([])))
    if choice.names is not None:
        found.append(match_names(choice.names, *NAME))
    if choice.obstacle:
        found.append(told.c.obstacle == choice.obstacle)
    if choice.only_answered:
        found.append(told.c.is_answered.is_(True))
    if choice.crushed is not None:
        found.append(told.c.crushed.is_(choice.crushed))
    if choice.only_lost:
        found += [told.c.is_news.is_(True), told.c.crushed.is_(False)]
    return found


def replace_neighbourhood(connection: Connection, found: ToldNeighbourhood, others: set[str]) -> None:
    """Put a neighbourhood in the place of others, with all that was told of these."""
    connection.execute(delete(remembered).where(remembered.c.name == STANDING))  # its rows are others now
    for some in split_values(sorted(others)):
        connection.execute(delete(neighbourhoods).where(neighbourhoods.c.name.in_(some)))
    about = found.about
    values = {
        "key": about.key,
        "told_at": about.told_at,
        "valid_until": about.valid_until,
        "nodes": PACK(about.nodes),
        "folders": PACK(about.folders),
        "tally": found.tally,
        "months": found.months,
    }
    is_it = neighbourhoods.c.name == about.name
    if not connection.execute(update(neighbourhoods).where(is_it).values(values)).rowcount:
        connection.execute(insert(neighbourhoods).values(name=about.name, **values))


def replace_places(connection: Connection, name: str, places: Sequence[StreamPlace]) -> None:
    """Put the streams of a neighbourhood in place of those it had."""
    of_it = told_streams.c.neighbourhood == name
    before = {
        (row.agent, row.stream): row.place
        for row in connection.execute(select(*OF_STREAM, told_streams.c.place).where(of_it))
    }
    new = {one.name: PACK(one) for one in places}
    gone = [key for key, place in before.items() if new.get(key) != place]
    missing = [one for one in places if before.get(one.name) != new[one.name]]
    for some in split_values(sorted({*gone, *(one.name for one in missing)})):
        connection.execute(delete(told_streams).where(match_names(some, *OF_STREAM)))
    rows = [(*one.name, name, bool(one.continues), new[one.name]) for one in missing]
    if rows:
        add_many(connection, told_streams, rows)


def replace_rows(connection: Connection, found: ToldNeighbourhood) -> None:
    """Put the sessions of a neighbourhood in place of those it had, as far as they differ."""
    name = found.about.name
    ledger = dict(found.ledger)
    deeds: dict[StreamName, list[CommitDeed]] = {}
    for deed in found.deeds:
        deeds.setdefault((deed.agent, deed.id), []).append(deed)
    new = {row.name: digest_row(row, ledger.get(row.name, ()), deeds.get(row.name, ())) for row in found.rows}
    query = select(*NAME, told.c.digest, told.c.is_news).where(told.c.neighbourhood == name)
    before = {(row.agent, row.id): (row.digest, row.is_news) for row in connection.execute(query)}
    gone = {key for key, (digest, _) in before.items() if key not in found.same and new.get(key) != digest}
    rows = [row for row in found.rows if row.name not in before or row.name in gone]
    for some in split_values(sorted({*gone, *(row.name for row in rows)})):  # those too that were told elsewhere
        connection.execute(delete(told).where(match_names(some, *NAME)))
    same = before.keys() - gone
    news = {row.name: row.is_news for row in found.rows if row.name in same} | dict(found.same)
    for of, is_news in news.items():
        if before[of][1] != is_news:
            connection.execute(update(told).where(match_names([of], *NAME)).values(is_news=is_news))
    add_rows(connection, [build_row(row, name, new[row.name]) for row in rows], told)
    names = [row.name for row in rows]
    lines = [
        (line.at, line.session, line.effect, line.stream, n, *of, packed)
        for of in names
        for n, (line, packed) in enumerate(ledger.get(of, ()), number_lines(name, of))
    ]
    add_rows(connection, lines, told_ledger)
    kept = {tuple(getattr(one, column) for column in DEED) for of in names for one in deeds.get(of, ())}
    add_rows(connection, sorted(kept), commit_deeds)


def number_lines(neighbourhood: str, session: StreamName) -> int:
    """The number of a session's first line: of what others ship, two sessions may tell of the same boundary."""
    if not neighbourhood.startswith(SHIPPED):
        return 0
    return int.from_bytes(blake2b(PACK(session), digest_size=3).digest(), "big") << 6


def add_rows(connection: Connection, rows: Sequence[tuple[object, ...]], table: Table) -> None:
    if rows:
        add_many(connection, table, rows)


def build_row(row: ToldRow, neighbourhood: str, digest: bytes) -> tuple[object, ...]:
    """The columns of a session, in their order."""
    values = {name: getattr(row, name) for name in ToldRow.__struct_fields__ if name != "input"}
    values |= {"neighbourhood": neighbourhood, "digest": digest}
    return tuple(values[column.name] for column in told.columns)


def digest_row(row: ToldRow, ledger: Sequence[tuple[LedgerLine, bytes]], deeds: Sequence[CommitDeed]) -> bytes:
    """A hash of all that a session was told from; else of all that is kept of it, but for whether it is news."""
    if row.input:
        return row.input
    lines = [packed for _, packed in ledger]
    return blake2b(PACK((replace(row, is_news=False), lines, sorted(map(PACK, deeds)))), digest_size=16).digest()
