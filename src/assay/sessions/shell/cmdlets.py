"""What PowerShell cmdlets write."""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

from assay.sessions.shell.verdict import NOTHING, Verdict, written
from assay.sessions.shell.words import is_option

_SWITCHES = frozenset({
    "-recurse", "-force", "-verbose", "-whatif", "-confirm", "-append", "-noclobber", "-passthru", "-nonewline",
    "-usebasicparsing", "-asjob", "-notypeinformation", "-container", "-directory", "-file", "-confirm:$false",
    "-recurse:$true", "-skipcertificatecheck",
})  # fmt: skip
_SENDS = frozenset({"post", "put", "patch", "delete"})
_ALIASED = frozenset({"curl", "wget"})


class _Cmdlets(Struct, frozen=True):
    writes: dict[str, tuple[str, ...]]
    changes: frozenset[str]
    same: dict[str, str]


@cache
def _cmdlets() -> _Cmdlets:
    document = tomllib.loads((Path(__file__).parent / "cmdlets.toml").read_text(encoding="utf-8"))
    return _Cmdlets(
        writes={name: tuple(parameters) for name, parameters in document["writes"].items()},
        changes=frozenset(document["changes"]["names"].split()),
        same={alias: name for name, aliases in document["same"].items() for alias in aliases.split()},
    )


def _arguments(args: list[str]) -> tuple[dict[str, str], list[str]]:
    """Named and unnamed arguments, names in lower case without the dash."""
    named: dict[str, str] = {}
    unnamed: list[str] = []
    words: Iterator[str] = iter(args)
    for word in words:
        if not is_option(word):
            unnamed.append(word)
        elif ":" in word[1:-1] or word.lower() in _SWITCHES:
            named[word[1:].partition(":")[0].lower()] = word.partition(":")[2]
        else:
            named[word[1:].lower()] = next(words, "")
    return named, unnamed


def cmdlet(program: str, args: list[str]) -> Verdict | None:
    """Verdict on a cmdlet or its alias; `None` for anything else."""
    known = _cmdlets()
    lower = program.lower()
    name = known.same.get(lower, lower)
    if name in known.changes:
        return Verdict(mutates=True)
    parameters = known.writes.get(name)
    if parameters is None or (lower in _ALIASED and any(word[:2] == "--" for word in args)):
        return None
    named, unnamed = _arguments(args)
    if "whatif" in named:
        return NOTHING
    if name.startswith("invoke-"):
        if named.get("method", "").lower() in _SENDS:
            return Verdict(mutates=True)
        return written([named["outfile"]]) if "outfile" in named else NOTHING
    return written(_targets(parameters, named, unnamed))


def _targets(parameters: tuple[str, ...], named: dict[str, str], unnamed: list[str]) -> list[str]:
    found = next((named[parameter] for parameter in parameters if parameter in named), "")
    if not found:
        place = 1 if "#2" in parameters and "path" not in named and "literalpath" not in named else 0
        found = unnamed[place] if len(unnamed) > place else ""
    return [part.strip("\"' ") for part in found.split(",") if part.strip()]
