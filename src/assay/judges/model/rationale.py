"""What a rationale says of the goal, to be held against the fields beside it."""

import re
from functools import cache
from hashlib import sha256
from importlib.resources import files

import msgspec
from msgspec import Struct

CLOSING = re.compile(r"therefore,? the goal was (not )?completed[\s.\"'*]*\Z", re.IGNORECASE)


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    complete: list[str]
    incomplete: list[str]


@cache
def source() -> bytes:
    """The wordings as they are written."""
    return files("assay.judges.model").joinpath("rationale.toml").read_bytes()


@cache
def version() -> str:
    """Changes whenever a pattern does."""
    return sha256(source()).hexdigest()[:12]


@cache
def wordings() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Of a completed goal, and of one that is not."""
    known = msgspec.toml.decode(source(), type=Table)
    return re.compile("|".join(known.complete)), re.compile("|".join(known.incomplete))


def says_complete(rationale: str) -> bool | None:
    """What its last sentence says; without that, what it says in plain words of one kind; else `None`."""
    if closing := CLOSING.search(rationale):
        return closing[1] is None
    complete, incomplete = wordings()
    said = " ".join(rationale.lower().split())
    yes, no = bool(complete.search(said)), bool(incomplete.search(said))
    return yes if yes != no else None
