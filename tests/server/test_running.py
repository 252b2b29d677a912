"""A server on real sockets: the slow are cut off, and stopping loses nothing that was acknowledged."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pytest

from assay.errors import StoreError
from assay.stores import open_store
from tests.conftest import environment, is_one_line, run
from tests.server.serving import RunningServer, add_key, build_logs, place_store, run_server, serve, tighten

HEAD = b"POST /v1/logs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
QUICK = tighten(headers_s=0.5, body_s=0.5, send_s=0.5, leave_s=5)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with run_server(place_store(tmp_path_factory.mktemp("running")), QUICK) as found:
        yield found


def read_all(client: socket.socket) -> bytes:
    """What comes until the other side closes."""
    found = b""
    try:
        while some := client.recv(4096):
            found += some
    except ConnectionResetError:
        pass
    return found


def drip(client: socket.socket, content: bytes, seconds: float) -> None:
    """Send a byte now and then, as long as anybody listens."""
    until = time.monotonic() + seconds
    for n in range(len(content)):
        if time.monotonic() > until:
            return
        try:
            client.sendall(content[n : n + 1])
        except OSError:
            return
        time.sleep(0.1)


@pytest.mark.parametrize("content", [b"", HEAD[:20], HEAD, b"\r\n" * 400], ids=["nothing", "half", "no end", "blank"])
def test_whoever_never_ends_a_head_is_cut_off(running: RunningServer, content: bytes):
    with running.connect() as client:
        began = time.monotonic()
        drip(client, content, 5)
        read_all(client)
        assert time.monotonic() - began < 4


def test_whoever_never_ends_a_body_is_told_and_cut_off(running: RunningServer):
    with running.connect() as client:
        client.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
        began = time.monotonic()
        drip(client, b" " * 100, 5)
        said = read_all(client)
        assert time.monotonic() - began < 4
    assert b" 408 " in said[:20] or said == b""


def test_a_body_that_is_announced_too_large_is_refused_before_it_is_sent(running: RunningServer):
    with running.connect() as client:
        client.sendall(HEAD + b"Content-Length: 99999999999\r\n\r\n")
        assert b" 413 " in read_all(client)[:20]


def test_slow_ones_are_in_nobodys_way(running: RunningServer):
    slow = [running.connect() for _ in range(40)]
    try:
        for client in slow:
            client.sendall(HEAD[:30])
        assert httpx.post(f"{running.address}/v1/logs", json=build_logs("a")).status_code == 200
    finally:
        for client in slow:
            client.close()


@pytest.mark.parametrize(
    "head",
    [
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 400_000 + b"\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\rb\0c\r\n\r\n",
        b"GET http://evil.example/metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03",
    ],
    ids=[
        "no host",
        "two hosts",
        "another host",
        "a long head",
        "no ASCII",
        "smuggled",
        "two keys",
        "controls",
        "a proxy's",
        "TLS",
    ],
)
def test_a_head_that_is_not_sound_is_refused(running: RunningServer, head: bytes):
    with running.connect() as client:
        with suppress(OSError):
            client.sendall(head)
        said = read_all(client)
    assert said == b"" or said.split(b" ")[1].startswith(b"4")
    assert b"evil" not in said


def test_an_answer_tells_nothing_of_what_serves_it(running: RunningServer):
    reply = httpx.get(f"{running.address}/healthz")
    assert "server" not in reply.headers
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] == "no-store"


def test_what_was_begun_when_the_server_is_stopped_is_stored_and_acknowledged(tmp_path: Path):
    url, entered, go_on = place_store(tmp_path), Event(), Event()
    replies: list[Any] = []
    with run_server(url, QUICK) as running:
        httpx.post(f"{running.address}/v1/logs", json={})
        store = running.server.hall.stores.find("")
        assert store
        save = store.telemetry.save_records

        def wait(records: Any) -> int:
            entered.set()
            go_on.wait(10)
            return save(records)

        store.telemetry.save_records = wait  # type: ignore[method-assign]
        send = lambda: replies.append(httpx.post(f"{running.address}/v1/logs", json=build_logs("a")))  # noqa: E731
        thread = Thread(target=send)
        thread.start()
        assert entered.wait(10)
        running.stop()
        time.sleep(0.3)
        go_on.set()
        thread.join()
    assert replies[0].status_code == 200
    with closing(open_store(url)) as kept:
        assert [one.records for one in kept.telemetry.list_conversations()] == [1]


# --- the command --------------------------------------------------------------------------------


def start_serve(store: Path, *words: str, home: Path | None = None) -> tuple["subprocess.Popen[str]", str]:
    """`assay serve` in a process of its own, and where it listens."""
    command = [sys.executable, "-m", "assay", "serve", "--port", "0", "--store", str(store), *words]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment(HOME=str(home or store.parent))
    )
    assert process.stderr
    first = process.stderr.readline()
    if "run `assay work`" in first:  # in PostgreSQL others judge
        first = process.stderr.readline()
    assert "listening on " in first, first
    return process, first.partition("listening on ")[2].partition(": telemetry")[0]


@pytest.mark.parametrize("how", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_serve_stops_when_it_is_told_to_and_logs_in_json_without_words(tmp_path: Path, how: signal.Signals):
    key = add_key(place_store(tmp_path))
    process, address = start_serve(tmp_path / "assay.db", "--require-key")
    try:
        headers = {"authorization": f"Bearer {key}"}
        path = "/v1/logs?token=hunter2"
        assert httpx.post(f"{address}{path}", json=build_logs("a"), headers=headers).status_code == 200
        assert httpx.post(f"{address}/v1/logs", json=build_logs("a")).status_code == 401
        assert httpx.get(f"{address}/healthz").json()["status"] == "ok"
        assert httpx.get(f"{address}/nobody/hunter2", headers=headers).status_code in (403, 404)
    finally:
        os.kill(process.pid, how)
    said = process.communicate(timeout=20)[1]
    assert process.returncode == 0, said
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert [(one["route"], one["status"]) for one in lines[:3]] == [
        ("/v1/logs", 200),
        ("/v1/logs", 401),
        ("/healthz", 200),
    ]
    assert lines[0]["key"]
    assert "hunter2" not in said
    assert key.rpartition(".")[2] not in said
    assert "stopped" in said.splitlines()[-1]
    listed = run("keys", "list", "--store", tmp_path / "assay.db", "--json").json["tenants"][0]["keys"]
    assert listed[0]["used_at"]


def test_serve_refuses_to_be_open_to_everybody_without_a_key(tmp_path: Path):
    store = tmp_path / "assay.db"
    ran = run("serve", "--host", "0.0.0.0", "--port", "0", "--store", store)
    assert ran.code == 2
    assert is_one_line(ran.err)
    assert "assay keys add" in ran.err
    checked = run("serve", "--host", "0.0.0.0", "--port", "0", "--store", store, "--check", "--json")
    assert checked.code == 2
    assert [one["what"] for one in json.loads(checked.out)["checks"] if not one["is_ok"]] == ["keys"]


def test_check_says_what_is_fine_and_what_is_not(tmp_path: Path):
    store = tmp_path / "assay.db"
    assert run("serve", "--check", "--port", "0", "--store", store, "--json").json["needs_key"] is False
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        ran = run("serve", "--check", "--port", taken.getsockname()[1], "--store", store)
    assert ran.code == 2
    assert "can't listen" in ran.err


def test_answers_that_take_long_are_in_nobodys_way(tmp_path: Path):
    with run_server(place_store(tmp_path), QUICK) as running:
        go_on = Event()
        running.server.hall.reports.read_report = lambda *_: go_on.wait(20)  # type: ignore
        ask = lambda: httpx.get(f"{running.address}/api/v1/score", timeout=30)  # noqa: E731
        threads = [Thread(target=ask) for _ in range(30)]
        for one in threads:
            one.start()
        try:
            time.sleep(0.3)
            for _ in range(3):
                assert httpx.post(f"{running.address}/v1/logs", json=build_logs("a"), timeout=3).status_code == 200
                assert httpx.get(f"{running.address}/readyz", timeout=3).status_code == 200
        finally:
            go_on.set()
            for one in threads:
                one.join()


def test_what_a_store_says_goes_to_the_log_and_to_nobody_who_asks(tmp_path: Path):
    with serve(place_store(tmp_path)) as asked:
        said: list[str] = []
        asked.server.hall.report = said.append
        asked.server.hall.receiver.writer.report = said.append

        def fail(*_: object) -> None:
            raise StoreError("the store /secret/place can't be written")

        asked.server.hall.stores.find = fail  # type: ignore
        for reply in (asked.get("/api/v1/log"), asked.send(build_logs("a"))):
            assert reply.status_code == 503
            assert "secret" not in reply.text
        assert len([one for one in said if "/secret/place" in one]) >= 2  # who looks after a store may say so, too
