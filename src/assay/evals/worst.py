"""Trials whose attempts were lost, at their worst: an agent may lose the attempts that it would have failed.

A candidate's trial that is missing, or was tried again, counts as failed; a baseline's as passed. What is improved even
so is improved whoever lost the attempts, and why.
"""

from collections.abc import Sequence
from math import comb

from msgspec.structs import replace

from assay.evals.composite import METRICS, is_usable
from assay.evals.types import Cost, Trial

ALIKE = 0.05
"""How seldom luck alone may part the arms' lost attempts so far, on either side."""


def is_doubtful(trial: Trial) -> bool:
    """Whether it has no result, or had to be tried again for one."""
    return trial.lost > 0 or not is_usable(trial)


def at_worst(trials: Sequence[Trial], every: Sequence[Trial]) -> list[Trial]:
    """Trials of an arm, with the doubtful ones as bad for the candidate as can be; `every` are those of both arms."""
    return [
        imputed(one, [other for other in every if other.task == one.task]) if is_doubtful(one) else one
        for one in trials
    ]


def imputed(trial: Trial, beside: Sequence[Trial]) -> Trial:
    """A trial as bad for the candidate as can be; left alone where no other trial of the task has a result."""
    usable = [one for one in beside if is_usable(one)]
    if not usable:
        return trial
    is_passed = trial.arm == "baseline"
    judged = any(one.judge01 is not None for one in usable)
    own = trial if is_usable(trial) else usable[0]
    cost = (
        trial.cost if is_usable(trial) and not is_passed else extreme([one.cost for one in usable], is_least=is_passed)
    )
    return replace(
        trial,
        state="done",
        checks=tuple(replace(check, passed=is_passed) for check in own.checks),
        judge01=float(is_passed) if judged else None,
        cost=cost,
    )


def extreme(costs: Sequence[Cost], *, is_least: bool) -> Cost:
    """The least, or the most, of each metric."""
    found = {}
    for name in METRICS:
        known = [value for one in costs if (value := getattr(one, name)) is not None]
        found[name] = (min if is_least else max)(known, default=None)
    return Cost(**found)


def lost(trials: Sequence[Trial]) -> int:
    """Attempts of an arm that came to nothing."""
    return sum(one.lost if is_usable(one) else one.attempts for one in trials)


def unequal(baseline: Sequence[Trial], candidate: Sequence[Trial]) -> str:
    """That the arms lost attempts unequally often, where luck hardly does: a binomial test; else empty."""
    ours, theirs = lost(baseline), lost(candidate)
    total, most = ours + theirs, max(ours, theirs)
    chance = sum(comb(total, hits) for hits in range(most, total + 1)) / 2**total
    if chance > ALIKE:
        return ""
    return f"the arms lost attempts unequally often: baseline {ours}, candidate {theirs} (luck: p = {chance:.4f})"


def told(baseline: Sequence[Trial], candidate: Sequence[Trial]) -> str:
    """How many trials are in doubt."""
    counts = [sum(map(is_doubtful, side)) for side in (baseline, candidate)]
    return f"trials whose attempts were lost at their worst: baseline {counts[0]} passed, candidate {counts[1]} failed"
