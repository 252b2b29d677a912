"""Which streams must be put together anew, from which files, and what in them belongs to others.

A file that copies another one (a resumed, forked or compacted stream) holds the same keys. The
owner of a key is the file in which it is most complete, among equals the one that comes first by
`assay.sessions.streams.rank_file`; all other streams leave it out. Since ownership depends only on the
files there are, neither the order in which they were read nor the number of processes matters.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, Select, and_, bindparam, delete, false, insert, or_, select, update

from assay.sessions.streams import Precedence, rank_file
from assay.stores.contract import SettledStream, StreamFiles, StreamPieces
from assay.stores.contract.told import StreamName
from assay.stores.sql.changes import drop_told, note_changed, note_twins
from assay.stores.sql.database import add_many, split_values, unpack_ids
from assay.stores.sql.schema import cuts, files, generation, joined, keys, remembered, segments, streams, turns
from assay.stores.sql.selection import match_names
from assay.stores.sql.set_aside import DROP as DROP_ASIDE
from assay.stores.sql.shipped_changes import count_conversations
from assay.types import Part

PART = msgspec.msgpack.Decoder(Part).decode
FEW = 50
"""Streams that are looked up one by one; for more, all files are looked through."""

NAME = (streams.c.agent, streams.c.id)
GENERATION = select(generation.c.n)
COUNT_UP = update(generation).values(n=generation.c.n + 1)
CHANGE_STREAM = (
    update(streams)
    .where(streams.c.agent == bindparam("its_agent"), streams.c.id == bindparam("its_id"))
    .values({column.name: bindparam(column.name) for column in streams.columns if not column.primary_key})
)
ADD_FACTS = (
    update(streams)
    .where(streams.c.agent == bindparam("its_agent"), streams.c.id == bindparam("its_id"), streams.c.facts == b"")
    .values(facts=bindparam("found"))
)
DROP_CUT = delete(cuts).where(cuts.c.agent == bindparam("its_agent"), cuts.c.stream == bindparam("its_id"))
CHANGE_BODY = (
    update(turns)
    .where(turns.c.file_id == bindparam("its_file"), turns.c.n == bindparam("its_n"))
    .values(body=bindparam("body"))
)
FILES = select(*NAME, streams.c.shares, streams.c.generation, files.c.id.label("file_id"), files.c.size).join(
    files, and_(files.c.agent == streams.c.agent, files.c.stream == streams.c.id)
)
MOST_PARENTS = 16
ALL_CUT = "all cut"
"""Under which name it is remembered in which version all streams are cut: to count them takes long."""
FORGET_ALL_CUT = delete(remembered).where(remembered.c.name == ALL_CUT)


def list_unsettled(connection: Connection) -> list[StreamFiles]:
    """All streams that changed files belong to, or share keys with."""
    if connection.execute(select(files.c.id).where(files.c.is_settled.is_(False)).limit(1)).first() is None:
        return []
    adopt_sub_agents(connection)
    changed = connection.execute(
        select(files.c.id, files.c.agent, files.c.stream).where(files.c.is_settled.is_(False))
    ).all()
    current = connection.execute(GENERATION).scalar_one()
    index_keys(connection, {row.id for row in changed})
    touched = {(row.agent, row.stream) for row in changed}
    touched |= {
        (row.agent, row.stream)
        for row in load_file_rows(connection, find_sharing_files(connection, {row.id for row in changed}))
    }
    found = group_by_stream(connection, touched)
    owner = {file_id: name for name, ids in found.items() for file_id in ids}
    shares = {owner[a] for a, b in find_shared_files(connection, set(owner)) if owner[a] != owner.get(b)}
    return [
        drop_needless_join(
            connection,
            StreamFiles(agent=name[0], id=name[1], file_ids=tuple(ids), shares=name in shares, generation=current),
        )
        for name, ids in sorted(found.items())
    ]


def drop_needless_join(connection: Connection, stream: StreamFiles) -> StreamFiles:
    """A stream of one file that owns all that others copied from it needs no joining."""
    if not stream.shares or len(stream.file_ids) > 1:
        return stream
    rows = load_file_rows(connection, stream.file_ids)
    return stream if find_foreign_keys(connection, stream, rows) else replace(stream, shares=False)


def index_keys(connection: Connection, ids: set[int]) -> None:
    """Make the keys of changed files findable: all at once and in order, since keys are as good as random."""
    rows: list[tuple[int, int, int]] = []
    for some in split_values(sorted(ids)):
        connection.execute(delete(keys).where(keys.c.file_id.in_(some)))
        for file_id, packed in connection.execute(select(files.c.id, files.c.packed_keys).where(files.c.id.in_(some))):
            pairs = iter(array("q", packed))
            rows += [(key, file_id, weight) for key, weight in zip(pairs, pairs, strict=True)]
    if rows:
        add_many(connection, keys, sorted(rows))


def group_by_stream(connection: Connection, names: set[StreamName]) -> dict[StreamName, list[int]]:
    """The files of streams."""
    of_stream = select(files.c.id, files.c.agent, files.c.stream).where(files.c.stream != "").order_by(files.c.id)
    if len(names) <= FEW:
        named = [and_(files.c.agent == agent, files.c.stream == stream) for agent, stream in sorted(names)]
        of_stream = of_stream.where(or_(false(), *named))
    found: dict[StreamName, list[int]] = {}
    for row in connection.execute(of_stream):
        if (row.agent, row.stream) in names:
            found.setdefault((row.agent, row.stream), []).append(row.id)
    return found


def find_sharing_files(connection: Connection, ids: set[int]) -> set[int]:
    """Files that hold a key which one of these files holds too."""
    return {other for _, other in find_shared_files(connection, ids)}


def find_stream_files(connection: Connection, agent: str, id: str) -> StreamFiles:
    """All files of one stream."""
    found = connection.execute(select(files.c.id).where(files.c.agent == agent, files.c.stream == id)).scalars()
    return StreamFiles(agent=agent, id=id, file_ids=tuple(sorted(found)), shares=True)


def adopt_sub_agents(connection: Connection) -> None:
    """Give sub-agents of sub-agents to the stream at the root."""
    subs = connection.execute(
        select(files.c.id, files.c.agent, files.c.stream, files.c.by, files.c.is_settled).where(files.c.by != "")
    ).all()
    if all(row.is_settled for row in subs):
        return
    parent = {(row.agent, row.by): row.stream for row in subs}
    for row in subs:
        stream = row.stream
        for _ in range(MOST_PARENTS):
            above = parent.get((row.agent, stream), "")
            if not above or above == stream:
                break
            stream = above
        if stream != row.stream:
            connection.execute(update(files).where(files.c.id == row.id).values(stream=stream, is_settled=False))
            leave_stream(connection, row.agent, row.stream)


def find_shared_files(connection: Connection, ids: set[int]) -> set[tuple[int, int]]:
    """Pairs of files that hold a same key, the first of them among `ids`."""
    other = keys.alias()
    pairs = select(keys.c.file_id, other.c.file_id).join(other, keys.c.key == other.c.key).distinct()
    pairs = pairs.where(keys.c.file_id != other.c.file_id)
    found: set[tuple[int, int]] = set()
    for some in split_values(sorted(ids)):
        found.update((a, b) for a, b in connection.execute(pairs.where(keys.c.file_id.in_(some))))
    return found


def load_file_rows(connection: Connection, ids: Iterable[int]) -> list[Any]:
    """Path, stream and part of files."""
    columns = (files.c.id, files.c.path, files.c.agent, files.c.stream, files.c.part)
    return [
        row
        for some in split_values(sorted(ids))
        for row in connection.execute(select(*columns).where(files.c.id.in_(some)))
    ]


def load_pieces(connection: Connection, wanted: Sequence[StreamFiles]) -> list[StreamPieces]:
    """The files of each stream, and the keys that other streams own."""
    ids = [file_id for stream in wanted for file_id in stream.file_ids]
    rows = {row.id: row for row in load_file_rows(connection, ids)}
    bodies: dict[int, list[bytes]] = {file_id: [] for file_id in rows}
    for some in split_values(sorted(rows)):
        for file_id, body in connection.execute(
            select(turns.c.file_id, turns.c.body).where(turns.c.file_id.in_(some)).order_by(turns.c.file_id, turns.c.n)
        ):
            bodies[file_id].append(body)
    found = []
    for stream in wanted:
        mine = [rows[file_id] for file_id in stream.file_ids if file_id in rows]
        found.append(
            StreamPieces(
                pieces=tuple((row.path, PART(row.part), tuple(bodies[row.id])) for row in mine),
                elsewhere=find_foreign_keys(connection, stream, mine) if stream.shares else frozenset(),
            )
        )
    return found


def find_foreign_keys(connection: Connection, stream: StreamFiles, rows: list[Any]) -> frozenset[int]:
    """Keys of the stream's files that a file of another stream owns."""
    other = keys.alias()
    pairs = select(keys.c.key, keys.c.file_id, keys.c.weight, other.c.file_id, other.c.weight)
    pairs = pairs.join(other, keys.c.key == other.c.key)
    mine = set(stream.file_ids)
    found: list[tuple[int, tuple[int, int], tuple[int, int]]] = []
    for some in split_values(sorted(mine)):
        for key, here, weight, there, its_weight in connection.execute(pairs.where(keys.c.file_id.in_(some))):
            if there not in mine:
                found.append((key, (-weight, here), (-its_weight, there)))
    files_there = load_file_rows(connection, {there for _, _, (_, there) in found})
    rank = {row.id: rank_file(row.path, PART(row.part)) for row in (*rows, *files_there) if row.part}
    best: dict[int, tuple[int, Precedence]] = {}
    for key, (weight, here), _ in found:
        claim = (weight, rank[here])
        best[key] = min(best.get(key, claim), claim)
    return frozenset(key for key, _, (weight, there) in found if there in rank and (weight, rank[there]) < best[key])


