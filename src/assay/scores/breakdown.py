"""The score of fewer sessions: by project, branch, model, agent …, by day, week or month, and of the last days."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal, get_args

from msgspec.structs import replace

from assay.scores.difference import (
    Direction,
    are_enough,
    compare_proportions,
    correct_p_values,
    measure_trend,
    pick_direction,
)
from assay.scores.prism import JudgeCounts, Score, count_session, merge_counts, score_counts
from assay.types import Row, Session

Period = Literal["day", "week", "month"]
By = Literal[
    "project", "branch", "model", "agent", "intent", "language", "tenant", "person", "machine", "day", "week", "month"
]
WAYS: tuple[By, ...] = get_args(By)
PERIODS: tuple[Period, ...] = get_args(Period)
NOTHING = "(none)"
INSIDE = re.compile(r"[\\/]\.(?:worktrees|claude[\\/]worktrees)[\\/].*$")
ELSEWHERE = re.compile(r"^.*[\\/]\.(?:codex|cursor|conductor)[\\/]worktrees[\\/][^\\/]+[\\/](?=[^\\/]+$)")
"""Where agents put copies of a repository for one task each: in it, or in their own folder under its name."""
WINDOW_DAYS = (7, 30)
FIRST_YEAR = 1970
CLEAR_INTENT = 0.8
"""From this chance on an intent is named (right in four of five); below (right in half) what it comes down to is."""


def find_working_copy(folder: str) -> str:
    """The folder of which an agent made a working copy, as far as the path tells; else the folder itself."""
    return ELSEWHERE.sub("", INSIDE.sub("", folder))


def name_project(session: Session) -> str:
    """The folder that stands for a session's project."""
    return session.repository or find_working_copy(session.project)


def name_intent(session: Session) -> str | None:
    """What a session was after; where the eight intents are not told apart, what it comes down to."""
    return session.aim or session.intent if session.intent and is_intent_unclear(session) else session.intent


def is_intent_unclear(session: Session) -> bool:
    return session.intent_chance is not None and session.intent_chance < CLEAR_INTENT


NAMES: dict[str, Callable[[Session], str | None]] = {
    "project": name_project,
    "branch": lambda one: one.branch,
    # What several models did together is nobody's alone.
    "model": lambda one: ", ".join(sorted(set(one.models))),
    "agent": lambda one: one.agent,
    "intent": name_intent,
    "language": lambda one: one.language,
    "tenant": lambda one: one.tenant,
    "person": lambda one: one.person,
    "machine": lambda one: one.machine,
}


class Slice(Row, frozen=True):
    """The score of the sessions that share a name, and whether it differs from that of all others."""

    name: str
    score: Score
    p_value: float | None = None
    """Of Fisher's exact test against the rest, two-sided; `None` where either side counts too few."""
    p_corrected: float | None = None
    """The same, corrected for how many slices were tested (Holm)."""
    direction: Direction | None = None
    """Above or below the rest, where the corrected test and one judge support it."""


class Trend(Row, frozen=True):
    """Whether the score rises or falls from period to period."""

    periods: int
    """Periods with counted sessions."""
    p_value: float | None
    """Of a two-sided Cochran-Armitage test; `None` where too little counts."""
    direction: Direction | None
    """`None` unless the test and one judge support it."""


def build_slices(sessions: Iterable[Session], by: By, zone: tzinfo = UTC) -> list[Slice]:
    """One slice per name: those with the most counted sessions first, periods in order of time."""
    groups: dict[str, JudgeCounts] = {}
    for one in sessions:
        count_session(groups.setdefault(name_slice(one, by, zone), {}), one)
    return slice_counts(groups, by)


def slice_counts(groups: Mapping[str, JudgeCounts], by: str) -> list[Slice]:
    """The slices of sessions that were counted by name."""
    found = [Slice(name=name, score=score_counts(counts.values())) for name, counts in groups.items()]
    tested = compare_with_rest(found, is_one_judge=len(merge_counts(groups.values())) <= 1)
    if by in PERIODS:
        return sorted(tested, key=lambda one: (one.name == NOTHING, one.name))
    return sorted(tested, key=lambda one: (-one.score.counted, one.name))


