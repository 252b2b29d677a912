"""Runs a command with a way out: what connects to a port of the loopback is handed to a Unix socket.

A program of its own, with no imports of ours: it runs inside the sandbox, `proxy_inside.py SOCKET PORT COMMAND…`.
"""

import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
import threading
import time

BLOCK = 64 << 10
FOR_NOW = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED, errno.EINTR)
"""Why one visitor can't be let in, while the next one may."""
WAIT_S = 0.05


def copy_stream(source: socket.socket, target: socket.socket) -> None:
    """Copy all that a socket receives to another one, then say that no more will come."""
    with contextlib.suppress(OSError):
        while got := source.recv(BLOCK):
            target.sendall(got)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def join_sockets(one: socket.socket, other: socket.socket) -> None:
    """Connect two sockets until both have said everything."""
    back = threading.Thread(target=copy_stream, args=(other, one), daemon=True)
    back.start()
    copy_stream(one, other)
    back.join()


def serve_connections(listening: socket.socket, door: str) -> None:
    """Hand every connection to the door, until nobody listens any more."""
    while True:
        try:
            visitor, _ = listening.accept()
        except OSError as error:
            if error.errno not in FOR_NOW:
                return
            time.sleep(WAIT_S)
            continue
        threading.Thread(target=carry_connection, args=(visitor, door), daemon=True).start()


def carry_connection(visitor: socket.socket, door: str) -> None:
    with visitor, socket.socket(socket.AF_UNIX) as out, contextlib.suppress(OSError):
        out.connect(door)
        join_sockets(visitor, out)


def main() -> None:
    door, port, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    listening = socket.create_server(("127.0.0.1", port))
    threading.Thread(target=serve_connections, args=(listening, door), daemon=True).start()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the command is told by itself
    child = subprocess.Popen(command, preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL) and None)  # noqa: S603
    code = child.wait()
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
