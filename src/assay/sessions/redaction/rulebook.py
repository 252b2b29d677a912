"""The rules, read from their files; one family a file, the first files win where two kinds claim the same words.

A rule begins with words that stand in every text it can match. What it says is a pattern that stands

- `match`: at the word, or `before` bytes ahead of it; with `lead`, as far ahead as there are only such characters;
  With `then`, so many letters, digits, `_` and `-` follow the word: the gate looks for these too;
- `after`: right behind the word;
- `value`: behind the word, the rest of a name, and an assignment.

Its group `s` (or `e`, `p`, `u`) is the secret, without one all of it; with `each`, every `s` of that in `block`.
`check` names what else has to hold (`checks.py`); `edges`: on which sides, `l` and `r`, no letter may stand;
`option`: found only when asked for. Every repetition has an upper bound, so no text can make a rule slow.
"""

import re
import tomllib
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files
from typing import Any

from msgspec import Struct, convert

FOLDER = files("assay.sessions.redaction").joinpath("rules")
FAMILIES = ("keys", "cloud", "vcs", "chat", "payment", "models", "observability", "databases", "generic", "options")
PIECE = re.compile(r"%\{(\w+)\}")
CODE = 2
"""Raised when the same rules find something else."""


class Rule(Struct, frozen=True, kw_only=True, dict=True):
    """How one kind is found; a kind may have several."""

    kind: str
    rank: int
    words: tuple[str, ...]
    what: str = ""
    family: str = ""
    match: str = ""
    after: str = ""
    value: str = ""
    each: str = ""
    before: int = 0
    lead: str = ""
    then: int = 0
    caseless: bool = False
    edges: str = "lr"
    check: str = "shape"
    entropy: float = 2.5
    option: str = ""

    @cached_property
    def pattern(self) -> re.Pattern[bytes]:
        """What confirms a word."""
        return re.compile(self.written().encode(), re.ASCII | (re.IGNORECASE if self.caseless else 0))

    @cached_property
    def follows(self) -> bool:
        """Whether the pattern stands right behind the word."""
        return bool(self.after or self.value)

    @cached_property
    def parts(self) -> re.Pattern[bytes]:
        """What is looked for in the block."""
        return re.compile(filled(self.each).encode(), re.ASCII)

    @cached_property
    def characters(self) -> bytes:
        """All characters of `lead`, which is written like a class in a pattern."""
        return bytes(one for one in range(256) if re.fullmatch(f"[{self.lead}]".encode(), bytes([one])))

    def written(self) -> str:
        """The whole pattern."""
        if self.after:
            return filled(self.after)
        if self.value:
            return filled(f"%{{name}}%{{assign}}%{{open}}(?P<s>(?-i:{self.value}))%{{right}}")
        left, right = ("%{left}" if "l" in self.edges else ""), ("%{right}" if "r" in self.edges else "")
        return filled(f"{left}(?:{self.match}){right}")


def texts() -> dict[str, str]:
    """The files as they are written."""
    return {name: FOLDER.joinpath(f"{name}.toml").read_text("utf-8") for name in (*FAMILIES, "pieces", "never")}


@cache
def tables() -> dict[str, dict[str, Any]]:
    """The files as they are read."""
    return {name: tomllib.loads(text) for name, text in texts().items()}


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, those that win first."""
    written = [
        (family, kind, one) for family in FAMILIES for kind, several in tables()[family].items() for one in several
    ]
    return tuple(
        convert({**one, "kind": kind, "family": family, "rank": rank}, Rule)
        for rank, (family, kind, one) in enumerate(written)
    )


def filled(pattern: str) -> str:
    """A pattern with the pieces it names."""
    pieces = tables()["pieces"]["pieces"]
    while PIECE.search(pattern):
        pattern = PIECE.sub(lambda found: pieces[found[1]], pattern)
    return pattern


@cache
def version() -> str:
    """Changes whenever a rule does."""
    return sha256(repr((CODE, sorted(texts().items()))).encode()).hexdigest()[:12]
