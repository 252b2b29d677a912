"""Objective checks: one module for each kind, with a `Spec` and `check(spec, context)`.

- `command` runs a shell line; `pytest` runs tests and proves that they came to their end; `reward` runs Harbor's tests;
- `file_exists`, `file_absent`, `file_contains`, `file_matches` and `json_value` look at one file;
- `diff_within` looks at what changed; `transcript` at what the agent did on its way.

Takes what a task asks for and a `CheckContext`; gives a `Finding`. A check reads, and runs commands only through its
context. Checks do not know each other. What all of them share is here: the contract, and the files by which a workspace
steers the programs that check it; those that an agent added are set aside where commands run.
"""

import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol, cast

import msgspec
from msgspec import Struct

from assay.errors import BadInput
from assay.evals.sandbox.launch import Ending
from assay.evals.tasks.folders import Listing
from assay.plugins import list_names, load_module
from assay.types import Turn
from assay.types.value import Row

ROOM = "evals.checks"
STEERING_FILES = (
    "conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", "pytest.ini", ".pytest.ini", "pytest.toml",
    ".pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml", ".env", ".npmrc", ".mocharc*", "jest.config.*",
    "vitest.config.*", ".rspec", "bunfig.toml", ".yarnrc.yml", ".pnpmfile.cjs", "babel.config.*", "entry_points.txt",
)  # fmt: skip
MODULES = frozenset(sys.stdlib_module_names) | {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"}
SUFFIXES = ("py", "pyc", "so")
SHOWN = 5


class Spec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a task says of one check; each kind adds its own fields."""


CheckSpec = Spec


class Finding(Row, frozen=True):
    """What a check found; `passed` is `None` where it could not be run."""

    passed: bool | None
    detail: str = ""


class CommandResult(Row, frozen=True):
    """A command that was run in a clean copy of the workspace, beside the task's own check files."""

    ended: Ending
    code: int | None
    output: str = ""
    """The end of what it said."""
    is_tampered: bool = False
    """Whether the check files were others afterwards than before."""
    reward: str = ""
    """What a Harbor task wrote into its reward file."""
    proof: str | None = None
    """What stands behind the word it was given, in its last line; `None`: that line is another."""
    aside: tuple[str, ...] = ()
    """Files that the agent added, and that were set aside because they steer programs."""


class CheckContext(Struct, frozen=True, kw_only=True):
    """What a check sees of a trial after its agent has left."""

    workspace: Path
    """A clean copy of what the agent left."""
    changed: tuple[str, ...]
    """Paths that were added, altered or removed since the start, sorted."""
    turns: tuple[Turn, ...] | None
    """`None`: the agent left no transcript."""
    run: Callable[[str, float, tuple[str, ...]], CommandResult]
    """Run a shell line for so many seconds in a copy of its own; names of files that are not set aside."""

    def find_file(self, path: str) -> Path | None:
        """A file of the workspace; `None` where there is none, or a link leads out of it."""
        found = Path(os.path.realpath(self.workspace / path))  # `resolve` fails for a link to itself
        return found if found.is_file() and found.is_relative_to(os.path.realpath(self.workspace)) else None


class CheckKind(Protocol):
    """What each module in this room offers."""

    Spec: type[Spec]

    def check(self, spec: CheckSpec, context: CheckContext) -> Finding:
        """Say whether what an agent left passes."""


class TaskCheck(Row, frozen=True):
    """One check that a task asks for, with its name, kind and fields."""

    name: str
    kind: str
    spec: Spec


def find_kind(name: str) -> CheckKind:
    """The module of a kind of check."""
    return cast(CheckKind, load_module(ROOM, name))


def find_caution(check: TaskCheck) -> str:
    """What a person should know of a check before trusting it; only some kinds have something to say."""
    says: Callable[[Spec], str] = getattr(find_kind(check.kind), "explain_caution", lambda _: "")
    return says(check.spec)


def judge_unfinished(ran: CommandResult, timeout_s: float) -> Finding | None:
    """What is to be said of a command that did not end by itself; nothing where it did."""
    if ran.ended in ("lost", "missing", "stopped"):
        return Finding(passed=None, detail="the command could not be run")
    if ran.is_tampered:
        return Finding(passed=False, detail="the check files were changed while the command ran")
    if ran.ended == "exit":
        return None
    why = {"timeout": f"ran longer than {timeout_s:g} s"}
    return Finding(passed=False, detail=why.get(ran.ended, f"went beyond its limits ({ran.ended})"))


def join_phrases(*said: str) -> str:
    return "; ".join(filter(None, said))


def parse_check(table: dict[str, object], number: int, where: str) -> TaskCheck:
    """A check as a task's file tells it."""
    named = str(table.get("kind", ""))
    if named not in list_names(ROOM):
        raise BadInput(f"{where}: check {number} has the kind {named!r}; there are: {', '.join(list_names(ROOM))}")
    fields = {name: value for name, value in table.items() if name not in ("kind", "name")}
    try:
        spec = msgspec.convert(fields, find_kind(named).Spec)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where}: check {number} ({named}): {error}") from None
    if not 0 < getattr(spec, "timeout_s", 1.0) < math.inf:
        raise BadInput(f"{where}: check {number} ({named}): timeout_s must be above 0, and a number")
    told = next((str(value) for value in fields.values()), "")
    return TaskCheck(name=str(table.get("name") or f"{named} {told}".strip())[:120], kind=named, spec=spec)


def find_steering_files(before: Listing, after: Listing) -> list[str]:
    """Files that an agent added and that steer programs."""
    new = [path for path in after if path not in before]
    return [path for path in new if is_setting(path) or is_shadow(path, is_link=after[path].startswith("link:"))]


def is_setting(path: str) -> bool:
    return is_named(path, STEERING_FILES)


def is_shadow(path: str, *, is_link: bool = False) -> bool:
    """Whether a program started in the workspace would load it in place of a module of its own."""
    parts = path.split("/")
    if len(parts) == 2 and parts[1].partition(".")[0] == "__init__":
        return parts[0] in MODULES
    module, _, rest = parts[0].partition(".")
    return len(parts) == 1 and module in MODULES and (is_link or rest.rpartition(".")[2] in SUFFIXES)


def is_named(path: str, names: Iterable[str]) -> bool:
    """Whether a file has one of these names, wherever it lies."""
    return any(fnmatchcase(path.rpartition("/")[2], name) or path == name for name in names)


def describe_aside(aside: Sequence[str]) -> str:
    """Which files were set aside, for whoever wonders why a check fails."""
    if not aside:
        return ""
    more = f" and {len(aside) - SHOWN} more" if len(aside) > SHOWN else ""
    return f"set aside, for the agent added it: {', '.join(aside[:SHOWN])}{more}"
