"""Starts commands under a supervisor, and says how they ended."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from assay.evals.sandbox import supervisor
from assay.types.value import Row

Ending = Literal["exit", "timeout", "disk", "memory", "processes", "stopped", "missing", "lost"]
OVER = ("disk", "memory", "processes")
"""Ends of a command that passed its limits."""
GRACE_S = 3.0
"""Between asking a command to end and killing it."""


class SupervisedCommand(Struct, frozen=True, kw_only=True):
    """A command to keep; paths are those of this machine."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    stdin: str = os.devnull
    stdout: str
    stderr: str
    timeout_s: float
    grace_s: float = GRACE_S
    most_bytes: int
    """Of each file, and of all that is watched together."""
    watch: Sequence[str]
    most_memory: int = 0
    """Bytes of all its processes together; 0: any number. So for processes."""
    most_processes: int = 0
    user: int | None = None
    """Who the command is, where it is not us."""
    marker: str = ""
    """A path that stands in the environment, or is above the folder, of whatever the command starts."""
    is_wrapped: bool = False
    """Whether it is the sandbox's program that is started, which says so when the command inside has ended."""


class CommandEnd(Row, frozen=True):
    """How a command ended, when, and what it left running."""

    ended: Ending
    code: int | None
    """Negative: the signal that killed it."""
    wall_s: float
    left: int = 0
    """Processes that it left running, all killed since."""
    why: str = ""


class Supervisors:
    """Commands that are being kept, so that all of them can be ended at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[subprocess.Popen[bytes]] = set()
        self.is_stopped = False

    def run_command(self, order: SupervisedCommand) -> CommandEnd:
        """Run a command to its very end: when this returns, nothing of it runs any more."""
        program = [sys.executable, "-I", "-S", str(Path(supervisor.__file__))]
        with self.lock:
            if self.is_stopped:
                return CommandEnd(ended="stopped", code=None, wall_s=0.0, why="stopped")
            pipe = subprocess.PIPE
            one = subprocess.Popen(program, stdin=pipe, stdout=pipe, env={}, start_new_session=True)  # noqa: S603
            self.running.add(one)
        assert one.stdin is not None
        assert one.stdout is not None
        with one:
            try:
                one.stdin.write(msgspec.json.encode(order) + b"\n")
                one.stdin.flush()
            except (BrokenPipeError, ValueError):  # it was killed, or told to stop
                pass
            said = one.stdout.read()
            with self.lock:
                self.running.discard(one)
                one.stdin.close()
        try:
            return msgspec.json.decode(said, type=CommandEnd)
        except msgspec.DecodeError:
            kill_marked(order.marker)
            return CommandEnd(ended="lost", code=None, wall_s=0.0, why="the process that kept the command was killed")

    def stop_all(self) -> None:
        """End every command that runs, and start no more."""
        with self.lock:
            self.is_stopped = True
            for one in self.running:
                if one.stdin:
                    one.stdin.close()


def kill_marked(marker: str) -> None:
    """Kill what a command left whose supervisor was killed, which only a command outside a sandbox can do."""
    until = time.monotonic() + GRACE_S
    while marker and time.monotonic() < until and (there := find_marked(marker)):
        for pid in there:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def find_marked(marker: str) -> list[int]:
    """Processes whose environment or folder bears a mark."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = marker.encode() in (place / "environ").read_bytes() or str((place / "cwd").readlink()).startswith(
                marker
            )
        except OSError:
            continue
        if is_ours and int(place.name) != os.getpid():
            found.append(int(place.name))
    return found
