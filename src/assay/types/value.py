"""What every value is made of."""

from hashlib import blake2b
from typing import Any, NewType

from msgspec import Struct

Clean = NewType("Clean", str)
"""Text that went through redaction, or was written here. Only `sessions.redaction` makes it of a transcript's words."""


class Value(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A frozen record; defaults are left out when it is stored."""


class Row(Struct, frozen=True, kw_only=True):
    """A frozen record that is shown with all its fields."""


class Fact(Row, frozen=True):
    """What one file of `facts` establishes; its fields appear flat in the JSON."""


def key_of(identity: str) -> int:
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
