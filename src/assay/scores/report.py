"""All that is said of some sessions, in one value: what `assay score` shows and `--json` prints."""

from collections.abc import Sequence
from datetime import tzinfo

from assay.scores.breakdown import WAYS, Slice, Window, build_slices, build_windows
from assay.scores.measures import Measures, measure_sessions
from assay.scores.prism import (
    Score,
    Waterfall,
    build_waterfall,
    count_exclusions,
    grade_score,
    identify_judge,
    refresh_crushed,
    score_sessions,
    select_counted,
)
from assay.scores.reasons import Obstacle, list_obstacles
from assay.scores.survival import FollowedLines, LostSession, Survival
from assay.types import LedgerLine, Row, Session

SCHEMA_VERSION = 1
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


class Report(Row, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    score: Score
    waterfall: Waterfall
    judge: JudgeInfo
    by_judge: list[JudgeShare]
    """One share for each judge; where there are several, their sessions make no common score."""
    skipped: Skips
    exclusions: dict[str, int]
    """Why sessions don't count, and how many."""
    grade: str | None
    measures: Measures
    slices: dict[str, list[Slice]]
    windows: list[Window]
    obstacles: list[Obstacle]
    """The commonest reasons for not crushing."""
    survival: Survival | None
    """How long lines stay; `None` where none could be followed."""
    lost: list[LostSession]
    """Sessions that had crushed in the report before, and were replaced since."""
    sessions: list[Session]
    ledger: list[LedgerLine]


def build_report(
    sessions: Sequence[Session],
    ledger: Sequence[LedgerLine],
    *,
    streams: int,
    judge: JudgeInfo,
    skipped: Skips,
    zone: tzinfo,
    followed: FollowedLines = NOTHING_FOLLOWED,
) -> Report:
    """The report on these sessions; `crushed` of each says what the score says."""
    sessions = refresh_crushed(sessions)
    found = score_sessions(sessions)
    return Report(
        score=found,
        waterfall=build_waterfall(sessions, streams),
        judge=judge,
        by_judge=score_by_judge(sessions),
        skipped=skipped,
        exclusions=count_exclusions(sessions),
        grade=grade_score(found.value),
        measures=measure_sessions(sessions, zone),
        slices={by: build_slices(sessions, by) for by in WAYS},
        windows=build_windows(sessions, zone),
        obstacles=list_obstacles(sessions),
        survival=followed.survival,
        lost=followed.lost,
        sessions=sessions,
        ledger=list(ledger),
    )


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
