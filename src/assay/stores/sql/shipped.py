"""Sessions that other machines ship, in SQL: each machine's own rows, of which those are told that know most."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from sqlalchemy import Connection, Row, delete, func, insert, literal, select, tuple_, update

from assay.stores.contract.shipped import Machine, ShippedPart, ShippedRow
from assay.stores.contract.told import StreamName
from assay.stores.sql.changes import note_twins
from assay.stores.sql.database import Database, split_values
from assay.stores.sql.schema import streams
from assay.stores.sql.selection import PULLED, TOLD, match_names, match_project
from assay.stores.sql.shipped_changes import OF_SESSION, count_conversations, count_up, has_shipped, name_conversation
from assay.stores.sql.shipped_tables import machines, shipped, shipped_parts, shipped_streams
from assay.types.shipping import MachineLine, ShippedLine

NAME = (shipped.c.agent, shipped.c.id)
BUT_WORDS = [column for column in shipped.columns if column.name != "words"]
LINE = (shipped.c.agent, shipped.c.id, shipped.c.digest, shipped.c.ended_at, shipped.c.is_forgotten)
Standing = tuple[str, int, str]
"""What a machine knows of a conversation: until when, of how many together with it; the greatest is told."""


class SqlShipped:
    """Keeps what other machines ship."""

    def __init__(self, database: Database) -> None:
        self.database = database

    # --- machines ---------------------------------------------------------------------------------

    def find_machine(self, name: str) -> Machine | None:
        with self.database.reading() as connection:
            found = connection.execute(select(machines).where(machines.c.name == name)).first()
        return Machine(**found._asdict()) if found else None

    def list_machines(self) -> list[MachineLine]:
        counts = select(shipped.c.machine, func.count()).group_by(shipped.c.machine)
        with self.database.reading() as connection:
            sessions = {row[0]: row[1] for row in connection.execute(counts)}
            rows = connection.execute(select(machines).order_by(machines.c.name)).all()
        return [
            MachineLine(name=row.name, person=row.person, sessions=sessions.get(row.name, 0), shipped_at=row.shipped_at)
            for row in rows
        ]

    def drop_machine(self, name: str) -> int:
        with self.database.scrubbing() as connection:
            query = select(*NAME).where(shipped.c.machine == name)
            names = [(row.agent, row.id) for row in connection.execute(query)]
            gone = drop_sessions(connection, name, names)
            connection.execute(delete(machines).where(machines.c.name == name))
        return gone

    # --- what comes in ----------------------------------------------------------------------------

    def save_sessions(self, machine: Machine, rows: Sequence[ShippedRow], withdrawn: Collection[StreamName]) -> int:
        given = {row.name: row for row in rows}
        with self.database.writing() as connection:
            save_machine(connection, machine)
            forgotten = find_forgotten(connection, machine.name, given)
            gone = drop_sessions(connection, machine.name, set(withdrawn) - given.keys())
            drop_sessions(connection, machine.name, given)
            if not given:
                return gone
            connection.execute(
                insert(shipped),
                [build_row(machine.name, row, is_forgotten=name in forgotten) for name, row in sorted(given.items())],
            )
            connection.execute(
                insert(shipped_streams),
                [one for _, row in sorted(given.items()) for one in build_streams(machine.name, row)],
            )
            note_streams(connection, machine.name, given)
        return gone

    def find_forgotten(self, machine: str, names: Iterable[StreamName]) -> set[StreamName]:
        with self.database.reading() as connection:
            return find_forgotten(connection, machine, names)

    def list_lines(self, machine: str, after: Sequence[str], limit: int) -> list[ShippedLine]:
        query = select(*LINE).where(shipped.c.machine == machine).order_by(*NAME).limit(limit)
        if after:
            query = query.where(tuple_(*NAME) > tuple_(*(literal(one) for one in after)))
        with self.database.reading() as connection:
            return [ShippedLine(**row._asdict()) for row in connection.execute(query)]

    # --- what is told of it -----------------------------------------------------------------------

    def list_parts(self) -> list[ShippedPart]:
        query = select(shipped_parts).order_by(shipped_parts.c.machine, shipped_parts.c.month)
        with self.database.reading() as connection:
            return [ShippedPart(**row._asdict()) for row in connection.execute(query)]

    def load_part(self, machine: str, month: str) -> list[ShippedRow]:
        query = select(*BUT_WORDS).where(shipped.c.machine == machine, shipped.c.month == month).order_by(*NAME)
        with self.database.reading() as connection:
            rows = load_rows(connection, connection.execute(query).all())
            return list(select_told(connection, [(machine, row) for row in rows]))

    def load_words(self, name: StreamName) -> bytes:
        query = select(*BUT_WORDS).where(match_names([name], *NAME)).order_by(shipped.c.machine)
        with self.database.reading() as connection:
            found = connection.execute(query).all()
            for row, one in zip(found, load_rows(connection, found), strict=True):
                if list(select_told(connection, [(row.machine, one)])):
                    mine = (shipped.c.machine == row.machine) & match_names([name], *NAME)
                    words: bytes = connection.execute(select(shipped.c.words).where(mine)).scalar_one()
                    return words
        return b""

    def find_sessions(self, ids: Iterable[str]) -> list[StreamName]:
        query = select(*NAME).distinct()
        with self.database.reading() as connection:
            return [
                (row.agent, row.id)
                for some in split_values(sorted(set(ids)))
                for row in connection.execute(query.where(shipped.c.id.in_(some)).order_by(*NAME))
            ]

    def count_streams(self, since: str = "", until: str = "", project: str = "") -> int:
        query = select(shipped_streams.c.agent, shipped_streams.c.stream).distinct()
        if since or until or project:
            query = query.join(shipped, OF_SESSION).where(
                *([shipped.c.ended_at >= since] if since else []),
                *([shipped.c.began_at < until] if until else []),
                *([match_project(project, shipped)] if project else []),
            )
        with self.database.reading() as connection:
            return int(connection.execute(select(func.count()).select_from(query.subquery())).scalar_one())

    def has_sessions(self) -> bool:
        with self.database.reading() as connection:
            return has_shipped(connection)

    # --- words ------------------------------------------------------------------------------------

    def list_spoken(self, before: str) -> Iterator[tuple[str, ShippedRow]]:
        query = select(*BUT_WORDS).where(shipped.c.has_words.is_(True), shipped.c.ended_at < before)
        with self.database.reading() as connection:
            rows = connection.execute(query.order_by(shipped.c.machine, *NAME)).all()
            found = load_rows(connection, rows)
        yield from zip((row.machine for row in rows), found, strict=True)

    def find_relatives(self, names: Iterable[StreamName]) -> list[tuple[str, ShippedRow]]:
        own = shipped_streams.c.agent, shipped_streams.c.id
        with self.database.reading() as connection:
            wanted = [
                row.conversation
                for some in split_values(sorted(set(names)))
                for row in connection.execute(select(shipped_streams.c.conversation).where(match_names(some, *own)))
            ]
            rows = [
                row
                for some in split_values(sorted(set(wanted)))
                for row in connection.execute(
                    select(*BUT_WORDS)
                    .join(shipped_streams, OF_SESSION)
                    .where(shipped_streams.c.conversation.in_(some))
                    .distinct()
                )
            ]
            return list(zip((row.machine for row in rows), load_rows(connection, rows), strict=True))

    def replace_words(self, machine: str, rows: Sequence[ShippedRow]) -> None:
        with self.database.scrubbing() as connection:
            for row in rows:
                values = {"has_words": False, "is_forgotten": True, "body": row.body, "words": b"", "digest": ""}
                mine = (shipped.c.machine == machine) & match_names([row.name], *NAME)
                connection.execute(update(shipped).where(mine).values(values))
            note_streams(connection, machine, {row.name: row for row in rows})


def save_machine(connection: Connection, machine: Machine) -> None:
    """Note from where sessions come, and whose they are: with another person all of them are told anew."""
    mine = machines.c.name == machine.name
    before = connection.execute(select(machines.c.person).where(mine)).scalar()
    values = {"person": machine.person, "key": machine.key, "shipped_at": machine.shipped_at}
    if before is None:
        connection.execute(insert(machines).values(name=machine.name, **values))
        return
    connection.execute(update(machines).where(mine).values(values))
    if before != machine.person:
        own = select(shipped_parts.c.month).where(shipped_parts.c.machine == machine.name)
        count_up(connection, [(machine.name, month) for month in connection.execute(own).scalars()])


def drop_sessions(connection: Connection, machine: str, names: Iterable[StreamName]) -> int:
    """Drop sessions of a machine; gives how many were there."""
    gone = 0
    for some in split_values(sorted(names)):
        mine = (shipped.c.machine == machine) & match_names(some, *NAME)
        known = connection.execute(select(shipped_streams.c.stream).join(shipped, OF_SESSION).where(mine))
        old = list(known.scalars())
        count_conversations(connection, old)
        gone += connection.execute(delete(shipped).where(mine)).rowcount
        note_twins(connection, old)
    return gone


def note_streams(connection: Connection, machine: str, rows: Mapping[StreamName, ShippedRow]) -> None:
    """Note what changes with some sessions: their parts, and whatever else tells of their conversations."""
    count_up(connection, [(machine, find_month(row)) for row in rows.values()])
    every = [stream for row in rows.values() for stream in row.streams]
    count_conversations(connection, every)
    note_twins(connection, every)


def find_forgotten(connection: Connection, machine: str, names: Iterable[StreamName]) -> set[StreamName]:
    """Sessions of a machine whose words were deleted."""
    mine = (shipped.c.machine == machine) & shipped.c.is_forgotten.is_(True)
    return {
        (row.agent, row.id)
        for some in split_values(sorted(names))
        for row in connection.execute(select(*NAME).where(mine, match_names(some, *NAME)))
    }


def find_month(row: ShippedRow) -> str:
    return row.began_at[:7]


def build_row(machine: str, row: ShippedRow, *, is_forgotten: bool) -> dict[str, object]:
    """The columns of a session."""
    return {
        "machine": machine,
        "agent": row.agent,
        "id": row.id,
        "month": find_month(row),
        "began_at": row.began_at,
        "ended_at": row.ended_at,
        "project": row.project,
        "digest": row.digest,
        "has_words": row.has_words,
        "is_forgotten": is_forgotten or row.is_forgotten,
        "body": row.body,
        "words": row.words,
    }


def build_streams(machine: str, row: ShippedRow) -> list[dict[str, object]]:
    """The conversations of a session."""
    return [
        {
            "machine": machine,
            "agent": row.agent,
            "stream": stream,
            "id": row.id,
            "conversation": name_conversation(stream),
        }
        for stream in dict.fromkeys(row.streams)
    ]


def load_rows(connection: Connection, rows: Sequence[Row[tuple[object, ...]]]) -> list[ShippedRow]:
    """Sessions with the conversations that they stand in."""
    found: dict[tuple[str, str, str], list[str]] = {}
    columns = (shipped_streams.c.agent, shipped_streams.c.id)
    for machine in sorted({row.machine for row in rows}):
        query = select(*columns, shipped_streams.c.stream).where(shipped_streams.c.machine == machine)
        for some in split_values(sorted({(row.agent, row.id) for row in rows if row.machine == machine})):
            chosen = query.where(match_names(some, *columns)).order_by(shipped_streams.c.stream)
            for row in connection.execute(chosen):
                found.setdefault((machine, row.agent, row.id), []).append(row.stream)
    return [
        ShippedRow(
            agent=row.agent,
            id=row.id,
            streams=tuple(found.get((row.machine, row.agent, row.id), ())),
            began_at=row.began_at,
            ended_at=row.ended_at,
            project=row.project,
            digest=row.digest,
            has_words=row.has_words,
            is_forgotten=row.is_forgotten,
            body=row.body,
        )
        for row in rows
    ]


def select_told(connection: Connection, rows: Sequence[tuple[str, ShippedRow]]) -> Iterator[ShippedRow]:
    """The sessions that are told: not those in conversations that were read here, or that others know more of."""
    wanted = sorted({name_conversation(stream) for _, row in rows for stream in row.streams})
    read = find_read_here(connection, wanted)
    best = find_best(connection, wanted)
    for machine, row in rows:
        names = [name_conversation(stream) for stream in row.streams]
        if not read.intersection(names) and all(best.get(name, machine) == machine for name in names):
            yield row


def find_read_here(connection: Connection, conversations: Sequence[str]) -> set[str]:
    """Conversations whose transcripts were read into this store."""
    query = select(streams.c.id).where(streams.c.agent.not_in((PULLED, TOLD)))
    return {
        one
        for some in split_values(conversations)
        for one in connection.execute(query.where(streams.c.id.in_(some))).scalars()
    }


def find_best(connection: Connection, conversations: Sequence[str]) -> dict[str, str]:
    """Of conversations that several machines know, the machine that knows most."""
    if len(connection.execute(select(machines.c.name).limit(2)).all()) < 2:
        return {}
    each = shipped_streams.alias()
    own = (each.c.machine == shipped.c.machine) & (each.c.agent == shipped.c.agent) & (each.c.id == shipped.c.id)
    together = select(func.count()).select_from(each).where(own).scalar_subquery().label("together")
    columns = (shipped_streams.c.conversation, shipped_streams.c.machine, shipped.c.ended_at, together)
    query = select(*columns).join(shipped, OF_SESSION)
    found = [
        row
        for some in split_values(conversations)
        for row in connection.execute(query.where(shipped_streams.c.conversation.in_(some)))
    ]
    best: dict[str, Standing] = {}
    for row in sorted(found, key=lambda row: row.machine, reverse=True):
        standing = (row.ended_at, row.together, row.machine)
        if row.conversation not in best or standing[:2] >= best[row.conversation][:2]:
            best[row.conversation] = standing
    return {name: standing[2] for name, standing in best.items()}
