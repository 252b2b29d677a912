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
from functools import cache, cached_property
from hashlib import sha256
from typing import Any

from msgspec import Struct, convert

from assay.resources import load_table, read_resource

PACKAGE = "assay.sessions.redaction"
FAMILIES = ("keys", "cloud", "vcs", "chat", "payment", "models", "observability", "databases", "generic", "options")
PIECE = re.compile(r"%\{(\w+)\}")
CODE = 2
"""Raised when the same rules find something else."""


class RedactionRule(Struct, frozen=True, kw_only=True, dict=True):
    """How one kind of secret is found; a kind may have several rules."""

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
        """The pattern that confirms a word."""
        return re.compile(self.build_pattern().encode(), re.ASCII | (re.IGNORECASE if self.caseless else 0))

    @cached_property
    def follows(self) -> bool:
        """Whether the pattern stands right behind the word."""
        return bool(self.after or self.value)

    @cached_property
    def parts(self) -> re.Pattern[bytes]:
        """The pattern of each secret in the block."""
        return re.compile(fill_pieces(self.each).encode(), re.ASCII)

    @cached_property
    def characters(self) -> bytes:
        """All characters of `lead`, which is written like a class in a pattern."""
        return bytes(one for one in range(256) if re.fullmatch(f"[{self.lead}]".encode(), bytes([one])))

    def build_pattern(self) -> str:
        """The whole pattern, as text."""
        if self.after:
            return fill_pieces(self.after)
        if self.value:
            return fill_pieces(f"%{{name}}%{{assign}}%{{open}}(?P<s>(?-i:{self.value}))%{{right}}")
        left, right = ("%{left}" if "l" in self.edges else ""), ("%{right}" if "r" in self.edges else "")
        return fill_pieces(f"{left}(?:{self.match}){right}")


def read_files() -> dict[str, str]:
    """The rule files, as text."""
    return {name: read_resource(PACKAGE, f"rules/{name}.toml").decode() for name in (*FAMILIES, "pieces", "never")}


@cache
def load_tables() -> dict[str, dict[str, Any]]:
    """The rule files, as tables."""
    return {name: load_table(PACKAGE, f"rules/{name}.toml", dict[str, Any]) for name in read_files()}


@cache
def load_rules() -> tuple[RedactionRule, ...]:
    """All rules, those that win first."""
    written = [
        (family, kind, one) for family in FAMILIES for kind, several in load_tables()[family].items() for one in several
    ]
    return tuple(
        convert({**one, "kind": kind, "family": family, "rank": rank}, RedactionRule)
        for rank, (family, kind, one) in enumerate(written)
    )


def fill_pieces(pattern: str) -> str:
    """A pattern with the pieces that it names."""
    pieces = load_tables()["pieces"]["pieces"]
    while PIECE.search(pattern):
        pattern = PIECE.sub(lambda found: pieces[found[1]], pattern)
    return pattern


@cache
def hash_rules() -> str:
    """A hash that changes whenever a rule does."""
    return sha256(repr((CODE, sorted(read_files().items()))).encode()).hexdigest()[:12]
