"""Starts commands under a keeper, and says how they ended."""

import os
import subprocess
import sys
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


def keep(order: Order) -> Ended:
    """Run a command to its very end: when this returns, or is interrupted, nothing of it runs any more."""
    program = [sys.executable, "-I", "-S", str(Path(keeper.__file__))]
    with subprocess.Popen(  # noqa: S603
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}, start_new_session=True
    ) as one:
        assert one.stdin is not None
        assert one.stdout is not None
        try:
            one.stdin.write(msgspec.json.encode(order) + b"\n")
            one.stdin.flush()
            said = one.stdout.read()
        except BrokenPipeError:
            said = b""
        finally:
            one.stdin.close()
    try:
        return msgspec.json.decode(said, type=Ended)
    except msgspec.DecodeError:
        return Ended(ended="lost", code=None, wall_s=0.0, why="the process that kept the command was killed")
