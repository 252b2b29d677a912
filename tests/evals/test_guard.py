"""The guard: who is suspected, what fresh trials say, and that nothing passes before they have spoken."""

from itertools import combinations

import pytest
from msgspec.structs import replace

from assay.evals.deciding.compare import compare
from assay.evals.deciding.gate import pick_exit_code, should_promote
from assay.evals.deciding.guard import apply_holm, estimate_drop_chance, run_fisher_test
from assay.types.evals import Design, Thresholds, TrialRequest
from tests.evals.make_trials import arms, candidate, trial

QUICK = Thresholds(relabellings=999)
GAIN = [[0, 0, 0, 0, 1]] * 12
WON = [[1, 1, 1, 1, 1]] * 12


def with_last(before: list[int], after: list[int]):
    """A suite that is clearly better, but for its last task."""
    return arms([*GAIN, before], [*WON, after])


def fresh(passed: int, later: int, of: int = 16):
    """Fresh trials of the last task."""
    return (
        [trial("task 12", int(n < passed), repeat=n + 1, stage="guard") for n in range(of)],
        [candidate(trial("task 12", int(n < later), repeat=n + 1, stage="guard")) for n in range(of)],
    )


@pytest.mark.parametrize(
    ("repeats", "lost", "is_suspect"),
    [(3, 0, False), (3, 1, True), (5, 1, False), (5, 2, True), (10, 2, False), (10, 3, True)],
)
@pytest.mark.parametrize("spare", [0, 1, 3])
def test_three_tenths_of_the_passes_lost_make_a_suspect(repeats, lost, is_suspect, spare):
    hits = repeats - spare if repeats - spare >= lost else repeats
    before, after = ([1] * n + [0] * (repeats - n) for n in (hits, hits - lost))
    ours, theirs = arms([[0] * repeats] * 12 + [before], [[1] * repeats] * 12 + [after])
    found = compare(ours, theirs, QUICK)
    assert [one.task for one in found.suspects] == ["task 12"] * is_suspect
    assert found.verdict == ("inconclusive" if is_suspect else "improved")


def test_a_suspect_asks_for_sixteen_fresh_trials_a_side_and_nothing_passes_before():
    found = compare(*with_last([1] * 5, [0] * 5), QUICK)
    assert found.wanted == (TrialRequest(task="task 12", stage="guard", repeats=16),)
    assert (found.verdict, pick_exit_code(found), should_promote(found)) == ("inconclusive", 3, False)


@pytest.mark.parametrize(
    ("passed", "later", "verdict"),
    [(15, 5, "mixed"), (15, 10, "mixed"), (15, 11, "improved"), (15, 15, "improved"), (5, 15, "improved")],
)
def test_fresh_trials_alone_confirm_or_clear_a_suspect(passed, later, verdict):
    ours, theirs = with_last([1] * 5, [0] * 5)
    more, later_more = fresh(passed, later)
    found = compare([*ours, *more], [*theirs, *later_more], QUICK)
    assert (found.verdict, found.wanted) == (verdict, ())
    assert [one.kind for one in found.regressions] == ["confirmed_drop"] * (verdict == "mixed")
    assert (pick_exit_code(found), should_promote(found)) == ((1, False) if verdict == "mixed" else (0, True))
    assert found.suspects[0].is_confirmed == (verdict == "mixed")


def test_fresh_trials_count_for_the_guard_and_never_for_the_gain():
    ours, theirs = with_last([1] * 5, [0] * 5)
    more, later_more = fresh(15, 15)
    before, after = compare(ours, theirs, QUICK), compare([*ours, *more], [*theirs, *later_more], QUICK)
    assert before.net_gain == after.net_gain


@pytest.mark.parametrize("short", [1, 15])
def test_a_suspect_with_fewer_fresh_trials_is_neither_confirmed_nor_cleared(short):
    ours, theirs = with_last([1] * 5, [0] * 5)
    more, later_more = fresh(16, 16)
    found = compare([*ours, *more], [*theirs, *later_more[:-short]], QUICK)
    assert (found.verdict, found.suspects[0].is_confirmed) == ("inconclusive", None)


def test_a_fresh_trial_that_infrastructure_spoiled_is_asked_for_again():
    ours, theirs = with_last([1] * 5, [0] * 5)
    more, later_more = fresh(16, 16)
    later_more = [replace(later_more[0], state="failed_infrastructure"), *later_more[1:]]
    found = compare([*ours, *more], [*theirs, *later_more], QUICK)
    assert found.wanted == (TrialRequest(task="task 12", stage="guard", repeats=17),)


def test_fresh_trials_with_other_checks_clear_nobody():
    ours, theirs = with_last([1] * 5, [0] * 5)
    more, later_more = fresh(16, 16)
    later_more = [replace(one, checks=()) for one in later_more]
    assert compare([*ours, *more], [*theirs, *later_more], QUICK).verdict == "inconclusive"


def test_a_task_that_must_pass_is_always_looked_at():
    plan = Design(tasks=tuple(f"task {n:02}" for n in range(12)), repeats=5, must_pass=("task 03",))
    found = compare(*arms(GAIN, WON), QUICK, plan)
    assert [one.task for one in found.suspects] == ["task 03"]
    assert not found.promote


def test_a_candidate_that_is_not_superior_costs_no_fresh_trials():
    found = compare(*arms([[1] * 5] * 6, [[0] * 5] * 6), QUICK)
    assert (found.verdict, found.suspects, found.wanted) == ("regressed", (), ())


@pytest.mark.parametrize(
    ("of", "expected"), [(3, 1 / 20), (5, 1 / 252)], ids=["3 against 3", "5 against 5"]
)  # fmt: skip
def test_the_smallest_chance_of_an_exact_test_is_one_way_among_all(of, expected):
    assert run_fisher_test(of, of, 0, of) == pytest.approx(expected)


@pytest.mark.parametrize("passed", range(5))
@pytest.mark.parametrize("later", range(5))
def test_the_exact_test_counts_every_way_to_deal_the_passes(passed, later):
    trials = [True] * (passed + later) + [False] * (8 - passed - later)
    ways = [sum(trials[n] for n in dealt) for dealt in combinations(range(8), 4)]
    assert run_fisher_test(passed, 4, later, 4) == pytest.approx(sum(hits <= later for hits in ways) / len(ways))


def test_checks_that_pass_in_part_are_relabelled_and_agree_with_the_exact_test_where_both_apply():
    part = estimate_drop_chance([1.0] * 14 + [0.5] * 2, [0.5] * 14 + [1.0] * 2, 1, 9_999)
    assert part < 0.001
    whole = estimate_drop_chance([1.0] * 12 + [0.0] * 4, [1.0] * 8 + [0.0] * 8, 1, 9_999)
    relabelled = estimate_drop_chance([1.0] * 12 + [0.25] * 4, [1.0] * 8 + [0.25] * 8, 1, 9_999)
    assert relabelled == pytest.approx(whole, abs=0.02)


@pytest.mark.parametrize(
    ("chance", "held"),
    [
        ([], []),
        ([0.05], [True]),
        ([0.051], [False]),
        ([0.05, 0.025], [True, True]),
        ([0.05, 0.026], [False, False]),
        ([0.03, 0.01, 0.9], [False, True, False]),
        ([0.01, 0.02, 0.04], [True, True, True]),
    ],
)
def test_several_suspects_share_one_chance_of_error(chance, held):
    assert apply_holm(chance, 0.05) == held