def group_files(connection: Connection, query: Select[Any]) -> list[StreamFiles]:
    """Rows of `FILES` as the streams they belong to."""
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


def list_ended(connection: Connection, before: str) -> list[tuple[StreamFiles, tuple[Part, ...]]]:
    """Streams that ended before a time and still hold words, with the parts of their files."""
    ended = and_(streams.c.ended_at < before, streams.c.ended_at != "", streams.c.is_forgotten.is_(False))
    found = group_files(connection, FILES.where(ended))
    ids = [file_id for stream in found for file_id in stream.file_ids]
    parts = {row.id: PART(row.part) for row in load_file_rows(connection, ids)}
    return [(stream, tuple(parts[one] for one in stream.file_ids)) for stream in found]


def forget_words(connection: Connection, stream: StreamFiles, silent: StreamPieces) -> bool:
    """Write a stream's files without words, and drop what was made of them; they are cut and judged anew."""
    named = and_(streams.c.agent == stream.agent, streams.c.id == stream.id)
    if connection.execute(select(streams.c.generation).where(named)).scalar() != stream.generation:
        return False
    for file_id, (_, part, bodies) in zip(stream.file_ids, silent.pieces, strict=True):
        numbers = connection.execute(select(turns.c.n).where(turns.c.file_id == file_id).order_by(turns.c.n)).scalars()
        rows = [{"its_file": file_id, "its_n": n, "body": body} for n, body in zip(numbers.all(), bodies, strict=True)]
        if rows:
            connection.execute(CHANGE_BODY, rows)
        # Without its state and anchor a file that grows is read from its beginning.
        gone = {"part": msgspec.msgpack.encode(part), "state": b"", "anchor": b"", "facts": b""}
        connection.execute(update(files).where(files.c.id == file_id).values(gone))
    first = min(silent.pieces, key=lambda piece: rank_file(piece[0], piece[1]))[1]
    title = first.title or first.asked
    is_forgotten = all(part.is_forgotten for _, part, _ in silent.pieces)
    wordless = {"title": title, "branch": first.branch, "facts": b"", "is_forgotten": is_forgotten}
    connection.execute(update(streams).where(named).values(wordless))
    of_stream = and_(segments.c.agent == stream.agent, segments.c.stream == stream.id)
    packed = connection.execute(select(segments.c.turns).where(of_stream)).scalars()
    for some in split_values([turn for ids in packed for turn in unpack_ids(ids)]):  # however it was cut before
        connection.execute(delete(joined).where(joined.c.agent == stream.agent, joined.c.id.in_(some)))
    connection.execute(delete(segments).where(of_stream))
    drop_told(connection, (stream.agent, stream.id))
    drop_cuts(connection, [(stream.agent, stream.id)])
    return True


