"""Work handed out to many processes by procrastinate, a queue in PostgreSQL.

The queue knows only that there is work: a tenant's name and a number. What the work is stands in the tenant's own
store, behind its row-level security, so that a job which is lost, or comes twice, does no harm. A job's lock keeps
two workers from the same part of a store; a worker that is killed loses its jobs once its heartbeat is missed.
"""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import procrastinate
import psycopg
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Status

from assay.errors import AssayError, StoreError
from assay.server.workers import LOOK_S, TROUBLE_S, Workshop

SCHEMA = "assayqueue"
"""Of the queue's own tables; no tenant can be called so."""
HEARTBEAT_S, STALLED_S = 3.0, 12.0
TELL, WORK = "tell", "work"


class WorkQueue:
    """Hands out the work of all tenants, and does some of it."""

    def __init__(self, address: str, workshop: Workshop) -> None:
        self.address = address
        self.workshop = workshop
        self.leaving = asyncio.Event()
        options = f"-c search_path={SCHEMA} -c client_encoding=UTF8"
        connector = procrastinate.PsycopgConnector(
            conninfo=address, min_size=1, max_size=4, kwargs={"options": options, "application_name": "assay work"}
        )
        self.app = procrastinate.App(connector=connector)
        self.work = self.app.task(name=WORK, queue=WORK)(self.do_work)
        self.tell = self.app.task(name=TELL, queue=WORK)(self.do_tell)

    # --- jobs -------------------------------------------------------------------------------------

    def do_work(self, tenant: str, part: int) -> None:
        """Read and judge what is due in one part of a tenant's store."""
        worker = self.workshop.open_worker(tenant)
        if worker:
            worker.work([part])

    def do_tell(self, tenant: str) -> None:
        """Tell what changed in a tenant's store."""
        worker = self.workshop.open_worker(tenant)
        if worker:
            self.workshop.tell(tenant, worker)

    # --- handing out ------------------------------------------------------------------------------

    async def hand_out(self) -> int:
        """Queue what is due, unless it is queued already; gives how much is due."""
        due = 0
        for tenant, parts, is_told in await asyncio.to_thread(self.find_due):
            due += len(parts)
            for part in parts:
                await self.defer(self.work, f"{tenant}/{part}", tenant=tenant, part=part)
            if is_told:
                await self.defer(self.tell, f"{tenant}/{TELL}", tenant=tenant)
        return due

    def find_due(self) -> list[tuple[str, list[int], bool]]:
        """Of each tenant the parts of its store that are due, and whether something is to be told."""
        found = []
        for tenant in self.workshop.list_tenants():
            worker = self.workshop.open_worker(tenant)
            if worker:
                pending = self.workshop.look(tenant, worker)
                is_told = self.workshop.is_to_be_told(tenant, worker)
                found.append((tenant, sorted(pending.buckets) if pending else [], is_told))
        return found

    async def defer(self, task: Any, lock: str, **given: Any) -> None:
        with suppress(AlreadyEnqueued):
            await task.configure(lock=lock, queueing_lock=lock).defer_async(**given)

    async def drop_stalled(self) -> None:
        """Take back the jobs of workers that are gone: what is left of them is due again, and queued anew."""
        for job in await self.app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_S):
            if job.id is not None:
                self.workshop.report(f"job {job.id} lost its worker; what it was about is handed out again")
                await self.app.job_manager.finish_job_by_id_async(job.id, Status.FAILED, delete_job=True)

    # --- running ----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Hand out and work until told to leave; once, until nothing is due."""
        prepare_schema(self.address)
        async with self.app.open_async():
            if self.workshop.settings.once:
                await self.run_once()
                return
            loop = asyncio.get_running_loop()
            for one in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(one, self.leaving.set)
            working = asyncio.create_task(self.run_worker(wait=True))
            try:
                await self.keep_handing_out(working)
            finally:
                working.cancel()
                with suppress(asyncio.CancelledError):
                    await working

    async def keep_handing_out(self, working: "asyncio.Task[None]") -> None:
        """Look for work from time to time, for as long as the worker works."""
        while not self.leaving.is_set() and not working.done():
            wait_s = LOOK_S
            try:
                await self.drop_stalled()
                await self.hand_out()
            except (AssayError, ConnectorException) as error:
                self.workshop.report(str(error))
                wait_s = TROUBLE_S
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self.leaving.wait()
        if working.done() and not self.leaving.is_set():
            working.result()

    async def run_once(self) -> None:
        """Work until nothing is due, then tell it all."""
        while await self.hand_out():
            await self.drop_stalled()
            await self.run_worker(wait=False)
            self.workshop.looks.clear()
        await self.run_worker(wait=False)
        for tenant in await asyncio.to_thread(self.workshop.list_tenants):
            await asyncio.to_thread(self.do_tell, tenant)

    async def run_worker(self, *, wait: bool) -> None:
        await self.app.run_worker_async(
            queues=[WORK],
            name="assay",
            concurrency=self.workshop.settings.jobs,
            wait=wait,
            fetch_job_polling_interval=LOOK_S,
            listen_notify=wait,
            delete_jobs="always",
            install_signal_handlers=False,
            update_heartbeat_interval=HEARTBEAT_S,
            stalled_worker_timeout=STALLED_S,
        )


def prepare_schema(address: str) -> None:
    """Have the queue's tables, in a schema of their own."""
    with explain_queue_errors(), psycopg.connect(address, autocommit=False) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('assay schemas', 0))")
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        connection.execute(f"SET LOCAL search_path TO {SCHEMA}")
        found = connection.execute(f"SELECT to_regclass('{SCHEMA}.procrastinate_jobs')").fetchone()
        if not found or found[0] is None:
            connection.execute(procrastinate.schema.SchemaManager.get_schema())


@contextmanager
def explain_queue_errors() -> Iterator[None]:
    """Say what to do where the queue can't be had."""
    try:
        yield
    except psycopg.Error as error:
        said = str(error).strip().partition("\n")[0]
        told = f"the queue can't be used ({said}); see that the server runs, and that you may CREATE in its database"
        raise StoreError(told) from None


def run_queue(address: str, workshop: Workshop) -> None:
    """Work on what the queue hands out until somebody stops it."""
    asyncio.run(WorkQueue(address, workshop).run())
