"""The score corrected by what a person said of a random sample: prediction-powered inference (PPI++).

The judge's chances of all sessions steady the estimate, the person's verdicts make it right whatever the judge is
worth: where its chances tell nothing they get no weight, and the audit speaks alone.
"""

from bisect import bisect_right
from collections.abc import Sequence

from assay.scores.interval import Z, measure_estimate, measure_interval
from assay.types import Row

T_975 = {
    1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 8: 2.306, 10: 2.228, 15: 2.131, 20: 2.086, 30: 2.042,
    40: 2.021, 60: 2.000, 120: 1.980,
}  # fmt: skip
"""Student's t, two-sided 95 %, by degrees of freedom."""
MANY = 200
"""Degrees of freedom from which on the normal distribution does."""


class Corrected(Row, frozen=True):
    """The share of sessions that landed by the person's word, in percent, with its 95 % interval."""

    value: float
    low: float
    high: float
    audited: int
    judge_weight: float
    """How much of the judge's chances went into it, 0 to 1: 0 is the audit alone."""


def correct_share(chances: Sequence[float], audited: Sequence[tuple[float, bool]]) -> Corrected | None:
    """The share that landed, given the judge's chances of sessions that nobody audited, and a random sample.

    `audited` holds the judge's chance and the person's verdict of each session in the sample. The interval is
    Wilson's, of as many sessions as the estimate is worth: so it stays inside 0 and 100, and holds for few.
    """
    if not audited:
        return None
    landed = sum(verdict for _, verdict in audited)
    weight = find_best_weight(audited, len(chances))
    errors = [verdict - weight * chance for chance, verdict in audited]
    share = min(1.0, max(0.0, weight * average(chances) + average(errors)))
    doubt = weight**2 * measure_variance(chances) / max(1, len(chances)) + measure_variance(errors) / len(errors)
    if weight and doubt and 0 < share < 1:
        low, high = measure_estimate(share, share * (1 - share) / doubt, find_quantile(len(audited) - 2))
    else:
        share, weight = landed / len(audited), 0.0
        low, high = measure_interval(landed, len(audited))
    return Corrected(value=100 * share, low=low, high=high, audited=len(audited), judge_weight=weight)


def find_best_weight(audited: Sequence[tuple[float, bool]], others: int) -> float:
    """The weight of the judge's chances that makes the interval narrowest; never below 0 or above 1."""
    chances, verdicts = [chance for chance, _ in audited], [float(verdict) for _, verdict in audited]
    spread = measure_variance(chances)
    if min(chances) == max(chances) or not spread or not others:  # floats may give alike chances a spread
        return 0.0
    at, truth = average(chances), average(verdicts)
    together = sum((chance - at) * (verdict - truth) for chance, verdict in audited) / (len(audited) - 1)
    return min(1.0, max(0.0, together / ((1 + len(audited) / others) * spread)))


def average(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def measure_variance(values: Sequence[float]) -> float:
    """The variance of which these are a sample; 0 where nothing can be told."""
    middle = average(values)
    return sum((value - middle) ** 2 for value in values) / (len(values) - 1) if len(values) > 1 else 0.0


def find_quantile(freedom: int) -> float:
    """Of Student's t, two-sided 95 %: the next row of the table that is no narrower."""
    rows = list(T_975)
    return Z if freedom > MANY else T_975[rows[max(0, bisect_right(rows, freedom) - 1)]]
