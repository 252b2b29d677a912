"""Telemetry that came in, and the conversations it is about, in SQL."""

from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, Table, and_, bindparam, delete, func, or_, select, text, update

from assay.stores.sql.database import Database, add_many, split_values
from assay.stores.sql.schema import conversations, telemetry
from assay.types import LiveConversation, TelemetryRecord

UNNAMED = "trace-"
"""Before the trace of a conversation that nobody has named yet."""
ENCODE = msgspec.json.Encoder().encode
DECODE = msgspec.json.Decoder(TelemetryRecord).decode
UNREAD = ""

OF_CONVERSATION = and_(conversations.c.agent == bindparam("its_agent"), conversations.c.id == bindparam("its_id"))
COUNT_NEW = (
    update(conversations)
    .where(OF_CONVERSATION)
    .values(
        records=conversations.c.records + bindparam("new"),
        revision=conversations.c.revision + 1,
        version=UNREAD,
    )
)
TRACE = func.substr(conversations.c.id, len(UNNAMED) + 1)
KNOWN = text("SELECT id FROM telemetry WHERE id = ANY(:ids)")
CHANGE_BODY = update(telemetry).where(telemetry.c.id == bindparam("its_id")).values(body=bindparam("body"))


class SqlTelemetry:
    """Keeps records of telemetry, each once."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def save_records(self, records: Sequence[TelemetryRecord]) -> int:
        given = {one.id: one for one in records}
        if not given:
            return 0
        names = sorted({name_conversation(one) for one in given.values()})
        with self.database.writing() as connection:
            open_conversations(connection, names)
            known = find_known(connection, sorted(given))
            new = [given[one] for one in sorted(given) if one not in known]
            if new:
                add_many(connection, telemetry, [build_row(one) for one in new])
                counted = Counter(map(name_conversation, new))
                rows = [{"its_agent": name[0], "its_id": name[1], "new": n} for name, n in sorted(counted.items())]
                connection.execute(COUNT_NEW, rows)
            drop_empty(connection, names)
        return len(new)

    def list_unread(self, version: str) -> list[LiveConversation]:
        other = or_(conversations.c.version < version, conversations.c.version > version)  # unlike !=, by the index
        with self.database.reading() as connection:
            if connection.execute(select(conversations.c.id).where(other).limit(1)).first() is None:
                return []
        with self.database.writing() as connection:
            adopt_unnamed(connection)
            query = select(conversations).where(other)
            rows = connection.execute(query.order_by(conversations.c.agent, conversations.c.id)).all()
        return [build_conversation(row) for row in rows]

    def mark_read(self, conversation: LiveConversation, version: str) -> None:
        same = and_(
            conversations.c.agent == conversation.agent,
            conversations.c.id == conversation.id,
            conversations.c.revision == conversation.revision,
        )
        with self.database.writing() as connection:
            connection.execute(delete(conversations).where(same, conversations.c.records == 0))
            connection.execute(update(conversations).where(same).values(version=version))

    def list_conversations(self) -> list[LiveConversation]:
        with self.database.reading() as connection:
            rows = connection.execute(select(conversations).order_by(conversations.c.agent, conversations.c.id)).all()
        return [build_conversation(row) for row in rows]

    def load_records(self, agent: str, conversation: str) -> list[TelemetryRecord]:
        mine = and_(telemetry.c.agent == agent, telemetry.c.conversation == conversation)
        query = select(telemetry.c.body).where(mine)
        with self.database.reading() as connection:
            bodies = connection.execute(query.order_by(telemetry.c.order, telemetry.c.sequence, telemetry.c.id))
            found = [DECODE(body) for body in bodies.scalars()]
        return [one if one.conversation else replace(one, conversation=conversation) for one in found]

    def replace_records(self, records: Iterable[TelemetryRecord]) -> None:
        rows = [{"its_id": one.id, "body": ENCODE(one)} for one in records]
        if rows:
            with self.database.scrubbing() as connection:
                connection.execute(CHANGE_BODY, rows)


def name_conversation(record: TelemetryRecord) -> tuple[str, str]:
    """Agent and conversation of a record; one that names none has that of its trace."""
    return record.agent, record.conversation or f"{UNNAMED}{record.trace}"


def build_row(record: TelemetryRecord) -> tuple[object, ...]:
    """The columns of a record, in their order."""
    name = name_conversation(record)
    return record.id, *name, record.trace, record.order, record.sequence, ENCODE(record)


def build_conversation(row: Any) -> LiveConversation:
    return LiveConversation(agent=row.agent, id=row.id, revision=row.revision, records=row.records)


def add_unless_there(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    """Insert rows, but for those whose key is taken."""
    insert = import_module(f"sqlalchemy.dialects.{connection.dialect.name}").insert
    connection.execute(insert(table).on_conflict_do_nothing(), rows)


def open_conversations(connection: Connection, names: Sequence[tuple[str, str]]) -> None:
    """Have rows for conversations of which something comes in for the first time."""
    fresh = {"records": 0, "revision": 0, "version": UNREAD}
    add_unless_there(connection, conversations, [{"agent": agent, "id": its_id, **fresh} for agent, its_id in names])


def find_known(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Those records that are stored already."""
    if connection.dialect.name == "postgresql":  # one list is one value there, however many there are
        return set(connection.execute(KNOWN, {"ids": [*ids]}).scalars())
    return {
        one
        for some in split_values(ids)
        for one in connection.execute(select(telemetry.c.id).where(telemetry.c.id.in_(some))).scalars()
    }


def drop_empty(connection: Connection, names: Sequence[tuple[str, str]]) -> None:
    """Drop conversations that were opened for records which all belong to another one by now."""
    rows = [{"its_agent": agent, "its_id": its_id} for agent, its_id in names if its_id.startswith(UNNAMED)]
    if rows:
        never = and_(conversations.c.records == 0, conversations.c.revision == 0)
        connection.execute(delete(conversations).where(OF_CONVERSATION, never), rows)


def adopt_unnamed(connection: Connection) -> None:
    """Give records without a conversation to the one that others of their trace name; the first by name of several."""
    named = conversations.alias()
    found = (
        select(conversations.c.agent, conversations.c.id, func.min(telemetry.c.conversation).label("named"))
        .join(telemetry, and_(telemetry.c.agent == conversations.c.agent, telemetry.c.trace == TRACE))
        .join(named, and_(named.c.agent == telemetry.c.agent, named.c.id == telemetry.c.conversation))
        .where(
            conversations.c.id.startswith(UNNAMED, autoescape=True),
            conversations.c.records > 0,
            telemetry.c.conversation != conversations.c.id,
            or_(named.c.version == UNREAD, conversations.c.version == UNREAD),
        )
        .group_by(conversations.c.agent, conversations.c.id)
    )
    for agent, its_id, name in connection.execute(found).all():
        mine = and_(telemetry.c.agent == agent, telemetry.c.conversation == its_id)
        moved = connection.execute(update(telemetry).where(mine).values(conversation=name)).rowcount
        changes = [
            {"its_agent": agent, "its_id": its_id, "new": -moved},
            {"its_agent": agent, "its_id": name, "new": moved},
        ]
        connection.execute(COUNT_NEW, changes)
