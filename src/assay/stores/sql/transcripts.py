"""Files that were read, their turns, and the streams they make, in SQL."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import (
    Connection,
    and_,
    bindparam,
    delete,
    insert,
    or_,
    select,
    update,
)

from assay.stores.contract import FileTally, SettledStream, StreamFiles, StreamPieces
from assay.stores.contract.told import StreamName
from assay.stores.sql import listed, stream_settling
from assay.stores.sql.database import Database, add_many, split_values
from assay.stores.sql.schema import BROKEN_OFF, SKIPPING, files, skips, streams, turns
from assay.stores.sql.selection import (
    AFTER_AT,
    AT,
    PULLED,
    TOLD,
    count_streams,
    has_outside,
    is_below,
    match_beginning,
    match_files_below,
    match_names,
    match_streams,
    match_streams_below,
    select_stream_files,
)
from assay.stores.sql.stream_settling import ADD_FACTS, COUNT_UP, FILES, NAME
from assay.types import FileState, KnownFile, Part, ReadPosition, SkippedLine, StreamSummary

JSON = msgspec.json.Encoder().encode
PACK = msgspec.msgpack.Encoder().encode
PART = msgspec.msgpack.Decoder(Part).decode
UNKNOWN = msgspec.json.Decoder(dict[str, int]).decode

# Statements that every file needs are made once: making them takes longer than running them.
FILE_AT = select(files.c.id, files.c.offset, files.c.mtime_ns, files.c.version, files.c.agent, files.c.stream).where(
    files.c.path == bindparam("path")
)
KNOWN = select(
    files.c.path, files.c.id, files.c.source, files.c.version, files.c.inode, files.c.size,
    files.c.mtime_ns, files.c.offset, files.c.anchor, files.c.is_mid_line, files.c.gone_at,
)  # fmt: skip
ADD_FILE = insert(files)
CHANGE_FILE = (
    update(files)
    .where(files.c.id == bindparam("file"))
    .values({column.name: bindparam(column.name) for column in files.columns if column.name != "id"})
)
ADD_SKIPS = insert(skips)
SEVERAL = (PULLED, TOLD)
"""Agents of streams that may have a conversation which another stream has too."""


class SqlTranscripts:
    """Keeps files, turns and streams."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def find_files(self, roots: Sequence[str]) -> dict[str, KnownFile]:
        with self.database.reading() as connection:
            rows = connection.execute(KNOWN.where(match_files_below(roots))).all()
        return {row.path: build_known(row) for row in rows}

    def find_in_folders(self, folders: Collection[str]) -> dict[str, KnownFile]:
        with self.database.reading() as connection:
            return find_in_folders(connection, folders)

    def load_listed(self) -> dict[str, bytes] | None:
        with self.database.reading() as connection:
            return listed.load_listed(connection)

    def note_listed(
        self, hashes: Mapping[str, bytes], check: Callable[[dict[str, KnownFile]], Collection[str]]
    ) -> None:
        with self.database.writing() as connection:
            listed.complete_folders(connection)
            listed.note_folders(connection, hashes, check(find_in_folders(connection, hashes)))

    def load_file(self, known: KnownFile, path: str) -> FileState:
        with self.database.reading() as connection:
            row = connection.execute(select(files).where(files.c.id == known.id)).one()
            bodies = connection.execute(
                select(turns.c.n, turns.c.at, turns.c.body).where(turns.c.file_id == known.id).order_by(turns.c.n)
            ).all()
            missed = connection.execute(
                select(skips.c.line, skips.c.why).where(skips.c.file_id == known.id).order_by(skips.c.line)
            ).all()
        return FileState(
            path=path,
            source=row.source,
            version=row.version,
            place=known.place,
            lines_read=row.lines_read,
            lines_skipped=row.lines_skipped,
            skips=tuple(SkippedLine(line=line, why=why) for line, why in missed),
            tail=SkippedLine(line=row.tail_line, why=row.tail_why) if row.tail_why else None,
            part=PART(row.part) if row.part else None,
            bodies=tuple((n, at, body) for n, at, body in bodies),
            unknown=UNKNOWN(row.unknown),
            state=row.state,
        )

    def save_file(self, found: FileState, before: KnownFile | None) -> bool:
        row = build_file_row(found)
        with self.database.writing() as connection:
            there = connection.execute(FILE_AT, {"path": found.path}).first()
            if there is None and before is None:
                file_id = add_file(connection, row)
            elif there is not None and before is not None and is_same(there, before):
                file_id = there.id
                connection.execute(CHANGE_FILE, row | {"file": file_id})
            else:
                return False
            listed.forget_folder(connection, found.path)
            save_content(connection, file_id, found, is_new=before is None)
            if there is not None and not found.is_continued:
                stream_settling.release_keys(connection, file_id)
            if there is not None and there.stream and there.stream != row["stream"]:
                stream_settling.leave_stream(connection, there.agent, there.stream)
            connection.execute(COUNT_UP)
        return True

    def mark_gone(self, ids: Iterable[int], gone: bool) -> None:
        when = datetime.now(UTC).isoformat(timespec="seconds") if gone else None
        again = files.c.stream == ""  # all others name the file their stream stands in
        if wanted := list(ids):
            with self.database.writing() as connection:
                listed.forget_folders(connection, wanted)
                for some in split_values(wanted):
                    change = update(files).where(files.c.id.in_(some))
                    connection.execute(change.values(gone_at=when, is_settled=again))
                connection.execute(COUNT_UP)

    def list_unsettled(self) -> list[StreamFiles]:
        with self.database.writing() as connection:
            return stream_settling.list_unsettled(connection)

    def load_pieces(self, streams: Sequence[StreamFiles]) -> list[StreamPieces]:
        with self.database.reading() as connection:
            return stream_settling.load_pieces(connection, streams)

    def load_stream(self, agent: str, id: str) -> StreamPieces:
        with self.database.reading() as connection:
            files_of_it = stream_settling.find_stream_files(connection, agent, id)
            return stream_settling.load_pieces(connection, [files_of_it])[0]

    def list_ended(self, before: str) -> list[tuple[StreamFiles, tuple[Part, ...]]]:
        with self.database.reading() as connection:
            return stream_settling.list_ended(connection, before)

    def forget_words(self, stream: StreamFiles, silent: StreamPieces) -> bool:
        with self.database.scrubbing() as connection:
            return stream_settling.forget_words(connection, stream, silent)

    def list_stream_files(self, names: Iterable[StreamName]) -> list[StreamFiles]:
        with self.database.reading() as connection:
            return [
                stream
                for some in split_values(sorted(names))
                for stream in stream_settling.group_files(connection, FILES.where(match_names(some, *NAME)))
            ]

    def list_twins(self, names: Iterable[StreamName]) -> list[StreamName]:
        found: set[StreamName] = set()
        with self.database.reading() as connection:
            for base in sorted({name.partition(AT)[0] if agent in SEVERAL else name for agent, name in names}):
                others = and_(streams.c.agent.in_(SEVERAL), streams.c.id > base + AT, streams.c.id < base + AFTER_AT)
                rows = connection.execute(select(*NAME).where(or_(streams.c.id == base, others)))
                found |= {(row.agent, row.id) for row in rows}
        return sorted(found)

    def save_streams(self, settled: Sequence[SettledStream]) -> bool:
        with self.database.writing() as connection:
            return stream_settling.save_streams(connection, settled)

    def list_without_facts(self, roots: Sequence[str] | None, prefix: str = "") -> list[StreamName]:
        query = select(streams.c.agent, streams.c.id).where(streams.c.facts == b"", *match_streams(roots, "", "", ""))
        if prefix:
            query = query.where(match_beginning(streams.c.id, prefix))
        with self.database.reading() as connection:
            return [(row.agent, row.id) for row in connection.execute(query.order_by(streams.c.agent, streams.c.id))]

    def save_facts(self, established: Sequence[tuple[StreamName, bytes]]) -> None:
        rows = [{"its_agent": name[0], "its_id": name[1], "found": facts} for name, facts in established]
        if rows:
            with self.database.writing() as connection:
                connection.execute(ADD_FACTS, rows)

    def list_streams(
        self, roots: Sequence[str] | None, since: str = "", until: str = "", project: str = "", prefix: str = ""
    ) -> list[StreamSummary]:
        some_file = files.alias()
        there = select_stream_files(some_file.c.gone_at.is_(None), some_file).exists()
        query = select(streams, files.c.path, there.label("is_there")).join(files, files.c.id == streams.c.file_id)
        query = query.where(*match_streams(roots, since, until, project))
        if prefix:
            query = query.where(match_beginning(streams.c.id, prefix))
        with self.database.reading() as connection:
            rows = connection.execute(query.order_by(streams.c.began_at, streams.c.agent, streams.c.id)).all()
        return [build_summary(row) for row in rows]

    def list_conversations(self, roots: Sequence[str] | None) -> list[tuple[StreamSummary, ...]]:
        some_file, told = files.alias(), streams.c.agent.in_(SEVERAL)
        there = select_stream_files(some_file.c.gone_at.is_(None), some_file).exists()
        below = [] if roots is None else [match_streams_below(roots)]
        query = select(streams, files.c.path, there.label("is_there")).join(files, files.c.id == streams.c.file_id)
        query = query.where(*below)
        with self.database.reading() as connection:
            found = [build_summary(row) for row in connection.execute(query.where(told))]
            names = sorted({one.id.partition(AT)[0] for one in found})
            for some in split_values(names):
                found += [build_summary(row) for row in connection.execute(query.where(~told, streams.c.id.in_(some)))]
        return group_conversations(found)

    def count_streams(self, roots: Sequence[str] | None, since: str = "", until: str = "", project: str = "") -> int:
        with self.database.reading() as connection:
            some = None if roots is not None and not has_outside(connection, roots) else roots
            return count_streams(connection, some, since, until, project)

    def list_tallies(self, roots: Sequence[str]) -> list[FileTally]:
        columns = (
            files.c.path, files.c.source, files.c.agent, files.c.lines_read, files.c.lines_skipped,
            files.c.part, files.c.unknown, files.c.gone_at, files.c.mtime_ns,
        )  # fmt: skip
        with self.database.reading() as connection:
            rows = connection.execute(select(*columns).where(match_files_below(roots)).order_by(files.c.path)).all()
        return [build_tally(row) for row in rows]

    def count_skipped_lines(self, roots: Sequence[str]) -> int:
        few = select(files.c.path, files.c.lines_skipped).where(SKIPPING, files.c.gone_at.is_(None))
        with self.database.reading() as connection:
            return sum(row.lines_skipped for row in connection.execute(few) if is_below(row.path, roots))

    def list_skips(self, roots: Sequence[str]) -> list[tuple[str, int, str]]:
        listed = select(files.c.path, skips.c.line, skips.c.why).join(files, files.c.id == skips.c.file_id)
        tails = select(files.c.path, files.c.tail_line, files.c.tail_why).where(BROKEN_OFF)
        there = files.c.gone_at.is_(None)
        with self.database.reading() as connection:
            rows = [*connection.execute(listed.where(there)), *connection.execute(tails.where(there))]
        return sorted((path, line, why) for path, line, why in rows if is_below(path, roots))


