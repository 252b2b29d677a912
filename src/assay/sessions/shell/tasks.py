"""What a freely named task is for: package scripts, make targets, recipes, shell scripts."""

import re
from collections.abc import Sequence

from assay.sessions.shell.rules import Rule, tables
from assay.sessions.shell.verdict import NOTHING, Verdict
from assay.sessions.shell.words import has, is_assignment
from assay.types import Purpose

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


def task(name: str, kind: str = "npm", args: Sequence[str] = ()) -> Verdict:
    """What the task of this name is for."""
    known = tables()
    plain = _SEPARATORS.sub("-", name.lower()).strip("-@")
    if plain in ("check", "checks"):
        return _verdict(known.checks.get(kind, known.checks["npm"]))
    for entry in known.tasks:
        if not entry.names.fullmatch(plain):
            continue
        purpose, mutates = entry.rule.purpose, entry.rule.mutates
        if purpose == "format" and known.dry_task.fullmatch(plain):
            mutates = False
        elif purpose is not None and known.fixing_task.fullmatch(plain):
            mutates = True
        if purpose in ("lint", "format"):
            mutates = (mutates or has(args, _FIXING)) and not has(args, {"--check"})
        return Verdict(purpose, mutates)
    return NOTHING


def tasks(names: Sequence[str], kind: str, args: Sequence[str] = ()) -> Verdict:
    """What several tasks in one command are for; cleaning before a build is part of the build."""
    if kind == "npm":
        return task(names[0], kind, args) if names else NOTHING
    judge = {"jvm": _jvm, "xcode": _xcode}.get(kind)
    found = [(name, judge(name) if judge else task(name, kind, args)) for name in names if not is_assignment(name)]
    purposes = {verdict.purpose for _, verdict in found}
    purpose = next((each for each in _ORDER if each in purposes), None)
    mutates = any(v.mutates and not (purpose and n.endswith("clean")) for n, v in found)
    return Verdict(purpose, mutates)


def script(program: str) -> Verdict:
    """What a shell script is for, by its own name."""
    match = _SCRIPT.match(program)
    if match is None:
        return NOTHING
    verdict = task(match[1])
    return verdict if verdict.purpose in ("test", "lint", "types", "build", "format") else NOTHING


def _verdict(rule: Rule) -> Verdict:
    return Verdict(rule.purpose, rule.mutates)


def _jvm(name: str) -> Verdict:
    """`:app:testDebugUnitTest`, `core/testOnly foo`, `spotless:apply`."""
    known = tables().jvm
    plain = name.lower().split(" ", 1)[0].lstrip(":")
    for candidate in (plain, plain.rpartition(":")[2], plain.rpartition("/")[2]):
        if candidate in known:
            return _verdict(known[candidate])
    last = re.split(r"[:/]", plain)[-1]
    if _JVM_TEST.fullmatch(last):
        return Verdict("test")
    if last.startswith(("assemble", "bundle", "compile")):
        return Verdict("build")
    return Verdict("lint") if last.startswith("lint") else NOTHING


def _xcode(name: str) -> Verdict:
    return Verdict(_XCODE.get(name), name in ("clean", "install"))
