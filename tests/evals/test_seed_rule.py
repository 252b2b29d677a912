"""Rule `seed`: every limit at, below and above it, and every hole from which a promotion might escape."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadInput
from assay.evals.deciding.compare import compare
from assay.evals.deciding.gate import pick_exit_code, should_promote
from assay.types.evals import CheckResult, Cost, Design, Thresholds
from tests.evals.make_trials import CHEAP, PLAIN, arms, candidate, trial


def judged(before: float, after: float, **more):
    """One task that always passes its check, with these words of the judge; a composite is 0.6 + 0.4 of them."""
    ours = trial(judge01=before)
    return compare([ours], [candidate(ours, judge01=after)], **more)


def composites(*pairs: tuple[float, float]):
    """One task for each pair of composites, given by 100 checks so that any hundredth can be had."""
    ours = [trial(f"task {n}", round(before * 100), 100) for n, (before, _) in enumerate(pairs)]
    theirs = [trial(f"task {n}", round(after * 100), 100, arm="candidate") for n, (_, after) in enumerate(pairs)]
    return compare(ours, theirs, Thresholds(objective_drop_is_regression=False))


@pytest.mark.parametrize(
    ("gain", "verdict"),
    [(0.009, "neutral"), (0.01, "neutral"), (0.011, "improved"), (0.0, "neutral"), (0.2, "improved")],
)
def test_a_net_gain_must_exceed_the_minimum(gain, verdict):
    found = judged(0.5, 0.5 + gain / 0.4)
    assert (found.verdict, found.label, found.rule) == (verdict, "single-run", "seed")
    assert found.net_gain == pytest.approx(gain)
    assert should_promote(found) == (verdict == "improved")


@pytest.mark.parametrize("before", [0.5, 1.0])
@pytest.mark.parametrize(("drop", "verdict"), [(0.04, "improved"), (0.05, "improved"), (0.06, "regressed")])
def test_a_drop_beyond_the_threshold_is_a_hard_regression_whatever_is_gained(before, drop, verdict):
    found = composites((0.5, 0.9), (before, before - drop))
    assert found.verdict == verdict
    assert [one.kind for one in found.regressions] == ["composite_drop"] * (verdict == "regressed")


def test_the_net_gain_is_the_sum_over_tasks():
    assert composites((0.5, 0.6), (0.5, 0.7), (0.5, 0.49)).net_gain == pytest.approx(0.29)


@pytest.mark.parametrize(("passed", "verdict"), [(8, "regressed"), (9, "neutral"), (10, "improved")])
def test_any_drop_in_checks_is_a_hard_regression(passed, verdict):
    ours = trial(passed=9, of=10)
    assert compare([ours], [candidate(trial(passed=passed, of=10))]).verdict == verdict


def test_a_drop_in_checks_may_be_allowed():
    assert composites((0.50, 0.49), (0.5, 0.6)).verdict == "improved"


def test_a_cheaper_candidate_is_improved_by_this_rule():
    ours = trial(passed=1, of=2)
    found = compare([ours], [candidate(ours, cost=CHEAP)])
    assert (found.verdict, found.net_gain) == ("improved", pytest.approx(0.1))
    assert "no test" in found.reasons[-1]


def test_a_baseline_that_is_perfect_hides_a_lower_cost():
    assert compare([trial()], [candidate(trial(), cost=CHEAP)]).net_gain == 0.0


BETTER = trial("b", 0, 1), candidate(trial("b", 1, 1))
"""A task that alone would be improved."""


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict", "code"),
    [
        pytest.param([], [], "invalid", 4, id="no tasks"),
        pytest.param([trial()], [], "regressed", 1, id="dropped task"),
        pytest.param([], [candidate(trial())], "invalid", 4, id="a task the baseline never ran"),
        pytest.param([trial(judge01=0.5)], [candidate(trial())], "invalid", 4, id="candidate not judged"),
        pytest.param([trial()], [candidate(trial(), judge01=1.0)], "invalid", 4, id="baseline not judged"),
        pytest.param([trial()], [candidate(trial(), judge01=math.nan)], "regressed", 1, id="judge says nan"),
        pytest.param([trial(judge01=math.inf)], [candidate(trial(), judge01=1.0)], "regressed", 1, id="judge says inf"),
        pytest.param(
            [trial()], [candidate(trial(), cost=Cost(wall_s=math.nan))], "regressed", 1, id="a cost that is none"
        ),
        pytest.param([trial()], [candidate(trial(), state="failed_infrastructure")], "invalid", 4, id="infrastructure"),
        pytest.param(
            [trial()],
            [candidate(trial(), checks=(CheckResult(name="check 0", kind="command", passed=None),))],
            "invalid",
            4,
            id="a check that could not be run",
        ),
        pytest.param([trial()], [candidate(trial(of=2, passed=2))], "invalid", 4, id="other checks"),
        pytest.param(
            [trial(cost=Cost(tokens=0, tool_calls=0, steps=0, wall_s=0.0))], [candidate(trial())], "invalid", 4,
            id="zero baseline cost",
        ),
        pytest.param([trial(cost=Cost(tokens=0))], [candidate(trial())], "invalid", 4, id="zero baseline tokens"),
        pytest.param([trial()], [candidate(trial(), cost=Cost(steps=0))], "invalid", 4, id="zero candidate steps"),
    ],
)  # fmt: skip
def test_what_is_missing_never_promotes_even_beside_a_gain(ours, theirs, verdict, code):
    beside = ([], []) if not ours and not theirs else ([BETTER[0]], [BETTER[1]])
    found = compare([*ours, *beside[0]], [*theirs, *beside[1]])
    assert (found.verdict, pick_exit_code(found)) == (verdict, code)
    assert not found.promote
    assert not should_promote(found)


@pytest.mark.parametrize(
    ("before", "after", "cost", "verdict"),
    [
        (None, None, PLAIN, "neutral"),
        (None, None, CHEAP, "neutral"),
        (0.5, 0.5, PLAIN, "neutral"),
        (0.2, 0.9, PLAIN, "improved"),
        (0.9, 0.2, PLAIN, "regressed"),
    ],
)
def test_a_suite_of_rubrics_alone_is_decided_as_published(before, after, cost, verdict):
    ours = trial(of=0, judge01=before)
    found = compare([ours], [candidate(ours, judge01=after, cost=cost)])
    assert found.verdict == verdict
    assert should_promote(found) == (verdict == "improved")


@pytest.mark.parametrize(("before", "after", "expected"), [(0, 5, 0.0), (5, 0, 0.0), (0, 0, 0.0), (5, 10, -0.1)])
def test_no_call_of_a_tool_is_possible_and_only_left_out(before, after, expected):
    ours = trial(passed=1, of=2, cost=Cost(tool_calls=before))
    found = compare([ours], [candidate(ours, cost=Cost(tool_calls=after))])
    assert found.net_gain == pytest.approx(expected)
    assert not found.evidence.gaps


def test_a_task_that_was_planned_and_never_run_is_a_gap():
    ours, theirs = BETTER
    found = compare([ours], [theirs], design=Design(tasks=("a", "b"), repeats=1))
    assert (found.verdict, found.promote) == ("invalid", False)


def test_a_regression_weighs_more_than_a_gap():
    ours = [trial("a", 1, 1), trial("c", judge01=0.1)]
    assert compare(ours, [candidate(trial("a", 0, 1)), candidate(trial("c"))]).verdict == "regressed"


def test_several_repeats_are_not_for_this_rule():
    with pytest.raises(BadInput, match="one run per side"):
        compare(*arms([[1, 1, 1]], [[1, 1, 1]]), rule="seed")


NUMBERS = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True), st.floats(0, 1))
COSTS = st.builds(Cost, tokens=st.one_of(st.none(), st.integers(-2, 10**7)), wall_s=st.one_of(st.none(), st.floats()))


@given(NUMBERS, NUMBERS, COSTS, COSTS, st.integers(0, 2), st.integers(0, 2))
def test_whatever_comes_promotion_needs_a_clean_gain(before, after, cost, later_cost, passed, later):
    ours = trial(passed=passed, of=2, judge01=before, cost=cost)
    theirs = candidate(trial(passed=later, of=2), judge01=after, cost=later_cost)
    found = compare([ours], [theirs])
    if should_promote(found):
        assert later >= passed
        assert (before is None) == (after is None)
        assert all(one is None or 0 <= one <= 1 for one in (before, after))
        assert found.net_gain is not None
        assert found.net_gain > 0.01
