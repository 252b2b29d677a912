"""A simple command as a parser leaves it, and how far the exit code of the whole speaks for it."""

from typing import Literal

from msgspec import Struct

Told = Literal["exit", "success", "output"]

_WEIGHT: dict[Told, int] = {"exit": 0, "success": 1, "output": 2}

# They as good as never fail, so a failing chain was failed by somebody else.
_STEADY = frozenset({
    "cd", "pushd", "popd", "export", "source", ".", "set", "unset", "shopt", "echo", "printf", "mkdir", "touch",
    "rm", "true", ":", "sleep", "date", "pwd", "clear", "alias", "umask", "ulimit", "trap", "local", "declare",
    "readonly", "typeset", "whoami", "head", "tail", "cat", "tee", "sort", "uniq", "wc", "tr", "cut", "column",
    "ls", "Set-Location", "Push-Location", "Pop-Location", "Write-Host", "Write-Output", "Select-Object",
    "Out-Host", "Out-String", "Out-Null",
})  # fmt: skip
_STEADY_GIT = frozenset({"add", "status", "diff", "log", "show", "branch", "rev-parse"})


class Simple(Struct, gc=False):
    """Words without their quotes, files redirected into, the text on stdin; `told` is filled in while walking."""

    words: list[str]
    writes: list[str]
    stdin: str = ""
    appends: bool = False
    """What it is redirected into keeps what it has."""
    told: Told = "exit"
    prints: int = -1
    """Index of the simple command whose exit status this one prints."""


def worst(one: Told, other: Told) -> Told:
    """The weaker of two ties to the exit code."""
    return one if _WEIGHT[one] >= _WEIGHT[other] else other


def weaken(found: list[Simple], start: int, end: int, told: Told) -> None:
    """Let no command in the range be told better than `told`."""
    for simple in found[start:end]:
        simple.told = worst(simple.told, told)


def is_steady(simple: Simple) -> bool:
    """Can it be left out when asking who failed a chain?"""
    if simple.told == "output":
        return True
    words = simple.words
    if words[0] == "git":
        return len(words) > 1 and words[1] in _STEADY_GIT
    return words[0] in _STEADY


def chain(found: list[Simple], start: int, middle: int, end: int) -> None:
    """Join two ranges of which the second runs only after the first succeeded."""
    if all(map(is_steady, found[start:middle])) or all(map(is_steady, found[middle:end])):
        return
    weaken(found, start, end, "success")
