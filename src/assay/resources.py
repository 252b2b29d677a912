"""Tables and texts that are shipped beside the code, each read once, and the short hashes that are their versions.

The package is built with all its tables in `tables.msgpack`. Nothing of ours is imported: the build runs this file by
itself.
"""

from collections.abc import Hashable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")
ROOT = Path(__file__).parent
SPEECH = ROOT / "sessions" / "speech"
"""Its phrases are packed in another way."""
EXAMPLES = ROOT / "examples"
PACKED = ROOT / "tables.msgpack"


class PackedTable(msgspec.Struct, frozen=True):
    version: str
    """Hash of the file as it was written."""
    packed: bytes


@cache
def read_resource(package: str, name: str) -> bytes:
    """The file called `name` that stands in a package, as it is written."""
    return files(package).joinpath(*name.split("/")).read_bytes()


@cache
def load_packed() -> dict[str, PackedTable]:
    """All tables as the package was built with them; none in a source tree that nobody built."""
    try:
        return msgspec.msgpack.decode(PACKED.read_bytes(), type=dict[str, PackedTable])
    except (OSError, msgspec.DecodeError):
        return {}


def pack_tables() -> bytes:
    """Every table of the package, packed: reading TOML takes ten times as long."""
    return msgspec.msgpack.encode(
        {
            str(file.relative_to(ROOT)): PackedTable(hash_parts(file.read_bytes()), pack_table(file.read_bytes()))
            for file in sorted(ROOT.rglob("*.toml"))
            if file.parent != SPEECH and EXAMPLES not in file.parents
        }
    )


def pack_table(written: bytes) -> bytes:
    return msgspec.msgpack.encode(msgspec.toml.decode(written))


def read_table(package: str, name: str) -> bytes:
    """A TOML file of a package, packed; what was packed at the build stands only for the very same bytes."""
    written = read_resource(package, name)
    packed = load_packed().get("/".join((*package.split(".")[1:], name)))
    return packed.packed if packed and packed.version == hash_parts(written) else pack_table(written)


@cache
def decode_table(package: str, name: str, kind: Hashable) -> Any:
    return msgspec.msgpack.decode(read_table(package, name), type=kind)


def load_table(package: str, name: str, kind: type[T]) -> T:
    """A TOML file of a package as a value of `kind`; nobody may change it, for others are handed the same."""
    found: T = decode_table(package, name, cast(Hashable, kind))
    return found


def hash_parts(*parts: str | bytes) -> str:
    """A short sha256 over all that decides an answer: another one means that scores may differ."""
    return sha256(b"\0".join(part.encode() if isinstance(part, str) else part for part in parts)).hexdigest()[:12]