def name_slice(session: Session, by: str, zone: tzinfo) -> str:
    """The slice that a session stands in."""
    if by not in PERIODS:
        return NAMES[by](session) or NOTHING
    day = find_day(session, zone)
    return name_period(day, by) if day else NOTHING


def name_period(day: date, period: str) -> str:
    """What the period of a day is called: a month, the Monday of a week, or the day."""
    if period == "month":
        return f"{day:%Y-%m}"
    return (day - timedelta(days=day.weekday()) if period == "week" else day).isoformat()


def place_period(name: str, period: str) -> int:
    """The number of a period, counted without gaps."""
    day = date.fromisoformat(f"{name}-01" if period == "month" else name)
    if period == "month":
        return day.year * 12 + day.month
    return day.toordinal() // (7 if period == "week" else 1)


def compare_with_rest(found: Sequence[Slice], *, is_one_judge: bool) -> list[Slice]:
    """The slices, each compared with all others together."""
    crushed, counted = sum(one.score.crushed for one in found), sum(one.score.counted for one in found)
    rests = {
        one.name: replace(one.score, crushed=crushed - one.score.crushed, counted=counted - one.score.counted)
        for one in found
    }
    p_values = {
        one.name: p_value
        for one in found
        if are_enough(one.score, rests[one.name])
        and (p_value := compare_proportions(one.score, rests[one.name])) is not None
    }
    is_one_test = sum(one.score.counted > 0 for one in found) == 2  # two slices are each other's rest
    corrected = p_values if is_one_test else correct_p_values(p_values)
    return [
        replace(
            one,
            p_value=p_values[one.name],
            p_corrected=corrected[one.name],
            direction=pick_direction(one.score, rests[one.name], corrected[one.name]) if is_one_judge else None,
        )
        if one.name in p_values
        else one
        for one in found
    ]


def build_trend(found: Iterable[Slice], period: Period, *, is_one_judge: bool = True) -> Trend:
    """The trend of slices by a period."""
    known = [(float(place_period(one.name, period)), one.score) for one in found if one.name != NOTHING]
    p_value, direction = measure_trend(known)
    return Trend(
        periods=sum(score.counted > 0 for _, score in known),
        p_value=p_value,
        direction=direction if is_one_judge else None,
    )


class Window(Row, frozen=True):
    """Some days, both ends included, and as many before them."""

    days: int
    began: date
    ended: date
    score: Score
    before: Score
    p_value: float | None
    """Of Fisher's exact test, two-sided; `None` where either side is empty."""
    direction: Direction | None
    """`None` unless the test, the numbers on both sides and one judge support an arrow."""
    is_one_judge: bool
    """All that counts on both sides was judged by the same versions; else the two are not comparable."""


def build_windows(days: Mapping[str, JudgeCounts]) -> list[Window]:
    """The windows that end with the day on which the last session began, of sessions counted by day."""
    dated = {date.fromisoformat(name): counts for name, counts in days.items() if name != NOTHING}
    return [build_window(dated, max(dated), length) for length in WINDOW_DAYS] if dated else []


def build_window(dated: Mapping[date, JudgeCounts], ended: date, days: int) -> Window:
    """The window of so many days up to and with a day."""
    began = ended - timedelta(days=days - 1)
    before = began - timedelta(days=days)
    inside = merge_counts(counts for day, counts in dated.items() if began <= day <= ended)
    earlier = merge_counts(counts for day, counts in dated.items() if before <= day < began)
    now, then = score_counts(inside.values()), score_counts(earlier.values())
    is_one_judge = len({*inside, *earlier}) <= 1
    p_value = compare_proportions(now, then)
    return Window(
        days=days,
        began=began,
        ended=ended,
        score=now,
        before=then,
        p_value=p_value,
        direction=pick_direction(now, then, p_value) if is_one_judge else None,
        is_one_judge=is_one_judge,
    )


def find_day(session: Session, zone: tzinfo) -> date | None:
    """The day on which it began, where the person was; a time without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(session.started_at)
        day = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(zone).date()
    except (ValueError, OverflowError):
        return None
    return day if day.year >= FIRST_YEAR else None
