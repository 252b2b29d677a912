"""A configuration against itself: recorded trials, split at random, show what a rule makes of luck alone."""

from collections import Counter
from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from assay.errors import BadInput
from assay.evals.deciding.compare import compare
from assay.evals.deciding.composite import is_usable
from assay.evals.deciding.pairing import group_by_task
from assay.types.evals import Arm, Rule, Thresholds, Trial
from assay.types.value import Document

SEED = 20_261
QUICK = 999
"""Relabellings of each split: enough for a p of 0.01, and there are many splits."""


class SplitTally(Document, frozen=True, kw_only=True, tag="splits"):
    """`assay eval aa --json`: how often each verdict came of comparing a configuration with itself."""

    splits: int
    tasks: int
    repeats: int
    """Of each half."""
    tested: dict[str, int]
    """By rule `tested`; empty where the trials are too few for it."""
    seed: dict[str, int]
    says: tuple[str, ...] = ()


def tally_splits(trials: Sequence[Trial], splits: int, limits: Thresholds) -> SplitTally:
    """Split the trials of each task into two halves, so many times, and count what each rule says."""
    tasks = {name: [one for one in some if is_usable(one)] for name, some in group_by_task(trials).items()}
    repeats = min((len(some) // 2 for some in tasks.values()), default=0)
    if not repeats:
        raise BadInput("every task needs 2 trials that ended, to split them; run more repeats")
    luck = Random(SEED)  # noqa: S311  the same splits every time
    rules: list[Rule] = ["seed"]
    says = []
    if repeats >= limits.min_repeats and len(tasks) >= limits.min_tasks:
        rules.insert(0, "tested")
    else:
        needed = 2 * limits.min_repeats
        says.append(f"rule tested needs {needed} trials of each of {limits.min_tasks} tasks, to have two halves")
    found: dict[Rule, Counter[str]] = {"tested": Counter(), "seed": Counter()}
    quick = replace(limits, relabellings=min(limits.relabellings, QUICK))
    for _ in range(splits):
        halves = split_tasks(tasks, repeats, luck)
        for rule in rules:
            most = repeats if rule == "tested" else 1
            sides = [[one for one in half if one.repeat <= most] for half in halves]
            found[rule][compare(sides[0], sides[1], quick, rule=rule).verdict] += 1
    return SplitTally(
        splits=splits, tasks=len(tasks), repeats=repeats, says=tuple(says),
        tested=dict(found["tested"].most_common()), seed=dict(found["seed"].most_common()),
    )  # fmt: skip


def split_tasks(tasks: dict[str, list[Trial]], repeats: int, luck: Random) -> tuple[list[Trial], list[Trial]]:
    """Two halves of every task's trials, drawn at random, as if they were two arms."""
    ours: list[Trial] = []
    theirs: list[Trial] = []
    for some in tasks.values():
        drawn = luck.sample(some, 2 * repeats)
        ours += [rename_trial(one, "baseline", place) for place, one in enumerate(drawn[:repeats], 1)]
        theirs += [rename_trial(one, "candidate", place) for place, one in enumerate(drawn[repeats:], 1)]
    return ours, theirs


def rename_trial(trial: Trial, arm: Arm, repeat: int) -> Trial:
    return replace(trial, arm=arm, repeat=repeat)
