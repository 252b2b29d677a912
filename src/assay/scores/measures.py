"""What stands beside the score: pace, time, prompts, tokens and money."""

from collections.abc import Iterable, Sequence
from datetime import tzinfo
from math import fsum
from statistics import median

from assay.scores.breakdown import find_day
from assay.scores.prism import LADDER, select_counted
from assay.types import Row, Session

SHORTEST_SPAN_DAYS = 7

PILLARS: dict[str, tuple[str, ...]] = {
    "clarity": ("goal_explicit", "scope_bounded"),
    "context": ("references_concrete", "context_sufficient"),
    "verification": ("verification_requested",),
    "workflow": ("root_cause_oriented", "plan_first"),
}

TENTHS = {"A+": 43, "A": 40, "A-": 37, "B+": 33, "B": 30, "B-": 27, "C+": 23, "C": 20, "C-": 17, "D": 10, "F": 0}
"""Grade points times ten, for whole numbers have ties that floats miss."""


class Measures(Row, frozen=True):
    """Measures over the counted sessions; `None` where nothing is known. Shares run from 0 to 1."""

    crushed_per_week: float | None
    median_time_to_crush_s: float | None
    """Of active time, over crushed sessions."""
    average_prompt_grade: str | None
    weakest_pillar: str | None
    pillars: dict[str, float | None]
    """Share of the applicable checks that hold, by pillar."""
    crush_weight: float | None
    """Share of the tokens that went into crushed sessions."""
    tokens_per_turn: float | None
    usd_per_crushed: float | None
    """What the priced sessions cost, over those of them that crushed."""
    priced_sessions: int
    unpriced_sessions: int


def measure_sessions(sessions: Iterable[Session], zone: tzinfo) -> Measures:
    """All measures of sessions whose `crushed` is fresh."""
    found = select_counted(sessions)
    crushed = [one for one in found if one.crushed]
    times = [one.facts["active_s"] for one in crushed if one.facts["active_s"] is not None]
    shares = {pillar: measure_share(found, checks) for pillar, checks in PILLARS.items()}
    known = {pillar: share for pillar, share in shares.items() if share is not None}
    tokens = sum(map(count_tokens, found))
    turns = sum(one.facts["turns"] for one in found)
    priced = [one for one in found if one.facts["cost_usd"] is not None]
    return Measures(
        crushed_per_week=count_per_week(found, zone),
        median_time_to_crush_s=median(times) if times else None,
        average_prompt_grade=average_grades([one.grade for one in found]),
        weakest_pillar=min(known, key=known.__getitem__) if known else None,
        pillars=shares,
        crush_weight=sum(map(count_tokens, crushed)) / tokens if tokens else None,
        tokens_per_turn=tokens / turns if tokens and turns else None,
        usd_per_crushed=measure_usd_per_crushed(priced),
        priced_sessions=len(priced),
        unpriced_sessions=len(found) - len(priced),
    )


def count_per_week(found: Sequence[Session], zone: tzinfo) -> float | None:
    """Crushed sessions a week, from the day of the first counted session to that of the last, both included."""
    dated = [(day, one) for one in found if (day := find_day(one, zone))]
    if not dated:
        return None
    days = [day for day, _ in dated]
    span = max((max(days) - min(days)).days + 1, SHORTEST_SPAN_DAYS)
    return 7 * sum(one.crushed is True for _, one in dated) / span


def average_grades(grades: Iterable[str | None]) -> str | None:
    """The letter nearest to the mean of the letters; of two as near the lower one."""
    points = [TENTHS[grade] for grade in grades if grade in TENTHS]
    if not points:
        return None
    total, n = sum(points), len(points)
    upwards = [name for _, name in reversed(LADDER)]
    return min(upwards, key=lambda name: abs(total - TENTHS[name] * n))


def measure_share(found: Iterable[Session], checks: Sequence[str]) -> float | None:
    """Share of these checks that hold, of those that apply."""
    said = [held for one in found for check in checks if (held := one.checks.get(check)) is not None]
    return sum(said) / len(said) if said else None


def count_tokens(session: Session) -> int:
    """All tokens of a session, those from the cache included."""
    return sum(session.facts["tokens"].values())


def measure_usd_per_crushed(priced: Sequence[Session]) -> float | None:
    """USD that a crushed session costs, the failed ones paid for with it."""
    crushed = sum(one.crushed is True for one in priced)
    # fsum: the same sum in whatever order the sessions come.
    return fsum(one.facts["cost_usd"] for one in priced) / crushed if crushed else None
