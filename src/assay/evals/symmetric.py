"""The score of rule `tested`: swapping the arms negates every difference, and nothing is clamped away.

Cost is measured against the mean of both arms' trials of the task, which knows no labels.
"""

from collections.abc import Sequence
from math import fsum, sqrt

from msgspec import Struct

from assay.evals.composite import COST_WEIGHT, base, clamp, log_cost, passes, shared_metrics
from assay.evals.pairing import Pair
from assay.evals.permutation import mean, mean_gain
from assay.evals.types import Trial

MOST_COST = 0.5
"""Of log2, on either side of the mean: twice the cost moves two arms apart by the whole weight."""

Scores = tuple[tuple[float, ...], ...]
"""Task by task, the scores of one side's trials."""


class Scored(Struct, frozen=True, kw_only=True):
    """All trials that count, as numbers; with cost, and without."""

    baseline: Scores
    candidate: Scores
    baseline_base: Scores
    candidate_base: Scores
    passed: int
    """Trials of both sides in which every check passed."""

    @property
    def gain(self) -> float:
        return mean_gain(self.baseline, self.candidate)

    @property
    def quality(self) -> float:
        return mean_gain(self.baseline_base, self.candidate_base)

    @property
    def error(self) -> float:
        return standard_error(self.baseline, self.candidate)

    @property
    def quality_error(self) -> float:
        return standard_error(self.baseline_base, self.candidate_base)

    @property
    def is_flat(self) -> bool:
        """Whether every trial of a task ended alike, in all tasks: then only cost can tell the arms apart."""
        sides = zip(self.baseline_base, self.candidate_base, strict=True)
        return all(len({*ours, *theirs}) == 1 for ours, theirs in sides)

    @property
    def repeats(self) -> int:
        """Of the task and side with the fewest."""
        return min(map(len, self.baseline + self.candidate), default=0)

    @property
    def deltas(self) -> list[float]:
        return [mean(theirs) - mean(ours) for ours, theirs in zip(self.baseline, self.candidate, strict=True)]


def scored(pairs: Sequence[Pair]) -> Scored:
    """The scores of the pairs that count."""
    rows = [(pair, scores(pair.trials)) for pair in pairs if pair.counts]
    return Scored(
        baseline=tuple(tuple(values[: len(pair.baseline)]) for pair, values in rows),
        candidate=tuple(tuple(values[len(pair.baseline) :]) for pair, values in rows),
        baseline_base=tuple(tuple(map(base, pair.baseline)) for pair, _ in rows),
        candidate_base=tuple(tuple(map(base, pair.candidate)) for pair, _ in rows),
        passed=sum(passes(trial) for pair, _ in rows for trial in pair.trials),
    )


def scores(trials: Sequence[Trial]) -> list[float]:
    """The scores of all trials of a task, of both arms."""
    names = shared_metrics([trial.cost for trial in trials])
    costs = [log_cost(trial.cost, names) for trial in trials]
    reference = mean(costs)
    return [
        base(trial) - COST_WEIGHT * clamp(cost - reference, -MOST_COST, MOST_COST)
        for trial, cost in zip(trials, costs, strict=True)
    ]


def variance(values: Sequence[float]) -> float:
    """Of a sample; 0 for a single one."""
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    return fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def standard_error(baseline: Scores, candidate: Scores) -> float:
    """Of the mean gain, for these tasks."""
    parts = (
        variance(ours) / len(ours) + variance(theirs) / len(theirs)
        for ours, theirs in zip(baseline, candidate, strict=True)
    )
    return sqrt(fsum(parts)) / len(baseline)
