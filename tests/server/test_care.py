"""A store that is served: backed up while telemetry comes in, restored id by id, and brought up to date."""

import time
from collections.abc import Callable
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from threading import Event, Thread

import httpx
import pytest

from assay.pipeline.pool import ignore_progress
from assay.pipeline.store_care import copy_store
from assay.stores import open_store, to_tenant_url
from assay.telemetry.otlp import decode_body
from tests.postgres import start_server
from tests.server.serving import RunningServer, build_logs, place_store, run_server, tighten
from tests.stores.old_stores import build_old_store, fill_store

EVENTS = ("user_prompt", "api_request", "tool_result")
MANY = tighten(key_rate=1e9, key_burst=1e9)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """Gives the URL of a store that is not there yet, of either kind."""
    mark = blake2b(str(tmp_path).encode(), digest_size=5).hexdigest()
    if request.param == "sqlite":
        return lambda name: f"sqlite:///{tmp_path / name}.db"
    return lambda name: start_server().url(f"{name}-{mark}")


class SendingAgent:
    """Sends one conversation after the other until it is stopped, and knows which were acknowledged."""

    def __init__(self, running: RunningServer) -> None:
        self.running, self.ended = running, Event()
        self.acknowledged: list[tuple[str, float]] = []
        self.thread = Thread(target=self.send)

    def send(self) -> None:
        with httpx.Client(base_url=self.running.address) as client:
            n = 0
            while not self.ended.is_set():
                name = f"care-{n}"
                if client.post("/v1/logs", json=build_logs(*EVENTS, session=name)).status_code == 200:
                    self.acknowledged.append((name, time.monotonic()))
                n += 1

    def __enter__(self) -> "SendingAgent":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()


def list_ids(name: str) -> set[str]:
    body = httpx.Request("POST", "http://x", json=build_logs(*EVENTS, session=name)).read()
    return {one.id for one in decode_body("logs", "application/json", body).records}


def test_a_backup_of_a_served_store_has_all_that_was_acknowledged_before(place: Callable[[str], str], tmp_path: Path):
    url, backup, again = place("served"), f"sqlite:///{tmp_path / 'backup.db'}", place("again")
    with run_server(url, MANY) as running, SendingAgent(running) as agent:
        while len(agent.acknowledged) < 20:
            time.sleep(0.01)
        began = time.monotonic()
        with closing(open_store(url)) as store:
            copy_store(store, backup, ignore_progress)
        took_in = len(agent.acknowledged)
        before = [name for name, at in agent.acknowledged if at < began]
        told = httpx.get(f"{running.address}/readyz").status_code
    assert told == 200
    assert took_in >= len(before) >= 20
    with closing(open_store(backup)) as kept:
        assert kept.check() == []
        copy_store(kept, again, ignore_progress)
        saved = {one.id for one in kept.telemetry.list_conversations()}
    with closing(open_store(again)) as restored:
        assert restored.check() == []
        for name in before:
            assert {one.id for one in restored.telemetry.load_records("claude-code", name)} == list_ids(name)
        assert {one.id for one in restored.telemetry.list_conversations()} == saved
    with run_server(again, MANY) as running:
        found = httpx.get(f"{running.address}/api/v1/sessions", params={"limit": 200}, timeout=60).json()["sessions"]
        assert {stream.partition("@")[0] for one in found for stream in one["streams"]} <= saved
        assert found


@pytest.fixture
def old_url(tmp_path: Path) -> str:
    """A store as the version before servers left it."""
    rows = fill_store(f"sqlite:///{tmp_path / 'full.db'}", tmp_path / "in")
    url = place_store(tmp_path)
    build_old_store(url, "0009", rows)
    return url


def test_a_server_brings_an_old_store_up_to_date_and_serves_it(old_url: str):
    with run_server(old_url, MANY) as running:
        assert httpx.get(f"{running.address}/readyz").status_code == 200
        assert httpx.post(f"{running.address}/v1/logs", json=build_logs(*EVENTS)).status_code == 200
        score = httpx.get(f"{running.address}/api/v1/score", timeout=60).json()
    assert score["waterfall"]["sessions"] > 1
    with closing(open_store(old_url)) as store:
        assert store.check() == []
        assert len(store.telemetry.load_records("claude-code", "s-1")) == len(EVENTS)


def test_a_tenants_store_is_backed_up_by_its_own_address(tmp_path: Path):
    url = place_store(tmp_path)
    with closing(open_store(to_tenant_url(url, "team"))) as store:
        store.telemetry.save_records(
            decode_body(
                "logs", "application/json", httpx.Request("POST", "http://x", json=build_logs(*EVENTS)).read()
            ).records
        )
        copy_store(store, f"sqlite:///{tmp_path / 'team.db'}", ignore_progress)
    with closing(open_store(f"sqlite:///{tmp_path / 'team.db'}")) as kept:
        assert len(kept.telemetry.load_records("claude-code", "s-1")) == len(EVENTS)
