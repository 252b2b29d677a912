"""What is pulled of a Langfuse session: a file of one line for the session, then one for each observation.

The lines stand in reading order: traces by time, in each trace parents before children. What a trace's root gave
as its output stands behind its children, in a line of type `end`.
"""

from typing import Any

from msgspec import Struct

from assay.types.signs import of_attribute

FORMAT = 1
MOST_ATTRIBUTES, LONGEST_VALUE = 40, 200
SESSION, END = "session", "end"
"""Types of the lines that are no observation of Langfuse."""


class Record(Struct, kw_only=True, omit_defaults=True):
    """One line."""

    langfuse: int = FORMAT
    type: str = ""
    session: str = ""
    host: str = ""
    digest: str = ""
    """Of all lines below, in the session's own: a file that changed anywhere begins differently."""
    key: str = ""
    """Hash (sha256) of the key with which the session was pulled, in its own line."""
    trace: str = ""
    trace_name: str = ""
    id: str = ""
    parent: str = ""
    name: str = ""
    at: str = ""
    ended_at: str = ""
    level: str = ""
    said: str = ""
    """The status message."""
    model: str = ""
    usage: dict[str, int] = {}
    input: Any = None
    output: Any = None
    metadata: dict[str, Any] = {}
    tags: tuple[str, ...] = ()
    version: str = ""
    user: str = ""

    @property
    def is_root(self) -> bool:
        """Whether its trace begins with it."""
        return not self.parent


def word(value: Any) -> str:
    """A string, or nothing."""
    return value if isinstance(value, str) else ""


def table(value: Any) -> dict[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[Any]:
    """A list, or an empty one."""
    return value if isinstance(value, list) else []


def number(value: Any) -> int:
    """A count, which OpenTelemetry may give as a text; what can't be one is none."""
    try:
        found = int(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else 0
    except (ValueError, OverflowError):
        return 0
    return found if 0 < found < 1 << 40 else 0


def attributes(record: Record) -> dict[str, Any]:
    """The attributes of a span, which servers keep nested or spelled out as `attributes.name`."""
    nested = table(record.metadata.get("attributes"))
    flat = {
        key.removeprefix("attributes."): value
        for key, value in record.metadata.items()
        if key.startswith("attributes.")
    }
    return nested | flat


def signs(record: Record) -> tuple[str, ...]:
    """By what the tenant of a record is known: resource attributes, what a root's metadata says in a word, the user."""
    given = table(record.metadata.get("resourceAttributes"))
    given |= {
        key.removeprefix("resourceAttributes."): value
        for key, value in record.metadata.items()
        if key.startswith("resourceAttributes.")
    }
    if record.is_root:
        given = {key: value for key, value in record.metadata.items() if "." not in key} | given
    if record.user:
        given = given | {"user.id": record.user}
    known = {key: value for key, value in given.items() if isinstance(value, str) and 0 < len(value) <= LONGEST_VALUE}
    return tuple(of_attribute(key, known[key]) for key in sorted(known)[:MOST_ATTRIBUTES])
