"""What every value is made of."""

from hashlib import blake2b
from typing import NewType

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
