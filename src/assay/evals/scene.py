"""What a check sees of a trial, and what it answers: the contract of the room `checks`."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol, cast

import msgspec
from msgspec import Struct

from assay.errors import BadInput
from assay.plugins import list_names, load_module
from assay.types import Turn
from assay.types.value import Row

ROOM = "evals.checks"
Ending = Literal["exit", "timeout", "disk", "memory", "processes", "stopped", "missing", "lost"]
OVER = ("disk", "memory", "processes")
"""Ends of a command that passed its limits."""


class Spec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a task says of one check; each kind adds its own fields."""


Asked = Spec


class Finding(Row, frozen=True):
    """What a check found; `passed` is `None` where it could not be run."""

    passed: bool | None
    detail: str = ""


class Ran(Row, frozen=True):
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


class Scene(Struct, frozen=True, kw_only=True):
    """A trial after its agent has left."""

    workspace: Path
    """A clean copy of what the agent left."""
    changed: tuple[str, ...]
    """Paths that were added, altered or removed since the start, sorted."""
    turns: tuple[Turn, ...] | None
    """`None`: the agent left no transcript."""
    run: Callable[[str, float, tuple[str, ...]], Ran]
    """Run a shell line for so many seconds in a copy of its own; names of files that are not set aside."""

    def file(self, path: str) -> Path | None:
        """A file of the workspace; `None` where there is none, or a link leads out of it."""
        found = Path(os.path.realpath(self.workspace / path))  # `resolve` fails for a link to itself
        return found if found.is_file() and found.is_relative_to(os.path.realpath(self.workspace)) else None


class Kind(Protocol):
    """What a module in the room offers."""

    Spec: type[Spec]

    def check(self, spec: Asked, scene: Scene) -> Finding:
        """Look."""


def caution(check: "Check") -> str:
    """What a person should know of a check before trusting it; only some kinds have something to say."""
    says: Callable[[Spec], str] = getattr(kind(check.kind), "caution", lambda _: "")
    return says(check.spec)


class Check(Row, frozen=True):
    """One check of a task."""

    name: str
    kind: str
    spec: Spec


def kind(name: str) -> Kind:
    """The checks called so."""
    return cast(Kind, load_module(ROOM, name))


def not_run(ran: Ran, timeout_s: float) -> Finding | None:
    """What is to be said of a command that did not end by itself; nothing where it did."""
    if ran.ended in ("lost", "missing", "stopped"):
        return Finding(passed=None, detail="the command could not be run")
    if ran.is_tampered:
        return Finding(passed=False, detail="the check files were changed while the command ran")
    if ran.ended == "exit":
        return None
    why = {"timeout": f"ran longer than {timeout_s:g} s"}
    return Finding(passed=False, detail=why.get(ran.ended, f"went beyond its limits ({ran.ended})"))


def joined(*said: str) -> str:
    return "; ".join(filter(None, said))


def check_of(table: dict[str, object], number: int, where: str) -> Check:
    """A check as a task's file tells it."""
    named = str(table.get("kind", ""))
    if named not in list_names(ROOM):
        raise BadInput(f"{where}: check {number} has the kind {named!r}; there are: {', '.join(list_names(ROOM))}")
    fields = {name: value for name, value in table.items() if name not in ("kind", "name")}
    try:
        spec = msgspec.convert(fields, kind(named).Spec)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where}: check {number} ({named}): {error}") from None
    if not 0 < getattr(spec, "timeout_s", 1.0) < math.inf:
        raise BadInput(f"{where}: check {number} ({named}): timeout_s must be above 0, and a number")
    told = next((str(value) for value in fields.values()), "")
    return Check(name=str(table.get("name") or f"{named} {told}".strip())[:120], kind=named, spec=spec)
