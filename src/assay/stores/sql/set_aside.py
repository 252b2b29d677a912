"""The cut of a stream that another version took the place of last: kept beside, and brought back when it is wanted.

So a report with `--commit hard`, and the next one without it, judge nothing anew that was judged before. It holds for
as long as the stream is what it was.
"""

from collections.abc import Iterable, Sequence

import msgspec
from sqlalchemy import Connection, and_, bindparam, delete, select

from assay.stores.contract.told import StreamName
from assay.stores.sql.changes import note_changed
from assay.stores.sql.database import add_many, split_values
from assay.stores.sql.schema import cuts, segments, set_aside, streams
from assay.stores.sql.selection import match_names

PACK = msgspec.msgpack.Encoder().encode
ROWS = msgspec.msgpack.Decoder(list[tuple[int, str, str, bytes, bytes, bytes]]).decode
OF, CUT, ASIDE = ((table.c.agent, table.c.stream) for table in (segments, cuts, set_aside))
DROP = delete(set_aside).where(set_aside.c.agent == bindparam("its_agent"), set_aside.c.stream == bindparam("its_id"))
IS_SAME = and_(
    streams.c.agent == set_aside.c.agent,
    streams.c.id == set_aside.c.stream,
    streams.c.generation == set_aside.c.generation,
)


def put_aside(connection: Connection, names: Sequence[StreamName], version: str) -> None:
    """Keep the cuts of streams that one of this version takes the place of, in place of what was kept of them before.

    One that should be judged again (no version) leaves nothing beside it to go back to.
    """
    for some in split_values(names):
        if not version:
            connection.execute(delete(set_aside).where(match_names(some, *ASIDE)))
            continue
        query = select(*CUT, cuts.c.version, streams.c.generation, cuts.c.branch).join(
            streams, and_(streams.c.agent == cuts.c.agent, streams.c.id == cuts.c.stream)
        )
        replaced = connection.execute(query.where(match_names(some, *CUT), cuts.c.version.not_in(("", version)))).all()
        if not replaced:
            continue
        known = {(row.agent, row.stream): row for row in replaced}
        connection.execute(delete(set_aside).where(match_names(known, *ASIDE)))
        packed = pack_segments(connection, known)
        add_many(connection, set_aside, [(*row, PACK(packed.get(name, []))) for name, row in known.items()])


def pack_segments(connection: Connection, names: Iterable[StreamName]) -> dict[StreamName, list[tuple[object, ...]]]:
    """The rows of streams' segments, without the names of the streams."""
    found: dict[StreamName, list[tuple[object, ...]]] = {}
    for agent, stream, *rest in connection.execute(select(segments).where(match_names(names, *OF))):
        found.setdefault((agent, stream), []).append(tuple(rest))
    return found


def find_aside(connection: Connection, version: str) -> list[StreamName]:
    """Streams with a cut of this version that is set aside and still holds."""
    is_cut = and_(cuts.c.agent == set_aside.c.agent, cuts.c.stream == set_aside.c.stream, cuts.c.version == version)
    query = select(*ASIDE).join(streams, IS_SAME).outerjoin(cuts, is_cut)
    rows = connection.execute(query.where(set_aside.c.version == version, cuts.c.agent.is_(None)))
    return [(agent, stream) for agent, stream in rows]


def bring_back(connection: Connection, version: str) -> None:
    """Put the cuts of a version that are set aside in the place of those that are there, which go aside instead."""
    for some in split_values(find_aside(connection, version)):
        kept = connection.execute(select(set_aside).where(match_names(some, *ASIDE))).all()
        connection.execute(delete(set_aside).where(match_names(some, *ASIDE)))
        put_aside(connection, some, version)
        connection.execute(delete(segments).where(match_names(some, *OF)))
        connection.execute(delete(cuts).where(match_names(some, *CUT)))
        rows = [(row.agent, row.stream, *one) for row in kept for one in ROWS(row.packed)]
        if rows:
            add_many(connection, segments, rows)
        add_many(connection, cuts, [(row.agent, row.stream, row.version, row.branch) for row in kept])
        note_changed(connection, some)
