"""Connections with a patience: whoever takes too long for a request, or to read the answer, is cut off."""

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Any

import h11
from uvicorn import Config as UvicornConfig
from uvicorn import Server as UvicornServer
from uvicorn.protocols.http.h11_impl import H11Protocol

from assay.errors import BadInput
from assay.server.settings import Limits, ServerSettings

LONGEST_HEAD = 32 << 10


class PatientProtocol(H11Protocol):
    """A connection on which every step has its time; uvicorn alone waits for ever for a request that never ends."""

    limits = Limits()

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.step = ""
        self.timer: asyncio.TimerHandle | None = None
        self.send_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.begin("headers", self.limits.headers_s)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        state = self.conn.their_state
        if state is h11.SEND_BODY:
            self.begin("body", self.limits.body_s + 1)
        elif state is h11.IDLE:
            self.begin("headers", self.limits.headers_s)
        else:
            self.begin("", 0)

    def connection_lost(self, exc: Exception | None) -> None:
        self.begin("", 0)
        self.resume_writing()
        super().connection_lost(exc)

    def begin(self, step: str, seconds: float) -> None:
        """Give the next step its time; one that goes on keeps what is left of its own."""
        if step == self.step:
            return
        self.step = step
        if self.timer:
            self.timer.cancel()
        self.timer = self.loop.call_later(seconds, self.cut_off) if step else None

    def pause_writing(self) -> None:
        super().pause_writing()
        if self.send_timer is None:
            self.send_timer = self.loop.call_later(self.limits.send_s, self.cut_off)

    def resume_writing(self) -> None:
        if self.send_timer:
            self.send_timer.cancel()
            self.send_timer = None
        if self.flow is not None:
            super().resume_writing()

    def cut_off(self) -> None:
        """Drop the connection, whatever is still on its way."""
        self.transport.abort()


class GracefulServer(UvicornServer):
    """A server that tells those who only listen when it is about to leave."""

    def __init__(self, config: UvicornConfig, leaving: asyncio.Event) -> None:
        super().__init__(config)
        self.leaving = leaving

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on Ctrl-C and on SIGTERM, and then leave as a program that did its work."""
        wanted = (signal.SIGINT, signal.SIGTERM) if current_thread() is main_thread() else ()
        before = {one: signal.signal(one, self.handle_exit) for one in wanted}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.leaving.set()
        super().handle_exit(sig, frame)


def build_server(app: Any, settings: ServerSettings, leaving: asyncio.Event) -> GracefulServer:
    """A server for an application, under our limits; it logs nothing by itself."""
    limits = settings.limits
    protocol = type("LimitedProtocol", (PatientProtocol,), {"limits": limits})
    config = UvicornConfig(
        app,
        host=settings.host.strip("[]"),
        port=settings.port,
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=int(limits.headers_s),
        timeout_graceful_shutdown=limits.leave_s,
        h11_max_incomplete_event_size=LONGEST_HEAD,
    )
    return GracefulServer(config, leaving)


def open_socket(settings: ServerSettings) -> socket.socket:
    """A socket that listens where the settings say."""
    host = settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, settings.port), family=family, backlog=256)
    except (OSError, OverflowError, UnicodeError) as error:
        said = f"can't listen on {host} port {settings.port}: {getattr(error, 'strerror', None) or error}"
        raise BadInput(f"{said}; give others with --host and --port") from None
