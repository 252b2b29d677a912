"""What stands beside the score: pace, time, prompts, tokens and money."""

from collections.abc import Mapping, Sequence
from datetime import date
from math import fsum
from statistics import median
from typing import Protocol

from assay.scores.breakdown import NOTHING
from assay.scores.prism import LADDER, JudgeCounts
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


class MeasuredSessions(Protocol):
    """Counted sessions, tallied."""

    slices: dict[str, dict[str, JudgeCounts]]
    grades: dict[str, int]
    asked: dict[str, int]
    held: dict[str, int]
    turns: int
    tokens: int
    crushed_tokens: int
    times: list[float]
    costs: list[float]
    priced_crushed: int


def measure_tally(found: MeasuredSessions, counted: int) -> Measures:
    """All measures of sessions, so many of which count."""
    shares = {pillar: measure_share(found, checks) for pillar, checks in PILLARS.items()}
    known = {pillar: share for pillar, share in shares.items() if share is not None}
    return Measures(
        crushed_per_week=count_per_week(found.slices.get("day", {})),
        median_time_to_crush_s=median(found.times) if found.times else None,
        average_prompt_grade=average_grades(found.grades),
        weakest_pillar=min(known, key=known.__getitem__) if known else None,
        pillars=shares,
        crush_weight=found.crushed_tokens / found.tokens if found.tokens else None,
        tokens_per_turn=found.tokens / found.turns if found.tokens and found.turns else None,
        # fsum: the same sum in whatever order the sessions come. The failed ones are paid for with those that crushed.
        usd_per_crushed=fsum(found.costs) / found.priced_crushed if found.priced_crushed else None,
        priced_sessions=len(found.costs),
        unpriced_sessions=counted - len(found.costs),
    )


def count_per_week(days: Mapping[str, JudgeCounts]) -> float | None:
    """Crushed sessions a week, from the day of the first counted session to that of the last, both included."""
    dated = {date.fromisoformat(name): counts.values() for name, counts in days.items() if counts and name != NOTHING}
    if not dated:
        return None
    span = max((max(dated) - min(dated)).days + 1, SHORTEST_SPAN_DAYS)
    return 7 * sum(one.crushed for counts in dated.values() for one in counts) / span


def average_grades(grades: Mapping[str, int]) -> str | None:
    """The letter nearest to the mean of the letters; of two as near the lower one."""
    known = {grade: n for grade, n in grades.items() if grade in TENTHS}
    if not known:
        return None
    total, n = sum(TENTHS[grade] * times for grade, times in known.items()), sum(known.values())
    upwards = [name for _, name in reversed(LADDER)]
    return min(upwards, key=lambda name: abs(total - TENTHS[name] * n))


def measure_share(found: MeasuredSessions, checks: Sequence[str]) -> float | None:
    """Share of these checks that hold, of those that apply."""
    asked = sum(found.asked.get(check, 0) for check in checks)
    return sum(found.held.get(check, 0) for check in checks) / asked if asked else None


def count_tokens(session: Session) -> int:
    """All tokens of a session, those from the cache included."""
    return sum((session.facts["tokens"] or {}).values())
