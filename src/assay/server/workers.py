"""Workers: what came in is read, judged and told, for every tenant, by this process or by many.

A store in a file has one, which the server starts beside itself. In PostgreSQL a queue hands the work out
(`work_queue`). Either way a worker may be killed at any moment: what there is to do stands in the stores.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from threading import Event, Thread

from msgspec import Struct

from assay.config import Config
from assay.errors import AssayError
from assay.pipeline.working import PendingWork, StoreWorker
from assay.server.tenants import HOME, TenantStores
from assay.stores import find_tenant, list_tenants

LOOK_S = 1.0
"""How often a store is asked whether anything changed."""
DUE_S = 10.0
"""How often it is looked at anyway: time alone makes things due."""
TELL_S, SHIPPED_S = 30.0, 5.0
"""How often it is told anew what time alone may have changed, and what other machines shipped."""
TROUBLE_S = 5.0
RESTART_S = (0.5, 30.0)
STOP_S = 15.0


class WorkSettings(Struct, frozen=True, kw_only=True):
    """For whom a worker works, and how."""

    store: str
    config: Config = Config()
    tenants: tuple[str, ...] = ()
    """Only these; without any, all there are."""
    jobs: int = 1
    asks: bool = False
    once: bool = False
    """Until nothing is due."""


class StoreLook(Struct):
    """When a tenant's store was last looked at, and what it was like."""

    state: str = ""
    looked_at: float = float("-inf")
    told_at: float = float("-inf")
    told_state: str = ""


class Workshop:
    """The stores of those for whom this process works."""

    def __init__(self, settings: WorkSettings, report: Callable[[str], None]) -> None:
        self.settings = settings
        self.report = report
        self.stores = TenantStores(settings.store)
        self.looks: dict[str, StoreLook] = {}

    def list_tenants(self) -> list[str]:
        """Everybody there is work for, as their stores are named; whose the given store is stands first."""
        own = find_tenant(self.settings.store)
        if self.settings.tenants:
            return [HOME if one == own else one for one in self.settings.tenants]
        return [HOME, *(one for one in list_tenants(self.settings.store) if one != own)]

    def open_worker(self, tenant: str) -> StoreWorker | None:
        """Who works on a tenant's store, if there is one."""
        store = self.stores.find(tenant)
        if store is None:
            return None
        return StoreWorker(store, self.settings.config, asks=self.settings.asks, report=self.report)

    def look(self, tenant: str, worker: StoreWorker) -> PendingWork | None:
        """What is due for a tenant; nothing where nothing changed since the last look."""
        seen, now, state = self.looks.setdefault(tenant, StoreLook()), time.monotonic(), worker.store.read_state()
        if state == seen.state and now - seen.looked_at < DUE_S:
            return None
        seen.state, seen.looked_at = state, now
        return worker.find_pending()

    def is_to_be_told(self, tenant: str, worker: StoreWorker) -> bool:
        """Whether something changed that is told, or may have by time alone."""
        seen = self.looks.setdefault(tenant, StoreLook())
        age = time.monotonic() - seen.told_at
        if worker.store.told.has_changes() or age > TELL_S:
            return True
        return age > SHIPPED_S and seen.told_state != worker.store.read_state()

    def tell(self, tenant: str, worker: StoreWorker) -> None:
        worker.tell()
        seen = self.looks.setdefault(tenant, StoreLook())
        seen.told_at, seen.told_state = time.monotonic(), worker.store.read_state()

    def close(self) -> None:
        self.stores.close()


def work_here(workshop: Workshop, leaving: Event) -> None:
    """Work in this process alone, until told to leave, or until nothing is due."""
    while not leaving.is_set():
        try:
            done = [work_on(workshop, one) for one in workshop.list_tenants() if not leaving.is_set()]
        except AssayError as error:
            if workshop.settings.once:
                raise
            workshop.report(str(error))
            leaving.wait(TROUBLE_S)
            continue
        if not any(done):
            if workshop.settings.once:
                return
            leaving.wait(LOOK_S)


def work_on(workshop: Workshop, tenant: str) -> bool:
    """Do what is due for a tenant; whether anything was."""
    worker = workshop.open_worker(tenant)
    if worker is None:
        return False
    found = workshop.look(tenant, worker)
    is_due = found is not None and found.pending > 0
    if is_due:
        worker.work()
        workshop.looks[tenant].state = ""  # look again: something may have come in meanwhile
    if is_due or workshop.is_to_be_told(tenant, worker):
        workshop.tell(tenant, worker)
    return is_due


# --- the one that a server starts -----------------------------------------------------------------


class WorkerProcess:
    """A worker beside a server: started again when it ends, and gone when the server is, however that went."""

    def __init__(self, words: Sequence[str], report: Callable[[str], None]) -> None:
        self.command = [sys.executable, "-m", "assay", "work", *words, "--with-parent"]
        self.report = report
        self.leaving = Event()
        self.running: subprocess.Popen[bytes] | None = None
        self.thread = Thread(target=self.keep_running, name="assay-worker", daemon=True)

    def start(self) -> None:
        self.thread.start()

    def keep_running(self) -> None:
        """Start it, and start it again, later each time that it did not last."""
        wait_s = RESTART_S[0]
        while not self.leaving.is_set():
            began = time.monotonic()
            self.running = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)  # noqa: S603
            code = self.running.wait()
            if self.leaving.is_set():
                return
            wait_s = RESTART_S[0] if time.monotonic() - began > RESTART_S[1] else min(wait_s * 2, RESTART_S[1])
            self.report(f"the worker ended with {code}; it is started again, what it had begun is tried alone")
            self.leaving.wait(wait_s)

    def stop(self) -> None:
        """Let it end what it is at, for a while."""
        self.leaving.set()
        if self.running is not None:
            self.running.terminate()
            try:
                self.running.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.running.kill()
                self.running.wait()
        self.thread.join(STOP_S)


def leave_with_parent(leave: Callable[[], None]) -> None:
    """Leave when whoever started this process is gone: its end of our standard input closes then."""

    def watch() -> None:
        while os.read(sys.stdin.fileno(), 1_000):
            pass
        leave()

    Thread(target=watch, name="assay-parent", daemon=True).start()
