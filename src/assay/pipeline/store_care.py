"""Looking after a store: moving it to another place, backing it up, and forgetting old words on purpose."""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from assay.errors import BadInput
from assay.files import name_finished
from assay.pipeline.pool import Progress
from assay.pipeline.retention import forget_stream, format_time
from assay.pipeline.shipped import forget_shipped
from assay.stores import FILE_URL, Store, StreamFiles, TableRows, open_store

LOGS = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a store; it belongs to that store alone."""


def copy_store(source: Store, target: str, progress: Progress) -> int:
    """Copy all that a store holds to one that is not there yet, or empty; gives how many rows that were."""
    figures = source.measure()
    total = figures.files + figures.turns + figures.streams + figures.segments
    with write_beside(target) as url, closing(open_store(url)) as copy:
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
def write_beside(target: str) -> Iterator[str]:
    """Where to write a copy: for a file a new name beside it, which becomes its own at the end, or is removed.

    So a copy that was broken off is never taken for one.
    """
    if not target.startswith(FILE_URL):
        yield target
        return
    path = target.removeprefix(FILE_URL)
    refuse_taken(path)
    beside = f"{path}.{secrets.token_hex(4)}.part"
    try:
        yield f"{FILE_URL}{beside}"
        name_finished(Path(beside), Path(path))
    finally:
        for ending in ("", *LOGS):
            Path(f"{beside}{ending}").unlink(missing_ok=True)


def refuse_taken(path: str) -> None:
    """Refuse a place where something of a store is: SQLite would play the log of an old one into a new one."""
    if os.path.lexists(path):
        raise BadInput(f"there is a store at {path} already; give a place that is empty")
    if not os.path.isdir(os.path.dirname(path)):
        raise BadInput(f"{path}: there is no folder {os.path.dirname(path)}; make it first")
    for log in (f"{path}{ending}" for ending in LOGS):
        if os.path.lexists(log):
            raise BadInput(f"{log} belongs to a store that was here; move it to where that store is now")


def forget_before(store: Store, before: datetime) -> int:
    """Delete the words of every stream that ended before a time, whosever they are; gives how many that were."""
    forgotten = forget_streams(store, [stream for stream, _ in store.transcripts.list_ended(format_time(before))])
    forgotten += forget_shipped(store, store.shipped.list_spoken(format_time(before)))
    store.answers.drop_answers(format_time(before))
    return forgotten


def forget_files(store: Store, paths: Sequence[str]) -> int:
    """Delete the words that were read from files; gives how many streams that were."""
    names = [(one.agent, one.id) for one in store.transcripts.list_streams(paths)] if paths else []
    return forget_streams(store, store.transcripts.list_stream_files(names))


def forget_streams(store: Store, streams: Sequence[StreamFiles]) -> int:
    """Delete all words of some streams, and of whatever else tells of the same conversations."""
    twins = store.transcripts.list_stream_files(store.transcripts.list_twins([(one.agent, one.id) for one in streams]))
    every = {(one.agent, one.id): one for one in (*twins, *streams)}
    return sum(forget_stream(store, one) for one in every.values())
