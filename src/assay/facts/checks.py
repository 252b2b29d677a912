"""Runs of tests, linters, type checkers, builds and formatters, and whether the last came after the last edit."""

from collections.abc import Sequence
from typing import get_args

from msgspec import Struct

from assay.sessions.calls import list_calls, list_made_edits
from assay.types import Fact, Outcome, Purpose, Turn

VERSION = 1

PURPOSES: tuple[Purpose, ...] = tuple(p for p in get_args(Purpose) if p in ("test", "lint", "types", "build", "format"))


class CheckRuns(Struct, frozen=True, kw_only=True):
    """Runs for one purpose."""

    passed: int = 0
    failed: int = 0
    unknown: int = 0
    """Runs of which neither exit code nor output told the outcome."""
    last: Outcome | None = None
    is_stale: bool = False
    """The last run is older than the last edit."""


class Checks(Fact, frozen=True):
    checks: dict[str, CheckRuns]


def fact(turns: Sequence[Turn]) -> Checks:
    seen: dict[str, list[tuple[int, Outcome | None]]] = {}
    last_edit = -1
    for place, call in enumerate(list_calls(turns)):
        if list_made_edits(call):
            last_edit = place
        if call.status in ("rejected", "denied", "open"):
            continue
        for run in call.runs:
            if run.purpose in PURPOSES:
                seen.setdefault(run.purpose, []).append((place, run.outcome))
    return Checks(checks={purpose: summarize_runs(runs, last_edit) for purpose, runs in sorted(seen.items())})


def summarize_runs(runs: list[tuple[int, Outcome | None]], last_edit: int) -> CheckRuns:
    """The runs for one purpose, counted."""
    outcomes = [outcome for _, outcome in runs]
    return CheckRuns(
        passed=outcomes.count("passed"),
        failed=outcomes.count("failed"),
        unknown=outcomes.count(None),
        last=outcomes[-1],
        is_stale=runs[-1][0] < last_edit,
    )
