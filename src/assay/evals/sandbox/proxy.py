"""A door for agents without a network: through it they reach their own service, and nothing else.

Outside, a small proxy listens on a Unix socket and connects only to services that are allowed. Inside, `proxy_inside`
listens on the loopback, which is all there is, and hands connections to that socket; the agent knows it as its proxy.
"""

import os
import re
import socket
import socketserver
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from assay.evals.sandbox import proxy_inside
from assay.evals.sandbox.bubblewrap import Mount

INSIDE, SCRIPT, PORT = "/run/assay/door", "/run/assay/proxy_inside.py", 3128
PROXY = f"http://127.0.0.1:{PORT}"
ENV = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), PROXY) | {"NO_PROXY": "", "no_proxy": ""}  # fmt: skip  # noqa: E501
ADDRESS = re.compile(r"https?://[\w.\[\]:-]+")
LONGEST_HEAD = 64 << 10
PATIENCE_S = 30


def find_addresses(texts: Sequence[str]) -> tuple[str, ...]:
    """Services that texts name, as `host:port`."""
    found = []
    for text in texts:
        for address in ADDRESS.findall(text):
            parts = urlsplit(address)
            found.append(f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}")
    return tuple(dict.fromkeys(found))


class ProxyConnection(socketserver.StreamRequestHandler):
    """One connection from inside the sandbox."""

    rbufsize = 0
    """Whatever follows the head must still be in the socket."""
    allowed: ClassVar[tuple[str, ...]] = ()

    def handle(self) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline(LONGEST_HEAD)
            if not line or len(head) > LONGEST_HEAD:
                return
            head += line
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        target = parse_target(words)
        if target not in self.allowed:
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            return
        host, _, port = target.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE_S) as service:
                service.settimeout(None)
                if words[0] == "CONNECT":
                    self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    path = urlsplit(words[1])._replace(scheme="", netloc="").geturl() or "/"
                    service.sendall(head.replace(words[1].encode("latin-1"), path.encode("latin-1"), 1))
                proxy_inside.join_sockets(self.connection, service)
        except OSError:
            return


def parse_target(words: Sequence[str]) -> str:
    """The service that a request is for."""
    if len(words) != 3:
        return ""
    found = find_addresses([words[1]])
    return words[1].lower() if words[0] == "CONNECT" else next(iter(found), "")


class ProxyServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A visitor that hangs up or talks nonsense is told nothing, and nobody is told of it."""
        if not isinstance(sys.exc_info()[1], OSError | ValueError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def open_proxy(folder: Path, allowed: tuple[str, ...], user: int | None = None) -> Iterator[Path | None]:
    """A door in a folder for a user, while it is needed; none where nothing is allowed."""
    if not allowed:
        yield None
        return

    class Bound(ProxyConnection):
        pass

    Bound.allowed = allowed
    door = folder / "door"
    with ProxyServer(str(door), Bound) as server:
        if user is not None:
            os.chown(door, user, user)
        serving = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
        serving.start()
        try:
            yield door
        finally:
            server.shutdown()
            serving.join()


def build_proxied_command(argv: Sequence[str]) -> list[str]:
    """A command with `proxy_inside` in front of it."""
    return [sys.executable, "-I", "-S", SCRIPT, INSIDE, str(PORT), *argv]


def list_mounts(door: Path | None) -> list[Mount]:
    """What must be mounted inside for the proxy."""
    if door is None:
        return []
    return [Mount(here=door, inside=INSIDE), Mount(here=Path(proxy_inside.__file__), inside=SCRIPT)]
