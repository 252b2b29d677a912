"""Attempts that an agent may have lost on purpose are worth nothing to it."""

import pytest
from msgspec.structs import replace

from assay.evals.deciding.compare import assume_worst, compare, explain_unequal_losses
from assay.evals.deciding.gate import should_promote
from assay.types.evals import Cost, Design
from tests.evals.make_trials import CHEAP, PLAIN, arms, candidate, trial

FAIL, PASS = [[0] * 5] * 6, [[1] * 5] * 6
HALF = [[1, 0, 1, 0, 0]] * 6


def lost(trials, many, *, state="done"):
    """The first trials of an arm, with an attempt lost each."""
    return [replace(one, lost=1, attempts=2, state=state) for one in trials[:many]] + trials[many:]


def test_a_clear_gain_holds_with_a_few_attempts_lost_on_both_sides():
    ours, theirs = arms(FAIL, PASS)
    found = compare(lost(ours, 2), lost(theirs, 2))
    assert (found.verdict, should_promote(found)) == ("improved", True)
    assert "at their worst: baseline 2 passed, candidate 2 failed" in found.reasons[-1]


def test_a_gain_that_rests_on_trials_tried_again_is_none():
    ours, theirs = arms(HALF, [[1, 1, 1, 1, 0]] * 6)
    assert compare(ours, theirs).verdict == "improved"
    again = [replace(one, lost=1) if one.repeat == 2 and one.task < "task 04" else one for one in theirs]
    found = compare(ours, again)
    assert (found.verdict, should_promote(found)) == ("inconclusive", False)
    assert "at their worst" in found.reasons[0]


def test_arms_that_lose_attempts_unequally_often_are_not_promoted():
    ours, theirs = arms(FAIL, PASS)
    assert compare(ours, lost(theirs, 4)).verdict == "improved"
    for sides in ((ours, lost(theirs, 5)), (lost(ours, 5), theirs)):
        found = compare(*sides)
        assert found.verdict == "inconclusive"
        assert "unequally often" in found.reasons[0]
        assert not found.wanted


@pytest.mark.parametrize(("ours", "theirs", "is_odd"), [(0, 4, False), (0, 5, True), (5, 5, False), (2, 10, True)])
def test_lost_attempts_are_put_to_a_test(ours, theirs, is_odd):
    sides = [[trial(lost=count)] for count in (ours, theirs)]
    assert bool(explain_unequal_losses(*sides)) == is_odd


def test_missing_trials_are_counted_at_their_worst():
    ours, theirs = trial(cost=PLAIN, judge01=0.5), candidate(trial(cost=CHEAP, judge01=0.5), repeat=2)
    gone = [trial(repeat=3, state="failed_infrastructure", of=0, cost=Cost())]
    gone.append(candidate(gone[0]))
    better, worse = assume_worst(gone, [ours, theirs, *gone])
    assert (better.checks[0].passed, better.judge01, better.cost) == (True, 1.0, CHEAP)
    assert (worse.checks[0].passed, worse.judge01, worse.cost) == (False, 0.0, PLAIN)


def test_a_suspect_at_its_worst_is_run_again_before_anything_is_promoted():
    ours, theirs = arms([*FAIL, *FAIL, [1] * 5], [*PASS, *PASS, [1] * 5])
    broken = [replace(one, lost=1) if one.task == "task 12" and one.repeat < 3 else one for one in theirs]
    found = compare(ours, broken)
    assert (found.verdict, found.promote) == ("inconclusive", False)
    assert [(one.task, one.stage, one.repeats) for one in found.wanted] == [("task 12", "guard", 16)]
    plan = Design(tasks=tuple(f"task {n:02}" for n in range(13)), repeats=5)
    more = [trial("task 12", repeat=n, stage="guard") for n in range(1, 17)]
    done = compare([*ours, *more], [*broken, *(candidate(one) for one in more)], design=plan)
    assert done.verdict == "improved"


def test_the_seed_rule_does_not_promote_what_rests_on_a_second_attempt():
    ours, theirs = trial(passed=0), candidate(trial(passed=1))
    assert compare([ours], [theirs]).verdict == "improved"
    found = compare([ours], [replace(theirs, lost=1)])
    assert (found.verdict, should_promote(found)) == ("invalid", False)
