"""What is pulled of a Langfuse session: a file of one line for the session, then one for each observation.

The lines stand in reading order: traces by time, in each trace parents before children. What a trace's root gave
as its output stands behind its children, in a line of type `end`.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from assay.types import Usage
from assay.types.value import sign_attribute, to_table

FORMAT = 1
MOST_ATTRIBUTES, LONGEST_VALUE = 40, 200
UPLOAD_SOURCE, UPLOAD_DIGEST, UPLOAD_SIZE = "assay", "assay_digest", "assay_spans"
"""What the roots of traces that we sent say of themselves in their metadata."""
SESSION, END = "session", "end"
"""Types of the lines that are no observation of Langfuse."""


INPUT_NAMES = ("input", "input_tokens", "prompt_tokens")
OUTPUT_NAMES = ("output", "output_tokens", "completion_tokens")
CACHE_READ_NAMES = ("cache_read_input_tokens", "input_cached_tokens", "input_cache_read", "cache_read_tokens")
CACHE_WRITE_NAMES = (
    "cache_creation_input_tokens",
    "input_cache_creation",
    "input_cache_write",
    "cache_creation_tokens",
)
WRITE_5M, WRITE_1H = "input_cache_creation_5m", "input_cache_creation_1h"
NO_USAGE = Usage()


class Record(Struct, kw_only=True, omit_defaults=True):
    """One line of a pulled session."""

    langfuse: int = FORMAT
    type: str = ""
    session: str = ""
    host: str = ""
    project: str = ""
    """Id of the project that the session was pulled from, in its own line: many share a host, and ids."""
    environment: str = ""
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
        """Whether a trace begins with this record."""
        return not self.parent

    @property
    def upload_size(self) -> int:
        """Of the root of a trace that we sent, how many spans went with it."""
        return to_count(self.metadata.get(UPLOAD_SIZE))


def name_stream(session: str, host: str, project: str) -> str:
    """The name of a pulled session's stream: Langfuse's own id, at its server and project."""
    return f"{session}@{host}/{project}" if project else session


def to_exit_code(value: Any) -> int | None:
    """An exit code, which has 32 bits with or without a sign; `None` for what can't be one."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and -(1 << 31) <= value < 1 << 32 else None


def to_count(value: Any) -> int:
    """A count, which OpenTelemetry may give as text; 0 for what can't be one."""
    try:
        found = int(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else 0
    except (ValueError, OverflowError):
        return 0
    return found if 0 < found < 1 << 40 else 0


def find_attributes(record: Record) -> dict[str, Any]:
    """The attributes of a span, which servers keep nested or spelled out as `attributes.name`."""
    nested = to_table(record.metadata.get("attributes"))
    flat = {
        key.removeprefix("attributes."): value
        for key, value in record.metadata.items()
        if key.startswith("attributes.")
    }
    return nested | flat


def list_signs(record: Record) -> tuple[str, ...]:
    """Signs of a record's tenant: resource attributes, one-word metadata of a root, the user."""
    given = to_table(record.metadata.get("resourceAttributes"))
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
    return tuple(sign_attribute(key, known[key]) for key in sorted(known)[:MOST_ATTRIBUTES])


def to_usage(given: Mapping[str, Any]) -> Usage:
    """Tokens of a response; where the input holds the cached ones too (the total tells), they are taken out."""
    asked, output, read, write = (
        find_count(given, names) for names in (INPUT_NAMES, OUTPUT_NAMES, CACHE_READ_NAMES, CACHE_WRITE_NAMES)
    )
    hour = to_count(given.get(WRITE_1H))
    write += to_count(given.get(WRITE_5M)) + hour
    total = to_count(given.get("total")) or to_count(given.get("total_tokens"))
    if total and total == asked + output and asked >= read + write:
        asked -= read + write
    return Usage(input=asked, output=output, cache_read=read, cache_write=write, cache_write_1h=hour)


def find_count(given: Mapping[str, Any], names: tuple[str, ...]) -> int:
    """The first of these counts that is given."""
    return next((to_count(given[name]) for name in names if name in given), 0)
