"""What sources yield."""

from collections.abc import Callable
from typing import Literal

from assay.types.value import Value

PromptKind = Literal[
    "typed",  # written into the prompt box
    "command",  # a slash command that is the person's request
    "shell",  # `!cmd` run by the person
    "queued",  # typed while the agent worked, taken up in mid-turn
    "rejection",  # the person's words inside a rejected tool call
    "plan",  # an accepted plan that opened this conversation
]

CallKind = Literal["shell", "edit", "read", "search", "agent", "plan", "todo", "ask", "web", "skill", "mcp", "other"]

CallStatus = Literal["open", "ok", "error", "rejected", "denied", "interrupted"]

MarkKind = Literal[
    "clear",  # the stream begins with /clear
    "compact",  # the context was summarised; detail: auto | manual
    "interrupt",  # the person pressed Esc
    "api_error",  # the model's service failed; detail: its kind
    "retry",  # a request was sent again
    "rollback",  # turns were undone; detail: how many
    "pr",  # a pull request; detail: its URL
]

Purpose = Literal[
    "test", "lint", "types", "build", "format",
    "commit", "revert", "restore", "reset", "push", "pr",
]  # fmt: skip

Outcome = Literal["passed", "failed"]


class SkippedLine(Value, frozen=True):
    """A line that could not be read, and why."""

    line: int
    why: str


class Usage(Value, frozen=True):
    """Tokens of one model response; `cache_write_1h` is the part of `cache_write` kept for an hour."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0


class Prompt(Value, frozen=True):
    """What a person said."""

    at: str
    text: str
    key: int
    """Identity of the prompt wherever it is copied to."""
    kind: PromptKind = "typed"
    images: int = 0
    previous: str = ""
    """For an accepted plan: the vendor id of the stream in which it was made."""


class Reply(Value, frozen=True):
    """What the agent said to the person."""

    at: str
    text: str


class Spend(Value, frozen=True):
    """Tokens spent on one model response; the last report for a key wins."""

    at: str
    key: int
    model: str
    usage: Usage
    by: str = ""
    """Sub-agent that spent them; empty for the main agent."""


class Edit(Value, frozen=True):
    """Lines that one tool call added to and removed from one file."""

    path: str
    added: int = 0
    removed: int = 0
    how: Literal["create", "update", "delete"] = "update"
    new: bytes = b""
    """Hashes of the added lines in order, as `types.lines` packs them; lines that tell nothing are left out."""
    old: bytes = b""
    """The same of the removed lines."""
    text: str = ""
    """The change in short, as a few lines of a diff; see `types.lines`."""


class Run(Value, frozen=True):
    """One simple command found in a shell command, classified."""

    program: str
    purpose: Purpose | None = None
    mutates: bool = False
    paths: tuple[str, ...] = ()
    """Files it writes, as far as they can be read off the command."""
    new: bytes = b""
    """Hashes of the lines it writes into its only file, where the command itself holds them."""
    appends: bool = False
    """What is in that file stays."""
    folder: str = ""
    """Where the command went before it wrote lines or removed files, as it says."""
    told_by: Literal["exit", "success", "output"] = "exit"
    """What decides its outcome: the exit code; the exit code only when it is 0; only the output."""
    is_fallback: bool = False
    """It stands behind `||`: it only ran if the one before it failed."""
    outcome: Outcome | None = None


class Call(Value, frozen=True):
    """A tool call, later with its result."""

    id: str
    at: str
    name: str
    of: int = 0
    """Key of the response (or turn) that made it: copies of it are dropped together."""
    kind: CallKind = "other"
    target: str = ""
    """The file, pattern, address or description it was about."""
    is_partial: bool = False
    """Of a read: only some lines were asked for."""
    command: str = ""
    dialect: Literal["bash", "powershell"] = "bash"
    runs: tuple[Run, ...] = ()
    edits: tuple[Edit, ...] = ()
    status: CallStatus = "open"
    exit_code: int | None = None
    output: str = ""
    ended_at: str = ""
    commits: tuple[str, ...] = ()
    """Ids of the commits it made."""
    agent: str = ""
    """Sub-agent that this call started."""
    by: str = ""
    """Sub-agent that made this call; empty for the main agent."""


class Result(Value, frozen=True):
    """How a call ended. `None` leaves what is known of the call as it is."""

    id: str
    at: str
    status: CallStatus
    output: str = ""
    exit_code: int | None = None
    edits: tuple[Edit, ...] | None = None
    agent: str = ""
    commit: str = ""
    """Commit id the client itself reported."""


class Mark(Value, frozen=True):
    """Something that happened to the conversation."""

    kind: MarkKind
    at: str
    detail: str = ""


class About(Value, frozen=True):
    """What a record says of its stream; an empty field says nothing."""

    at: str = ""
    """When the file's first record was written; what a copy repeats may be older."""
    stream: str = ""
    by: str = ""
    """Sub-agent whose transcript this is."""
    parent: str = ""
    """Stream that started this one."""
    forked_from: str = ""
    cwd: str = ""
    signs: tuple[str, ...] = ()
    """By what else the tenant of what follows is known; see `types.value`."""
    branch: str = ""
    version: str = ""
    title: str = ""
    model: str = ""
    origin: str = ""
    """Where it was run: cli, vscode, sdk…"""
    is_warmup: bool = False
    """A sub-agent that was only started to fill the cache."""


Event = Prompt | Reply | Spend | Call | Result | Mark | About
Emit = Callable[[Event], None]
