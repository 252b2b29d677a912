"""All that is said of some sessions, in one value: what `assay score` shows and `--json` prints."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Literal

from msgspec.structs import replace

from assay.scores.audit import AuditTally, correct_score, predict_score, tally_audit
from assay.scores.breakdown import PERIODS, WAYS, Slice, Trend, Window, build_slices, build_trend, build_windows
from assay.scores.difference import have_one_judge
from assay.scores.measures import Measures, measure_sessions
from assay.scores.prism import (
    Score,
    SmallSessions,
    Waterfall,
    build_waterfall,
    count_exclusions,
    find_letter,
    grade_interval,
    identify_judge,
    refresh_crushed,
    score_sessions,
    select_counted,
    tally_small,
)
from assay.scores.reasons import Obstacle, list_obstacles
from assay.scores.survival import FollowedLines, LostSession, Survival
from assay.types import Document, LedgerLine, Row, Session

NOTHING_FOLLOWED = FollowedLines()


class Spending(Row, frozen=True):
    """What asking a model took in this run; tokens as the service counts them."""

    calls: int
    cached: int
    """Questions that had been answered before, and were not asked again."""
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float | None
    """`None`: the price is not known."""
    troubles: dict[str, int]


class JudgeInfo(Row, frozen=True):
    """Who judged."""

    backend: str
    versions: dict[str, str]
    calibrated: bool = False
    """Its confidence was measured against labels."""
    floors: Literal["measured", "published"] = "measured"
    """What a completed goal needs: the measured chance, or the published formula, which was never measured."""
    model: str | None = None
    where: str | None = None
    """Where words went; `None`: nowhere."""
    fallback: str | None = None
    """Why not everything was judged by the model that was asked for."""
    spending: Spending | None = None


class JudgeShare(Row, frozen=True):
    """The score of the sessions that one judge judged."""

    judge: str
    versions: dict[str, str]
    score: Score


class Skips(Row, frozen=True):
    """What could not be read."""

    files: int
    lines: int
    reasons: dict[str, int]


class WhatIf(Row, frozen=True):
    """A report that was asked for otherwise than the settings say."""

    flags: list[str]
    score: Score | None
    """By the settings alone, of the same sessions; `None` where that would take judging anew."""


class Report(Document, frozen=True, kw_only=True, tag="report"):
    """All that is said of some sessions."""

    score: Score
    waterfall: Waterfall
    judge: JudgeInfo
    by_judge: list[JudgeShare]
    """One share for each judge; where there are several, their sessions make no common score."""
    skipped: Skips
    exclusions: dict[str, int]
    """Why sessions don't count, and how many."""
    small: SmallSessions | None
    """The score with the small sessions; `None` where there are none."""
    grade: str | None
    """The letter of the score, where the whole interval has the same one."""
    no_grade: str | None
    """Why there is no letter."""
    audit: AuditTally | None
    """How far the person's audit of these sessions is; `None` where there is none."""
    measures: Measures
    slices: dict[str, list[Slice]]
    trends: dict[str, Trend]
    """By day, week and month: whether the score rises or falls."""
    windows: list[Window]
    obstacles: list[Obstacle]
    """The commonest reasons for not crushing."""
    survival: Survival | None
    """How long lines stay; `None` where none could be followed."""
    lost: list[LostSession]
    """Sessions that had crushed in the report before, and were replaced since."""
    sessions: list[Session]
    ledger: list[LedgerLine]
    what_if: WhatIf | None = None
    """Options that make this report another than the settings would; other commands don't go by them."""


def build_report(  # noqa: PLR0913  each by name, all of one report
    sessions: Sequence[Session],
    ledger: Sequence[LedgerLine],
    *,
    streams: int,
    judge: JudgeInfo,
    skipped: Skips,
    zone: tzinfo,
    followed: FollowedLines = NOTHING_FOLLOWED,
    seed: str = "",
) -> Report:
    """The report on these sessions; `crushed` of each says what the score says. `seed` is that of audits."""
    sessions = refresh_crushed(sessions)
    audit = tally_audit(sessions, seed)
    predicted = predict_score(sessions) if judge.floors == "measured" else None
    found = replace(score_sessions(sessions), corrected=correct_score(sessions, audit), predicted=predicted)
    grade, no_grade = grade_report(found)
    slices = {str(by): build_slices(sessions, by, zone) for by in WAYS}
    is_one_judge = have_one_judge(sessions)
    return Report(
        score=found,
        waterfall=build_waterfall(sessions, streams),
        judge=judge,
        by_judge=score_by_judge(sessions),
        skipped=skipped,
        exclusions=count_exclusions(sessions),
        small=tally_small(sessions),
        grade=grade,
        no_grade=no_grade,
        audit=audit,
        measures=measure_sessions(sessions, zone),
        slices=slices,
        trends={by: build_trend(slices[by], by, is_one_judge=is_one_judge) for by in PERIODS},
        windows=build_windows(sessions, zone),
        obstacles=list_obstacles(sessions),
        survival=followed.survival,
        lost=followed.lost,
        sessions=sessions,
        ledger=list(ledger),
    )


def grade_report(score: Score) -> tuple[str | None, str | None]:
    """The letter of a score, or why it has none: the interval of what may be true must lie within one letter."""
    if not score.counted:
        return None, "nothing counts"
    known = score.corrected or score.predicted
    if known is None:
        return None, "how far this judge is from the truth was never measured"
    if grade := grade_interval(known.low, known.high):
        return grade, None
    return None, f"the interval goes from {find_letter(known.low)} to {find_letter(known.high)}"


def score_by_judge(sessions: Sequence[Session]) -> list[JudgeShare]:
    """The score by who judged, those with the most counted sessions first."""
    groups: dict[tuple[str, str], list[Session]] = {}
    for one in select_counted(sessions):
        groups.setdefault(identify_judge(one), []).append(one)
    found = [
        JudgeShare(judge=some[0].judge, versions=some[0].judge_versions, score=score_sessions(some))
        for some in groups.values()
    ]
    return sorted(found, key=lambda one: (-one.score.counted, one.judge))
