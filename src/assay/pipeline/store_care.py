"""Looking after a store: moving it to another place, backing it up, and forgetting old words on purpose."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from assay.errors import BadInput
from assay.files import name_finished
from assay.pipeline.pool import Progress
from assay.pipeline.privacy import silence_pieces
from assay.pipeline.retention import format_time
from assay.stores import Store, StreamFiles, TableRows, has_store, open_store

LOCAL = "sqlite:///"


def copy_store(source: Store, target: str, progress: Progress) -> int:
    """Copy all that a store holds to one that is not there yet; gives how many rows that were.

    A file is made beside its name and named last, so that a copy that was broken off is never taken for one.
    """
    if has_store(target):
        raise BadInput(f"there is a store at {target.removeprefix(LOCAL)} already; give a place that is empty")
    figures = source.measure()
    total = figures.files + figures.turns + figures.streams + figures.segments
    with closing_or_removing(target) as url, closing(open_store(url)) as copy:
        return copy.load_tables(count_rows(source.dump_tables(), total, progress))


def count_rows(tables: Iterator[TableRows], total: int, progress: Progress) -> Iterator[TableRows]:
    """Tables whose rows are counted as they pass."""
    done = 0

    def watch(one: TableRows) -> Iterator[Sequence[tuple[object, ...]]]:
        nonlocal done
        for rows in one.portions:
            yield rows
            done += len(rows)
            progress(min(done, total), total)

    for one in tables:
        yield TableRows(name=one.name, columns=one.columns, portions=watch(one))


@contextmanager
def closing_or_removing(target: str) -> Iterator[str]:
    """Where to write a copy: for a file a name beside it, which becomes its own at the end, or is removed."""
    if not target.startswith(LOCAL):
        yield target
        return
    path = target.removeprefix(LOCAL)
    if not os.path.isdir(os.path.dirname(path)):
        raise BadInput(f"{path}: there is no folder {os.path.dirname(path)}; make it first")
    beside = f"{path}.part"
    try:
        yield f"{LOCAL}{beside}"
        name_finished(Path(beside), Path(path))
    finally:
        for ending in ("", "-wal", "-shm"):
            if os.path.exists(f"{beside}{ending}"):
                os.unlink(f"{beside}{ending}")


def forget_before(store: Store, before: datetime) -> int:
    """Delete the words of every stream that ended before a time, whosever they are; gives how many that were."""
    forgotten = forget_streams(store, [stream for stream, _ in store.transcripts.list_ended(format_time(before))])
    store.answers.drop_answers(format_time(before))
    return forgotten


def forget_files(store: Store, paths: Sequence[str]) -> int:
    """Delete the words that were read from files; gives how many streams that were."""
    names = [(one.agent, one.id) for one in store.transcripts.list_streams(paths)] if paths else []
    return forget_streams(store, store.transcripts.list_stream_files(names))


def forget_streams(store: Store, streams: Sequence[StreamFiles]) -> int:
    """Delete all words of some streams."""
    forgotten = 0
    for stream in streams:
        silent = silence_pieces(store.transcripts.load_pieces([stream])[0], lambda _: True)
        forgotten += silent is not None and store.transcripts.forget_words(stream, silent)
    return forgotten
