"""The planner: what a suite can prove is said before anything is spent, and what it can't is refused."""

import pytest
from msgspec.structs import replace

from assay.errors import BadInput
from assay.evals.deciding.planner import describe_plan, measure_pilot, plan_suite
from assay.types.evals import Cost, Pilot
from tests.evals.make_trials import side


@pytest.mark.parametrize(("points", "trials"), [(5, 1_100), (10, 275), (15, 120), (20, 70), (30, 30)])
def test_trials_needed_grow_with_the_square_of_how_small_a_gain_is(points, trials):
    assert plan_suite(20, 5, points).needed_per_side == pytest.approx(trials, rel=0.05)


@pytest.mark.parametrize(
    ("tasks", "repeats", "points", "power", "is_decidable"),
    [
        (10, 3, 10, 0.10, False),
        (20, 5, 15, 0.70, False),
        (20, 5, 20, 0.92, True),
        (40, 5, 15, 0.96, True),
        (40, 10, 10, 0.93, True),
        (80, 10, 2, 0.15, False),
        (4, 30, 30, 1.0, False),
        (60, 2, 20, 0.95, False),
    ],
)
def test_a_suite_that_would_miss_the_gain_is_refused(tasks, repeats, points, power, is_decidable):
    made = plan_suite(tasks, repeats, points)
    assert made.power == pytest.approx(power, abs=0.05)
    assert made.is_decidable == is_decidable
    assert bool(made.says) != is_decidable
    assert all("cannot be decided with this suite" in one for one in made.says)


def test_a_gain_at_the_limit_is_decidable_and_one_below_is_not():
    limit = plan_suite(20, 5).detectable_points
    assert plan_suite(20, 5, limit).is_decidable
    assert plan_suite(20, 5, limit).power == pytest.approx(0.8)
    assert not plan_suite(20, 5, limit * 0.99).is_decidable


def test_no_number_of_trials_proves_less_than_the_least_gain():
    made = plan_suite(1_000, 100, 2)
    assert (made.is_decidable, made.detectable_gain) == (False, 0.02)
    assert "however many" in made.says[0]


def test_a_second_attempt_needs_more():
    assert plan_suite(20, 5, 15, attempt=2).needed_per_side > plan_suite(20, 5, 15).needed_per_side


def test_a_pilot_says_how_much_trials_vary_and_what_they_cost():
    trials = side("baseline", [[1, 0, 1], [1, 1, 1], [0, 0, 0], [1, 0]], cost=Cost(usd=0.5))
    seen = measure_pilot(trials)
    assert seen == Pilot(variance=pytest.approx(1 / 9), tasks=3, informative=1, usd_per_trial=0.5, is_judged=False)
    made = plan_suite(10, 5, known=seen)
    assert (made.usd, made.usd_guard, made.informative) == (50.0, 16.0, 1)
    assert any("$50.00" in line for line in describe_plan(made))
    assert any("1 of 10 tasks" in line for line in describe_plan(made))


def test_a_price_that_is_not_known_of_all_is_not_made_up():
    trials = side("baseline", [[1, 0, 1]], cost=Cost(usd=0.5))
    seen = measure_pilot([*trials[:2], replace(trials[2], cost=Cost())])
    assert seen.usd_per_trial is None
    assert plan_suite(10, 5, known=seen).usd is None
    assert any("unpriced" in line for line in describe_plan(plan_suite(10, 5, known=seen)))


def test_a_pilot_of_single_runs_tells_nothing():
    with pytest.raises(BadInput, match="3 usable trials"):
        measure_pilot(side("baseline", [[1], [0, 1]]))


@pytest.mark.parametrize("asked", [(0, 5, None), (5, 0, None), (5, 5, 0), (5, 5, -3)])
def test_a_plan_for_nothing_is_refused(asked):
    with pytest.raises(BadInput):
        plan_suite(*asked)
