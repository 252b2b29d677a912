"""How well a judge agrees with benchmarks: labels that `assay import` kept, and what `assay score --json` says.

A run is one stream, and its label is about all of it: where it was cut into several sessions, the last one speaks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from benchmarks.findings import Goals, outcomes
from benchmarks.labelled import Goal
from benchmarks.tables import goals


@dataclass(frozen=True)
class GradedFindings:
    """Verdicts on graded runs: all of them, and by benchmark."""

    judge: dict[str, Any]
    all: Goals
    by_benchmark: dict[str, Goals]


def measure_graded(lines: Sequence[dict[str, Any]], said: dict[str, Any]) -> GradedFindings:
    """Labels and a report, compared."""
    speaking: dict[tuple[str, str], dict[str, Any]] = {}
    for session in sorted(said["sessions"], key=lambda one: str(one.get("started_at"))):
        for stream in session.get("streams") or ():
            speaking[session["agent"], stream] = session
    runs = [(line["benchmark"], build_goal(line, speaking.get((line["agent"], line["stream"])))) for line in lines]
    names = sorted({name for name, _ in runs})
    return GradedFindings(
        judge=said.get("judge") or {},
        all=outcomes([goal for _, goal in runs]),
        by_benchmark={name: outcomes([goal for one, goal in runs if one == name]) for name in names},
    )


def build_goal(line: dict[str, Any], session: dict[str, Any] | None) -> Goal:
    """A run as a goal that nobody named the intent or the failure of."""
    return Goal(
        agent=line["agent"],
        script="",
        intents=(),
        is_complete=bool(line["passed"]),
        failures=(),
        session=session,
        repository=line["benchmark"],
    )


def show_graded(found: GradedFindings) -> Iterator[RenderableType]:
    """Tables of the findings."""
    yield Text(f"Runs that benchmarks graded, judged by {found.judge.get('backend', 'nobody named')}")
    yield from goals("Goal complete, on graded runs", found.all)
    for name, one in found.by_benchmark.items():
        yield from goals(f"The same, {name}", one)
