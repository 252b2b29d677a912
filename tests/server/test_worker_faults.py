"""Workers are killed, and their database is: nothing is lost, and next to nothing is asked twice."""

import os
import random
import sys
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from assay.config import Config
from assay.errors import StoreError
from assay.pipeline.inputs import TELEMETRY_ROOT, FoundFiles
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import scan
from assay.pipeline.score import open_run, score_run
from assay.pipeline.working import StoreWorker
from assay.reports.json import encode_json
from assay.stores import Store, open_store
from assay.types import TelemetryRecord
from tests.conftest import run
from tests.make_report import hold_report
from tests.postgres import PostgresServer, start_server
from tests.server.serving import build_logs, run_server
from tests.server.test_faults import start_serve_at
from tests.server.test_workers import start_worker, start_workers, wait_until
from tests.telemetry.make_telemetry import make_edit_run

pytestmark = pytest.mark.long
SETTINGS = Config(as_of="2027-06-01", timezone="UTC")


def report(store: Store) -> bytes:
    with open_run(store, SETTINGS, jobs=1) as run:
        return encode_json(hold_report(score_run(run, remembers=False).report))


def report_from_nothing(records: list[TelemetryRecord], folder: Path) -> bytes:
    with closing(open_store(f"sqlite:///{folder / 'nothing.db'}")) as fresh:
        fresh.telemetry.save_records(records)
        scan(fresh, FoundFiles(roots=(TELEMETRY_ROOT,)), 1, ignore_progress)
        return report(fresh)


def is_done(store: Store) -> bool:
    """Whether nothing is due, and nobody is at it."""
    try:
        found = StoreWorker(store, Config()).find_pending()
    except StoreError:
        return False
    return found.pending == found.failed == found.held == 0 and not store.work.load_waits()


def save_patiently(store: Store, records: list[TelemetryRecord]) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            store.telemetry.save_records(records)
            return
        except StoreError:
            assert time.monotonic() < until
            time.sleep(0.3)


def test_two_servers_and_three_workers_that_are_killed_end_where_a_score_from_nothing_does(tmp_path: Path):
    """Batches come twice and in any order, workers and the database are killed meanwhile."""
    server, dice = PostgresServer(), random.Random(7)
    command = [sys.executable, "-m", "assay", "work", "--store", server.url(), "--jobs", "2"]
    try:
        url = server.url()
        records = [record for n in range(24) for record in make_edit_run(f"c-{n}").records]
        shuffled = dice.sample(records, len(records))
        batches = [shuffled[n : n + 40] for n in range(0, len(shuffled), 40)]
        with (
            closing(open_store(url)) as store,
            run_server(url, has_workers=True) as one,
            run_server(url, has_workers=True) as other,
            start_workers(3, url, tmp_path, "--jobs", "2") as workers,
        ):
            for n, batch in enumerate(batches):
                save_patiently(store, [*batch, *batches[n - 1][:10]])
                for where in (one, other):
                    sent = httpx.post(f"{where.address}/v1/logs", json=build_logs("user_prompt", session=f"h-{n}"))
                    assert sent.status_code in (200, 503)
                if n in (3, 7, 11):
                    killed = workers[n % 3]
                    killed.kill()
                    killed.wait()
                    workers[n % 3] = start_worker(command, tmp_path, n)
                if n == 9:
                    server.stop("immediate")
                    server.start()
                time.sleep(0.3)
            wait_until(lambda: is_done(store), 150)
            assert store.check() == []
            known = [
                record
                for conversation in store.telemetry.list_conversations()
                for record in store.telemetry.load_records(conversation.agent, conversation.id)
            ]
            assert {record.id for record in records} <= {record.id for record in known}
            assert report(store) == report_from_nothing(known, tmp_path)
    finally:
        server.close()


def test_work_that_waited_when_the_server_was_killed_is_done_by_whoever_works_next(tmp_path: Path):
    """On PostgreSQL: nothing of what there is to do lies in the server."""
    tenant = f"waited-{os.getpid()}"
    url, names = start_server().url(tenant), [f"w-{n}" for n in range(6)]
    process, address = start_serve_at(url, tmp_path)
    try:
        for name in names:
            sent = httpx.post(f"{address}/v1/logs", json=build_logs("user_prompt", "api_request", session=name))
            assert sent.status_code == 200
        assert httpx.get(f"{address}/api/v1/live").json()["pending"] == len(names)
    finally:
        process.kill()
        process.communicate()
    assert run("work", "--once", "--store", url, "--tenant", tenant).code == 0
    with closing(open_store(url)) as store:
        assert is_done(store)
        told = {one.segment.stream.partition("@")[0] for one in store.sessions.list_segments(None)}
    assert told == set(names)
