"""Figures on repositories that were left out of every fit."""

from typing import Any

import pytest

from benchmarks.fit import LabelledGap, LabelledGoal
from benchmarks.labelled import Goal, Stream
from benchmarks.left_out import measure_left_out

pytestmark = pytest.mark.long
GAPS = [
    LabelledGap(name, high, 3.6 if high else 2.4) for name in ("loom/a", "loom/b", "loom/c") for high in (True, False)
]


def goal(repository: str, *, done: bool, chance: float, kinds: tuple[str, ...], intent: str = "bug_fix") -> Goal:
    said = None if 0.5 <= chance < 0.65 else chance >= 0.65
    session: dict[str, Any] = {
        "goal_complete": said,
        "confidence": chance,
        "intent": intent,
        "reasons": [{"kind": kind} for kind in kinds],
    }
    return Goal(
        agent="codex",
        script="other",
        intents=("feature",),
        is_complete=done,
        failures=(None,),
        session=session,
        repository=repository,
    )


def stream(repository: str, *goals: Goal) -> Stream:
    return Stream(
        prompts=(1.0, 2.0, 3.0),
        found=3,
        boundaries=frozenset({2.0}),
        maybe=frozenset(),
        said=frozenset({2.0, 3.0}),
        first=1.0,
        commits=(),
        goals=goals,
        repository=repository,
    )


def make_streams() -> list[Stream]:
    return [
        stream(
            name,
            *(goal(name, done=True, chance=0.9, kinds=("says_done",)) for _ in range(6)),
            goal(name, done=False, chance=0.3, kinds=("ends_on_error",)),
            goal(name, done=False, chance=0.15, kinds=("interrupted",)),
            goal(name, done=True, chance=0.6, kinds=()),
        )
        for name in ("loom/a", "loom/b", "loom/c", "loom/d")
    ]


def make_labels() -> list[LabelledGoal]:
    return [
        LabelledGoal(
            repository=one.repository,
            is_complete=bool(one.is_complete),
            certainty=0.9,
            is_broken_off="interrupted" in one.kinds,
            evidence=frozenset(one.kinds),
        )
        for stream_ in make_streams()
        for one in stream_.goals
    ]


def test_a_method_that_is_always_right_stands_above_its_baselines() -> None:
    found = measure_left_out(make_streams(), make_labels(), GAPS)
    rows = {row.method: row for row in found.methods}
    shipped, refitted = rows["assay, as shipped"], rows["assay, fitted on the others"]
    assert (shipped.n, shipped.false, shipped.unclear) == (36, 8, 4)
    assert (shipped.balanced_accuracy, shipped.auc, refitted.balanced_accuracy) == (1.0, 1.0, 1.0)
    assert rows["always complete"].balanced_accuracy == 0.5
    assert rows["ended properly"].balanced_accuracy == 0.75
    assert found.base_brier == (28 / 36) * (8 / 36)


def test_boundaries_and_coarse_intents_have_intervals_over_repositories() -> None:
    found = measure_left_out(make_streams(), make_labels(), GAPS)
    f1, interval = found.boundary_f1["assay"]
    assert f1 == 2 / 3
    assert interval == (2 / 3, 2 / 3)
    assert found.boundary_f1["assay, threshold of the others, topics alone"] == (1.0, (1.0, 1.0))
    assert found.coarse_intent == 1.0


def test_each_repository_is_compared_with_the_interval_that_the_others_give() -> None:
    found = measure_left_out(make_streams(), make_labels(), GAPS)
    assert [one.repository for one in found.coverage] == ["loom/a", "loom/b", "loom/c", "loom/d"]
    assert all(one.is_held and one.low < one.share < one.high for one in found.coverage)
    assert found.spread.repositories == 4
