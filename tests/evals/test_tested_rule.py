"""Rule `tested`: what it takes to be improved, and what each verdict means."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.errors import BadInput
from assay.evals.deciding.compare import compare
from assay.evals.deciding.gate import pick_exit_code, should_promote
from assay.types.evals import Cost, Design, Thresholds
from tests.evals.make_trials import CHEAP, arms, side, swapped

QUICK = Thresholds(relabellings=999)
MOSTLY = [0, 0, 0, 0, 1]
OFTEN = [1, 1, 1, 1, 0]


def test_a_clear_gain_is_improved_and_promoted():
    found = compare(*arms([MOSTLY] * 8, [OFTEN] * 8))
    assert (found.verdict, found.label, pick_exit_code(found)) == ("improved", "tested", 0)
    assert should_promote(found)
    assert found.net_gain == pytest.approx(0.6)
    assert found.statistics.p_better == pytest.approx(1e-4)
    assert any("not always" in reason for reason in found.reasons)


def test_a_clear_loss_is_regressed():
    found = compare(*arms([OFTEN] * 8, [MOSTLY] * 8))
    assert (found.verdict, pick_exit_code(found)) == ("regressed", 1)
    assert found.statistics.p_worse == pytest.approx(1e-4)


def test_equal_arms_that_hardly_vary_are_shown_equal():
    found = compare(*arms([[1] * 5] * 8, [[1] * 5] * 8), QUICK)
    assert (found.verdict, pick_exit_code(found), found.statistics.informative) == ("neutral", 3, 0)


def test_equal_arms_that_vary_are_inconclusive():
    found = compare(*arms([[1, 0, 1, 0, 1]] * 8, [[0, 1, 0, 1, 1]] * 8), QUICK)
    assert (found.verdict, pick_exit_code(found)) == ("inconclusive", 3)


@pytest.mark.parametrize(
    ("tasks", "repeats", "verdict"),
    [(4, 5, "inconclusive"), (5, 5, "improved"), (5, 3, "improved"), (8, 2, "inconclusive")],
)
def test_five_tasks_and_three_repeats_are_the_least(tasks, repeats, verdict):
    assert compare(*arms([[0] * repeats] * tasks, [[1] * repeats] * tasks)).verdict == verdict


@pytest.mark.parametrize(("gain", "verdict"), [(0.019, "neutral"), (0.02, "improved"), (0.021, "improved")])
def test_a_gain_below_the_least_is_not_worth_it_however_sure(gain, verdict):
    ours = side("baseline", [[1] * 5] * 8, judge01=0.5)
    assert compare(ours, side("candidate", [[1] * 5] * 8, judge01=0.5 + gain / 0.4)).verdict == verdict


def test_a_loss_of_quality_is_not_bought_with_a_lower_cost():
    ours, theirs = arms([[1] * 5] * 39 + [OFTEN], [[1] * 5] * 39 + [[1, 1, 1, 0, 0]])
    found = compare(ours, [replace(one, cost=CHEAP) for one in theirs])
    assert found.statistics.gain > 0.02
    assert found.statistics.p_better <= 0.01
    assert (found.verdict, found.statistics.quality) == ("inconclusive", pytest.approx(-0.005))
    assert "quality" in found.reasons[0]


@pytest.mark.parametrize(("noisy", "verdict"), [(4, "inconclusive"), (1, "improved")])
def test_a_win_by_cost_alone_must_show_that_quality_can_have_lost_little(noisy, verdict):
    steady = [[1] * 5] * (20 - noisy)
    ours, theirs = arms(steady + [[1, 0, 1, 0, 1]] * noisy, steady + [[0, 1, 1, 0, 1]] * noisy)
    found = compare(ours, [replace(one, cost=CHEAP) for one in theirs])
    assert found.statistics.p_better <= 0.01 < found.statistics.p_quality
    assert found.verdict == verdict


def test_failing_at_a_lower_cost_is_no_gain():
    ours, theirs = arms([[0] * 5] * 20, [[0] * 5] * 20)
    found = compare(ours, [replace(one, cost=CHEAP) for one in theirs])
    assert (found.verdict, found.promote) == ("inconclusive", False)
    assert "no trial passed" in found.reasons[0]


def test_passing_at_half_the_cost_is_a_gain():
    ours, theirs = arms([[1] * 5] * 20, [[1] * 5] * 20)
    assert compare(ours, [replace(one, cost=CHEAP) for one in theirs]).verdict == "improved"


@pytest.mark.parametrize(("seconds", "gain"), [(10.0, 0.0), (7.07107, 0.05), (5.0, 0.1), (0.1, 0.1), (1000.0, -0.1)])
def test_cost_moves_the_gain_by_a_tenth_at_most(seconds, gain):
    ours, theirs = arms([[1] * 3] * 5, [[1] * 3] * 5)
    ours, theirs = (
        [replace(one, cost=Cost(wall_s=wall)) for one in arm] for arm, wall in ((ours, 10.0), (theirs, seconds))
    )
    assert compare(ours, theirs, QUICK).net_gain == pytest.approx(gain, abs=1e-5)


def noisy(arm: str, passed: int, seconds: list[float]):
    trials = side(arm, [[passed] * 3] * (len(seconds) // 3))
    return [replace(one, cost=Cost(wall_s=wall)) for one, wall in zip(trials, seconds, strict=True)]


def test_where_every_trial_ends_alike_cost_must_be_surer():
    near, far = [10.0, 10.4, 11.9] * 5, [9.1, 9.5, 10.9] * 5
    found = compare(noisy("baseline", 1, near), noisy("candidate", 1, far), Thresholds(min_gain=0.001))
    assert 0.001 < found.statistics.p_better <= 0.01
    assert found.verdict != "improved"


def test_being_tried_again_asks_for_more():
    ours, theirs = arms([[0, 0, 1]] * 6, [[1, 1, 0]] * 6)
    plan = Design(tasks=tuple(f"task {n:02}" for n in range(6)), repeats=3)
    first = compare(ours, theirs, design=plan)
    assert 0.001 < first.statistics.p_better <= 0.1
    chance = first.statistics.p_better
    limits = Thresholds(alpha=min(0.5, chance * 1.5))
    assert compare(ours, theirs, limits, plan).verdict == "improved"
    again = compare(ours, theirs, limits, replace(plan, attempt=2))
    assert (again.verdict, again.statistics.attempt) == ("inconclusive", 2)
    assert again.statistics.alpha == pytest.approx(limits.alpha / 2)
    assert any("attempt 2" in reason for reason in again.reasons)


@pytest.mark.parametrize(("lost", "verdict"), [(5, "improved"), (6, "inconclusive")])
def test_a_tenth_of_an_arm_may_be_missing(lost, verdict):
    ours, theirs = arms([[0] * 5] * 10, [[1] * 5] * 10)
    gone = {f"task {n:02}" for n in range(lost)}
    ours, theirs = (
        [replace(one, state="failed_infrastructure") if one.task in gone and one.repeat == 1 else one for one in side]
        for side in (ours, theirs)
    )
    found = compare(ours, theirs)
    assert found.statistics.missing_candidate == pytest.approx(lost / 50)
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"state": "failed_infrastructure"}, "inconclusive"),
        ({"judge01": 0.9}, "invalid"),
        ({"judge01": float("nan")}, "invalid"),
        ({"cost": Cost(wall_s=float("inf"))}, "invalid"),
        ({"checks": ()}, "invalid"),
        (None, "invalid"),
    ],
)
def test_a_task_that_only_one_side_has_stops_the_comparison(change, verdict):
    ours, theirs = arms([MOSTLY] * 12, [OFTEN] * 12)
    rest = [one for one in theirs if one.task != "task 00"]
    spoiled = [replace(one, **change) for one in theirs if one.task == "task 00"] if change else []
    found = compare(ours, rest + spoiled)
    assert (found.verdict, found.promote) == (verdict, False)


def test_repeats_judged_on_one_side_only_do_not_meet():
    ours, theirs = arms([MOSTLY] * 8, [OFTEN] * 8, judge01=0.5)
    theirs = [replace(one, judge01=None) if (one.task, one.repeat) == ("task 00", 2) else one for one in theirs]
    found = compare(ours, theirs)
    assert [(row.baseline_trials, row.candidate_trials) for row in found.tasks[:2]] == [(4, 4), (5, 5)]
    assert found.verdict == "improved"


def test_a_suite_without_checks_promotes_nothing():
    ours, theirs = (side(arm, [[1] * 5] * 8, judge01=judge) for arm, judge in (("baseline", 0.2), ("candidate", 0.9)))
    found = compare(*([replace(one, checks=()) for one in arm] for arm in (ours, theirs)))
    assert (found.verdict, pick_exit_code(found), found.promote) == ("invalid", 4, False)


def test_what_holds_on_one_task_only_is_said_to_be_narrow():
    narrow = compare(*arms([[0] * 10] * 5, [[1] * 10] + [[0] * 10] * 4), QUICK)
    broad = compare(*arms([MOSTLY] * 8, [OFTEN] * 8), QUICK)
    assert (narrow.statistics.is_broad, broad.statistics.is_broad) == (False, True)
    assert narrow.verdict == "improved"


def test_the_interval_and_the_noise_floor_follow_from_the_spread_of_trials():
    one = compare(*arms([[1, 0, 0, 0, 0]] * 5, [[1, 1, 1, 1, 0]] * 5), QUICK).statistics
    error = (5 * (0.2 / 5 + 0.2 / 5)) ** 0.5 / 5
    assert one.standard_error == pytest.approx(error)
    assert (one.low, one.high) == (pytest.approx(0.6 - 1.96 * error), pytest.approx(0.6 + 1.96 * error))
    assert one.noise_floor == pytest.approx(2.326 * error)


RESULTS = st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=5), min_size=5, max_size=6)
PRICES = st.lists(st.floats(0.1, 1000), min_size=60, max_size=60)


@settings(max_examples=30, deadline=None)
@given(RESULTS, RESULTS, PRICES)
def test_swapping_the_arms_negates_everything(shares, later, prices):
    ours, theirs = arms(shares[:5], later[:5])
    priced = [replace(one, cost=Cost(wall_s=price)) for one, price in zip([*ours, *theirs], prices, strict=False)]
    ours, theirs = priced[: len(ours)], priced[len(ours) :]
    there, back = (compare(*both, QUICK).statistics for both in ((ours, theirs), swapped(ours, theirs)))
    assert (there.gain, there.quality) == (-back.gain, -back.quality)
    assert (there.p_better, there.p_worse) == (back.p_worse, back.p_better)
    assert (there.low, there.high) == (pytest.approx(-back.high), pytest.approx(-back.low))


def test_the_same_trials_in_another_order_give_the_same_comparison():
    ours, theirs = arms([MOSTLY] * 6, [OFTEN] * 6)
    assert compare(ours, theirs, QUICK) == compare(ours[::-1], theirs[::-1], QUICK)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda ours, theirs: (theirs, ours), "given as a trial"),
        (lambda ours, theirs: ([*ours, ours[0]], theirs), "given twice"),
        (lambda ours, theirs: ([*ours, replace(ours[0], repeat=9)], theirs), "were planned"),
        (lambda ours, theirs: ([*ours, replace(ours[0], task="new")], theirs), "no such task"),
    ],
)
def test_trials_that_were_not_planned_are_refused(spoil, says):
    plan = Design(tasks=tuple(f"task {n:02}" for n in range(6)), repeats=5)
    with pytest.raises(BadInput, match=says):
        compare(*spoil(*arms([MOSTLY] * 6, [OFTEN] * 6)), QUICK, plan)
