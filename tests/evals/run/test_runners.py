"""When an agent is not at fault, and the door through which it reaches its service."""

import errno
import json
import socket
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from assay.evals.runners import AgentOutput, AgentTask, Instruction, find_runner
from assay.evals.sandbox import proxy, proxy_inside
from assay.evals.sandbox.launch import CommandEnd
from assay.evals.tasks.config import AgentConfig


def left(out="", err="", code=1, ended="exit", records=()):
    return AgentOutput(
        stdout=out.encode(), stderr=err.encode(), records=records,
        ended=CommandEnd(ended=ended, code=code, wall_s=1.0),
    )  # fmt: skip


def result(**fields):
    return json.dumps({"type": "result", "is_error": True, "result": "API Error", **fields})


RETRY = {"type": "system", "subtype": "api_error"}
CLAUDE = {
    "fine": (left(result(is_error=False), code=0), False),
    "401": (left(result(api_error_status=401)), True),
    "403": (left(result(api_error_status=403)), True),
    "429": (left(result(api_error_status=429)), True),
    "500": (left(result(api_error_status=500)), True),
    "529": (left(result(api_error_status=529)), True),
    "400": (left(result(api_error_status=400)), False),
    "a prompt too long": (left(result(api_error_status=400, terminal_reason="prompt_too_long")), False),
    "no connection": (left(result(api_error="connection_failed")), True),
    "no login": (left(result(result="Not logged in · Please run /login")), True),
    "a refusal": (left(result(terminal_reason="api_error")), False),
    "out of turns": (left(result(subtype="error_max_turns")), False),
    "a flag it does not know": (left(err="error: unknown option"), True),
    "a crash in the middle": (left(code=-11, records=[{"type": "assistant"}]), False),
    "slow": (left(ended="timeout", code=-9, records=[RETRY, {"type": "assistant"}]), False),
    "waiting for its service": (left(ended="timeout", code=-9, records=[{"type": "user"}, RETRY]), True),
    "two results": (left(result(api_error_status=429) + "\n" + result(is_error=False), code=0), False),
    "a warning behind it": (left(result(api_error_status=429) + "\nwarning"), True),
    "half a line": (left('{"type": "resu', code=0), False),
}


def events(*several):
    return "\n".join(json.dumps(one) for one in several)


BEGAN, DONE = {"type": "turn.started"}, {"type": "turn.completed"}


def failed(why):
    return {"type": "turn.failed", "error": {"message": why}}


CODEX = {
    "fine": (left(events(BEGAN, DONE), code=0), False),
    "429": (left(events(BEGAN, failed("exceeded retry limit, last status: 429 Too Many Requests"))), True),
    "500": (left(events(BEGAN, failed("unexpected status 500 Internal Server Error"))), True),
    "401": (left(events(BEGAN, failed("unexpected status 401 Unauthorized"))), True),
    "cut off": (left(events(BEGAN, failed("stream disconnected before completion"))), True),
    "too long": (left(events(BEGAN, failed("the input exceeds the context window"))), False),
    "400": (left(events(BEGAN, failed("unexpected status 400 Bad Request: 5000 tokens"))), False),
    "no key": (left(err="Missing environment variable: `KEY`"), True),
    "a crash": (left(events(BEGAN), code=-11), False),
    "slow": (left(events(BEGAN, {"type": "item.completed"}), ended="timeout", code=-9), False),
    "waiting": (
        left(events(BEGAN, {"type": "error", "message": "Reconnecting... (503)"}), ended="timeout", code=-9),
        True,
    ),
}
COMMAND = {"75": (left(code=75), False), "1": (left(code=1), False), "timeout": (left(code=75, ended="timeout"), False)}
TROUBLES = [
    pytest.param(agent, what, is_trouble, id=f"{agent}: {name}")
    for agent, cases in (("claude-code", CLAUDE), ("codex", CODEX), ("command", COMMAND))
    for name, (what, is_trouble) in cases.items()
]


@pytest.mark.parametrize(("agent", "what", "is_trouble"), TROUBLES)
def test_what_infrastructure_did_is_told_from_what_the_agent_did(agent, what, is_trouble):
    assert bool(find_runner(agent).explain_trouble(what)) is is_trouble


def test_permissions_are_never_skipped_and_the_configuration_has_the_last_word():
    for agent in ("claude-code", "codex"):
        config = AgentConfig(name="c", folder=Path(), agent=agent, model="m", args=("--own", "flag"))
        given = AgentTask(prompt="weave", config=config, program="/p", folder="/c", result="/r", is_sandboxed=False)
        launch = find_runner(agent).build_launch(given)
        assert launch.stdin == "weave"
        assert "weave" not in launch.argv
        assert not [word for word in launch.argv if "dangerously" in word or "bypass" in word or "danger" in word]
        assert tuple(word for word in launch.argv if word in ("--own", "flag")) == ("--own", "flag")


