"""What makes shipped sessions change: their parts count up, in the same transaction, so that they are told anew."""

from collections.abc import Iterable

from sqlalchemy import Connection, delete, insert, select, tuple_, update

from assay.stores.sql.database import split_values
from assay.stores.sql.schema import remembered
from assay.stores.sql.selection import AT
from assay.stores.sql.shipped_tables import shipped, shipped_parts, shipped_streams

STANDING = "standing"
"""Under which name the last report is remembered."""
PART = (shipped_parts.c.machine, shipped_parts.c.month)
OF_SESSION = (
    (shipped.c.machine == shipped_streams.c.machine)
    & (shipped.c.agent == shipped_streams.c.agent)
    & (shipped.c.id == shipped_streams.c.id)
)


def has_shipped(connection: Connection) -> bool:
    return connection.execute(select(shipped.c.id).limit(1)).first() is not None


def name_conversation(stream: str) -> str:
    """The vendor's own id of a stream."""
    return stream.partition(AT)[0]


def count_up(connection: Connection, parts: Iterable[tuple[str, str]]) -> None:
    """Note that parts changed."""
    wanted = sorted(set(parts))
    if not wanted:
        return
    connection.execute(delete(remembered).where(remembered.c.name == STANDING))
    for some in split_values(wanted):
        there = {tuple(row) for row in connection.execute(select(*PART).where(tuple_(*PART).in_(some)))}
        connection.execute(
            update(shipped_parts).where(tuple_(*PART).in_(some)).values(revision=shipped_parts.c.revision + 1)
        )
        new = [{"machine": one[0], "month": one[1], "revision": 1} for one in some if one not in there]
        if new:
            connection.execute(insert(shipped_parts), new)


def count_conversations(connection: Connection, streams: Iterable[str]) -> None:
    """Note that something changed of conversations, whichever machines know of them."""
    if not has_shipped(connection):
        return
    query = select(shipped.c.machine, shipped.c.month).join(shipped_streams, OF_SESSION).distinct()
    for some in split_values(sorted(set(map(name_conversation, streams)))):
        found = connection.execute(query.where(shipped_streams.c.conversation.in_(some))).all()
        count_up(connection, [(row.machine, row.month) for row in found])


def count_sessions(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Note that a person said something of sessions; gives which of them were shipped."""
    if not has_shipped(connection):
        return set()
    query = select(shipped.c.machine, shipped.c.month, shipped.c.id)
    found = [
        row
        for some in split_values(sorted(set(ids)))
        for row in connection.execute(query.where(shipped.c.id.in_(some)))
    ]
    count_up(connection, [(row.machine, row.month) for row in found])
    return {row.id for row in found}
