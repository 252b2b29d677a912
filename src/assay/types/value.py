"""What every value is made of."""

from hashlib import blake2b, sha256
from typing import Any, NewType

from msgspec import Struct

CleanText = NewType("CleanText", str)
"""Text that went through redaction, or was written here. Only `sessions.redaction` makes it of a transcript's words."""

MOST_SIGNS = 100
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
