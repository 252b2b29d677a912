"""How long lines stay: the Kaplan–Meier curve of what sessions wrote, and the sessions that lost their crush."""

from collections import Counter
from collections.abc import Iterable, Sequence

from assay.types import Row

DAYS = (1, 3, 7, 14, 30)

Age = tuple[float, bool, int]
"""Days for which so many lines were followed, and whether they were removed then; else they may live on."""


class Point(Row, frozen=True):
    """A day of the curve."""

    days: int
    alive: float | None
    """Share of the lines that is still there after so many days; `None` where none was followed for so long."""
    lines: int
    """Lines that were followed for so long, and were still there."""


class Survival(Row, frozen=True):
    """The curve over all lines of all sessions whose lines reached a commit."""

    lines: int
    removed: int
    points: list[Point]


class LostSession(Row, frozen=True):
    """A session that had crushed in the report before, and whose lines were replaced since."""

    id: str
    title: str
    by: str | None
    share: float | None


class FollowedLines(Row, frozen=True):
    """What following lines adds to a report."""

    survival: Survival | None = None
    lost: list[LostSession] = []


def measure_survival(ages: Iterable[Age]) -> Survival | None:
    """The Kaplan–Meier curve: what was only followed for a while counts for that while; `None` without lines."""
    removed, left = Counter[float](), Counter[float]()
    for age, is_removed, lines in ages:
        (removed if is_removed else left)[age] += lines
    total = removed.total() + left.total()
    if not total:
        return None
    return Survival(lines=total, removed=removed.total(), points=build_curve(removed, left, total))


def build_curve(removed: Counter[float], left: Counter[float], total: int) -> list[Point]:
    """The days of the curve."""
    steps: list[tuple[float, float]] = []
    alive, there = 1.0, total
    for age in sorted(removed.keys() | left.keys()):
        alive *= 1 - removed[age] / there
        steps.append((age, alive))
        there -= removed[age] + left[age]
    return [
        build_point(day, steps, total - count_before(removed, day, is_included=True) - count_before(left, day))
        for day in DAYS
    ]


def build_point(day: int, steps: Sequence[tuple[float, float]], lines: int) -> Point:
    """The curve at a day."""
    alive = next((share for age, share in reversed(steps) if age <= day), 1.0)
    return Point(days=day, alive=alive if lines or not alive else None, lines=lines)


def count_before(counts: Counter[float], day: int, *, is_included: bool = False) -> int:
    """How many there were before a day, or up to it."""
    return sum(lines for age, lines in counts.items() if age < day or (is_included and age == day))
