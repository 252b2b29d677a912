"""The tables of programs, tasks and wrappers, as values."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final, get_args

from msgspec import Struct, convert

from assay.types import Purpose

_HERE: Final = Path(__file__).parent
_PURPOSES: Final = frozenset(get_args(Purpose))
_PYTHON_VERSION = re.compile(r"(python|pip|pypy)\d(?:\.\d+)*$")


class Rule(Struct, frozen=True, kw_only=True):
    """What a program or one of its subcommands does; the fields are explained in programs.toml."""

    purpose: Purpose | None = None
    mutates: bool = False
    writes: frozenset[str] = frozenset()
    dry: frozenset[str] = frozenset()
    build: frozenset[str] = frozenset()
    none: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    paths: str = ""
    scripts: str = ""
    like: str = ""
    skip: int = 0
    subs: dict[str, "Rule"] = {}


class Wrapper(Struct, frozen=True, kw_only=True):
    """How to step over a program that runs another; the fields are explained in wrappers.toml."""

    values: frozenset[str] = frozenset()
    skip: int = 0
    sets: bool = False
    dashes: bool = False
    text: bool = False
    known: bool = False
    script: frozenset[str] = frozenset()
    rest: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    through: str = ""


class Task(Struct, frozen=True):
    """What task names that match a pattern are for."""

    names: re.Pattern[str]
    rule: Rule


class Tables(Struct, frozen=True, kw_only=True):
    """Everything that is known about programs."""

    rules: dict[str, Rule]
    same: dict[str, str]
    wrappers: dict[str, Wrapper]
    wrapped_subs: dict[str, tuple[tuple[tuple[str, ...], Wrapper], ...]]
    tasks: tuple[Task, ...]
    checks: dict[str, Rule]
    jvm: dict[str, Rule]
    dry_task: re.Pattern[str]
    fixing_task: re.Pattern[str]

    def key(self, program: str) -> str:
        """Name under which a program's rule is kept."""
        if program in self.rules:
            return program
        if program in self.same:
            return self.same[program]
        if match := _PYTHON_VERSION.match(program):
            return match[1].replace("pypy", "python")
        return self.same.get(program.lower(), program.lower())


def _rule(written: str | dict[str, Any]) -> Rule:
    """A rule from its short or long form."""
    fields: dict[str, Any] = {"is": written} if isinstance(written, str) else dict(written)
    words = fields.pop("is", "").split()
    purposes = [word for word in words if word in _PURPOSES]
    subs = {name: _rule(sub) for name, sub in fields.pop("subs", {}).items()}
    rest: dict[str, Any] = {key: frozenset(v) if isinstance(v, list) else v for key, v in fields.items()}
    return Rule(purpose=purposes[0] if purposes else None, mutates="write" in words, subs=subs, **rest)


def _load(file: str) -> dict[str, Any]:
    return tomllib.loads((_HERE / file).read_text(encoding="utf-8"))


def _rules(document: dict[str, Any]) -> dict[str, Rule]:
    each = document.pop("each", {})
    found = {name: _rule(kind) for kind, names in each.items() for name in names.split()}
    for programs in document.values():
        found |= {name: _rule(written) for name, written in programs.items()}
    return found


def _wrapped_subs(written: dict[str, Any]) -> dict[str, tuple[tuple[tuple[str, ...], Wrapper], ...]]:
    found: dict[str, list[tuple[tuple[str, ...], Wrapper]]] = {}
    for words, fields in written.items():
        program, *subs = words.split()
        found.setdefault(program, []).append((tuple(subs), convert(fields, Wrapper)))
    return {program: tuple(entries) for program, entries in found.items()}


@cache
def tables() -> Tables:
    """Read the tables, once, when the first command is classified."""
    programs, tasks, wrappers = _load("programs.toml"), _load("tasks.toml"), _load("wrappers.toml")
    same = {other: name for name, others in programs.pop("same").items() for other in others.split()}
    return Tables(
        rules=_rules(programs) | _rules(_load("packages.toml")),
        same=same,
        wrappers={name: convert(fields, Wrapper) for name, fields in wrappers["run"].items()},
        wrapped_subs=_wrapped_subs(wrappers["sub"]),
        tasks=tuple(Task(re.compile(task["names"]), _rule(task["is"])) for task in tasks["task"]),
        checks={kind: _rule(purpose) for kind, purpose in tasks["check"].items()},
        jvm={name: _rule(kind) for kind, names in tasks["jvm"].items() for name in names.split()},
        dry_task=re.compile(tasks["dry"]),
        fixing_task=re.compile(tasks["fixes"]),
    )
