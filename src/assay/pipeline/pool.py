"""The one pool: work spread over processes, a bounded number of results waiting."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar

from assay.errors import WorkerLost

T = TypeVar("T")
R = TypeVar("R")

WAITING = 2
"""Tasks per process that are handed out ahead."""


def cores() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each(items: Iterable[T], work: Callable[[T], R], at_once: int) -> Iterator[R]:
    """The result of `work` for every item, in the order in which they are done."""
    if at_once <= 1:
        yield from map(work, items)
        return
    # Forking shares what is imported already; elsewhere than on Linux it is not safe.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    left = iter(items)
    pool = ProcessPoolExecutor(at_once, mp_context=context, initializer=live_with_parent)
    try:
        running: set[Future[R]] = {pool.submit(work, item) for item in islice(left, at_once * WAITING)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(work, item) for item in islice(left, len(done))}
            for future in done:
                yield future.result()
    except BrokenProcessPool:
        raise WorkerLost(
            "a reading process was killed, perhaps for want of memory; "
            "what was read is kept, run again, with --jobs 1 if it happens again"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def live_with_parent() -> None:
    """Leave Ctrl-C to the parent, and go when it goes, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=leave_after, args=(parent,), daemon=True).start()


def leave_after(parent: multiprocessing.process.BaseProcess) -> None:
    """End this process once its parent is gone."""
    parent.join()
    os._exit(1)
