"""The score of rule `tested`: swapping the arms negates every difference, and nothing is clamped away.

Cost is measured against the mean of both arms' trials of the task, which knows no labels.
"""

from collections.abc import Sequence
from math import fsum, sqrt

from msgspec import Struct

from assay.evals.deciding.composite import (
    COST_WEIGHT,
    average_log_cost,
    clamp,
    find_shared_metrics,
    has_passed,
    score_base,
)
from assay.evals.deciding.pairing import Pair
from assay.evals.deciding.permutation import average, average_gain
from assay.types.evals import Trial

MOST_COST = 0.5
"""Of log2, on either side of the mean: twice the cost moves two arms apart by the whole weight."""

Scores = tuple[tuple[float, ...], ...]
"""Task by task, the scores of one side's trials."""


class ArmScores(Struct, frozen=True, kw_only=True):
    """The trials of both arms that count, as scores, with cost and without."""

    baseline: Scores
    candidate: Scores
    baseline_base: Scores
    candidate_base: Scores
    passed: int
    """Trials of both sides in which every check passed."""

    @property
    def gain(self) -> float:
        return average_gain(self.baseline, self.candidate)

    @property
    def quality(self) -> float:
        return average_gain(self.baseline_base, self.candidate_base)

    @property
    def error(self) -> float:
        return measure_error(self.baseline, self.candidate)

    @property
    def quality_error(self) -> float:
        return measure_error(self.baseline_base, self.candidate_base)

    @property
    def is_flat(self) -> bool:
        """Whether every trial of a task ended alike, in all tasks: then only cost can tell the arms apart."""
        sides = zip(self.baseline_base, self.candidate_base, strict=True)
        return all(len({*ours, *theirs}) == 1 for ours, theirs in sides)

    @property
    def repeats(self) -> int:
        """Repeats of the task and side that has the fewest."""
        return min(map(len, self.baseline + self.candidate), default=0)

    @property
    def deltas(self) -> list[float]:
        return [average(theirs) - average(ours) for ours, theirs in zip(self.baseline, self.candidate, strict=True)]


def score_pairs(pairs: Sequence[Pair]) -> ArmScores:
    """The scores of the pairs that count."""
    rows = [(pair, score_trials(pair.trials)) for pair in pairs if pair.counts]
    return ArmScores(
        baseline=tuple(tuple(values[: len(pair.baseline)]) for pair, values in rows),
        candidate=tuple(tuple(values[len(pair.baseline) :]) for pair, values in rows),
        baseline_base=tuple(tuple(map(score_base, pair.baseline)) for pair, _ in rows),
        candidate_base=tuple(tuple(map(score_base, pair.candidate)) for pair, _ in rows),
        passed=sum(has_passed(trial) for pair, _ in rows for trial in pair.trials),
    )


def score_trials(trials: Sequence[Trial]) -> list[float]:
    """The scores of all trials of a task, of both arms."""
    names = find_shared_metrics([trial.cost for trial in trials])
    costs = [average_log_cost(trial.cost, names) for trial in trials]
    reference = average(costs)
    return [
        score_base(trial) - COST_WEIGHT * clamp(cost - reference, -MOST_COST, MOST_COST)
        for trial, cost in zip(trials, costs, strict=True)
    ]


def measure_variance(values: Sequence[float]) -> float:
    """The variance of a sample; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    middle = average(values)
    return fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def measure_error(baseline: Scores, candidate: Scores) -> float:
    """The standard error of the mean gain, for these tasks."""
    parts = (
        measure_variance(ours) / len(ours) + measure_variance(theirs) / len(theirs)
        for ours, theirs in zip(baseline, candidate, strict=True)
    )
    return sqrt(fsum(parts)) / len(baseline)
