"""Tables and texts that are shipped beside the code, each read once, and the short hashes that are their versions."""

from collections.abc import Hashable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")


@cache
def read_resource(package: str, name: str) -> bytes:
    """The file called `name` that stands in a package, as it is written."""
    return files(package).joinpath(*name.split("/")).read_bytes()


@cache
def decode_table(package: str, name: str, kind: Hashable) -> Any:
    return msgspec.toml.decode(read_resource(package, name), type=kind)


def load_table(package: str, name: str, kind: type[T]) -> T:
    """A TOML file of a package as a value of `kind`; nobody may change it, for others are handed the same."""
    found: T = decode_table(package, name, cast(Hashable, kind))
    return found


def hash_parts(*parts: str | bytes) -> str:
    """A short sha256 over all that decides an answer: another one means that scores may differ."""
    return sha256(b"\0".join(part.encode() if isinstance(part, str) else part for part in parts)).hexdigest()[:12]
