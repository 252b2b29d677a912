"""Stopping early: after every two repeats a look, with limits that keep the chance of a false gain where it was."""

from collections.abc import Sequence
from functools import lru_cache
from math import fsum, sqrt

from msgspec import Struct
from msgspec.structs import replace

from assay.evals.deciding.pairing import Pair
from assay.evals.deciding.trial_scores import ArmScores, Scores, measure_variance, score_pairs

LOOKS = 5
PER_LOOK = 2
CAP = LOOKS * PER_LOOK
FUTILE = (0.0, 0.4, 0.8, 1.2)
"""Below it after a look, going on is hardly worth its cost; it binds nobody, so it costs no error."""
SHAPE = 0.25
"""Wang and Tsiatis: between equal limits at every look (0.5) and nearly all of the error kept for the last (0)."""


class Look(Struct, frozen=True, kw_only=True):
    """What the trials say after so many repeats."""

    number: int
    scored: ArmScores
    z: float
    z_quality: float
    boundary: float

    @property
    def is_below(self) -> bool:
        return self.z <= -self.boundary

    @property
    def is_futile(self) -> bool:
        return self.number < LOOKS and self.z < FUTILE[self.number - 1]


def take_look(pairs: Sequence[Pair], number: int, alpha: float) -> Look:
    """The trials of the first rounds, and how far they lie from chance."""
    seen = score_pairs(cut_pairs(pairs, number * PER_LOOK))
    return Look(
        number=number,
        scored=seen,
        z=standardise_gain(seen.baseline, seen.candidate),
        z_quality=standardise_gain(seen.baseline_base, seen.candidate_base),
        boundary=find_boundaries(alpha)[number - 1],
    )


def cut_pairs(pairs: Sequence[Pair], repeats: int) -> list[Pair]:
    """The pairs as they were after so many repeats; one without trials on a side does not count yet."""
    cut = []
    for pair in pairs:
        ours, theirs = (tuple(one for one in side if one.repeat <= repeats) for side in (pair.baseline, pair.candidate))
        if pair.counts and not (ours and theirs):
            cut.append(Pair(task=pair.task, left_out="no usable trial yet", is_missing=True))
        else:
            cut.append(replace(pair, baseline=ours, candidate=theirs))
    return cut


def standardise_gain(baseline: Scores, candidate: Scores) -> float:
    """The gain in units of its noise, both arms taken as one; 0 where nothing varies."""
    sides = list(zip(baseline, candidate, strict=True))
    total = fsum(fsum(theirs) / len(theirs) - fsum(ours) / len(ours) for ours, theirs in sides)
    noise = fsum((1 / len(ours) + 1 / len(theirs)) * measure_variance((*ours, *theirs)) for ours, theirs in sides)
    return total / sqrt(noise) if noise else 0.0


@lru_cache(maxsize=64)
def find_boundaries(alpha: float) -> tuple[float, ...]:
    """What z must reach at each look, so that luck alone reaches any of them with probability alpha."""
    low, high = 0.5, 8.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if estimate_crossing(scale_boundaries(middle)) > alpha else (low, middle)
    return scale_boundaries(high)


def scale_boundaries(last: float) -> tuple[float, ...]:
    """The limits of all looks, given the last."""
    return tuple(last * (number / LOOKS) ** (SHAPE - 0.5) for number in range(1, LOOKS + 1))


def estimate_crossing(bounds: Sequence[float]) -> float:
    """The chance that a sum of equal normal steps, standardised at each look, ever reaches its limit.

    The density of what has not crossed yet is carried from look to look on a grid.
    """
    import numpy as np  # noqa: PLC0415

    steps = np.linspace(-9.0 * sqrt(len(bounds)), 9.0 * sqrt(len(bounds)), 1_601)
    width = steps[1] - steps[0]
    kernel = np.exp(-0.5 * steps**2) / sqrt(2 * np.pi) * width
    density = kernel / width
    crossed = 0.0
    for number, bound in enumerate(bounds, 1):
        edge = bound * sqrt(number)
        # a cell that the limit cuts through belongs to both sides
        share = np.clip((steps - edge) / width + 0.5, 0.0, 1.0)
        crossed += float((density * share).sum() * width)
        density = np.convolve(density * (1 - share), kernel, mode="same")
    return crossed
