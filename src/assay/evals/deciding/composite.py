"""How one trial becomes a number: checks, judge, and what it cost beside another trial."""

import math
from collections.abc import Iterable

from assay.types.evals import Cost, Trial

OBJECTIVE_WEIGHT, JUDGE_WEIGHT, COST_WEIGHT = 0.6, 0.4, 0.1
METRICS = ("tokens", "tool_calls", "steps", "wall_s")
"""What cost is measured by; dollars follow from tokens and would count them twice."""


def clamp(value: float, low: float, high: float) -> float:
    """A value within limits; what is no number stays none."""
    return value if math.isnan(value) else min(max(value, low), high)


def is_usable(trial: Trial) -> bool:
    """Whether the agent had its turn and every check could be run."""
    return trial.state == "done" and all(check.passed is not None for check in trial.checks)


def score_checks(trial: Trial) -> float:
    """The share of checks that passed; 1 where there are none."""
    return sum(check.passed is True for check in trial.checks) / len(trial.checks) if trial.checks else 1.0


def has_passed(trial: Trial) -> bool:
    """Whether a trial passed every check."""
    return all(check.passed is True for check in trial.checks)


def score_base(trial: Trial) -> float:
    """Checks and judge, weighed; the judge's weight is gone where there is no judge."""
    if trial.judge01 is None:
        return score_checks(trial)
    weighed = OBJECTIVE_WEIGHT * score_checks(trial) + JUDGE_WEIGHT * trial.judge01
    return weighed / (OBJECTIVE_WEIGHT + JUDGE_WEIGHT)


def list_metrics(cost: Cost) -> dict[str, float]:
    """The metrics of a cost that are known, by name."""
    values = {name: getattr(cost, name) for name in METRICS}
    return {name: float(value) for name, value in values.items() if value is not None}


def find_shared_metrics(costs: Iterable[Cost]) -> list[str]:
    """The metrics that are known and above 0 in all of these: only of those is a ratio a number."""
    known = [list_metrics(cost) for cost in costs]
    return [name for name in METRICS if known and all(one.get(name, 0.0) > 0 for one in known)]


def average_log_cost(cost: Cost, names: list[str]) -> float:
    """The mean of the metrics' logarithms, to base 2."""
    known = list_metrics(cost)
    return math.fsum(math.log2(known[name]) for name in names) / len(names) if names else 0.0


def score_cost(cost: Cost, reference: Cost | None) -> float:
    """What being cheaper than the reference adds, and being dearer takes; 0 for the reference itself."""
    if reference is None:
        return 0.0
    names = find_shared_metrics([cost, reference])
    ratio = average_log_cost(cost, names) - average_log_cost(reference, names)
    return -COST_WEIGHT * clamp(ratio, -1.0, 1.0) + 0.0  # no minus zero


def composite(trial: Trial, reference: Trial | None = None) -> float | None:
    """The composite of a trial, with its cost beside the reference's; `None` for a trial without a usable result.

    It is not finite where the judge's score or a cost is no number: such a trial never passes for a good one.
    """
    if not is_usable(trial):
        return None
    if explain_unsound(trial) or (reference is not None and explain_unsound(reference)):
        return math.nan
    return clamp(score_base(trial) + score_cost(trial.cost, reference.cost if reference else None), 0.0, 1.0)


def explain_unsound(trial: Trial) -> str:
    """What in a trial can't be a score or a cost; empty when all is well."""
    if trial.judge01 is not None and not 0.0 <= trial.judge01 <= 1.0:
        return f"judge01 {trial.judge01} is no number from 0 to 1"
    for name, value in list_metrics(trial.cost).items():
        if not math.isfinite(value) or value < 0:
            return f"{name} {value} is no cost"
    return ""
