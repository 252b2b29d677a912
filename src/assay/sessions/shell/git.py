"""Git subcommands whose meaning hangs on more than their name."""

import re
from collections.abc import Callable
from typing import Final

from assay.sessions.shell.verdict import NOTHING, Verdict, written
from assay.sessions.shell.words import has, operand_places, operands

_FILE = re.compile(r"\.$|\./|.*[^/.]\.[A-Za-z]\w{0,5}$")
_WRITES: Final = Verdict(mutates=True)
_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})


def checkout(args: list[str]) -> Verdict:
    """Of paths it is a restore; of a branch it moves the work tree."""
    if "--" in args:
        return written(args[args.index("--") + 1 :], "restore") if args[-1] != "--" else _WRITES
    if has(args, {"-b", "-B", "--orphan", "--detach", "-t", "--track"}):
        return _WRITES
    found = operands(args)
    if has(args, {"--ours", "--theirs"}):
        return written(found, "restore")
    if len(found) > 1:
        return written(found[1:] if not _FILE.match(found[0]) else found, "restore")
    return written(found, "restore") if found and _FILE.match(found[0]) else _WRITES


def stash(args: list[str]) -> Verdict:
    """Everything but looking."""
    return NOTHING if args[:1] in (["list"], ["show"]) else _WRITES


def reset(args: list[str]) -> Verdict:
    """Only a hard reset throws work away."""
    return Verdict("reset" if "--hard" in args else None, mutates=True)


def revert(args: list[str]) -> Verdict:
    """Leaving a revert is not one."""
    return Verdict(None if has(args, {"--abort", "--quit", "--skip"}) else "revert", mutates=True)


def tag(args: list[str]) -> Verdict:
    """Naming a tag makes it, unless tags are listed or checked."""
    looks = has(args, {"-l", "--list", "-v", "--verify", "--contains", "--points-at", "--merged", "--sort", "-n"})
    return NOTHING if looks or not operands(args) else _WRITES


def branch(args: list[str]) -> Verdict:
    """Naming a branch makes it, unless branches are listed."""
    if has(args, {"-d", "-D", "-m", "-M", "-c", "-C", "-u", "--delete", "--move", "--copy", "--set-upstream-to"}):
        return _WRITES
    looks = {"-a", "-r", "-l", "-v", "--list", "--all", "--contains", "--merged", "--no-merged", "--show-current"}
    return NOTHING if has(args, looks | {"--points-at", "--sort", "--format"}) or not operands(args) else _WRITES


def config(args: list[str]) -> Verdict:
    """A name reads, a name and a value write."""
    if has(args, {"--unset", "--unset-all", "--add", "--replace-all", "--remove-section", "--rename-section", "-e"}):
        return _WRITES
    if has(args, {"--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch"}):
        return NOTHING
    found = operands(args, {"-f", "--file", "--type", "--default"})
    if found[:1] in (["get"], ["list"]):
        return NOTHING
    return _WRITES if len(found) > 1 else NOTHING


def push(args: list[str]) -> Verdict:
    """A dry run sends nothing."""
    return NOTHING if has(args, {"-n", "--dry-run"}) else Verdict("push", mutates=True)


SUBS: Final[dict[str, Callable[[list[str]], Verdict]]] = {
    "checkout": checkout,
    "stash": stash,
    "reset": reset,
    "revert": revert,
    "tag": tag,
    "branch": branch,
    "config": config,
    "push": push,
}


def git(args: list[str]) -> Verdict | None:
    """Verdict on the subcommands above; the table knows the others."""
    place = next(operand_places(args, _VALUES), None)
    if place is None:
        return NOTHING
    judge = SUBS.get(args[place])
    return judge(args[place + 1 :]) if judge else None
