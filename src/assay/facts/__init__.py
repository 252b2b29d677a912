"""Facts: what can be established about a run of turns without asking anybody.

A fact is a file here with `VERSION` and `fact(turns)`, which returns a frozen `Fact`; the fields of
all of them stand side by side in the JSON. Same turns, same facts.

Takes turns; gives facts; imports types, errors, plugins and `sessions`. Facts do not know each other.
"""

from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any

import msgspec

from assay.plugins import list_names, load_module
from assay.types import Fact, Turn


@cache
def modules() -> tuple[tuple[str, ModuleType], ...]:
    """All facts by name."""
    return tuple((name, load_module("facts", name)) for name in list_names("facts"))


def establish(turns: Sequence[Turn]) -> dict[str, Fact]:
    """Every fact of these turns, by the name of its file."""
    return {name: module.fact(turns) for name, module in modules()}


def flat(facts: dict[str, Fact]) -> dict[str, Any]:
    """The fields of all facts side by side, as plain values."""
    fields: dict[str, Any] = {}
    for fact in facts.values():
        fields.update(msgspec.to_builtins(fact))
    return fields


def to_json(facts: dict[str, Fact]) -> bytes:
    """The facts as one flat JSON object."""
    return msgspec.json.encode(flat(facts))


@cache
def version() -> str:
    """Changes whenever any fact is established in another way."""
    return ",".join(f"{name}@{module.VERSION}" for name, module in modules())
