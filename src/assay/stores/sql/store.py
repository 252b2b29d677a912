"""What the pipeline asks of a store."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import (
    Connection,
    Engine,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from assay.stores.sql import settling
from assay.stores.sql.answers import KeptAnswers
from assay.stores.sql.bulk import add_many
from assay.stores.sql.paths import below, chosen, stream_file
from assay.stores.sql.plainly import told_plainly
from assay.stores.sql.rework import KeptRework
from assay.stores.sql.schema import files, skips, streams, turns
from assay.stores.sql.scored import ScoredSessions
from assay.stores.sql.written import KeptWritten
from assay.types import Known, Part, Place, Scanned, Skipped, Summary

JSON = msgspec.json.Encoder().encode
PACK = msgspec.msgpack.Encoder().encode
PART = msgspec.msgpack.Decoder(Part).decode
UNKNOWN = msgspec.json.Decoder(dict[str, int]).decode
AT_ONCE = 500

# Statements that every file needs are made once: making them takes longer than running them.
FILE_AT = select(files.c.id, files.c.offset, files.c.mtime_ns, files.c.version, files.c.agent, files.c.stream).where(
    files.c.path == bindparam("path")
)
ADD_FILE = insert(files)
CHANGE_FILE = (
    update(files)
    .where(files.c.id == bindparam("file"))
    .values({column.name: bindparam(column.name) for column in files.columns if column.name != "id"})
)
ADD_SKIPS = insert(skips)


class Store:
    """Keeps files, turns and streams in SQL."""

    def __init__(self, engine: Engine, where: str) -> None:
        self.engine = engine
        self.where = where
        self.scored = ScoredSessions(self.reading, self.writing)
        self.rework = KeptRework(self.reading, self.writing)
        self.answers = KeptAnswers(self.reading, self.writing)
        self.written = KeptWritten(self.reading, self.writing)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with told_plainly(self.where), self.engine.connect().execution_options(reads=True) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with told_plainly(self.where), self.engine.begin() as connection:
            yield connection

    def close(self) -> None:
        """Let go of the file."""
        self.engine.dispose()

    def known(self, roots: Sequence[str]) -> dict[str, Known]:
        """Files at or below these paths that were read before."""
        columns = (
            files.c.path, files.c.id, files.c.source, files.c.version, files.c.inode, files.c.size,
            files.c.mtime_ns, files.c.offset, files.c.anchor, files.c.is_mid_line, files.c.gone_at,
        )  # fmt: skip
        with self.reading() as connection:
            rows = connection.execute(select(*columns).where(below(roots))).all()
        return {row.path: known(row) for row in rows}

    def kept(self, known: Known, path: str) -> Scanned:
        """All that is kept of a file, to go on reading it."""
        with self.reading() as connection:
            row = connection.execute(select(files).where(files.c.id == known.id)).one()
            bodies = connection.execute(
                select(turns.c.n, turns.c.at, turns.c.body).where(turns.c.file_id == known.id).order_by(turns.c.n)
            ).all()
            missed = connection.execute(
                select(skips.c.line, skips.c.why).where(skips.c.file_id == known.id).order_by(skips.c.line)
            ).all()
        return Scanned(
            path=path,
            source=row.source,
            version=row.version,
            place=known.place,
            lines_read=row.lines_read,
            lines_skipped=row.lines_skipped,
            skips=tuple(Skipped(line=line, why=why) for line, why in missed),
            tail=Skipped(line=row.tail_line, why=row.tail_why) if row.tail_why else None,
            part=PART(row.part) if row.part else None,
            bodies=tuple((n, at, body) for n, at, body in bodies),
            unknown=UNKNOWN(row.unknown),
            state=row.state,
        )

    def keep(self, found: Scanned, before: Known | None) -> bool:
        """Keep what was read of a file, in one transaction.

        `False` where somebody else kept a reading of it meanwhile: theirs stands.
        """
        row = file_row(found)
        with self.writing() as connection:
            there = connection.execute(FILE_AT, {"path": found.path}).first()
            if there is None and before is None:
                file_id: int = connection.execute(ADD_FILE, row).lastrowid
            elif there is not None and before is not None and is_same(there, before):
                file_id = there.id
                connection.execute(CHANGE_FILE, row | {"file": file_id})
            else:
                return False
            keep_content(connection, file_id, found, is_new=before is None)
            if there is not None and there.stream and there.stream != row["stream"]:
                settling.leave(connection, there.agent, there.stream)
            connection.execute(settling.COUNT_UP)
        return True

    def mark_gone(self, ids: Iterable[int], gone: bool) -> None:
        """Note that files vanished, or are back; what was read of them stays."""
        when = datetime.now(UTC).isoformat(timespec="seconds") if gone else None
        ids = list(ids)
        for start in range(0, len(ids), AT_ONCE):
            with self.writing() as connection:
                chosen = files.c.id.in_(ids[start : start + AT_ONCE])
                again = files.c.stream == ""  # all others name the file their stream stands in
                connection.execute(update(files).where(chosen).values(gone_at=when, is_settled=again))
                connection.execute(settling.COUNT_UP)

    def unsettled(self) -> list[settling.StreamFiles]:
        """Streams whose files changed since their facts were established."""
        with self.writing() as connection:
            return settling.unsettled(connection)

    def pieces(self, stream: settling.StreamFiles) -> settling.Pieces:
        """The files of a stream as kept, and what in them belongs to another stream."""
        with self.reading() as connection:
            return settling.pieces(connection, [stream])[0]

    def pieces_of(self, agent: str, id: str) -> settling.Pieces:
        """The files of a stream by its id."""
        with self.reading() as connection:
            return settling.pieces(connection, [settling.files_of(connection, agent, id)])[0]

    def settle(self, settled: list[settling.Settled]) -> bool:
        """Keep the facts of streams, in one transaction; `False` where files were kept since they were gathered."""
        with self.writing() as connection:
            return settling.settle(connection, settled)

    def without_facts(self, roots: Sequence[str] | None, prefix: str = "") -> list[settling.Name]:
        """Agent and id of streams whose facts nobody asked for yet."""
        query = select(streams.c.agent, streams.c.id).where(streams.c.facts == b"", *chosen(roots, "", "", ""))
        if prefix:
            query = query.where(streams.c.id.startswith(prefix, autoescape=True))
        with self.reading() as connection:
            return [(row.agent, row.id) for row in connection.execute(query.order_by(streams.c.agent, streams.c.id))]

    def pieces_of_each(self, names: Sequence[settling.Name]) -> Iterator[tuple[settling.Name, settling.Pieces]]:
        """The files of streams, stream by stream."""
        for name in names:
            yield name, self.pieces_of(*name)

    def keep_facts(self, established: Sequence[tuple[settling.Name, bytes]]) -> None:
        """Keep the facts of streams that had none."""
        rows = [{"its_agent": name[0], "its_id": name[1], "found": facts} for name, facts in established]
        if rows:
            with self.writing() as connection:
                connection.execute(settling.ADD_FACTS, rows)

    def streams(
        self, roots: Sequence[str] | None, since: str = "", until: str = "", project: str = "", prefix: str = ""
    ) -> list[Summary]:
        """Streams that have a file at or below one of the paths, oldest first."""
        some_file = files.alias()
        there = stream_file(some_file.c.gone_at.is_(None), some_file).exists()
        query = select(streams, files.c.path, there.label("is_there")).join(files, files.c.id == streams.c.file_id)
        query = query.where(*chosen(roots, since, until, project))
        if prefix:
            query = query.where(streams.c.id.startswith(prefix, autoescape=True))
        with self.reading() as connection:
            rows = connection.execute(query.order_by(streams.c.began_at, streams.c.agent, streams.c.id)).all()
        return [summary(row) for row in rows]

    def count_streams(self, roots: Sequence[str] | None, since: str = "", until: str = "", project: str = "") -> int:
        """How many streams there are of those that `streams` would list."""
        query = select(func.count()).select_from(streams).where(*chosen(roots, since, until, project))
        with self.reading() as connection:
            return connection.execute(query).scalar_one()

    def find(self, prefix: str) -> list[Summary]:
        """Streams whose id begins so."""
        return self.streams(None, prefix=prefix)

    def tally(self, roots: Sequence[str]) -> list[Any]:
        """Lines read and skipped, versions and unknown records of each file at or below the paths."""
        columns = (
            files.c.path, files.c.source, files.c.agent, files.c.lines_read, files.c.lines_skipped, files.c.tail_line,
            files.c.tail_why, files.c.part, files.c.unknown, files.c.gone_at, files.c.mtime_ns,
        )  # fmt: skip
        with self.reading() as connection:
            return list(connection.execute(select(*columns).where(below(roots)).order_by(files.c.path)).all())

    def skipped(self, roots: Sequence[str]) -> list[tuple[str, int, str]]:
        """Every skip that is listed, of files that are there: path, line, why; line 0 is the whole file."""
        listed = select(files.c.path, skips.c.line, skips.c.why).join(files, files.c.id == skips.c.file_id)
        tails = select(files.c.path, files.c.tail_line, files.c.tail_why).where(files.c.tail_why.is_not(None))
        with self.reading() as connection:
            there = and_(below(roots), files.c.gone_at.is_(None))
            rows = [*connection.execute(listed.where(there)), *connection.execute(tails.where(there))]
        return sorted((path, line, why) for path, line, why in rows)


def known(row: Any) -> Known:
    place = Place(
        inode=row.inode,
        size=row.size,
        mtime_ns=row.mtime_ns,
        offset=row.offset,
        anchor=row.anchor,
        is_mid_line=row.is_mid_line,
    )
    return Known(id=row.id, source=row.source, version=row.version, place=place, is_gone=row.gone_at is not None)


def is_same(there: Any, before: Known) -> bool:
    """Whether the file's row is still what this reading began with."""
    place = before.place
    return bool(there.offset == place.offset and there.mtime_ns == place.mtime_ns and there.version == before.version)


def file_row(found: Scanned) -> dict[str, object]:
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


def keep_content(connection: Connection, file_id: int, found: Scanned, *, is_new: bool) -> None:
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


def summary(row: Any) -> Summary:
    return Summary(
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
