"""Weights, calibration and spread that are fitted to labelled goals, and what is left out of the fit."""

from random import Random

import pytest

from benchmarks.fit import SPEAKS_FOR, LabelledGoal, fit_line, fit_spread, fit_weights, fit_without, sum_weights

pytestmark = pytest.mark.long
DICE = Random(7)


def made(repository: str, *, done: bool, evidence: tuple[str, ...] = (), broken: bool = False) -> LabelledGoal:
    return LabelledGoal(
        repository=repository, is_complete=done, certainty=0.9, is_broken_off=broken, evidence=frozenset(evidence)
    )


GOALS = [
    *(made("loom/a", done=True, evidence=("says_done",)) for _ in range(20)),
    *(made("loom/a", done=DICE.random() < 0.3, evidence=("ends_on_error",)) for _ in range(10)),
    *(made("loom/b", done=DICE.random() < 0.9, evidence=("says_done",)) for _ in range(20)),
    *(made("loom/b", done=False, evidence=("never_shown", "handed_in")) for _ in range(8)),
    *(made("loom/c", done=DICE.random() < 0.5) for _ in range(12)),
]


def test_no_weight_has_the_sign_opposite_to_what_its_evidence_means() -> None:
    weights = fit_weights(GOALS)
    assert all(weight >= 0 for kind, weight in weights.items() if kind in SPEAKS_FOR)
    assert all(weight <= 0 for kind, weight in weights.items() if kind not in SPEAKS_FOR | {"start"})
    assert weights["handed_in"] == 0
    assert weights["says_done"] > 0.5
    assert weights["ends_on_error"] < 0


def test_goals_that_broke_off_are_not_weighed() -> None:
    broken = [made("loom/d", done=False, evidence=("says_done",), broken=True) for _ in range(50)]
    assert fit_weights([*GOALS, *broken]) == fit_weights(GOALS)


def test_what_is_left_out_has_no_say() -> None:
    told = fit_without(GOALS)
    assert set(told) == {"loom/a", "loom/b", "loom/c"}
    assert told["loom/a"] == fit_weights([goal for goal in GOALS if goal.repository != "loom/a"])
    assert told["loom/a"]["ends_on_error"] == 0


def test_the_sum_has_the_start_and_the_weights_of_what_is_there() -> None:
    assert sum_weights({"says_done", "unheard_of"}, {"start": 0.5, "says_done": 1.0, "plan": 3.0}) == 1.5


def test_a_calibrated_chance_has_the_base_rate_of_strangers() -> None:
    pairs = [(DICE.gauss(1.0 if n % 10 else -1.0, 1.0), bool(n % 10)) for n in range(400)]
    start, slope = fit_line(pairs)
    assert slope > 0
    even = sum(odds for odds, done in pairs if not done) / 40 / 2 + sum(odds for odds, done in pairs if done) / 360 / 2
    assert start + slope * even == pytest.approx(0.4, abs=0.4)


def test_repositories_that_agree_lie_closer_than_such_that_differ() -> None:
    alike = [(40, 30, 0.75), (40, 31, 0.76), (40, 29, 0.74), (40, 30, 0.75)] * 3
    apart = [(40, 38, 0.75), (40, 12, 0.76), (40, 36, 0.74), (40, 18, 0.75)] * 3
    assert fit_spread(alike)[2] < fit_spread(apart)[2]