def test_what_a_transcript_says_of_instructions_is_read():
    claude = [
        {"attachment": {"type": "instructions", "files": [{"path": "/w/CLAUDE.md", "content": "red"}]}},
        {"attachment": {"type": "nested_memory", "content": {"path": "/w/a/CLAUDE.md", "content": "blue"}}},
        {"attachment": {"type": "skill_listing", "content": "- purling: edges"}},
        {"attachment": "odd"},
        {"attachment": {"type": "instructions", "files": "odd"}},
    ]
    assert [*find_runner("claude-code").find_instructions(claude)] == [
        Instruction(path="/w/CLAUDE.md", text="red"),
        Instruction(path="/w/a/CLAUDE.md", text="blue"), Instruction(text="- purling: edges"),
    ]  # fmt: skip
    codex = [{"type": "world_state", "payload": {"state": {"agents_md": {"text": "red"}}}}, {"type": "world_state"}]
    assert [*find_runner("codex").find_instructions(codex)] == [Instruction(text="red")]


class Echo(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        said = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)


@pytest.fixture
def service():
    with HTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def asked(proxy_address: str, address: str) -> bytes:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy_address}))
    with opener.open(f"http://{address}/say?x=1", data=b"hello" * 50_000, timeout=10) as reply:
        return reply.read()


def test_through_the_door_an_agent_reaches_its_service_and_nothing_else(tmp_path, service):
    with proxy.open_proxy(tmp_path, (service,)) as door, socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=proxy_inside.serve_connections, args=(listening, str(door)), daemon=True)
        serving.start()
        way = f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert asked(way, service) == b"hello" * 50_000
        for other in ("example.org", "127.0.0.1:9", f"localhost:{service.rpartition(':')[2]}"):
            with pytest.raises(urllib.error.HTTPError, match="403"):
                asked(way, other)
        with socket.create_connection(listening.getsockname()) as raw:
            raw.sendall(f"CONNECT {service} HTTP/1.1\r\n\r\n".encode())
            assert raw.recv(100).startswith(b"HTTP/1.1 200")
        with socket.create_connection(listening.getsockname()) as raw:
            raw.sendall(b"CONNECT example.org:443 HTTP/1.1\r\n\r\n")
            assert raw.recv(100).startswith(b"HTTP/1.1 403")
        listening.shutdown(socket.SHUT_RDWR)
        serving.join(10)
        assert not serving.is_alive()


def test_a_relay_ends_with_its_socket_and_not_before():
    class Listening:
        """Fails as a machine without free handles does, lets somebody in, and is closed."""

        def __init__(self):
            self.says = [OSError(errno.EMFILE, "no handles"), OSError(errno.ECONNABORTED, "gone"), None]

        def accept(self):
            if not self.says:
                raise OSError(errno.EBADF, "closed")
            if error := self.says.pop(0):
                raise error
            one, other = socket.socketpair()
            other.close()
            return one, ""

    listening = Listening()
    proxy_inside.serve_connections(listening, "/nowhere")
    assert not listening.says


ODD_VISITORS = [b"GET http://[ HTTP/1.1\r\n\r\n", b"GET http://a:99999999 HTTP/1.1\r\n\r\n", b"CONNECT x HTTP/1.1\r\n"]


@pytest.mark.parametrize("words", ODD_VISITORS)
def test_a_visitor_that_fails_fails_alone_and_quietly(tmp_path, capfd, words):
    with proxy.open_proxy(tmp_path, ("a:1",)) as door, socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(door))
        raw.sendall(words)
        raw.shutdown(socket.SHUT_WR)
        assert raw.recv(100)[:12] in (b"", b"HTTP/1.1 403")
    assert capfd.readouterr().err == ""


ADDRESSES = [
    (["http://127.0.0.1:80/v1"], ("127.0.0.1:80",)),
    (['x={base_url="https://loom.example/v1"}', ""], ("loom.example:443",)),
    (["http://[::1]:90", "http://a:1", "http://a:1/b"], ("::1:90", "a:1")),
    (["nothing", ""], ()),
]


@pytest.mark.parametrize(("texts", "found"), ADDRESSES)
def test_services_are_found_where_they_are_named(texts, found):
    assert proxy.find_addresses(texts) == found
