"""Records on their way into the stores: what many requests bring is kept in one transaction, and answered after it."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct

from assay.errors import AssayError
from assay.server.replies import Refusal
from assay.server.settings import Limits
from assay.stores import Store
from assay.types.telemetry import TelemetryRecord

Records = tuple[TelemetryRecord, ...]
AT_ONCE = 5_000
"""Records of one transaction, about."""
AT_ONCE_STORES = 8
"""Stores that are written to at the same time."""
BUSY = "the store can't keep up; try again"
BROKEN = "the store can't be written at the moment; try again"


class WaitingBatch(Struct, frozen=True):
    """Records of one request, and who waits for them."""

    records: Records
    saved: asyncio.Future[int]


class Lane:
    """The way into one tenant's store: one transaction at a time, and a bounded number of records before it."""

    def __init__(self, store: Store, writer: "Writer") -> None:
        self.store = store
        self.limits = writer.limits
        self.threads = writer.threads
        self.report = writer.report
        self.waiting: list[WaitingBatch] = []
        self.records = 0
        self.working: asyncio.Task[None] | None = None

    async def save(self, records: Records) -> int:
        """Have records in the store, on the disk; gives how many of the transaction were new."""
        if self.records and self.records + len(records) > self.limits.waiting_records:
            raise Refusal(503, BUSY, retry_s=2)
        batch = WaitingBatch(records, asyncio.get_running_loop().create_future())
        self.waiting.append(batch)
        self.records += len(records)
        if self.working is None:
            self.working = asyncio.create_task(self.work())
        try:
            async with asyncio.timeout(self.limits.save_s):
                return await asyncio.shield(batch.saved)
        except TimeoutError:
            raise Refusal(503, BUSY, retry_s=5) from None
        except AssayError as error:
            self.report(str(error))
            raise Refusal(503, BROKEN, retry_s=5) from None

    async def work(self) -> None:
        """Save what waits until nothing does."""
        try:
            while some := self.take_some():
                await self.save_some(some)
                self.records -= sum(len(one.records) for one in some)
        finally:
            self.working = None

    def take_some(self) -> list[WaitingBatch]:
        """What goes into the next transaction."""
        some: list[WaitingBatch] = []
        while self.waiting and sum(len(one.records) for one in some) < AT_ONCE:
            some.append(self.waiting.pop(0))
        return some

    async def save_some(self, some: Sequence[WaitingBatch]) -> None:
        """Save batches together; where that fails, each by itself, so that nobody pays for another's."""
        loop = asyncio.get_running_loop()
        try:
            new = await loop.run_in_executor(self.threads, self.store_records, some)
            for one in some:
                settle(one, new)
        except AssayError as error:
            if len(some) > 1:
                for one in some:
                    await self.save_some([one])
            else:
                settle(some[0], error)
        finally:
            for one in some:
                settle(one, AssayError(BROKEN))

    async def close(self) -> None:
        """Wait for what is on its way."""
        if self.working:
            await self.working

    def store_records(self, some: Sequence[WaitingBatch]) -> int:
        new = self.store.telemetry.save_records([record for one in some for record in one.records])
        self.store.flush()
        return new


def settle(batch: WaitingBatch, result: int | AssayError) -> None:
    """Tell who waits what became of their records, if nobody did yet."""
    if batch.saved.done():
        return
    if isinstance(result, AssayError):
        batch.saved.set_exception(result)
        batch.saved.exception()  # whoever waited may have left
    else:
        batch.saved.set_result(result)


class Writer:
    """The lanes of all tenants."""

    def __init__(self, limits: Limits, report: Callable[[str], None]) -> None:
        self.limits = limits
        self.report = report
        self.threads = ThreadPoolExecutor(AT_ONCE_STORES, thread_name_prefix="assay-writer")
        self.lanes: dict[str, Lane] = {}

    async def save(self, tenant: str, store: Store, records: Records) -> int:
        """Have records of a tenant in its store."""
        lane = self.lanes.get(tenant)
        if lane is None or (lane.store is not store and lane.working is None):
            lane = self.lanes[tenant] = Lane(store, self)
        return await lane.save(records)

    def count_waiting(self) -> int:
        return sum(lane.records for lane in self.lanes.values())

    async def close(self) -> None:
        """Wait for all that was taken to be stored."""
        for lane in [*self.lanes.values()]:
            await lane.close()
        self.threads.shutdown()
