"""A configuration against itself: recorded trials, split at random."""

from random import Random

import pytest

from assay.errors import BadInput
from assay.evals.deciding.split import split_tasks, tally_splits
from assay.types.evals import CheckResult, Cost, Thresholds, Trial


def record(task: int, repeat: int, passed: bool = True, **more: object) -> Trial:
    check = CheckResult(name="c", kind="command", passed=passed)
    cost = Cost(tokens=1_000 + 10 * repeat + task, tool_calls=3, steps=3, wall_s=10.0 + repeat)
    fields = {"task": f"t{task}", "arm": "baseline", "repeat": repeat, "checks": (check,), "cost": cost, **more}
    return Trial(**fields)


def suite(tasks: int, repeats: int) -> list[Trial]:
    luck = Random(7)
    return [record(task, repeat, luck.random() < 0.5) for task in range(tasks) for repeat in range(1, repeats + 1)]


def test_every_split_has_a_verdict_and_the_test_seldom_claims_anything():
    found = tally_splits(suite(6, 6), 100, Thresholds())
    assert (found.tasks, found.repeats, found.says) == (6, 3, ())
    assert sum(found.tested.values()) == sum(found.seed.values()) == 100
    assert found.tested.get("improved", 0) + found.tested.get("regressed", 0) <= 6
    assert found.seed["regressed"] > 50
    assert found == tally_splits(suite(6, 6), 100, Thresholds())


def test_halves_share_no_trial_and_are_of_one_size():
    tasks = {"t0": [record(0, repeat) for repeat in range(1, 8)]}
    ours, theirs = split_tasks(tasks, 3, Random(1))
    assert [one.repeat for one in ours] == [one.repeat for one in theirs] == [1, 2, 3]
    assert {one.arm for one in ours} | {one.arm for one in theirs} == {"baseline", "candidate"}
    assert len({one.cost.tokens for one in (*ours, *theirs)}) == 6


@pytest.mark.parametrize(("tasks", "repeats"), [(6, 4), (4, 6)])
def test_too_few_trials_for_the_test_are_told_and_the_single_run_rule_goes_on(tasks: int, repeats: int):
    found = tally_splits(suite(tasks, repeats), 5, Thresholds())
    assert found.tested == {}
    assert sum(found.seed.values()) == 5
    assert found.says == ("rule tested needs 6 trials of each of 5 tasks, to have two halves",)


def test_one_trial_of_a_task_can_not_be_split():
    with pytest.raises(BadInput, match="needs 2 trials"):
        tally_splits([record(0, 1)], 5, Thresholds())
    with pytest.raises(BadInput, match="needs 2 trials"):
        tally_splits([record(0, 1), record(0, 2, state="failed_infrastructure")], 5, Thresholds())
