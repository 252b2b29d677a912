"""A server in this process, asked as if from some address; and one on the loopback, for what only sockets show."""

import asyncio
import gzip
import json
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from litestar.testing import TestClient
from msgspec.structs import replace

from assay.config import Config
from assay.server.app import Server
from assay.server.connections import build_server, open_socket
from assay.server.guard import RequestLine
from assay.server.keys import make_key
from assay.server.settings import Limits, ServerSettings
from assay.stores import open_store, to_tenant_url
from assay.types import Scope

HERE, ELSEWHERE = "127.0.0.1", "198.51.100.7"
JSON, PROTOBUF = {"content-type": "application/json"}, {"content-type": "application/x-protobuf"}


class PlacedServer:
    """A server whose requests come from an address."""

    def __init__(self, server: Server, address: str) -> None:
        self.server = server
        self.address = address

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope["client"] = (self.address, 40_000)
        await self.server(scope, receive, send)


class Asked:
    """A server and somebody who asks it."""

    def __init__(self, server: Server, client: TestClient[Any], placed: PlacedServer) -> None:
        self.server = server
        self.placed = placed
        self.client = client
        self.log: list[RequestLine] = []

    def ask(self, method: str, path: str, key: str = "", **more: Any) -> Any:
        headers = {**more.pop("headers", {}), **({"authorization": f"Bearer {key}"} if key else {})}
        return self.client.request(method, path, headers=headers, **more)

    def get(self, path: str, key: str = "", **more: Any) -> Any:
        return self.ask("GET", path, key, **more)

    def send(self, body: Any, key: str = "", signal: str = "logs", **headers: str) -> Any:
        """Send OTLP/JSON, packed where the headers say so."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {"content-type": "application/json", **{name.replace("_", "-"): one for name, one in headers.items()}}
        if headers.get("content_encoding") == "gzip" and not isinstance(body, bytes):
            content = gzip.compress(content)
        return self.ask("POST", f"/v1/{signal}", key, content=content, headers=named)


@contextmanager
def serve(
    url: str, *, address: str = HERE, host: str = "127.0.0.1", config: Config | None = None,
    limits: Limits | None = None, **more: Any,
) -> Iterator[Asked]:  # fmt: skip
    """A server on a store, asked from an address."""
    settings = ServerSettings(store=url, host=host, config=config or Config(), limits=limits or Limits(), **more)
    server = Server(settings)
    placed = PlacedServer(server, address)
    with TestClient(placed, base_url=f"http://{host}:4318", raise_server_exceptions=False) as client:  # type: ignore[arg-type]
        asked = Asked(server, client, placed)
        server.guard.tell = asked.log.append
        yield asked


def add_key(url: str, tenant: str = "own", scope: Scope = "ingest") -> str:
    """Make a key to a tenant's store."""
    with closing(open_store(to_tenant_url(url, tenant))) as store:
        return make_key(store, tenant, "loom", scope, "ada").token


def place_store(folder: Path) -> str:
    return f"sqlite:///{folder / 'assay.db'}"


# --- what an agent sends ------------------------------------------------------------------------


def build_logs(*events: str, session: str = "s-1", at: int = 1_790_000_000, **resource: str) -> dict[str, Any]:
    """Events of a conversation, as Claude Code has them."""
    records = [
        {
            "timeUnixNano": str((at + n) * 10**9),
            "body": {"stringValue": f"claude_code.{name}"},
            "attributes": [
                {"key": "event.name", "value": {"stringValue": name}},
                {"key": "session.id", "value": {"stringValue": session}},
                {"key": "event.sequence", "value": {"intValue": n}},
                {"key": "prompt", "value": {"stringValue": f"weave {n}"}},
            ],
        }
        for n, name in enumerate(events)
    ]
    told = {"service.name": "claude-code", **{name.replace("_", "."): one for name, one in resource.items()}}
    attributes = [{"key": name, "value": {"stringValue": one}} for name, one in told.items()]
    return {
        "resourceLogs": [
            {
                "resource": {"attributes": attributes},
                "scopeLogs": [{"scope": {"name": "com.anthropic.claude_code.events"}, "logRecords": records}],
            }
        ]
    }


def tighten(**limits: Any) -> Limits:
    return replace(Limits(), **limits)


# --- a real one -------------------------------------------------------------------------------


class RunningServer:
    """A server that listens on the loopback, in a thread of its own."""

    def __init__(self, url: str, limits: Limits, **more: Any) -> None:
        self.settings = ServerSettings(store=url, port=0, limits=limits, **more)
        self.server = Server(self.settings)
        self.socket = open_socket(self.settings)
        self.port: int = self.socket.getsockname()[1]
        self.serving = build_server(self.server, self.settings, self.server.hall.leaving)
        self.thread = Thread(target=lambda: asyncio.run(self.serving.serve(sockets=[self.socket])))

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def stop(self) -> None:
        self.serving.handle_exit(signal.SIGTERM, None)


@contextmanager
def run_server(url: str, limits: Limits | None = None, **more: Any) -> Iterator[RunningServer]:
    """A server on the loopback, which has stopped afterwards."""
    found = RunningServer(url, limits or Limits(), **more)
    found.thread.start()
    try:
        while not found.serving.started and found.thread.is_alive():
            time.sleep(0.01)
        yield found
    finally:
        found.stop()
        found.thread.join(20)
        found.socket.close()
    assert not found.thread.is_alive()
