"""Trials for tests, made of what matters and nothing else."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from assay.types.evals import CheckResult, Cost, Trial

CHEAP, PLAIN = (
    Cost(tokens=500, tool_calls=5, steps=5, wall_s=5.0),
    Cost(tokens=1000, tool_calls=10, steps=10, wall_s=10.0),
)


def trial(task: str = "a", passed: int = 1, of: int = 1, **more: Any) -> Trial:
    """A trial of the baseline that passed some of its checks."""
    checks = tuple(CheckResult(name=f"check {n}", kind="command", passed=n < passed) for n in range(of))
    return Trial(**{"task": task, "arm": "baseline", "repeat": 1, "checks": checks, "cost": PLAIN, **more})


def side(arm: str, shares: Sequence[Sequence[int]], *, stage: str = "main", **more: Any) -> list[Trial]:
    """For each task, a trial for each 1 (passed) and 0 (failed)."""
    return [
        trial(f"task {task:02}", hit, arm=arm, repeat=repeat, stage=stage, **more)
        for task, hits in enumerate(shares)
        for repeat, hit in enumerate(hits, 1)
    ]


def arms(
    shares: Sequence[Sequence[int]], later: Sequence[Sequence[int]], **more: Any
) -> tuple[list[Trial], list[Trial]]:
    """Both arms, by what passed."""
    return side("baseline", shares, **more), side("candidate", later, **more)


def swapped(baseline: Iterable[Trial], candidate: Iterable[Trial]) -> tuple[list[Trial], list[Trial]]:
    """Each arm in the other's place."""
    ours = [replace(one, arm="baseline") for one in candidate]
    return ours, [replace(one, arm="candidate") for one in baseline]


def candidate(given: Trial, **changed: Any) -> Trial:
    """The same trial in the other arm, changed."""
    return replace(given, arm="candidate", **changed)
