"""Whether two shares differ: a test, an interval, and a correction where many are tested at once."""

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import erfc, exp, fsum, lgamma, sqrt
from typing import Literal

from assay.scores.interval import measure_interval
from assay.scores.prism import Score, has_other_judge, score_sessions, select_counted
from assay.types import Row, Session

Direction = Literal["up", "down"]
ALPHA = 0.05
NEGLIGIBLE = 45.0
"""Chances whose logarithm is so much smaller are lost in a float's last place."""
FEWEST_COUNTED = 5
"""Counted sessions that each side needs before anything is claimed."""


class Difference(Row, frozen=True):
    """How far one share lies from another, in points; positive: the first is higher. `None` where a side is empty."""

    value: float | None
    low: float | None
    high: float | None
    """Ends of Newcombe's 95 % interval: of chance alone, as if the judge never erred."""
    p_value: float | None
    """Of Fisher's exact test, two-sided."""
    direction: Direction | None
    """`None` unless test, interval, the numbers on both sides and one judge support it."""
    is_one_judge: bool
    """All that counts on both sides was judged by the same versions; else the two are not comparable."""


def compare_sessions(some: Sequence[Session], others: Sequence[Session]) -> Difference:
    """How far the score of some sessions lies from that of others; `crushed` of each must be fresh."""
    return compare_scores(score_sessions(some), score_sessions(others), is_one_judge=have_one_judge([*some, *others]))


def compare_scores(one: Score, other: Score, *, is_one_judge: bool = True) -> Difference:
    """How far one score lies from another."""
    p_value = compare_proportions(one, other)
    ends = measure_difference(one, other)
    if ends is None:
        return Difference(None, None, None, p_value, None, is_one_judge)
    value, low, high = ends
    is_clear = is_one_judge and (low > 0 or high < 0)
    direction = pick_direction(one, other, p_value) if is_clear else None
    return Difference(value, low, high, p_value, direction, is_one_judge)


def have_one_judge(sessions: Sequence[Session]) -> bool:
    """Whether all that counts was judged by one judge in one version."""
    found = select_counted(sessions)
    return not any(has_other_judge(one, found[0]) for one in found)


def compare_proportions(now: Score, then: Score) -> float | None:
    """How often so unlikely a split would come by chance were both shares the same (Fisher's exact test, two-sided)."""
    if not now.counted or not then.counted:
        return None
    crushed = now.crushed + then.crushed
    first, last = max(0, crushed - then.counted), min(crushed, now.counted)
    all_ways = count_ways(now.counted + then.counted, crushed)
    here, there = now.counted, then.counted
    orders_here, orders_there, missed = lgamma(here + 1), lgamma(there + 1), there - crushed

    def find_chance(n: int) -> float:
        """The logarithm of the chance that so many of those who crushed are on this side: of `count_ways`, in full."""
        ways_here = orders_here - lgamma(n + 1) - lgamma(here - n + 1)
        return ways_here + (orders_there - lgamma(crushed - n + 1) - lgamma(missed + n + 1)) - all_ways

    # A hair of slack, for equal chances differ by rounding.
    rare = find_chance(now.crushed) + 1e-7
    likeliest = min(max((now.counted + 1) * (crushed + 1) // (now.counted + then.counted + 2), first), last)
    if find_chance(likeliest) <= rare:
        return 1.0
    # Chances fall to both sides of the likeliest: from where each is as rare, outwards, until nothing is left to add.
    below = bisect(range(first, likeliest), 0, key=lambda n: find_chance(n) > rare) + first
    above = bisect(range(likeliest, last + 1), 0, key=lambda n: find_chance(n) <= rare) + likeliest
    tails = (range(below - 1, first - 1, -1), range(above, last + 1))
    return min(1.0, fsum(chance for tail in tails for chance in list_chances(map(find_chance, tail))))


def list_chances(logarithms: Iterable[float]) -> Iterator[float]:
    """Chances that fall, as far as they matter beside the first."""
    largest = None
    for one in logarithms:
        largest = one if largest is None else largest
        if one < largest - NEGLIGIBLE:
            return
        yield exp(one)


def count_ways(all: int, some: int) -> float:
    """The logarithm of how many ways there are to pick some of all."""
    return lgamma(all + 1) - lgamma(some + 1) - lgamma(all - some + 1)


def measure_difference(one: Score, other: Score) -> tuple[float, float, float] | None:
    """The difference of two shares in points, with Newcombe's 95 % interval, made of the two Wilson intervals."""
    if not one.counted or not other.counted:
        return None
    first, second = 100 * one.crushed / one.counted, 100 * other.crushed / other.counted
    (low, high), (least, most) = (measure_interval(each.crushed, each.counted) for each in (one, other))
    below = sqrt((first - low) ** 2 + (most - second) ** 2)
    above = sqrt((high - first) ** 2 + (second - least) ** 2)
    value = first - second
    return value, max(-100.0, value - below), min(100.0, value + above)


def pick_direction(now: Score, then: Score, p_value: float | None) -> Direction | None:
    """Where the arrow points, if there is to be one."""
    if p_value is None or p_value >= ALPHA or not are_enough(now, then):
        return None
    return "up" if now.crushed * then.counted > then.crushed * now.counted else "down"


def are_enough(*scores: Score) -> bool:
    """Whether each side counts enough sessions for anything to be claimed."""
    return min(one.counted for one in scores) >= FEWEST_COUNTED


def correct_p_values(found: Mapping[str, float]) -> dict[str, float]:
    """P values of several tests, corrected for there being several (Holm): a chance find is as rare as in one."""
    ordered = sorted(found.items(), key=lambda pair: (pair[1], pair[0]))
    corrected, highest = {}, 0.0
    for n, (name, p_value) in enumerate(ordered):
        highest = max(highest, min(1.0, (len(ordered) - n) * p_value))
        corrected[name] = highest
    return corrected


def measure_trend(counts: Sequence[tuple[float, Score]]) -> tuple[float | None, Direction | None]:
    """Whether a share rises or falls with time (Cochran and Armitage): the p value, and where to, if anywhere.

    Each score has its time, in whatever unit; a trend takes three times with sessions, and five sessions for each end.
    """
    known = [(at, one.crushed, one.counted) for at, one in counts if one.counted]
    total, crushed = sum(n for _, _, n in known), sum(x for _, x, _ in known)
    if len(known) < 3 or total < 2 * FEWEST_COUNTED:
        return None, None
    share, middle = crushed / total, sum(at * n for at, _, n in known) / total
    lean = sum((at - middle) * (x - n * share) for at, x, n in known)
    spread = share * (1 - share) * sum(n * (at - middle) ** 2 for at, _, n in known)
    if spread <= 0:
        return 1.0, None
    p_value = erfc(abs(lean) / sqrt(spread) / sqrt(2))
    return p_value, ("up" if lean > 0 else "down") if p_value < ALPHA else None
