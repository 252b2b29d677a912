"""What makes sessions change: whoever does notes the stream, in the same transaction, so that they are told anew."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, and_, delete, insert, or_, select, update

from assay.stores.contract.told import StreamName
from assay.stores.sql.database import split_values, unpack_ids
from assay.stores.sql.schema import changed_streams, neighbourhoods, remembered, segments, streams, told, told_streams
from assay.stores.sql.selection import AFTER_AT, AT, GROUP, PULLED, TOLD, match_names
from assay.stores.sql.shipped_changes import STANDING, count_sessions

NAME, OF_STREAM = (told.c.agent, told.c.id), (told_streams.c.agent, told_streams.c.stream)


def note_changed(connection: Connection, names: Iterable[StreamName]) -> None:
    """Note that something changed of streams, so that their sessions are told anew."""
    rows = [{"agent": agent, "stream": stream} for agent, stream in sorted(set(names))]
    if rows:
        connection.execute(insert(changed_streams), rows)


def note_news(connection: Connection, names: Sequence[StreamName], *, is_told: bool) -> None:
    """Note of sessions that the last report said, or did not say, that they crushed."""
    is_news = told.c.crushed.is_not(True) if is_told else told.c.crushed.is_(True)
    for some in split_values(names):
        connection.execute(update(told).where(match_names(some, *NAME)).values(is_news=is_news))


def drop_told(connection: Connection, name: StreamName) -> None:
    """Drop all that was told of a stream's neighbourhood, so that no word of it is left; it is told anew."""
    found = select(told_streams.c.neighbourhood).where(match_names([name], *OF_STREAM))
    for neighbourhood in connection.execute(found).scalars().all():
        others = select(*OF_STREAM).where(told_streams.c.neighbourhood == neighbourhood)
        connection.execute(insert(changed_streams).from_select(["agent", "stream"], others))
        connection.execute(delete(neighbourhoods).where(neighbourhoods.c.name == neighbourhood))
        connection.execute(delete(remembered).where(remembered.c.name == STANDING))


def note_turns(connection: Connection, turns: Iterable[str]) -> None:
    """Note that a person said something of the streams that hold these turns, or of sessions that were shipped."""
    said = {turn for turn in turns if turn}
    note_changed(connection, find_streams(connection, said - count_sessions(connection, said)).values())


def find_streams(connection: Connection, turns: Iterable[str]) -> dict[str, StreamName]:
    """The streams that hold turns: nearly all are the first of a segment, but a stream may be cut otherwise by now."""
    wanted = {turn for turn in turns if turn}
    query = select(segments.c.agent, segments.c.stream, segments.c.id)
    found = {
        row.id: (row.agent, row.stream)
        for some in split_values(sorted(wanted))
        for row in connection.execute(query.where(segments.c.id.in_(some)))
    }
    if missing := wanted - found.keys():
        for agent, stream, packed in connection.execute(select(segments.c.agent, segments.c.stream, segments.c.turns)):
            found |= dict.fromkeys(missing.intersection(unpack_ids(packed)), (agent, stream))
    return found


def note_twins(connection: Connection, ids: Iterable[str]) -> None:
    """Note what was pulled or told by telemetry of the same conversations: it may be left out for these streams."""
    second = streams.c.agent.in_((PULLED, TOLD))
    if connection.execute(select(streams.c.id).where(second).limit(1)).first() is None:
        return
    bases = sorted({one.partition(AT)[0] for one in ids})
    for start in range(0, len(bases), GROUP):
        named = [
            or_(streams.c.id == base, and_(streams.c.id > base + AT, streams.c.id < base + AFTER_AT))
            for base in bases[start : start + GROUP]
        ]
        query = select(streams.c.agent, streams.c.id).where(second, or_(*named))
        note_changed(connection, [(agent, stream) for agent, stream in connection.execute(query)])
