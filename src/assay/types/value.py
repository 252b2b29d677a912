"""What every value is made of."""

from datetime import UTC, datetime, timedelta
from hashlib import blake2b, sha256
from typing import Any, NewType

from msgspec import Struct

CleanText = NewType("CleanText", str)
"""Text that went through redaction, or was written here. Only `sessions.redaction` makes it of a transcript's words."""

MOST_SIGNS = 100
MILLISECONDS = 100_000_000_000
"""Larger than any time in seconds, smaller than any in milliseconds."""
IMPOSSIBLE = 1 << 40
SCHEMA_VERSION = 1
KEY, ATTRIBUTE = "key:", "attribute:"


class Value(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A frozen record; defaults are left out when it is stored."""


class Row(Struct, frozen=True, kw_only=True):
    """A frozen record that is shown with all its fields."""


class Document(Row, frozen=True, kw_only=True, tag_field="kind"):
    """What a command prints for machines: its tag is the `kind`; a field is never renamed without a new version."""

    schema_version: int = SCHEMA_VERSION


class Fact(Row, frozen=True):
    """What one file of `facts` establishes; its fields appear flat in the JSON."""


def to_key(identity: str) -> int:
    """A 64-bit key: equal for equal identities, in every file and on every machine."""
    digest = blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


# --- JSON of which nobody knows the shape -----------------------------------------------------


def to_text(value: Any) -> str:
    """The value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def to_table(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def to_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def to_time(value: Any) -> str:
    """A time as records write it, in UTC: of a text in ISO 8601, or of seconds or milliseconds; empty for others."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value.strip())
            when = (found.replace(tzinfo=UTC) if found.tzinfo is None else found).astimezone(UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            when = datetime.fromtimestamp(value / 1000 if value > MILLISECONDS else value, UTC)
        else:
            return ""
    except (ValueError, OverflowError, OSError):
        return ""
    return f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03}Z"


def add_milliseconds(began: str, steps: int) -> str:
    """A time that keeps the order of what has none of its own: some milliseconds after all of it began."""
    return to_time((datetime.fromisoformat(began) + timedelta(milliseconds=steps)).isoformat()) if began else ""


def to_count(value: Any) -> int:
    """A number of tokens; 0 for what no response can have."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 < value < IMPOSSIBLE else 0


def sign_key(hashed: str) -> str:
    """The sign of the key with which telemetry came in; given as its sha256."""
    return f"{KEY}{hashed.lower()}"


def sign_attribute(name: str, value: str) -> str:
    """The sign of a resource attribute."""
    return f"{ATTRIBUTE}{sha256(f'{name}={value}'.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def is_folder_sign(sign: str) -> bool:
    """Whether a sign is a folder, not a hash."""
    return not sign.startswith((KEY, ATTRIBUTE))


def merge_signs(known: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """Both lots of signs, each once; the very same tuple where nothing is new."""
    if known is new or not new:
        return known
    if not known:
        return new
    more = [one for one in new if one not in known]
    return (*known, *more)[:MOST_SIGNS] if more else known
