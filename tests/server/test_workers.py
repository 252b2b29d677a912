"""Workers do what came in, beside a server or far from it; what they have not done yet is said."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import psycopg
import pytest

from assay.config import Config
from assay.pipeline.scoring_run import ScoringRun
from assay.pipeline.working import StoreWorker
from assay.stores import open_store, to_tenant_url
from tests.conftest import environment, is_one_line, run
from tests.documents import SCHEMAS
from tests.postgres import start_server
from tests.server.serving import Asked, add_key, build_logs, place_store, serve
from tests.server.test_running import start_serve
from tests.telemetry.make_telemetry import make_edit_run


def save_runs(url: str, *names: str) -> None:
    with closing(open_store(url)) as store:
        for name in names:
            store.telemetry.save_records(make_edit_run(name).records)


def work(url: str, config: Config | None = None) -> None:
    with closing(open_store(url)) as store:
        worker = StoreWorker(store, config or Config())
        worker.work()
        worker.tell()


def read(asked: Asked, path: str, key: str = "", **params: Any) -> Any:
    reply = asked.get(f"/api/v1/{path}", key, params=params)
    assert reply.status_code == 200, reply.text
    found = reply.json()
    jsonschema.validate(found, json.loads((SCHEMAS / f"{found['kind']}.json").read_text("utf-8")))
    return found


def wait_until(is_so: Callable[[], bool], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.1)


# --- what an answer says of what is not done ------------------------------------------------------


def test_answers_wait_for_no_worker_and_say_what_is_pending(tmp_path: Path):
    url = place_store(tmp_path)
    with serve(url, has_workers=True) as asked:
        assert read(asked, "score")["pending"] == 0
        assert asked.send(build_logs("user_prompt", "api_request", session="s-1")).status_code == 200
        for path in ("score", "trend", "sessions", "ledger"):
            assert read(asked, path)["pending"] == 1, path
        assert read(asked, "sessions")["sessions"] == []
        assert read(asked, "live")["pending"] == 1
        work(url)
        assert [one["streams"] for one in read(asked, "sessions")["sessions"]] == [["s-1@claude-code"]]
        assert read(asked, "score")["pending"] == read(asked, "live")["pending"] == 0
        assert read(asked, "score")["waterfall"]["sessions"] == 1


def test_sessions_that_were_never_told_by_these_settings_are_not_told_by_others(tmp_path: Path):
    url = place_store(tmp_path)
    save_runs(url, "c-1")
    work(url)
    with serve(url, has_workers=True, config=Config(timezone="Asia/Tokyo")) as asked:
        reply = asked.get("/api/v1/score")
        assert reply.status_code == 503
        assert int(reply.headers["retry-after"]) > 0
        work(url, Config(timezone="Asia/Tokyo"))
        assert read(asked, "score")["waterfall"]["sessions"] == 1


def test_what_a_person_says_is_told_at_once_without_any_worker(tmp_path: Path):
    url = place_store(tmp_path)
    save_runs(url, "c-1")
    work(url)
    with serve(url, has_workers=True) as asked:
        (session,) = read(asked, "sessions")["sessions"]
        marked = asked.ask("PUT", f"/api/v1/sessions/{session['id']}/mark", json={"verdict": "landed"})
        assert marked.status_code == 200
        (after,) = read(asked, "sessions")["sessions"]
        assert after["crushed"] is True
        assert read(asked, "score")["score"]["crushed"] == 1


def test_no_request_judges_what_waits_for_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    url = place_store(tmp_path)
    save_runs(url, "c-1", "c-2")
    work(url)
    save_runs(url, "c-3")
    with serve(url, has_workers=True) as asked:
        one, other = (row["id"] for row in read(asked, "sessions")["sessions"])
        monkeypatch.setattr(ScoringRun, "judge_streams", None)
        path, page = f"/api/v1/sessions/{one}", f"/sessions/{one}"
        assert asked.ask("PUT", f"{path}/mark", json={"verdict": "landed"}).json()["session"]["crushed"] is True
        assert [row["id"] for row in read(asked, "marks")["sessions"]] == [one]
        assert asked.ask("DELETE", f"{path}/mark").status_code == 200
        assert read(asked, f"quality/{one}")["qualities"][0]["session"] == one
        for deed, said in (
            ("mark", {"verdict": "not"}), ("unmark", {}), ("rename", {"title": "hem"}), ("unname", {}),
            ("merge", {"other": other}),
        ):  # fmt: skip
            done = asked.ask("POST", f"{page}/{deed}", data=said, follow_redirects=False)
            assert done.status_code == 303, deed
        asked.ask("POST", "/api/v1/audit", json={"wanted": 1})
        assert asked.get(f"{page}?quality=enhanced", headers={"accept": "text/html"}).status_code == 200
        assert read(asked, "live")["pending"] == 1


def test_what_waits_is_counted_for_whoever_watches(tmp_path: Path):
    url = place_store(tmp_path)
    save_runs(url, "c-1", "c-2")
    save_runs(to_tenant_url(url, "mill"), "c-3")
    with serve(url, has_workers=True) as asked:
        asked.server.hall.watch_work()
        assert "assay_pending_conversations 3" in asked.get("/metrics").text
        work(url)
        work(to_tenant_url(url, "mill"))
        asked.server.hall.watch_work()
        told = asked.get("/metrics").text
    assert "assay_pending_conversations 0" in told
    assert "assay_pending_seconds 0" in told
    assert "assay_failed_conversations 0" in told


def test_nobody_sees_what_goes_on_at_anothers(tmp_path: Path):
    url = place_store(tmp_path)
    keys = {tenant: add_key(url, tenant, "read") for tenant in ("mill", "loom")}
    save_runs(to_tenant_url(url, "mill"), "of-the-mill")
    with serve(url, asks_here=True) as asked:
        assert [one["stream"] for one in read(asked, "live", keys["mill"])["conversations"]] == []
        work(to_tenant_url(url, "mill"))
        now = read(asked, "live", keys["mill"])["conversations"]
        assert read(asked, "live", keys["loom"])["conversations"] == []
        assert asked.get("/api/v1/live").status_code == 401
        assert asked.get("/api/v1/live", add_key(url, "mill", "ingest")).status_code == 403
    assert [one["stream"] for one in now] in ([], ["of-the-mill@claude-code"])  # by what time it is


# --- the command ----------------------------------------------------------------------------------


def test_a_worker_does_once_what_is_due_of_every_tenant(tmp_path: Path):
    url = place_store(tmp_path)
    save_runs(url, "c-1")
    save_runs(to_tenant_url(url, "mill"), "c-2", "c-3")
    ran = run("work", "--once", "--store", tmp_path / "assay.db")
    assert ran.code == 0
    assert "nothing is due" in ran.err
    for one, n in ((url, 1), (to_tenant_url(url, "mill"), 2)):
        with closing(open_store(one)) as store:
            assert len(store.sessions.list_segments(None)) == n
            assert StoreWorker(store, Config()).find_pending().pending == 0
            assert store.work.load_waits() == {}


def test_a_worker_refuses_a_tenant_that_has_no_store(tmp_path: Path):
    ran = run("work", "--once", "--tenant", "nobody", "--store", tmp_path / "assay.db")
    assert ran.code == 2
    assert is_one_line(ran.err)


def test_two_workers_on_one_file_take_turns(tmp_path: Path):
    url = place_store(tmp_path)
    save_runs(url, "c-1")
    with closing(open_store(url)) as one, closing(open_store(url)) as other, one.work.hold("work") as is_held:
        assert is_held
        assert StoreWorker(other, Config()).work().read == 0
    work(url)
    with closing(open_store(url)) as store:
        assert len(store.sessions.list_segments(None)) == 1


@pytest.mark.long
def test_a_server_has_a_worker_beside_it_that_comes_back_when_it_is_killed(tmp_path: Path):
    process, address = start_serve(tmp_path / "assay.db")
    try:
        tell = lambda name: httpx.post(f"{address}/v1/logs", json=build_logs("user_prompt", session=name))  # noqa: E731
        count = lambda: len(httpx.get(f"{address}/api/v1/sessions").json().get("sessions", ()))  # noqa: E731
        assert tell("s-1").status_code == 200
        wait_until(lambda: count() == 1)
        (worker,) = list_children(process.pid)
        os.kill(worker, signal.SIGKILL)
        assert tell("s-2").status_code == 200
        wait_until(lambda: count() == 2)
        assert list_children(process.pid) != [worker]
        os.kill(process.pid, signal.SIGKILL)
        left = list_children(process.pid) or [worker]
        wait_until(lambda: not any(is_running(one) for one in left))
    finally:
        process.kill()
        process.communicate()


def list_children(parent: int) -> list[int]:
    found = Path(f"/proc/{parent}/task/{parent}/children")
    told = [found, *Path(f"/proc/{parent}/task").glob("*/children")]
    return sorted({int(one) for path in told if path.exists() for one in path.read_text().split()})


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# --- many, on PostgreSQL --------------------------------------------------------------------------


@contextmanager
def start_workers(n: int, store: str, home: Path, *words: str, **env: str) -> Iterator[list["subprocess.Popen[str]"]]:
    """Workers, each in a process of its own; whoever is left is killed in the end."""
    command = [sys.executable, "-m", "assay", "work", "--store", store, *words]
    found = [start_worker(command, home, n, **env) for n in range(n)]
    try:
        yield found
    finally:
        for one in found:
            one.kill()
        for one in found:
            one.communicate()


def start_worker(command: list[str], home: Path, n: int, **env: str) -> "subprocess.Popen[str]":
    with (home / f"worker-{n}.log").open("a") as log:
        return subprocess.Popen(command, stderr=log, text=True, env=environment(HOME=str(home), **env), cwd=home)


@pytest.mark.long
def test_workers_on_one_database_share_the_work_and_stop_when_told_to(tmp_path: Path):
    url = start_server().url(f"share-{os.getpid()}")
    save_runs(url, *(f"c-{n}" for n in range(12)))
    tenant = f"share-{os.getpid()}"
    with start_workers(2, url, tmp_path, "--tenant", tenant) as workers, closing(open_store(url)) as store:
        worker = StoreWorker(store, Config())
        wait_until(lambda: worker.find_pending().pending == 0 and store.told.count_ledger() == 12, 60)
        for one in workers:
            one.send_signal(signal.SIGTERM)
        assert [one.wait(20) for one in workers] == [0, 0]
        assert len(store.sessions.list_segments(None)) == 12
        assert store.work.load_waits() == {}


@pytest.mark.long
def test_the_queue_knows_no_word_and_no_conversation(tmp_path: Path):
    url = start_server().url(f"words-{os.getpid()}")
    save_runs(url, "a-secret-name")
    run("work", "--once", "--store", url, "--tenant", f"words-{os.getpid()}")
    with psycopg.connect(start_server().url()) as connection:
        tables = [
            name
            for (name,) in connection.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'assayqueue'"
            )
        ]
        told = "".join(str(connection.execute(f'SELECT * FROM assayqueue."{one}"').fetchall()) for one in tables)
    assert "procrastinate_jobs" in tables
    assert "secret" not in told
    assert "loom" not in told
