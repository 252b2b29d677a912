"""What was acknowledged is there whatever breaks: the server is killed, its database goes away, a key is revoked."""

import os
import shutil
import signal
import subprocess
import time
from contextlib import closing
from pathlib import Path
from threading import Thread

import httpx
import pytest

from assay.config import Config, Tenant
from assay.pipeline.score import read_transcripts
from assay.resources import EXAMPLES
from assay.server.keys import hash_token, revoke_key
from assay.stores import open_store, to_tenant_url
from assay.testing.claude_code import build_conversation, build_prompt, write_lines
from tests.postgres import PostgresServer, start_server
from tests.server.serving import add_key, build_logs, place_store, run_server, serve, tighten
from tests.server.test_running import start_serve

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


class Sender(Thread):
    """Sends batches one after the other, and knows which were acknowledged."""

    def __init__(self, address: str, name: str, key: str = "", until_s: float = 3) -> None:
        super().__init__(daemon=True)
        self.address = address
        self.label = name
        self.key = key
        self.until = time.monotonic() + until_s
        self.acknowledged: set[str] = set()
        self.statuses: list[int] = []

    def run(self) -> None:
        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        with httpx.Client(base_url=self.address, headers=headers, timeout=10) as client:
            for n in range(100_000):
                if time.monotonic() > self.until:
                    return
                session = f"{self.label}-{n}"
                try:
                    reply = client.post("/v1/logs", json=build_logs("user_prompt", "api_request", session=session))
                except httpx.HTTPError:
                    return
                self.statuses.append(reply.status_code)
                if reply.status_code == 200:
                    self.acknowledged.add(session)


def read_stored(url: str) -> dict[str, int]:
    with closing(open_store(url)) as store:
        return {one.id: one.records for one in store.telemetry.list_conversations()}


def check_stored(url: str, senders: list[Sender]) -> None:
    """Every batch that was acknowledged is there, whole."""
    stored = read_stored(url)
    acknowledged = set[str]().union(*(one.acknowledged for one in senders))
    assert len(acknowledged) > 20
    assert {one for one in acknowledged if stored.get(one) != 2} == set()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_server_that_is_killed_loses_nothing_that_it_acknowledged(tmp_path: Path, kind: str):
    store = str(tmp_path / "assay.db") if kind == "sqlite" else start_server().url(f"killed-{os.getpid()}")
    url = store if "://" in store else f"sqlite:///{store}"
    senders: list[Sender] = []
    for n in range(3):
        process, address = start_serve_at(store, tmp_path)
        some = [Sender(address, f"{n}-{w}") for w in range(4)]
        senders += some
        for one in some:
            one.start()
        time.sleep(0.7 + 0.2 * n)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        for one in some:
            one.join(20)
    check_stored(url, senders)
    with closing(open_store(url)) as kept:
        assert kept.check() == []


def start_serve_at(store: str, home: Path) -> "tuple[subprocess.Popen[str], str]":
    return start_serve(Path(store) if "://" not in store else store, home=home)  # type: ignore[arg-type]


@pytest.mark.long
def test_a_database_that_goes_away_gives_503_and_when_it_is_back_all_goes_on(tmp_path: Path):
    server = PostgresServer()
    try:
        url = server.url("away")
        with run_server(url, tighten(save_s=5)) as running:
            client = httpx.Client(base_url=running.address, timeout=60)
            with client:
                assert client.post("/v1/logs", json=build_logs("a", session="before")).status_code == 200
                server.stop("immediate")
                refused = client.post("/v1/logs", json=build_logs("a", session="meanwhile"))
                assert refused.status_code == 503
                assert "retry-after" in refused.headers
                assert client.get("/readyz").status_code == 503
                assert client.get("/healthz").status_code == 200
                assert client.get("/api/v1/log").status_code == 503
                server.start()
                until = time.monotonic() + 30
                while client.post("/v1/logs", json=build_logs("a", session="after")).status_code != 200:
                    assert time.monotonic() < until
                    time.sleep(0.2)
                assert client.get("/readyz").status_code == 200
        assert {"before", "after"} <= set(read_stored(url))
    finally:
        server.close()


