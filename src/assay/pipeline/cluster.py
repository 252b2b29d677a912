"""The pool on a Ray cluster: the same tasks on many machines; results come back to the one who keeps them.

What lies on this machine's disk is read here; what lies at an address is read, and every stream judged, wherever there
is a free core. A task that was lost with its node is given out again. Models are asked by nobody but the driver.
"""

import importlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from itertools import islice
from typing import Any, TypeVar

from assay import __version__
from assay.errors import AssayError, BadInput, WorkerLost
from assay.pipeline.pool import WAITING, Pool

T = TypeVar("T")
R = TypeVar("R")
PROCESSES, ENGINE = "processes", "ray"
TASK_MEMORY = 512 << 20
"""Set aside on a node for each task: a portion of files, or what one task takes of an archive."""
MOST_RETRIES = 10
LOOK_AGAIN_S = 1.0
"""How often it is looked whether nodes came or went."""


class RayPool(Pool):
    """Tasks on a cluster, from the first work worth it until the pool is closed."""

    def __init__(self, most: int, engine: str) -> None:
        super().__init__(most)
        self.address = engine if engine != ENGINE else None
        self.ray: Any = None
        self.here = Pool(most)

    @property
    def local(self) -> Pool:
        """Who reads what lies on this machine alone."""
        return self.here

    def start(self, at_once: int) -> None:
        """Join the cluster."""
        if at_once > 0 and self.ray is None:
            self.ray = join_cluster(self.address)

    def close(self) -> None:
        """Leave the cluster; what it was still doing is dropped."""
        self.here.close()
        if self.ray is not None:
            self.ray.shutdown()
            self.ray = None

    def each(self, items: Iterable[T], work: Callable[[T], R]) -> Iterator[R]:
        """The result of `work` for every item, in the order in which they are done."""
        if self.ray is None:
            yield from map(work, items)
            return
        try:
            with redirect_stdout(sys.stderr):  # Ray prints there what becomes of nodes
                yield from self.give_out(iter(items), work)
        except self.ray.exceptions.RayError as error:
            raise explain_loss(error) from None

    def give_out(self, left: Iterator[T], work: Callable[[T], R]) -> Iterator[R]:
        """Tasks of the cluster, some for each core ahead, however many cores there are by now."""
        task = self.ray.remote(num_cpus=1, memory=TASK_MEMORY, max_retries=MOST_RETRIES)(run_task)
        doing: dict[Any, None] = {}
        most, looked = 0, 0.0
        while True:
            if time.monotonic() - looked > LOOK_AGAIN_S:
                most, looked = count_cluster_cores(self.ray) * WAITING, time.monotonic()
            for item in islice(left, most - len(doing) if most > len(doing) else 0):
                doing[task.remote(work, item, __version__)] = None
            if not doing:
                return
            done, _ = self.ray.wait(list(doing), num_returns=1, timeout=LOOK_AGAIN_S)
            for one in done:
                del doing[one]
                yield self.ray.get(one)


def open_pool(jobs: int, engine: str) -> Pool:
    """The pool of an engine: processes of this machine, or a cluster."""
    return Pool(jobs) if engine == PROCESSES else RayPool(jobs, engine)


def run_task(work: Callable[[T], R], item: T, version: str) -> R:
    """Do one piece of work, on a node."""
    if version != __version__:
        raise BadInput(f"a node has assay {__version__}, and this machine {version}; install the same on all")
    return work(item)


def count_cluster_cores(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def join_cluster(address: str | None) -> Any:
    """Connect to the cluster at an address; without one, to that of `RAY_ADDRESS`, or this machine's, or a new one."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # it warns of that otherwise
    try:
        ray = importlib.import_module("ray")
    except ImportError:
        raise BadInput("--engine ray needs more than is installed; pip install 'assay[ray]'") from None
    try:
        more = {} if address else {"include_dashboard": False}  # a cluster that is there has made up its mind
        ray.init(address=address, log_to_driver=False, logging_level="CRITICAL", **more)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = address or os.environ.get("RAY_ADDRESS") or "this machine"
        said = str(error).partition("\n")[0][:160]
        raise BadInput(f"no Ray cluster at {where}: {said}; `ray start --head` begins one") from None
    return ray


def explain_loss(error: BaseException) -> BaseException:
    """Why a task came to nothing, as ours where a person can mend it."""
    cause = getattr(error, "cause", None)
    said = f"{cause or error}"
    if isinstance(cause, AssayError):
        return cause
    if "No module named 'assay" in said or "failed to import" in said:
        return BadInput(
            f"a node of the cluster has no assay {__version__}; install it on every node, with the same extras as here"
        )
    if cause is not None:
        return error
    return WorkerLost(
        "the cluster lost a task again and again, perhaps for want of memory; what was done is kept, run again"
    )
