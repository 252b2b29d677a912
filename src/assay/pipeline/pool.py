"""The one pool: work spread over processes, a bounded number of results waiting."""

import gc
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

Progress = Callable[[int, int], None]
"""Called with the bytes of transcripts done and the bytes there are."""

REMOTE_THREAD = "fsspecIO"
WAITING = 2
"""Tasks per process that are handed out ahead."""


def ignore_progress(_done: int, _total: int) -> None:
    """Take progress that nobody watches."""


def count_cores() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Pool:
    """Processes that are started with the first work worth it and serve until the pool is closed.

    They are forked where that is safe, which shares what is imported already: so they must start
    before any thread does, and later work only uses them if they are there.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.running: ProcessPoolExecutor | None = None

    @property
    def local(self) -> "Pool":
        """Who reads what lies on this machine alone."""
        return self

    def start(self, at_once: int) -> None:
        """Start processes, unless one is enough."""
        if min(at_once, self.most) > 1 and self.running is None:
            context = multiprocessing.get_context("fork" if sys.platform == "linux" and not has_remote() else "spawn")
            self.running = ProcessPoolExecutor(
                min(at_once, self.most), mp_context=context, initializer=live_with_parent
            )

    def close(self) -> None:
        """Let the processes go; what they were not yet given is dropped."""
        if self.running is not None:
            self.running.shutdown(wait=True, cancel_futures=True)
            self.running = None

    def each(self, items: Iterable[T], work: Callable[[T], R]) -> Iterator[R]:
        """The result of `work` for every item, in the order in which they are done."""
        if self.running is None:
            yield from map(work, items)
            return
        left = iter(items)
        try:
            doing: set[Future[R]] = {self.running.submit(work, item) for item in islice(left, self.most * WAITING)}
            while doing:
                done, doing = wait(doing, return_when=FIRST_COMPLETED)
                doing |= {self.running.submit(work, item) for item in islice(left, len(done))}
                for future in done:
                    yield future.result()
        except BrokenProcessPool:
            raise WorkerLost(
                "a reading process was killed, perhaps for want of memory; "
                "what was read is kept, run again, with --jobs 1 if it happens again"
            ) from None


def has_remote() -> bool:
    """Whether threads run that speak with object stores or a cluster: a fork would wait for them forever."""
    return "ray" in sys.modules or any(one.name == REMOTE_THREAD for one in threading.enumerate())


def live_with_parent() -> None:
    """Leave Ctrl-C to the parent, and go when it goes, however it went."""
    gc.freeze()  # what the parent has made stays: no child need look through it for garbage
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=exit_after, args=(parent,), daemon=True).start()


def exit_after(parent: multiprocessing.process.BaseProcess) -> None:
    """End this process once its parent is gone."""
    parent.join()
    os._exit(1)
