"""All that is said of some sessions, in one value: what `assay score` shows and `--json` prints."""

from collections.abc import Sequence
from datetime import tzinfo

from msgspec.structs import replace

from assay.scores.measures import Measures, measures
from assay.scores.prism import (
    Score,
    Waterfall,
    counted,
    exclusions,
    has_crushed,
    judged_by,
    letter,
    score,
    waterfall,
)
from assay.scores.reasons import Obstacle, obstacles
from assay.scores.slices import WAYS, Slice, slices
from assay.scores.survival import Followed, Lost, Survival
from assay.scores.windows import Window, windows
from assay.types import Entry, Row, Session

SCHEMA_VERSION = 1
NOTHING_FOLLOWED = Followed()


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
    lost: list[Lost]
    """Sessions that had crushed in the report before, and were replaced since."""
    sessions: list[Session]
    ledger: list[Entry]


def report(
    sessions: Sequence[Session],
    ledger: Sequence[Entry],
    *,
    streams: int,
    judge: JudgeInfo,
    skipped: Skips,
    zone: tzinfo,
    followed: Followed = NOTHING_FOLLOWED,
) -> Report:
    """The report on these sessions; `crushed` of each says what the score says."""
    found = score(sessions)
    return Report(
        score=found,
        waterfall=waterfall(sessions, streams),
        judge=judge,
        by_judge=shares(sessions),
        skipped=skipped,
        exclusions=exclusions(sessions),
        grade=letter(found.value),
        measures=measures(sessions, zone),
        slices={by: slices(sessions, by) for by in WAYS},
        windows=windows(sessions, zone),
        obstacles=obstacles(sessions),
        survival=followed.survival,
        lost=followed.lost,
        sessions=[replace(one, crushed=has_crushed(one)) for one in sessions],
        ledger=list(ledger),
    )


def shares(sessions: Sequence[Session]) -> list[JudgeShare]:
    """The score by who judged, those with the most counted sessions first."""
    groups: dict[tuple[str, str], list[Session]] = {}
    for one in counted(sessions):
        groups.setdefault(judged_by(one), []).append(one)
    found = [
        JudgeShare(judge=some[0].judge, versions=some[0].judge_versions, score=score(some)) for some in groups.values()
    ]
    return sorted(found, key=lambda one: (-one.score.counted, one.judge))
