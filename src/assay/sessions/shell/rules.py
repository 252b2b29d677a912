"""The tables of programs, tasks and wrappers, and the effect of a command: its purpose and what it writes."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple, get_args

from msgspec import Struct, convert

from assay.resources import load_table
from assay.sessions.shell.commands import has_flag, is_assignment
from assay.types import Purpose

_PURPOSES: Final = frozenset(get_args(Purpose))
_PYTHON_VERSION = re.compile(r"(python|pip|pypy)\d(?:\.\d+)*$")
_SEPARATORS = re.compile(r"[_./]")
_SCRIPT = re.compile(r"(.+)\.(?:sh|bash|zsh|ps1|bat|cmd)$", re.IGNORECASE)
_FIXING = frozenset({"--fix", "--write", "--autofix"})
_ORDER: tuple[Purpose, ...] = ("test", "types", "lint", "format", "build")
_JVM_TEST = re.compile(
    r"test(?:only|quick|class|suite)?|(?:test|connected|integration|check)\w*test|\w*unittest|\w*tests?"
)
_XCODE: dict[str, Purpose] = {
    "test": "test",
    "test-without-building": "test",
    "build-for-testing": "build",
    "analyze": "lint",
    "archive": "build",
    "build": "build",
}


class Effect(NamedTuple):
    """What a command is for and writes: `paths` is reported, `touched` tells whether only scratch files are written."""

    purpose: Purpose | None = None
    mutates: bool = False
    paths: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()


NO_EFFECT = Effect()


def to_effect(paths: list[str] | tuple[str, ...], purpose: Purpose | None = None) -> Effect:
    """The effect of writing exactly these files."""
    return Effect(purpose, mutates=True, paths=tuple(paths), touched=tuple(paths))


class ProgramRule(Struct, frozen=True, kw_only=True):
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
    subs: dict[str, "ProgramRule"] = {}


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


class TaskRule(Struct, frozen=True):
    """The rule for task names that match a pattern."""

    names: re.Pattern[str]
    rule: ProgramRule


class ProgramTables(Struct, frozen=True, kw_only=True):
    """Everything that is known about programs."""

    rules: dict[str, ProgramRule]
    same: dict[str, str]
    wrappers: dict[str, Wrapper]
    wrapped_subs: dict[str, tuple[tuple[tuple[str, ...], Wrapper], ...]]
    tasks: tuple[TaskRule, ...]
    checks: dict[str, ProgramRule]
    jvm: dict[str, ProgramRule]
    dry_task: re.Pattern[str]
    fixing_task: re.Pattern[str]

    def find_key(self, program: str) -> str:
        """Name under which a program's rule is kept."""
        if program in self.rules:
            return program
        if program in self.same:
            return self.same[program]
        if match := _PYTHON_VERSION.match(program):
            return match[1].replace("pypy", "python")
        return self.same.get(program.lower(), program.lower())


def _parse_rule(written: str | dict[str, Any]) -> ProgramRule:
    """A rule from its short or long form."""
    fields: dict[str, Any] = {"is": written} if isinstance(written, str) else dict(written)
    words = fields.pop("is", "").split()
    purposes = [word for word in words if word in _PURPOSES]
    subs = {name: _parse_rule(sub) for name, sub in fields.pop("subs", {}).items()}
    rest: dict[str, Any] = {key: frozenset(v) if isinstance(v, list) else v for key, v in fields.items()}
    return ProgramRule(purpose=purposes[0] if purposes else None, mutates="write" in words, subs=subs, **rest)


def _load_table(file: str) -> dict[str, Any]:
    return dict(load_table("assay.sessions.shell", file, dict[str, Any]))  # `each` is taken out of it


def _parse_rules(document: dict[str, Any]) -> dict[str, ProgramRule]:
    each = document.pop("each", {})
    found = {name: _parse_rule(kind) for kind, names in each.items() for name in names.split()}
    for programs in document.values():
        found |= {name: _parse_rule(written) for name, written in programs.items()}
    return found


def _parse_wrapped_subs(written: dict[str, Any]) -> dict[str, tuple[tuple[tuple[str, ...], Wrapper], ...]]:
    found: dict[str, list[tuple[tuple[str, ...], Wrapper]]] = {}
    for words, fields in written.items():
        program, *subs = words.split()
        found.setdefault(program, []).append((tuple(subs), convert(fields, Wrapper)))
    return {program: tuple(entries) for program, entries in found.items()}


