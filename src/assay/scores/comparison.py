"""Two groups of sessions beside each other: how many landed, whether that differs, and what stands beside it."""

from collections import Counter
from collections.abc import Sequence
from datetime import tzinfo
from math import sqrt

from assay.scores.breakdown import find_day
from assay.scores.difference import Difference, compare_sessions
from assay.scores.measures import Measures, measure_tally
from assay.scores.prism import Score, score_sessions, select_counted
from assay.scores.tally import tally_measured
from assay.types import Document, Row, Session

SEEN_MOSTLY = 1.96 + 0.84
"""Deviations that a difference must have to be seen in four of five cases."""


class ComparedSide(Row, frozen=True):
    """One of two groups of sessions."""

    name: str
    sessions: int
    began: str | None
    ended: str | None
    """Days on which its first and its last session began; `None` where no time is told."""
    score: Score
    measures: Measures
    aims: dict[str, int]
    """What its counted sessions come down to: read, plan, change."""


class ScoreComparison(Document, frozen=True, kw_only=True, tag="score_comparison"):
    """`assay compare --json`."""

    sides: list[ComparedSide]
    """Two; the difference is the second less the first."""
    on_both: int
    """Sessions that fit both sides, and count on neither."""
    difference: Difference
    detectable: float | None
    """Points that a difference must have for so many sessions to show it in four of five cases."""


def compare_groups(
    first: tuple[str, Sequence[Session]], second: tuple[str, Sequence[Session]], zone: tzinfo
) -> ScoreComparison:
    """Two groups with their names; what is in both is left out of both. `crushed` of each session must be fresh."""
    both = {identify(one) for one in first[1]} & {identify(one) for one in second[1]}
    (name, some), (other, others) = (
        (name, [one for one in group if identify(one) not in both]) for name, group in (first, second)
    )
    return ScoreComparison(
        sides=[build_side(name, some, zone), build_side(other, others, zone)],
        on_both=len(both),
        difference=compare_sessions(others, some),
        detectable=measure_detectable(score_sessions(some), score_sessions(others)),
    )


def identify(session: Session) -> tuple[str, str]:
    return session.agent, session.id


def build_side(name: str, sessions: Sequence[Session], zone: tzinfo) -> ComparedSide:
    """What is said of one side."""
    days = [day for one in sessions if (day := find_day(one, zone))]
    score = score_sessions(sessions)
    aims = Counter(one.aim for one in select_counted(sessions) if one.aim)
    return ComparedSide(
        name=name,
        sessions=len(sessions),
        began=min(days).isoformat() if days else None,
        ended=max(days).isoformat() if days else None,
        score=score,
        measures=measure_tally(tally_measured(sessions, zone), score.counted),
        aims=dict(sorted(aims.items(), key=lambda pair: (-pair[1], pair[0]))),
    )


def measure_detectable(one: Score, other: Score) -> float | None:
    """Points that a difference must have to be seen mostly; at most all of them."""
    if not one.counted or not other.counted:
        return None
    # One more of either kind: without it, shares of 0 and 100 would seem to show anything.
    share = (one.crushed + other.crushed + 1) / (one.counted + other.counted + 2)
    return min(100.0, 100 * SEEN_MOSTLY * sqrt(share * (1 - share) * (1 / one.counted + 1 / other.counted)))
