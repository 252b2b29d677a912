"""Starts commands under a keeper, and says how they ended."""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.evals import keeper
from assay.evals.scene import Ending
from assay.types.value import Row

GRACE_S = 3.0
"""Between asking a command to end and killing it."""


class Order(Struct, frozen=True, kw_only=True):
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
    is_wrapped: bool = False
    """Whether it is the sandbox's program that is started, which says so when the command inside has ended."""


class Ended(Row, frozen=True):
    """How a command ended."""

    ended: Ending
    code: int | None
    """Negative: the signal that killed it."""
    wall_s: float
    left: int = 0
    """Processes that it left running, all killed since."""
    why: str = ""


class Keepers:
    """Commands that are being kept, so that all of them can be ended at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[subprocess.Popen[bytes]] = set()
        self.is_stopped = False

    def keep(self, order: Order) -> Ended:
        """Run a command to its very end: when this returns, nothing of it runs any more."""
        program = [sys.executable, "-I", "-S", str(Path(keeper.__file__))]
        with self.lock:
            if self.is_stopped:
                return Ended(ended="stopped", code=None, wall_s=0.0, why="stopped")
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
            return msgspec.json.decode(said, type=Ended)
        except msgspec.DecodeError:
            return Ended(ended="lost", code=None, wall_s=0.0, why="the process that kept the command was killed")

    def stop(self) -> None:
        """End every command that runs, and start no more."""
        with self.lock:
            self.is_stopped = True
            for one in self.running:
                if one.stdin:
                    one.stdin.close()
