"""How sure a share is: Wilson's interval, of a count, or of an estimate that is worth as much as a count."""

from math import sqrt
from statistics import NormalDist

Z = NormalDist().inv_cdf(0.975)


def measure_interval(crushed: int, counted: int) -> tuple[float, float]:
    """The Wilson 95 % interval of a share, in percent; all is possible where nothing counts."""
    if not counted:
        return 0.0, 100.0
    low, high = measure_estimate(crushed / counted, counted)
    # The ends are exact by definition; floats would miss them by a hair.
    return 0.0 if crushed == 0 else low, 100.0 if crushed == counted else high


def measure_estimate(share: float, worth: float, times: float = Z) -> tuple[float, float]:
    """The same of a share that is as sure as one that was counted in `worth` sessions, `times` deviations wide."""
    spread = times * times / worth
    middle = (share + spread / 2) / (1 + spread)
    half = times * sqrt(share * (1 - share) / worth + spread / worth / 4) / (1 + spread)
    return 100 * max(0.0, middle - half), 100 * min(1.0, middle + half)
