"""All that the parts of a server share, put together once and taken apart in order."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from assay.errors import AssayError
from assay.pipeline.retention import forget_expired, note_deletion
from assay.pipeline.scoring_run import Selection
from assay.pipeline.store_care import forget_before
from assay.pipeline.working import StoreWorker
from assay.server.access import Access, Visitor
from assay.server.figures import Figures
from assay.server.qualities import QualityShelf
from assay.server.reading import ReportReader
from assay.server.receiver import Receiver
from assay.server.replies import Refusal
from assay.server.settings import ServerSettings
from assay.server.tenants import HOME, TenantStores
from assay.server.turns import TurnsReader
from assay.stores import Store, ToldChoice, find_tenant, list_tenants

USES_S, RETENTION_S, WATCH_S = 30.0, 3_600.0, 10.0
MANY = 5_000
"""Sessions from which on a report takes longer than somebody wants to wait."""


class WatchedWork(Struct):
    """What waits for workers, as it was when somebody last looked."""

    pending: int = 0
    failed: int = 0
    since: float = 0.0
    """Since when something has waited without a pause; 0 where nothing does."""


class Hall:
    """The parts of one server."""

    def __init__(self, settings: ServerSettings, report: Callable[[str], None]) -> None:
        self.settings = settings
        self.report = report
        """Called with what went wrong in the background."""
        self.figures = Figures()
        self.stores = TenantStores(settings.store)
        self.access = Access(settings, self.stores)
        self.receiver = Receiver(settings, self.stores, self.figures, report)
        self.reports = ReportReader(settings.config, settings.limits, has_workers=settings.has_workers)
        self.turns = TurnsReader(settings.config)
        self.qualities = QualityShelf()
        self.threads = ThreadPoolExecutor(settings.limits.readers * 4, thread_name_prefix="assay-reader")
        """For answers that take long: what comes in never waits for these."""
        self.leaving = asyncio.Event()
        self.figures.gauges = {
            "assay_waiting_records": lambda: float(self.receiver.writer.count_waiting()),
            "assay_held_bytes": lambda: float(self.receiver.bytes.held),
            "assay_open_stores": lambda: float(len(self.stores.opened)),
        }
        self.work = WatchedWork()
        if settings.has_workers:
            self.figures.gauges |= {
                "assay_pending_conversations": lambda: float(self.work.pending),
                "assay_failed_conversations": lambda: float(self.work.failed),
                "assay_pending_seconds": lambda: time.monotonic() - self.work.since if self.work.since else 0.0,
            }

    def open_store(self, visitor: Visitor) -> Store:
        """The store of a visitor's own tenant."""
        store = self.stores.find(visitor.tenant)
        if store is None:
            raise Refusal(401, "this key opens nothing any more")
        return store

    def name_tenant(self, visitor: Visitor) -> str:
        """What a visitor's tenant is called in keys."""
        return visitor.tenant or find_tenant(self.settings.store)

    @asynccontextmanager
    async def live(self, _: object = None) -> AsyncIterator[None]:
        """Be there for requests; at the end all that was acknowledged is stored, and the stores are closed."""
        chores = [asyncio.create_task(self.save_uses()), asyncio.create_task(self.keep_retention())]
        chores.append(asyncio.create_task(self.do_chore(self.look_ahead)))
        if self.settings.has_workers:
            chores.append(asyncio.create_task(self.keep_watching()))
        try:
            yield
        finally:
            self.leaving.set()
            for chore in chores:
                chore.cancel()
            await asyncio.gather(*chores, return_exceptions=True)
            await self.receiver.writer.close()
            self.threads.shutdown(cancel_futures=True)
            await asyncio.to_thread(self.reports.close)
            await asyncio.to_thread(self.qualities.close)
            self.access.saved_at = 0
            await asyncio.to_thread(self.close)

    def close(self) -> None:
        try:
            self.access.save_uses(self.access.take_uses(now=USES_S * 2))
        except AssayError as error:
            self.report(str(error))
        self.stores.close()

    async def save_uses(self) -> None:
        """Note from time to time when keys were last used."""
        while True:
            await asyncio.sleep(USES_S)
            if uses := self.access.take_uses():
                await self.do_chore(lambda uses=uses: self.access.save_uses(uses))  # type: ignore[misc]

    async def keep_retention(self) -> None:
        """Delete now and then what no tenant keeps any longer."""
        while True:
            await self.do_chore(self.forget_all)
            await asyncio.sleep(RETENTION_S)

    async def keep_watching(self) -> None:
        """Look now and then how much waits for workers."""
        while True:
            await self.do_chore(self.watch_work)
            await asyncio.sleep(WATCH_S)

    def look_ahead(self) -> None:
        """Make the report of a large store before anybody asks for it: its first one takes seconds."""
        store = self.stores.find(HOME)
        if store is not None and any(store.told.list_bodies(ToldChoice(), MANY, 1)):
            with suppress(Refusal):  # nothing is told yet: whoever asks is told so
                self.reports.read_report(HOME, store, Selection())

    def watch_work(self) -> None:
        """Count what waits in all tenants' stores."""
        own, found = find_tenant(self.settings.store), []
        for tenant in [HOME, *(one for one in list_tenants(self.settings.store) if one != own)]:
            store = self.stores.find(tenant)
            if store:
                found.append(StoreWorker(store, self.settings.config).find_pending())
        self.work.pending, self.work.failed = sum(one.pending for one in found), sum(one.failed for one in found)
        self.work.since = (self.work.since or time.monotonic()) if self.work.pending else 0.0

    async def do_chore(self, chore: Callable[[], None]) -> None:
        try:
            await asyncio.to_thread(chore)
        except AssayError as error:
            self.report(str(error))

    def forget_all(self) -> None:
        """Delete the words that tenants' retention has passed, and note it in each one's audit log."""
        if not any(one.retention_days is not None for one in self.settings.own_tenants.values()):
            return
        for tenant in [HOME, *list_tenants(self.settings.store)]:
            store = self.stores.find(tenant)
            if store:
                self.forget_words(tenant, store)

    def forget_words(self, tenant: str, store: Store) -> None:
        """Delete what a tenant's retention has passed."""
        tenants, now = self.settings.own_tenants, datetime.now(UTC)
        forget_expired(store, tenants, now)
        own = tenants.get(tenant)
        if own and own.retention_days is not None:
            gone = forget_before(store, now - timedelta(days=own.retention_days))
            note_deletion(store, "retention", f"what ended more than {own.retention_days:g} days ago", gone)
