"""How far the truth may lie from what a judge says, for somebody of whose sessions nobody audited any.

Over repositories whose sessions were labelled, the log-odds of the true share are a line in the log-odds of the
judge's mean chance, and each repository lies apart from that line by an amount that no score shows. A new person is
one more draw from these. What was fitted for which judge stands in `prediction.toml`.
"""

from collections.abc import Sequence
from math import ceil, exp, floor, log, sqrt

from msgspec import Struct

from assay.resources import load_table
from assay.scores.interval import Z
from assay.types import Row


class Spread(Struct, frozen=True, forbid_unknown_fields=True):
    """How far a judge is off between repositories: log-odds of the truth = start + slope * log-odds of its mean."""

    start: float
    slope: float
    between: float
    """Standard deviation between repositories, in log-odds."""
    repositories: int
    goals: int


class Predicted(Row, frozen=True):
    """Where the true share lies, in percent: its likeliest value and its 95 % interval."""

    value: float
    low: float
    high: float
    repositories: int
    """On how many repositories of other people, and how many goals in them, that rests."""
    goals: int


def find_spread(judge: str) -> Spread | None:
    """How far a judge is off, if that was ever measured."""
    return load_table("assay.scores", "prediction.toml", dict[str, Spread]).get(judge)


def predict_share(chances: Sequence[float], spread: Spread) -> Predicted | None:
    """Where the true share of landed goals lies, given the judge's chances of a person's sessions."""
    if not chances:
        return None
    seen = (sum(chances) + 1) / (len(chances) + 2)
    middle = spread.start + spread.slope * log(seen / (1 - seen))
    share = to_share(middle)
    # Few sessions of one's own add their own luck: the variance of log-odds of a share of so many.
    luck = 1 / ((len(chances) + 2) * share * (1 - share))
    half = Z * sqrt(spread.between**2 + luck)
    # A share of so many is a whole number of sessions; the ends are rounded outwards to one.
    return Predicted(
        value=100 * share,
        low=100 * floor(len(chances) * to_share(middle - half)) / len(chances),
        high=100 * ceil(len(chances) * to_share(middle + half)) / len(chances),
        repositories=spread.repositories,
        goals=spread.goals,
    )


def to_share(odds: float) -> float:
    """Log-odds as a share."""
    return 1 / (1 + exp(-odds)) if odds > 0 else exp(odds) / (1 + exp(odds))