@pytest.mark.long
def test_two_servers_on_one_database_store_each_record_once(tmp_path: Path):
    url = start_server().url(f"two-{os.getpid()}")
    open_store(url).close()
    with run_server(url) as one, run_server(url) as other:
        senders = [Sender(where.address, f"w{n // 2}", until_s=2) for n, where in enumerate([one, other] * 2)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join(30)
    check_stored(url, senders)
    assert set(read_stored(url).values()) == {2}


def test_a_key_that_is_revoked_while_it_sends_opens_nothing_a_moment_later(tmp_path: Path):
    url = place_store(tmp_path)
    key = add_key(url, "mill")
    with run_server(url, asks_here=True) as running:
        sender = Sender(running.address, "w", key, until_s=8)
        sender.start()
        time.sleep(0.3)
        with closing(open_store(to_tenant_url(url, "mill"))) as store:
            revoke_key(store, hash_token(key)[:12], "ada")
        until = time.monotonic() + 6
        while 401 not in sender.statuses and time.monotonic() < until:
            time.sleep(0.05)
        sender.until = 0
        sender.join(10)
    assert set(sender.statuses) <= {200, 401, 429}
    assert 401 in sender.statuses
    stored = read_stored(to_tenant_url(url, "mill"))
    assert {one for one in sender.acknowledged if one not in stored} == set()


def test_a_full_disk_is_told_and_nothing_is_acknowledged(tmp_path: Path):
    url = place_store(tmp_path)
    with serve(url) as asked:
        assert asked.send(build_logs("a", session="before")).status_code == 200
        store = asked.server.hall.stores.find("")
        assert store
        with store.database.engine.connect() as connection:  # type: ignore[attr-defined]
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        large = build_logs(*["x"] * 2_000, session="large")
        assert asked.send(large).status_code in (200, 503)
        replies = [asked.send(build_logs(*["x"] * 500, session=f"s-{n}")).status_code for n in range(20)]
        assert 503 in replies
    assert "before" in read_stored(url)
    stored = read_stored(url)
    assert all(stored.get(f"s-{n}") == 500 for n, status in enumerate(replies) if status == 200)


# --- what may not be told or kept -----------------------------------------------------------------


def test_secrets_and_words_that_are_withheld_leave_by_no_answer(tmp_path: Path):
    url, token = place_store(tmp_path), "ghp_" + "R8fK2mQ7xV9pL4tZ1cW6yB3nH5jD0sGaEuTo"
    records = [build_prompt(0, f"use {token} to push the loom", "s"), *build_conversation("s", start=10)]
    write_lines(tmp_path / "in" / "a.jsonl", *records)
    with read_transcripts([tmp_path / "in"], Config(store=url), 1):
        pass
    out = {"x": Tenant(projects=(records[0]["cwd"],), opt_out=True)}
    for tenants, hidden in (({}, token), (out, "push the loom")):
        with serve(url, config=Config(store=url, tenants=tenants)) as asked:
            said = ""
            for path in ("score", "trend", "sessions", "ledger", "marks", "audit"):
                reply = asked.get(f"/api/v1/{path}")
                assert reply.status_code == 200
                said += reply.text
            for one in asked.get("/api/v1/sessions").json()["sessions"]:
                said += asked.get(f"/api/v1/sessions/{one['id']}").text
                said += asked.get(f"/api/v1/quality/{one['id']}").text
            assert '"turns"' in said
            assert ("push the loom" in said) is (hidden == token)
            assert hidden not in said


def test_words_whose_time_has_passed_are_deleted_by_the_server_and_the_log_says_so(tmp_path: Path):
    url = place_store(tmp_path)
    shutil.copytree(EXAMPLES / "claude-code", tmp_path / "in")
    with read_transcripts([tmp_path / "in"], Config(store=to_tenant_url(url, "mill")), 1):
        pass
    key = add_key(url, "mill", "admin")
    with serve(url, own_tenants={"mill": Tenant(retention_days=1)}) as asked:
        until = time.monotonic() + 20
        kinds: list[str] = []
        while "words_deleted" not in kinds and time.monotonic() < until:
            kinds = [one["kind"] for one in asked.get("/api/v1/log", key).json()["deeds"]]
            time.sleep(0.1)
        told = asked.get("/api/v1/log", key).json()["deeds"][-1]
    assert (told["who"], told["kind"]) == ("retention", "words_deleted")
    assert told["count"] > 0
