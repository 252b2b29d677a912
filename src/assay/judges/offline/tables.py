"""The offline judge's weights: TOML files beside it, each with a version, read once."""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TypeVar

import msgspec

T = TypeVar("T")
FOLDER = files("assay.judges.offline")


@cache
def table(name: str, shape: type[T]) -> T:
    """The table of a judge."""
    return msgspec.toml.decode(FOLDER.joinpath(f"{name}.toml").read_bytes(), type=shape)


@cache
def version(contract: int, *parts: str) -> str:
    """Changes with anything that decides the answers: tables, phrases and the code's own version."""
    names = [part for part in parts if FOLDER.joinpath(f"{part}.toml").is_file()]
    whole = [str(contract).encode(), *(part.encode() for part in parts if part not in names)]
    whole += [FOLDER.joinpath(f"{name}.toml").read_bytes() for name in names]
    return sha256(b"\0".join(whole)).hexdigest()[:12]