def group_conversations(found: Sequence[StreamSummary]) -> list[tuple[StreamSummary, ...]]:
    """Streams by their conversation; of each, the one that tells most first."""
    groups: dict[str, list[StreamSummary]] = {}
    for one in sorted(found, key=rank_source):
        groups.setdefault(one.id.partition(AT)[0], []).append(one)
    return sorted(map(tuple, groups.values()), key=lambda group: (group[0].began_at, group[0].id))


def rank_source(stream: StreamSummary) -> tuple[int, str]:
    """How much a source tells, as `selection.match_streams_once` has it: the least number tells most."""
    rank = {PULLED: 2, TOLD: 1 if stream.title else 3}.get(stream.agent, 0)
    return rank, stream.id


def add_file(connection: Connection, row: dict[str, object]) -> int:
    """Add a file; gives its id."""
    key = connection.execute(ADD_FILE, row).inserted_primary_key
    assert key is not None
    return int(key[0])


def build_tally(row: Any) -> FileTally:
    return FileTally(
        path=row.path,
        source=row.source,
        agent=row.agent,
        lines_read=row.lines_read,
        lines_skipped=row.lines_skipped,
        part=PART(row.part) if row.part else None,
        unknown=UNKNOWN(row.unknown),
        mtime_ns=row.mtime_ns,
        is_gone=row.gone_at is not None,
    )