def drop_cuts(connection: Connection, names: Iterable[StreamName]) -> None:
    """Have streams cut anew; what was judged of their segments stays, what was set aside goes."""
    rows = [{"its_agent": agent, "its_id": stream} for agent, stream in names]
    connection.execute(FORGET_ALL_CUT)
    connection.execute(DROP_CUT, rows)
    connection.execute(DROP_ASIDE, rows)
    note_changed(connection, [(row["its_agent"], row["its_id"]) for row in rows])


def leave_stream(connection: Connection, agent: str, stream: str) -> None:
    """A file left a stream: its other files are put together anew; without any, it is no stream any more."""
    there = and_(files.c.agent == agent, files.c.stream == stream)
    connection.execute(update(files).where(there).values(is_settled=False))
    empty = ~select(files.c.id).where(there).exists()
    connection.execute(delete(streams).where(streams.c.agent == agent, streams.c.id == stream, empty))
    note_changed(connection, [(agent, stream)])
    note_twins(connection, [stream])
    count_conversations(connection, [stream])


def release_keys(connection: Connection, file_id: int) -> None:
    """A file is not what it was: streams that share what it held are put together anew, for it may be theirs now."""
    sharing = load_file_rows(connection, find_sharing_files(connection, {file_id}))
    for some in split_values([row.id for row in sharing if row.stream]):
        connection.execute(update(files).where(files.c.id.in_(some)).values(is_settled=False))
    connection.execute(delete(keys).where(keys.c.file_id == file_id))


