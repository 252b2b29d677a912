"""Runners: one module for each agent, with how it is started, where it leaves what, and when it was not at fault.

- `claude_code` runs Claude Code in print mode;
- `codex` runs Codex in `exec` mode;
- `command` runs any program.

Takes `AgentTask` and `AgentOutput`; gives `Launch`, instructions and reasons. Runners start nothing themselves and do
not know each other; `Runner` is their contract.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol, cast

from msgspec import Struct

from assay.evals.sandbox.launch import CommandEnd
from assay.evals.tasks.config import AgentConfig
from assay.plugins import load_module
from assay.types.value import Row

ROOM = "evals.runners"


class AgentTask(Struct, frozen=True, kw_only=True):
    """What an agent is to do, with paths as it sees them."""

    prompt: str
    config: AgentConfig
    program: str
    """What is run, in full."""
    folder: str
    """The configuration's own folder."""
    result: str
    """Where a `command` agent may leave a transcript and its cost."""
    is_sandboxed: bool


class Launch(Row, frozen=True):
    """The command, variables and input by which an agent is started."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    stdin: str = ""


class AgentOutput(Struct, frozen=True, kw_only=True):
    """What an agent printed, how it ended, and its transcripts."""

    stdout: bytes
    stderr: bytes
    ended: CommandEnd
    records: Iterable[Mapping[str, object]] = ()
    """The lines of its transcripts, read anew each time."""


class Instruction(Row, frozen=True):
    """Instructions that the agent says it was given: a file by its path, or a text in which files can be found."""

    path: str = ""
    text: str = ""


class Runner(Protocol):
    """What each module in this room offers."""

    PROGRAM: str
    """What must be on the search path; empty where the configuration says it."""
    HOSTS: tuple[str, ...]
    """Services that the agent can't do without, as `host:port`."""
    ADDRESS: tuple[str, ...]
    """Variables that name another service instead."""
    TRANSCRIPTS: tuple[str, str]
    """The folder in which it leaves its transcripts, below `home` or `result`, and how their names look."""

    def build_launch(self, given: AgentTask) -> Launch:
        """The command that starts the agent on a task."""

    def explain_trouble(self, left: AgentOutput) -> str:
        """Why it could not do its work, where it says that its service failed; else empty.

        It is tried again, and counted at its worst: nobody but the agent says so (`evals.worst`).
        """

    def find_instructions(self, records: Iterable[Mapping[str, object]]) -> Iterable[Instruction]:
        """Which instructions an agent's transcript says it loaded."""


def find_runner(agent: str) -> Runner:
    """The runner of an agent, by the name in its configuration."""
    return cast(Runner, load_module(ROOM, agent.replace("-", "_")))