def find_in_folders(connection: Connection, folders: Collection[str]) -> dict[str, KnownFile]:
    """Files that were read of folders, not of those below, by path."""
    return {
        row.path: build_known(row)
        for condition in listed.match_folders(folders)
        for row in connection.execute(KNOWN.where(condition))
    }


def build_known(row: Any) -> KnownFile:
    place = ReadPosition(
        inode=row.inode,
        size=row.size,
        mtime_ns=row.mtime_ns,
        offset=row.offset,
        anchor=row.anchor,
        is_mid_line=row.is_mid_line,
    )
    return KnownFile(id=row.id, source=row.source, version=row.version, place=place, is_gone=row.gone_at is not None)


def is_same(there: Any, before: KnownFile) -> bool:
    """Whether the file's row is still what this reading began with."""
    place = before.place
    return bool(there.offset == place.offset and there.mtime_ns == place.mtime_ns and there.version == before.version)


def build_file_row(found: FileState) -> dict[str, object]:
    """The columns of a file."""
    part = found.part if found.is_stream else None
    return {
        "path": found.path,
        "source": found.source,
        "version": found.version,
        "inode": found.place.inode,
        "size": found.place.size,
        "mtime_ns": found.place.mtime_ns,
        "offset": found.place.offset,
        "anchor": found.place.anchor,
        "is_mid_line": found.place.is_mid_line,
        "lines_read": found.lines_read,
        "lines_skipped": found.lines_skipped,
        "tail_line": found.tail.line if found.tail else None,
        "tail_why": found.tail.why if found.tail else None,
        "agent": found.part.agent if found.part else "",
        "stream": part.stream if part else "",
        "by": part.by if part else "",
        "part": PACK(found.part) if found.part else None,
        "facts": found.facts,
        "prompts_at": JSON(found.prompts_at),
        "unknown": JSON(found.unknown),
        "state": found.state,
        "packed_keys": found.keys,
        "is_settled": not found.is_stream,
        "gone_at": None,
        "scanned_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def save_content(connection: Connection, file_id: int, found: FileState, *, is_new: bool) -> None:
    """Turns, keys and skips of a file, in place of what was there."""
    if not is_new:
        gone = turns.c.file_id == file_id
        if found.is_continued:
            gone = and_(gone, turns.c.n.in_([n for n, _, _ in found.bodies]))
        connection.execute(delete(turns).where(gone))
        connection.execute(delete(skips).where(skips.c.file_id == file_id))
    if found.bodies:
        add_many(connection, turns, [(file_id, n, at, body) for n, at, body in found.bodies])
    if found.skips:
        missed = [{"file_id": file_id, "line": skip.line, "why": skip.why} for skip in found.skips]
        connection.execute(ADD_SKIPS, missed)


def build_summary(row: Any) -> StreamSummary:
    return StreamSummary(
        id=row.id,
        agent=row.agent,
        file=row.path,
        files=row.files,
        project=row.project,
        branch=row.branch,
        title=row.title,
        began_at=row.began_at,
        ended_at=row.ended_at,
        prompts_at=row.prompts_at,
        turns=row.turns,
        facts=row.facts,
        is_gone=not row.is_there,
    )
