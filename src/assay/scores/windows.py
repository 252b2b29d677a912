"""The score of the last 7 and 30 days against as many days before: whole days of a time zone."""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from math import erfc, sqrt
from typing import Literal

from assay.scores.prism import Score, counted, score
from assay.types import Row, Session

LENGTHS = (7, 30)
ALPHA = 0.05
FEWEST = 5
"""Counted sessions that each side needs before an arrow is drawn."""
FIRST_YEAR = 1970


class Window(Row, frozen=True):
    """Some days, both ends included, and as many before them."""

    days: int
    began: date
    ended: date
    score: Score
    before: Score
    p_value: float | None
    """Of a two-sided two-proportion test; `None` where either side is empty."""
    direction: Literal["up", "down"] | None
    """`None` unless the test, the numbers on both sides and one judge support an arrow."""
    is_one_judge: bool
    """All that counts on both sides was judged by the same versions; else the two are not comparable."""


def windows(sessions: Iterable[Session], zone: tzinfo) -> list[Window]:
    """The windows that end with the day on which the last session began."""
    dated = [(day, one) for one in sessions if (day := day_of(one, zone))]
    last = max((day for day, _ in dated), default=None)
    return [] if last is None else [window(dated, last, days) for days in LENGTHS]


def window(dated: Sequence[tuple[date, Session]], ended: date, days: int) -> Window:
    """The window of so many days up to and with a day."""
    began = ended - timedelta(days=days - 1)
    before = began - timedelta(days=days)
    inside = [one for day, one in dated if began <= day <= ended]
    earlier = [one for day, one in dated if before <= day < began]
    now, then = score(inside), score(earlier)
    judges = {tuple(sorted(one.judge_versions.items())) for one in counted([*inside, *earlier])}
    p_value = two_proportions(now, then)
    return Window(
        days=days,
        began=began,
        ended=ended,
        score=now,
        before=then,
        p_value=p_value,
        direction=direction(now, then, p_value) if len(judges) == 1 else None,
        is_one_judge=len(judges) <= 1,
    )


def two_proportions(now: Score, then: Score) -> float | None:
    """How often so large a difference would come by chance were both shares the same (pooled, two-sided)."""
    if not now.counted or not then.counted:
        return None
    pooled = (now.crushed + then.crushed) / (now.counted + then.counted)
    error = sqrt(pooled * (1 - pooled) * (1 / now.counted + 1 / then.counted))
    if not error:
        return 1.0
    return erfc(abs(now.crushed / now.counted - then.crushed / then.counted) / error / sqrt(2))


def direction(now: Score, then: Score, p_value: float | None) -> Literal["up", "down"] | None:
    """Where the arrow points, if there is to be one."""
    if p_value is None or p_value >= ALPHA or min(now.counted, then.counted) < FEWEST:
        return None
    return "up" if now.crushed * then.counted > then.crushed * now.counted else "down"


def day_of(session: Session, zone: tzinfo) -> date | None:
    """The day on which it began, where the person was; a time without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(session.started_at)
        day = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(zone).date()
    except (ValueError, OverflowError):
        return None
    return day if day.year >= FIRST_YEAR else None
