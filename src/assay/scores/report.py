"""All that is said of some sessions, in one value: what `assay score` shows and `--json` prints."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.scores.audit import AuditTally, correct_score, find_answer, is_answered, predict_score, tally_audit
from assay.scores.breakdown import PERIODS, WAYS, Slice, Trend, Window, build_trend, build_windows, slice_counts
from assay.scores.comparison import ScoreComparison
from assay.scores.measures import Measures, measure_tally
from assay.scores.prism import (
    JudgeCounts,
    Score,
    SmallSessions,
    Waterfall,
    find_letter,
    grade_interval,
    refresh_crushed,
    score_counts,
    score_with_small,
    split_judge,
)
from assay.scores.reasons import Obstacle, find_obstacle, list_obstacles
from assay.scores.survival import FollowedLines, LostSession, Survival
from assay.scores.tally import ALL, Tally, tally_sessions
from assay.types import Document, LedgerLine, Row, Session

STEPS = ("substance", "goal", "judged", "complete", "crushed")
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


class Agreement(Row, frozen=True):
    """How often a judge and the person who audited it said the same."""

    decided: int
    """Answers that say whether a session landed, where the judge said so too."""
    agreed: int


class Fallback(Row, frozen=True):
    """Sessions that another judge had to do."""

    judge: str
    """Who did; empty where the one that was asked for did a part of it."""
    why: str
    sessions: int


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
    losses: dict[str, dict[str, int]]
    """Why sessions are not left after each step of the waterfall, and how many."""
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
    agreement: Agreement | None
    """How often the judge said what the person answered in an audit."""
    measures: Measures
    slices: dict[str, list[Slice]]
    trends: dict[str, Trend]
    """By day, week and month: whether the score rises or falls."""
    windows: list[Window]
    obstacles: list[Obstacle]
    """The commonest reasons for not crushing."""
    fallbacks: list[Fallback]
    """Sessions that another judge had to do than the one that was asked for."""
    rework_unknown: dict[str, int]
    """Why nobody knows whether the lines of crushed sessions stay; without a reason under no words."""
    went_on: int
    """Commits after which the work went on, so that they ended no session."""
    survival: Survival | None
    """How long lines stay; `None` where none could be followed."""
    lost: list[LostSession]
    """Sessions that had crushed in the report before, and were replaced since."""
    sessions: Sequence[Session]
    ledger: Sequence[LedgerLine]
    what_if: WhatIf | None = None
    """Options that make this report another than the settings would; other commands don't go by them."""
    comparison: ScoreComparison | None = None
    """Two groups of sessions beside each other, where `assay report` was asked for them."""


class ToldSessions(Struct, frozen=True, kw_only=True):
    """Sessions in order of time and their ledger, at hand or in a store, and all that is counted of them."""

    sessions: Sequence[Session]
    ledger: Sequence[LedgerLine]
    tally: Tally
    answered: Sequence[Session]
    """Those that an audit asked about."""
    list_obstructed: Callable[[str], list[str]]
    """Ids of the sessions that one kind of reason held back, in order of time."""


def gather_sessions(sessions: Iterable[Session], ledger: Sequence[LedgerLine], zone: tzinfo) -> ToldSessions:
    """Sessions that are at hand, counted; `crushed` of each says what the score says."""
    fresh = refresh_crushed(sessions)
    ordered = sorted(fresh, key=lambda one: (one.started_at, one.id))
    return ToldSessions(
        sessions=fresh,
        ledger=ledger,
        tally=tally_sessions(fresh, ledger, zone),
        answered=[one for one in fresh if is_answered(one)],
        list_obstructed=lambda kind: [one.id for one in ordered if find_obstacle(one) == kind],
    )


def build_report(
    told: ToldSessions,
    *,
    streams: int,
    judge: JudgeInfo,
    skipped: Skips,
    followed: FollowedLines = NOTHING_FOLLOWED,
    seed: str = "",
) -> Report:
    """The report on these sessions; `seed` is that of audits."""
    tally = told.tally
    audit = tally_audit(told.answered, tally.drawn, seed)
    total = tally.slices.get(ALL, {}).get(ALL, {})
    found = score_tally(told, audit, is_measured=judge.floors == "measured")
    grade, no_grade = grade_report(found)
    slices = {str(by): slice_counts(tally.slices.get(by, {}), by) for by in WAYS}
    return Report(
        score=found,
        waterfall=Waterfall(
            streams=streams, sessions=tally.sessions, **{step: tally.left.get(step, 0) for step in STEPS}
        ),
        judge=judge,
        by_judge=score_by_judge(total),
        skipped=skipped,
        small=score_with_small(found, tally.small, tally.small_crushed),
        grade=grade,
        no_grade=no_grade,
        audit=audit,
        agreement=measure_agreement(told.answered, judge.backend),
        measures=measure_tally(tally, found.counted),
        slices=slices,
        trends={by: build_trend(slices[by], by, is_one_judge=len(total) <= 1) for by in PERIODS},
        obstacles=list_obstacles(tally.obstacles, told.list_obstructed),
        survival=followed.survival,
        lost=followed.lost,
        sessions=told.sessions,
        ledger=told.ledger,
        **list_counts(tally),
    )


def list_counts(tally: Tally) -> dict[str, Any]:
    """What a report only takes over."""
    return {
        "losses": {step: order_counts(tally.losses.get(step, {})) for step in STEPS},
        "exclusions": order_counts(tally.exclusions),
        "windows": build_windows(tally.slices.get("day", {})),
        "fallbacks": list_fallbacks(tally.fallbacks),
        "rework_unknown": order_counts(tally.unknown),
        "went_on": tally.went_on,
    }


def score_tally(told: ToldSessions, audit: AuditTally | None, *, is_measured: bool) -> Score:
    """The score with what is known of how far it lies from the truth."""
    tally = told.tally
    return replace(
        score_counts(tally.slices.get(ALL, {}).get(ALL, {}).values()),
        corrected=correct_score(told.answered, tally.chances, audit),
        predicted=predict_score(tally.drawable, tally.chances) if is_measured else None,
    )


def list_fallbacks(counts: Mapping[str, Mapping[str, int]]) -> list[Fallback]:
    """Sessions that another judge had to do, by who did and why."""
    return [
        Fallback(judge=judge, why=why, sessions=n)
        for judge, whys in sorted(counts.items())
        for why, n in order_counts(whys).items()
    ]


def measure_agreement(answered: Iterable[Session], judge: str) -> Agreement | None:
    """How often a judge said what the person answered; `None` where nothing can be compared."""
    pairs = [
        (one.marked.judged, answer)
        for one in answered
        if one.judge == judge
        and one.marked
        and one.marked.judged is not None
        and (answer := find_answer(one)) is not None
    ]
    return Agreement(decided=len(pairs), agreed=sum(judged == said for judged, said in pairs)) if pairs else None


def order_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """The most first."""
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


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


def score_by_judge(counts: JudgeCounts) -> list[JudgeShare]:
    """The score by who judged, those with the most counted sessions first."""
    found = []
    for name, one in sorted(counts.items(), key=lambda pair: (-pair[1].counted, pair[0])):
        judge, versions = split_judge(name)
        found.append(JudgeShare(judge=judge, versions=versions, score=score_counts([one])))
    return found
