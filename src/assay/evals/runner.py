"""What a runner is asked and what it answers: the contract of the room `runners`."""

from collections.abc import Iterable, Mapping
from typing import Protocol, cast

from msgspec import Struct

from assay.evals.configs import Config
from assay.evals.launching import Ended
from assay.plugins import load_module
from assay.types.value import Row

ROOM = "evals.runners"


class Given(Struct, frozen=True, kw_only=True):
    """What an agent is to do, with paths as it sees them."""

    prompt: str
    config: Config
    program: str
    """What is run, in full."""
    folder: str
    """The configuration's own folder."""
    result: str
    """Where a `command` agent may leave a transcript and its cost."""
    is_sandboxed: bool


class Launch(Row, frozen=True):
    """How an agent is started."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    stdin: str = ""


class Left(Struct, frozen=True, kw_only=True):
    """What an agent left behind."""

    stdout: bytes
    stderr: bytes
    ended: Ended
    records: Iterable[Mapping[str, object]] = ()
    """The lines of its transcripts, read anew each time."""


class Told(Row, frozen=True):
    """Instructions that the agent says it was given: a file by its path, or a text in which files can be found."""

    path: str = ""
    text: str = ""


class Runner(Protocol):
    """What a module in the room offers."""

    PROGRAM: str
    """What must be on the search path; empty where the configuration says it."""
    HOSTS: tuple[str, ...]
    """Services that the agent can't do without, as `host:port`."""
    ADDRESS: tuple[str, ...]
    """Variables that name another service instead."""
    TRANSCRIPTS: tuple[str, str]
    """The folder in which it leaves its transcripts, below `home` or `result`, and how their names look."""

    def launch(self, given: Given) -> Launch:
        """How to start it."""

    def trouble(self, left: Left) -> str:
        """Why it could not do its work, where it says that its service failed; else empty.

        It is tried again, and counted at its worst: nobody but the agent says so (`evals.worst`).
        """

    def told(self, records: Iterable[Mapping[str, object]]) -> Iterable[Told]:
        """Which instructions its transcript says it loaded."""


def runner(agent: str) -> Runner:
    """The runner of an agent."""
    return cast(Runner, load_module(ROOM, agent.replace("-", "_")))
