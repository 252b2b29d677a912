"""What a glance shows: the score of the week, the conversations of the day, and how the latest are likely to end.

No word of a transcript is in it but the name of a folder, redacted. `assay statusline` keeps it for its next line, and
`assay watch` draws it. Advice comes with it only where it is wanted, and where the person's own history has shown it.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from assay.clock import parse_time
from assay.config import Config
from assay.pipeline.habits import judge_habits
from assay.pipeline.judged_sessions import JUDGED
from assay.pipeline.live import list_live
from assay.pipeline.pool import ignore_progress
from assay.pipeline.score import open_run, read_transcripts, score_run
from assay.pipeline.scoring_run import ScoringRun, Selection
from assay.scores import profiles
from assay.scores.advice import PROFILE, build_advice, list_rules
from assay.scores.prism import score_sessions
from assay.stores import Store, StreamName
from assay.types import LiveRow, Session

WEEK = timedelta(days=7)
HISTORY = timedelta(days=90)
MOST = 50
COACHED = timedelta(minutes=15)
"""For so long after a session closed something is said of it."""


class Sight(Struct, frozen=True, kw_only=True):
    """One conversation of the day."""

    row: LiveRow
    chance: float | None = None
    """That its session lands, by the judge's word on what there is; `None` where nothing can be said."""
    crushed: bool | None = None
    """Whether it did, once it is over."""


class Glance(Struct, frozen=True, kw_only=True):
    """All of it, at one time."""

    at: float
    value: float | None
    low: float | None
    high: float | None
    crushed: int
    counted: int
    sights: list[Sight]
    coaching: str = ""
    coached_until: float = 0.0


def take_glance(config: Config, now: datetime, *, with_facts: bool = False) -> Glance:
    """Read what is new, and look."""
    since = HISTORY if config.coach else WEEK
    choice = Selection(since=(now - since).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z"))
    with (
        read_transcripts(None, config, 1, may_be_empty=True, with_facts=with_facts) as found,
        open_run(found.store, config, found.changes.roots, selection=choice, jobs=1) as run,
    ):
        sessions = list(score_run(run, remembers=False).report.sessions)
        coaching, until = find_coaching(found.store, config, sessions, now) if config.coach else ("", 0.0)
        return build_glance(run, sessions, now, (coaching, until))


def build_glance(run: ScoringRun, sessions: Sequence[Session], now: datetime, coaching: tuple[str, float]) -> Glance:
    """What there is to see, given what was found."""
    since = f"{now - WEEK:%Y-%m-%dT%H:%M:%S}"
    score = score_sessions([one for one in sessions if one.ended_at >= since])
    rows = list_live(run, frozenset(), MOST)
    chances = find_chances(run)
    crushed = {one.id: one.crushed for one in sessions}
    return Glance(
        at=now.timestamp(),
        value=score.value,
        low=score.low,
        high=score.high,
        crushed=score.crushed,
        counted=score.counted,
        sights=[
            Sight(row=row, chance=chances.get((row.agent, row.stream)), crushed=crushed.get(row.session or ""))
            for row in rows
        ],
        coaching=coaching[0],
        coached_until=coaching[1],
    )


def find_chances(run: ScoringRun) -> Mapping[StreamName, float]:
    """How likely the last session of each stream that is looked at lands, as far as it was judged."""
    found: dict[StreamName, tuple[int, float]] = {}
    for one in run.segments.values():
        name = one.segment.agent, one.segment.stream
        chance = JUDGED(one.judged).confidence if one.judged else None
        if chance is not None and found.get(name, (-1, 0.0))[0] < one.segment.first:
            found[name] = one.segment.first, chance
    return {name: chance for name, (_, chance) in found.items()}


# --- a word of advice -----------------------------------------------------------------------------


def find_coaching(store: Store, config: Config, sessions: Sequence[Session], now: datetime) -> tuple[str, float]:
    """One sentence on the session that closed last, and until when it may be said; nothing where none is earned.

    It is earned where sessions with the habit land less in this person's own history, beyond chance and corrected for
    many tests, and the session that closed has the habit and did not land.
    """
    closed = [one for one in sessions if one.crushed is not None and one.ended_at]
    last = max(closed, key=lambda one: one.ended_at, default=None)
    ended = parse_time(last.ended_at) if last else None
    if last is None or ended is None or last.crushed or now - ended > COACHED:
        return "", 0.0
    profile = profiles.load_profile(PROFILE)
    qualities = judge_habits(store, config, sessions, profile, ignore_progress)
    shown = [one for one in build_advice(sessions, qualities, profile).habits if one.direction == "down"]
    has = {rule.name: rule.has for rule in list_rules(qualities, profile)}
    earned = next((one for one in shown if has[one.name](last)), None)
    return (earned.sentence, (ended + COACHED).timestamp()) if earned else ("", 0.0)
