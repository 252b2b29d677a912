"""The score of fewer sessions: by project, branch, model, agent, intent, language or tenant, and by the last days."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from math import erfc, sqrt
from typing import Literal, get_args

from assay.scores.prism import Score, score_sessions, select_counted
from assay.types import Row, Session

By = Literal["project", "branch", "model", "agent", "intent", "language", "tenant"]
WAYS: tuple[By, ...] = get_args(By)
NOTHING = "(none)"
INSIDE = re.compile(r"/\.(?:worktrees|claude/worktrees)/.*$")
ELSEWHERE = re.compile(r"^.*/\.(?:codex|cursor|conductor)/worktrees/[^/]+/(?=[^/]+$)")
"""Where agents put copies of a repository for one task each: in it, or in their own folder under its name."""
WINDOW_DAYS = (7, 30)
ALPHA = 0.05
FEWEST_COUNTED = 5
"""Counted sessions that each side needs before an arrow is drawn."""
FIRST_YEAR = 1970
CLEAR_INTENT = 0.8
"""From this chance on an intent is named (right in four of five); below (right in half) what it comes down to is."""


def find_repository(project: str) -> str:
    """The project of which a folder is a working copy, else the folder."""
    return ELSEWHERE.sub("", INSIDE.sub("", project))


def name_intent(session: Session) -> str | None:
    """What a session was after; where the eight intents are not told apart, what it comes down to."""
    return session.aim or session.intent if session.intent and is_intent_unclear(session) else session.intent


def is_intent_unclear(session: Session) -> bool:
    return session.intent_chance is not None and session.intent_chance < CLEAR_INTENT


NAMES: dict[By, Callable[[Session], str | None]] = {
    "project": lambda one: find_repository(one.project),
    "branch": lambda one: one.branch,
    # What several models did together is nobody's alone.
    "model": lambda one: ", ".join(sorted(set(one.models))),
    "agent": lambda one: one.agent,
    "intent": name_intent,
    "language": lambda one: one.language,
    "tenant": lambda one: one.tenant,
}


class Slice(Row, frozen=True):
    """The score of the sessions that share a name."""

    name: str
    score: Score


def build_slices(sessions: Iterable[Session], by: By) -> list[Slice]:
    """One slice per name, those with the most counted sessions first."""
    groups: defaultdict[str, list[Session]] = defaultdict(list)
    for one in sessions:
        groups[NAMES[by](one) or NOTHING].append(one)
    found = [Slice(name=name, score=score_sessions(group)) for name, group in groups.items()]
    return sorted(found, key=lambda one: (-one.score.counted, one.name))


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


def build_windows(sessions: Iterable[Session], zone: tzinfo) -> list[Window]:
    """The windows that end with the day on which the last session began."""
    dated = [(day, one) for one in sessions if (day := find_day(one, zone))]
    last = max((day for day, _ in dated), default=None)
    return [] if last is None else [build_window(dated, last, days) for days in WINDOW_DAYS]


def build_window(dated: Sequence[tuple[date, Session]], ended: date, days: int) -> Window:
    """The window of so many days up to and with a day."""
    began = ended - timedelta(days=days - 1)
    before = began - timedelta(days=days)
    inside = [one for day, one in dated if began <= day <= ended]
    earlier = [one for day, one in dated if before <= day < began]
    now, then = score_sessions(inside), score_sessions(earlier)
    judges = {tuple(sorted(one.judge_versions.items())) for one in select_counted([*inside, *earlier])}
    p_value = compare_proportions(now, then)
    return Window(
        days=days,
        began=began,
        ended=ended,
        score=now,
        before=then,
        p_value=p_value,
        direction=pick_direction(now, then, p_value) if len(judges) == 1 else None,
        is_one_judge=len(judges) <= 1,
    )


def compare_proportions(now: Score, then: Score) -> float | None:
    """How often so large a difference would come by chance were both shares the same (pooled, two-sided)."""
    if not now.counted or not then.counted:
        return None
    pooled = (now.crushed + then.crushed) / (now.counted + then.counted)
    error = sqrt(pooled * (1 - pooled) * (1 / now.counted + 1 / then.counted))
    if not error:
        return 1.0
    return erfc(abs(now.crushed / now.counted - then.crushed / then.counted) / error / sqrt(2))


def pick_direction(now: Score, then: Score, p_value: float | None) -> Literal["up", "down"] | None:
    """Where the arrow points, if there is to be one."""
    if p_value is None or p_value >= ALPHA or min(now.counted, then.counted) < FEWEST_COUNTED:
        return None
    return "up" if now.crushed * then.counted > then.crushed * now.counted else "down"


def find_day(session: Session, zone: tzinfo) -> date | None:
    """The day on which it began, where the person was; a time without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(session.started_at)
        day = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(zone).date()
    except (ValueError, OverflowError):
        return None
    return day if day.year >= FIRST_YEAR else None
