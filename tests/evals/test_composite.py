"""One trial as a number: the published formula, and what becomes of what is missing."""

import math

import pytest

from assay.evals.deciding.composite import composite, score_base, score_cost
from assay.types.evals import CheckResult, Cost, Trial
from tests.evals.make_trials import CHEAP, PLAIN, candidate, trial


@pytest.mark.parametrize(
    ("passed", "of", "judge01", "expected"),
    [
        (0, 0, None, 1.0),
        (0, 2, None, 0.0),
        (1, 2, None, 0.5),
        (2, 2, None, 1.0),
        (0, 0, 0.5, 0.8),
        (1, 2, 0.5, 0.5),
        (1, 1, 0.0, 0.6),
        (0, 1, 1.0, 0.4),
        (1, 1, 1.0, 1.0),
    ],
)
def test_checks_weigh_six_tenths_and_the_judge_four_where_there_is_one(passed, of, judge01, expected):
    assert score_base(trial(passed=passed, of=of, judge01=judge01)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(0.25, 0.1), (0.5, 0.1), (2**-0.5, 0.05), (1.0, 0.0), (2**0.5, -0.05), (2.0, -0.1), (8.0, -0.1)],
)
def test_half_the_cost_adds_a_tenth_and_no_more(factor, expected):
    assert score_cost(Cost(wall_s=10.0 * factor), Cost(wall_s=10.0)) == pytest.approx(expected)


def test_cost_is_the_mean_of_the_metrics_that_both_sides_know():
    mine, other = Cost(tokens=2000, wall_s=5.0, steps=7), Cost(tokens=1000, wall_s=10.0, tool_calls=3)
    assert score_cost(mine, other) == pytest.approx(0.0)
    assert score_cost(Cost(tokens=2000), other) == pytest.approx(-0.1)


@pytest.mark.parametrize("mine", [PLAIN, Cost(), Cost(tokens=0, tool_calls=0, steps=0, wall_s=0.0)])
@pytest.mark.parametrize("other", [Cost(), Cost(tokens=0, tool_calls=0, steps=0, wall_s=0.0)])
def test_a_cost_of_nothing_or_unknown_gives_no_ratio(mine, other):
    assert score_cost(mine, other) == 0.0


def test_dollars_follow_from_tokens_and_are_not_counted_again():
    assert score_cost(Cost(usd=1.0), Cost(usd=9.0)) == 0.0


def test_the_baseline_has_no_cost_term():
    assert composite(trial(passed=1, of=2)) == 0.5


@pytest.mark.parametrize(
    ("passed", "cost", "expected"), [(1, CHEAP, 1.0), (0, Cost(tokens=9999), 0.0), (0, CHEAP, 0.1)]
)
def test_the_composite_stays_within_0_and_1(passed, cost, expected):
    ours = trial(passed=1)
    assert composite(candidate(trial(passed=passed), cost=cost), ours) == pytest.approx(expected)


@pytest.mark.parametrize(
    "broken",
    [
        {"judge01": math.nan},
        {"judge01": math.inf},
        {"judge01": 1.01},
        {"judge01": -0.01},
        {"cost": Cost(wall_s=math.nan)},
        {"cost": Cost(wall_s=math.inf)},
        {"cost": Cost(tokens=-1)},
    ],
)
def test_what_is_no_number_is_never_a_good_score(broken):
    assert math.isnan(composite(trial(**broken)))
    assert math.isnan(composite(candidate(trial()), trial(**broken)))


@pytest.mark.parametrize(
    "unusable",
    [trial(state="failed_infrastructure"), trial(checks=(CheckResult(name="x", kind="command", passed=None),))],
)
def test_infrastructure_that_failed_gives_no_score_at_all(unusable: Trial):
    assert composite(unusable) is None