@cache
def load_tables() -> ProgramTables:
    """The tables, read once, when the first command is classified."""
    programs, tasks, wrappers = _load_table("programs.toml"), _load_table("tasks.toml"), _load_table("wrappers.toml")
    same = {other: name for name, others in programs.pop("same").items() for other in others.split()}
    return ProgramTables(
        rules=_parse_rules(programs) | _parse_rules(_load_table("packages.toml")),
        same=same,
        wrappers={name: convert(fields, Wrapper) for name, fields in wrappers["run"].items()},
        wrapped_subs=_parse_wrapped_subs(wrappers["sub"]),
        tasks=tuple(TaskRule(re.compile(task["names"]), _parse_rule(task["is"])) for task in tasks["task"]),
        checks={kind: _parse_rule(purpose) for kind, purpose in tasks["check"].items()},
        jvm={name: _parse_rule(kind) for kind, names in tasks["jvm"].items() for name in names.split()},
        dry_task=re.compile(tasks["dry"]),
        fixing_task=re.compile(tasks["fixes"]),
    )


# --- tasks: package scripts, make targets, recipes, shell scripts ---------------------------


def judge_task(name: str, kind: str = "npm", args: Sequence[str] = ()) -> Effect:
    """The effect of the task of this name."""
    known = load_tables()
    plain = _SEPARATORS.sub("-", name.lower()).strip("-@")
    if plain in ("check", "checks"):
        return _apply_task_rule(known.checks.get(kind, known.checks["npm"]))
    for entry in known.tasks:
        if not entry.names.fullmatch(plain):
            continue
        purpose, mutates = entry.rule.purpose, entry.rule.mutates
        if purpose == "format" and known.dry_task.fullmatch(plain):
            mutates = False
        elif purpose is not None and known.fixing_task.fullmatch(plain):
            mutates = True
        if purpose in ("lint", "format"):
            mutates = (mutates or has_flag(args, _FIXING)) and not has_flag(args, {"--check"})
        return Effect(purpose, mutates)
    return NO_EFFECT


def judge_tasks(names: Sequence[str], kind: str, args: Sequence[str] = ()) -> Effect:
    """The effect of several tasks in one command; cleaning before a build is part of the build."""
    if kind == "npm":
        return judge_task(names[0], kind, args) if names else NO_EFFECT
    judge = {"jvm": _judge_jvm_task, "xcode": _judge_xcode_task}.get(kind)
    found = [
        (name, judge(name) if judge else judge_task(name, kind, args)) for name in names if not is_assignment(name)
    ]
    purposes = {verdict.purpose for _, verdict in found}
    purpose = next((each for each in _ORDER if each in purposes), None)
    mutates = any(v.mutates and not (purpose and n.endswith("clean")) for n, v in found)
    return Effect(purpose, mutates)


def judge_script(program: str) -> Effect:
    """The effect of a shell script, by its own name."""
    match = _SCRIPT.match(program)
    if match is None:
        return NO_EFFECT
    verdict = judge_task(match[1])
    return verdict if verdict.purpose in ("test", "lint", "types", "build", "format") else NO_EFFECT


def _apply_task_rule(rule: ProgramRule) -> Effect:
    return Effect(rule.purpose, rule.mutates)


def _judge_jvm_task(name: str) -> Effect:
    """The effect of `:app:testDebugUnitTest`, `core/testOnly foo`, `spotless:apply`."""
    known = load_tables().jvm
    plain = name.lower().split(" ", 1)[0].lstrip(":")
    for candidate in (plain, plain.rpartition(":")[2], plain.rpartition("/")[2]):
        if candidate in known:
            return _apply_task_rule(known[candidate])
    last = re.split(r"[:/]", plain)[-1]
    if _JVM_TEST.fullmatch(last):
        return Effect("test")
    if last.startswith(("assemble", "bundle", "compile")):
        return Effect("build")
    return Effect("lint") if last.startswith("lint") else NO_EFFECT


def _judge_xcode_task(name: str) -> Effect:
    return Effect(_XCODE.get(name), name in ("clean", "install"))
