"""What agents tell of their work while they work, as OpenTelemetry has it."""

from typing import Any, Literal

from assay.types.value import Row, Value

Signal = Literal["logs", "metrics", "traces"]

CLAUDE_CODE, CODEX = "claude-code", "codex"
"""Agents whose telemetry has words of its own; others are known by the name of their service."""


HOOK = "hook."
"""Before the names of records that tell what an agent told its hooks."""


class SpanEvent(Value, frozen=True):
    """Something that happened within a span."""

    name: str
    at: str = ""
    attributes: dict[str, Any] = {}


class TelemetryRecord(Value, frozen=True):
    """A log event, a span, or one number of a metric, about one conversation."""

    id: str
    """32 hexadecimal digits, the same for a record that is sent again."""
    agent: str
    conversation: str = ""
    """The vendor's id; empty where only others of the same trace name it."""
    trace: str = ""
    span: str = ""
    parent: str = ""
    signal: Signal = "logs"
    name: str = ""
    at: str = ""
    """When it began, in UTC."""
    ended_at: str = ""
    order: int = 0
    """The same time in nanoseconds: records of one conversation stand by it."""
    sequence: int = -1
    """The number that the sender gave it, among those of one process; -1 for none."""
    attributes: dict[str, Any] = {}
    resource: dict[str, Any] = {}
    body: Any = None
    """What a log event says, where that is more than its name."""
    value: float | None = None
    """Of a metric."""
    is_delta: bool = False
    """The value of a metric counts from its last report on, not from the start."""
    events: tuple[SpanEvent, ...] = ()
    has_failed: bool = False
    said: str = ""
    """The message of a span's status."""
    key: str = ""
    """Hash (sha256) of the key with which it came in."""


class LiveConversation(Value, frozen=True):
    """A conversation of which telemetry came in."""

    agent: str
    id: str
    revision: int = 0
    """Grows with every batch that holds something new of it."""
    records: int = 0


LiveState = Literal[
    "open",  # somebody is at work, and nothing sealed it
    "provisional",  # quiet for a while: its score counts, and it may go on
    "sealed",  # and not judged yet
    "judged",  # sealed, and judged as it is
]


class LiveRow(Row, frozen=True, kw_only=True):
    """A conversation of the last day, and where the session it is in stands."""

    agent: str
    stream: str
    session: str | None
    """`None`: not told yet where its sessions begin."""
    project: str
    began_at: str
    last_at: str
    """Of the last thing that is known of it."""
    turns: int
    tokens: dict[str, int] | None
    """`None`: not established yet."""
    cost_usd: float | None
    state: LiveState
    sealed_by: str | None
    """clear, conversation, topic, commit or person; a quiet spell seals nothing."""
    sealed_at: str | None
    opened_again: int
    """How often the session went on after it had been sealed."""
