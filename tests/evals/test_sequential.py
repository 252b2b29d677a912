"""Sequential mode: when a look decides, and what it asks for when it does not."""

import numpy as np
import pytest

from assay.errors import BadInput
from assay.evals.deciding.compare import compare
from assay.evals.deciding.gate import should_promote
from assay.evals.deciding.sequential import estimate_crossing, find_boundaries
from assay.types.evals import Design, Thresholds
from tests.evals.make_trials import arms

TASKS = 12
PLAN = Design(tasks=tuple(f"task {n:02}" for n in range(TASKS)), repeats=10, is_sequential=True)


def looked(before: list[int], after: list[int], plan: Design = PLAN):
    return compare(*arms([before] * TASKS, [after] * TASKS), design=plan)


def test_the_limits_are_those_of_wang_and_tsiatis():
    assert [round(one, 2) for one in find_boundaries(0.01)] == [3.69, 3.10, 2.80, 2.61, 2.47]


def test_luck_crosses_any_of_the_limits_as_often_as_it_may():
    steps = np.random.default_rng(1).normal(size=(200_000, 5)).cumsum(axis=1) / np.sqrt(np.arange(1, 6))
    for alpha in (0.05, 0.01):
        assert np.mean((steps >= find_boundaries(alpha)).any(axis=1)) == pytest.approx(alpha, rel=0.1)
    assert estimate_crossing([2.3263]) == pytest.approx(0.01, abs=1e-4)


@pytest.mark.parametrize(
    ("before", "after", "verdict", "look"),
    [
        pytest.param([0, 0], [1, 1], "improved", 1, id="a clear gain stops at once"),
        pytest.param([0, 0, 1, 1], [1, 1, 0, 0], "improved", 1, id="what came after the decision is not looked at"),
        pytest.param([1, 1], [0, 0], "regressed", 1, id="a clear loss stops at once"),
        pytest.param([1, 0], [0, 0], "inconclusive", 1, id="a loss that may be luck is only hopeless"),
        pytest.param([0, 1] * 5, [1, 0] * 5, "inconclusive", 2, id="hopeless after two looks"),
    ],
)
def test_the_first_look_that_decides_is_the_verdict(before, after, verdict, look):
    found = looked(before, after)
    assert (found.verdict, found.statistics.look, found.label, found.wanted) == (verdict, look, "sequential", ())
    assert should_promote(found) == (verdict == "improved")
    assert {row.candidate_trials for row in found.tasks} == {2 * look}


@pytest.mark.parametrize(("rounds", "asked"), [(0, 2), (1, 4)])
def test_a_look_that_decides_nothing_asks_for_two_more_repeats(rounds, asked):
    found = looked([0, 1] * rounds, [1, 0] * rounds)
    assert (found.verdict, found.promote) == ("inconclusive", False)
    assert {one.repeats for one in found.wanted} == {asked}
    assert len(found.wanted) == TASKS


def test_a_loss_beyond_luck_stops_where_it_is_seen():
    found = looked([1, 1, 0, 0], [0, 0, 1, 1])
    assert (found.verdict, found.statistics.look) == ("regressed", 1)


def test_half_a_round_is_not_looked_at():
    assert looked([0, 0, 0][:1], [1, 1, 1][:1]).statistics.look is None


def test_being_tried_again_moves_the_limits():
    again = Design(tasks=PLAN.tasks, repeats=10, is_sequential=True, attempt=2)
    assert looked([0, 0], [1, 1], again).statistics.boundary == pytest.approx(find_boundaries(0.005)[0])


def test_a_gain_too_small_to_matter_goes_on_to_the_end():
    found = compare(*arms([[0, 0] * 5] * TASKS, [[1, 1] * 5] * TASKS), Thresholds(min_gain=2.0), PLAN)
    assert (found.verdict, found.statistics.look) == ("inconclusive", 5)


def test_only_the_plan_that_was_measured_is_taken():
    with pytest.raises(BadInput, match="plan 10"):
        looked([0], [1], Design(tasks=PLAN.tasks, repeats=8, is_sequential=True))
