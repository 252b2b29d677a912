"""Facts: what can be established about a run of turns without asking anybody.

A fact is a file here (or an entry point `assay.facts`) with `VERSION` and `fact(turns)`, which returns a frozen `Fact`;
the fields of all of them stand side by side in the JSON. Same turns, same facts.

- `turns`, `conversation`, `time`: how much was said, what happened to the conversation, how long it took;
- `tools`, `edits`, `languages`, `git`, `checks`: calls, lines written and in what, what reached git, what was checked;
- `tokens`: what was spent, by a dated price list;
- `attempts`, `failures`, `signals`: what was tried again, how it failed at the end, how the work was done;
- `substance`, `rework`, `signs`: whether it is worth judging, whether its lines can be followed, whose words they are.

Takes turns; gives facts; imports `types errors resources plugins sessions`. Facts do not know each other.
"""

from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any

import msgspec

from assay.plugins import list_names, load_module
from assay.types import Fact, Turn


@cache
def load_facts() -> tuple[tuple[str, ModuleType], ...]:
    """The modules of all facts, by name."""
    return tuple((name, load_module("facts", name)) for name in list_names("facts"))


def establish_facts(turns: Sequence[Turn]) -> dict[str, Fact]:
    """Every fact of these turns, by the name of its file."""
    return {name: module.fact(turns) for name, module in load_facts()}


def flatten_facts(facts: dict[str, Fact]) -> dict[str, Any]:
    """The fields of all facts side by side, as plain values."""
    fields: dict[str, Any] = {}
    for fact in facts.values():
        fields.update(msgspec.to_builtins(fact))
    return fields


def to_json(facts: dict[str, Fact]) -> bytes:
    """The facts as one flat JSON object."""
    return msgspec.json.encode(flatten_facts(facts))


@cache
def build_version() -> str:
    """The version of all facts together: another one means that some fact is established in another way."""
    return ",".join(f"{name}@{module.VERSION}" for name, module in load_facts())