def save_streams(connection: Connection, settled: Sequence[SettledStream]) -> bool:
    """Write the rows of streams anew and mark their files as settled, if no file was kept meanwhile."""
    if any(one.stream.generation != connection.execute(GENERATION).scalar_one() for one in settled[:1]):
        return False
    columns = (files.c.id, files.c.path, files.c.part, files.c.facts, files.c.prompts_at, files.c.gone_at)
    ids = [file_id for one in settled for file_id in one.stream.file_ids]
    rows = {
        row.id: row
        for some in split_values(sorted(ids))
        for row in connection.execute(select(*columns).where(files.c.id.in_(some)))
    }
    written = [
        build_stream_row(one, [rows[file_id] for file_id in one.stream.file_ids if file_id in rows]) for one in settled
    ]
    if not written:
        return True
    replace_streams(connection, written)
    for some in split_values(sorted(ids)):
        connection.execute(update(files).where(files.c.id.in_(some)).values(is_settled=True))
    return True


def replace_streams(connection: Connection, rows: list[dict[str, object]]) -> None:
    """Put rows of streams in place of those that are there; their segments stay, but must be cut anew."""
    names = {(str(row["agent"]), str(row["id"])): row for row in rows}
    there = {tuple(row) for row in connection.execute(select(*NAME).where(match_names(names, *NAME)))}
    new = [row for name, row in names.items() if name not in there]
    old = [row | {"its_agent": name[0], "its_id": name[1]} for name, row in names.items() if name in there]
    if new:
        connection.execute(FORGET_ALL_CUT)
        connection.execute(insert(streams), new)
    if old:
        connection.execute(CHANGE_STREAM, old)
        drop_cuts(connection, [(str(row["agent"]), str(row["id"])) for row in old])
    note_twins(connection, [name for _, name in names])
    count_conversations(connection, [name for _, name in names])


def build_stream_row(settled: SettledStream, rows: list[Any]) -> dict[str, object]:
    """The columns of a stream."""
    parts = {row.id: PART(row.part) for row in rows}
    first = min(rows, key=lambda row: (row.gone_at is not None, rank_file(row.path, parts[row.id])))
    about = parts[first.id]
    asked = first.prompts_at if settled.prompts_at is None else msgspec.json.encode(settled.prompts_at)
    return {
        "agent": settled.stream.agent,
        "id": settled.stream.id,
        "file_id": first.id,
        "files": len(rows),
        "project": about.cwd,
        "branch": about.branch,
        "title": about.title or (about.asked if settled.asked is None else settled.asked),
        "began_at": min(part.first_at or part.began_at for part in parts.values()),
        "ended_at": max(part.ended_at for part in parts.values()),
        "prompts_at": asked,
        "turns": len(msgspec.json.decode(asked)),
        "facts": first.facts if settled.facts is None else settled.facts,
        "shares": settled.stream.shares,
        "generation": settled.stream.generation,
        "is_forgotten": all(part.is_forgotten for part in parts.values()),
    }
