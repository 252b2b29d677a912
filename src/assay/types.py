"""What the stages say to each other: frozen values that know no file, no store and no screen.

A source turns records into events. `sessions` folds events into turns and turns into streams.
Facts are computed from turns. Nothing missing is ever a number: an unknown outcome is `None`,
an unpriced cost is `None`, a call without a result is `"open"`.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Literal

from msgspec import Struct


class Value(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A frozen record; defaults are left out when it is stored."""


class Fact(Struct, frozen=True, kw_only=True):
    """What one file of `facts` establishes; its fields appear flat in the JSON."""


def key_of(identity: str) -> int:
    """A 64-bit key: equal for equal identities, in every file and on every machine."""
    digest = blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


# --- what sources yield -------------------------------------------------------------------------

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


class Skipped(Value, frozen=True):
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


class Run(Value, frozen=True):
    """One simple command found in a shell command, classified."""

    program: str
    purpose: Purpose | None = None
    mutates: bool = False
    paths: tuple[str, ...] = ()
    """Files it writes, as far as they can be read off the command."""
    told_by: Literal["exit", "success", "output"] = "exit"
    """What decides its outcome: the exit code; the exit code only when it is 0; only the output."""
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


# --- what sessions make of them -----------------------------------------------------------------


class Turn(Value, frozen=True):
    """One human prompt and all that follows up to the next one.

    `prompt` is `None` for what happened before anybody said anything (and in sub-agents).
    """

    at: str = ""
    ended_at: str = ""
    prompt: Prompt | None = None
    replies: tuple[Reply, ...] = ()
    calls: tuple[Call, ...] = ()
    spends: tuple[Spend, ...] = ()
    marks: tuple[Mark, ...] = ()


class Part(Value, frozen=True):
    """What one file holds of a stream, apart from its turns."""

    agent: str
    stream: str
    by: str = ""
    parent: str = ""
    forked_from: str = ""
    cwd: str = ""
    branch: str = ""
    title: str = ""
    origin: str = ""
    versions: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    asked: str = ""
    """What the first prompt begins with: a title where nobody gave one."""
    began_at: str = ""
    """When the file's first record was written: of copies, the file begun first owns them."""
    first_at: str = ""
    """When anybody first said or did anything in it; what was copied may be older than the file."""
    ended_at: str = ""
    is_warmup: bool = False


class Stream(Value, frozen=True):
    """One conversation as its vendor keeps it: its files joined, copies dropped."""

    id: str
    agent: str
    files: tuple[str, ...]
    about: Part
    turns: tuple[Turn, ...]


# --- what stores keep ---------------------------------------------------------------------------


class Place(Value, frozen=True):
    """Where reading a file stopped, and how to tell that it still begins the same."""

    inode: int = 0
    size: int = 0
    mtime_ns: int = 0
    offset: int = 0
    """Behind the last line that was read."""
    anchor: bytes = b""
    """Hash of the first KB and of the last 4 KB before the offset."""
    is_mid_line: bool = False
    """The last record that was read had no newline yet."""


class Scanned(Value, frozen=True):
    """What reading a file gave, ready to be kept."""

    path: str
    source: str = ""
    """Name of the source that reads it; empty for a file that is no transcript."""
    version: str = ""
    """Of the source and of all facts."""
    place: Place = Place()
    lines_read: int = 0
    lines_skipped: int = 0
    bytes_read: int = 0
    """Bytes that this very reading took from the file."""
    skips: tuple[Skipped, ...] = ()
    tail: Skipped | None = None
    """A last line that is still being written; it is looked at again next time."""
    part: Part | None = None
    is_stream: bool = False
    """Anybody said or did anything in it."""
    is_continued: bool = False
    """Only new bytes were read, `bodies` holds only turns that changed."""
    bodies: tuple[tuple[int, str, bytes], ...] = ()
    """Number, time and encoded turn."""
    keys: bytes = b""
    """Its keys, each followed by how complete it is here, packed as 64-bit integers."""
    facts: bytes = b"{}"
    prompts_at: tuple[str, ...] = ()
    unknown: dict[str, int] = {}
    state: bytes = b""
    """What the reader and the turn builder remember."""


class Known(Value, frozen=True):
    """A file that was read before."""

    id: int
    source: str
    version: str
    place: Place
    is_gone: bool = False


class Summary(Value, frozen=True):
    """A stream as it is listed: its facts are JSON, established when it was last read."""

    id: str
    agent: str
    file: str
    files: int
    project: str
    branch: str
    title: str
    began_at: str
    ended_at: str
    prompts_at: bytes
    turns: int
    facts: bytes
    is_gone: bool
    """None of its files is there any more."""
