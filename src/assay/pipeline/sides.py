"""What a person names to be compared, made exact: some days, or a project, model, branch, agent …"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from msgspec import Struct

from assay.errors import BadInput
from assay.pipeline.inputs import parse_project
from assay.pipeline.scoring_run import is_in_project
from assay.reports.format import shorten_paths
from assay.scores.breakdown import name_intent, name_project
from assay.scores.comparison import ScoreComparison, compare_groups
from assay.types import Session

KINDS = ("project", "model", "branch", "agent", "intent", "language", "tenant", "person", "machine")
GUESSED = ("project", "model", "branch", "agent", "intent")
"""What a bare word may name; the others are named with their kind."""
MOST_NAMED = 8
AGO = re.compile(r"(\d{1,5})([dw])")
WEEK = re.compile(r"(\d{4})-W(\d\d)")
MONTH = re.compile(r"(\d{4})-(\d\d)")
SIDE_WORD = re.compile(r"([a-z]+)([=:])(.+)", re.DOTALL)
DAY = timedelta(days=1)
FORMS = "days (2026-11-01..2026-11-14), a month (2026-11), last-week, this-month, 7d, or 14d..7d"
Span = tuple[date | None, date | None]
"""The first day, and the one after the last; `None`: no end."""


class Side(Struct, frozen=True):
    """A name, and which sessions it means."""

    name: str
    takes: Callable[[Session], bool]
    word: str = ""
    """What `read_side` makes the same of, without looking at all sessions."""


def parse_side(word: str, sessions: Sequence[Session], now: datetime) -> Side:
    """The side that a word names; `now` is in the person's time zone."""
    if span := parse_span(word.strip(), now.date()):
        return Side(word.strip(), lambda one: is_within(one, span, now.tzinfo), word.strip())
    kind, colon, name = word.partition(":")
    if colon and kind in KINDS and name:
        return name_side(kind, name, sessions)
    fitting = [one for one in GUESSED if any(map(match_name(one, word, sessions), sessions))]
    exact = [one for one in fitting if any(is_called(session, one, word) for session in sessions)]
    fitting = exact if len(exact) == 1 else fitting
    if len(fitting) > 1:
        ways = " or ".join(f"{one}:{word}" for one in fitting)
        raise BadInput(f"{word!r} is several things here; say {ways}")
    if not fitting:
        raise BadInput(f"{word!r} is no project, model, branch or agent of these sessions, and no time: give {FORMS}")
    return name_side(fitting[0], word, sessions)


def split_at(when: str, now: datetime) -> tuple[Side, Side]:
    """The sessions that began before a day or time, and those from then on."""
    zone = now.tzinfo or UTC
    try:
        ago = AGO.fullmatch(when.strip())
        if ago:
            moment = start_day(now.date() - count_days(ago) + DAY, zone)
        else:
            said = datetime.fromisoformat(when.strip())
            moment = said.replace(tzinfo=zone) if said.tzinfo is None else said
        told = moment.astimezone(zone).strftime("%Y-%m-%d %H:%M").removesuffix(" 00:00")
    except (ValueError, OverflowError):
        raise BadInput(f"--before-after {when!r}: give a day (2026-11-03), a time, or how long ago (30d, 4w)") from None

    before = Side(f"before {told}", has_begun(moment, zone, wanted=False), f"before={moment.isoformat()}")
    return before, Side(f"from {told}", has_begun(moment, zone, wanted=True), f"from={moment.isoformat()}")


def has_begun(moment: datetime, zone: tzinfo, *, wanted: bool) -> Callable[[Session], bool]:
    """Whether a session had begun by a moment, or had not; one without a time is neither."""

    def takes(one: Session) -> bool:
        began = find_moment(one, zone)
        return began is not None and (began >= moment) is wanted

    return takes


def read_side(word: str, now: datetime) -> Callable[[Session], bool]:
    """Which sessions the word of a side means: `model=` is a very name, `model:` a part of it."""
    if span := parse_span(word, now.date()):
        return lambda one: is_within(one, span, now.tzinfo)
    found = SIDE_WORD.fullmatch(word)
    kind, sign, name = found.groups() if found else ("", "", "")
    if kind in ("before", "from"):
        try:
            return has_begun(datetime.fromisoformat(name), now.tzinfo or UTC, wanted=kind == "from")
        except (ValueError, TypeError):
            kind = ""
    if kind not in KINDS:
        raise BadInput(f"{word!r} is no side of a comparison")
    return match_named(kind, name, is_exact=sign == "=")


def compare_words(one: str, other: str, sessions: Sequence[Session], now: datetime) -> ScoreComparison:
    """Two sides by their names beside each other."""
    return compare_named(parse_side(one, sessions, now), parse_side(other, sessions, now), sessions, now)


def compare_named(first: Side, second: Side, sessions: Sequence[Session], now: datetime) -> ScoreComparison:
    """Two sides beside each other; one that takes nothing is refused."""
    groups = [(side.name, [one for one in sessions if side.takes(one)]) for side in (first, second)]
    for name, some in groups:
        if sessions and not some:
            raise BadInput(f"{name!r}: no session began then; `assay sessions` lists those there are")
    found = compare_groups(groups[0], groups[1], now.tzinfo or UTC)
    if sessions and found.on_both and not any(one.sessions for one in found.sides):
        raise BadInput(f"{groups[0][0]!r} and {groups[1][0]!r} are the same sessions; give two that differ")
    return found


# --- names ------------------------------------------------------------------------------------


def name_side(kind: str, name: str, sessions: Sequence[Session]) -> Side:
    """The sessions of a project, model, branch …; that there are none is told with what there is."""
    takes = match_name(kind, name, sessions)
    if not any(map(takes, sessions)):
        names = {one for session in sessions for one in list_names(session, kind)}
        there = sorted(shorten_paths(names).values() if kind == "project" else names)
        more = f" and {len(there) - MOST_NAMED} more" if len(there) > MOST_NAMED else ""
        told = ", ".join(there[:MOST_NAMED]) or "none is known"
        raise BadInput(f"{kind}:{name}: no session is of it; there are: {told}{more}")
    is_exact = kind != "project" and is_a_name(kind, name, sessions)
    return Side(f"{kind} {name}", takes, f"{kind}{'=' if is_exact else ':'}{name}")


def match_name(kind: str, name: str, sessions: Sequence[Session]) -> Callable[[Session], bool]:
    """Whether a session has a name: the very one where any session has it, else one with this in it."""
    return match_named(kind, name, is_exact=kind != "project" and is_a_name(kind, name, sessions))


def is_a_name(kind: str, name: str, sessions: Sequence[Session]) -> bool:
    """Whether a session has this very name."""
    return any(name.lower() == known.lower() for one in sessions for known in list_names(one, kind))


def match_named(kind: str, name: str, *, is_exact: bool) -> Callable[[Session], bool]:
    """Whether a session has a name, or one with this in it."""
    if kind == "project":
        wanted = parse_project(name)
        return lambda one: any(is_in_project(folder, wanted) for folder in (one.project, name_project(one)))
    plain = name.lower()
    return lambda one: any(
        plain == known.lower() if is_exact else plain in known.lower() for known in list_names(one, kind)
    )


def is_called(session: Session, kind: str, word: str) -> bool:
    """Whether a session has the very name; a project also goes by the name of its folder."""
    names = [one.lower() for one in list_names(session, kind)]
    return word.lower() in [*names, *(re.split(r"[\\/]", one)[-1] for one in names if kind == "project")]


def list_names(session: Session, kind: str) -> list[str]:
    """What a session is called in one respect; a session of several models has several names."""
    if kind == "model":
        return list(session.models)
    found = {
        "project": name_project(session),
        "intent": name_intent(session),
        "branch": session.branch,
        "agent": session.agent,
        "language": session.language,
        "tenant": session.tenant,
        "person": session.person,
        "machine": session.machine,
    }[kind]
    return [found] if found else []


# --- days -------------------------------------------------------------------------------------


def parse_span(word: str, today: date) -> Span | None:
    """The days that a word means; `None` where it is no time."""
    try:
        if ".." in word:
            first, _, last = word.partition("..")
            span = parse_end(first, today)[0], parse_end(last, today, is_last=True)[1]
            if span[0] and span[1] and span[0] >= span[1]:
                raise BadInput(f"{word!r}: ends before it begins")
            return span if first or last else None
        return parse_named(word, today) or parse_days(word, today)
    except (ValueError, OverflowError):
        return None


def parse_named(word: str, today: date) -> Span | None:
    """Days that have a name of their own, counted from today."""
    monday, first = today - timedelta(days=today.weekday()), today.replace(day=1)
    return {
        "today": (today, today + DAY),
        "yesterday": (today - DAY, today),
        "this-week": (monday, monday + 7 * DAY),
        "last-week": (monday - 7 * DAY, monday),
        "this-month": (first, add_month(first)),
        "last-month": ((first - DAY).replace(day=1), first),
    }.get(word)


def parse_days(word: str, today: date) -> Span | None:
    """A day, a week, a month, or the last so many days with today."""
    if ago := AGO.fullmatch(word):
        return today - count_days(ago) + DAY, today + DAY
    if week := WEEK.fullmatch(word):
        monday = date.fromisocalendar(int(week[1]), int(week[2]), 1)
        return monday, monday + 7 * DAY
    if month := MONTH.fullmatch(word):
        first = date(int(month[1]), int(month[2]), 1)
        return first, add_month(first)
    day = date.fromisoformat(word)
    return day, day + DAY


def parse_end(word: str, today: date, *, is_last: bool = False) -> Span:
    """One end of a span; `14d..7d` ends where the last seven days begin."""
    if not word:
        return None, None
    if is_last and (ago := AGO.fullmatch(word)):
        return None, today - count_days(ago) + DAY
    return parse_named(word, today) or parse_days(word, today) or (None, None)


def count_days(ago: re.Match[str]) -> timedelta:
    return timedelta(days=int(ago[1]) * (7 if ago[2] == "w" else 1))


def add_month(first: date) -> date:
    return (first + 31 * DAY).replace(day=1)


def start_day(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(), zone)


def is_within(session: Session, span: Span, zone: tzinfo | None) -> bool:
    """Whether a session began on one of some days."""
    began = find_moment(session, zone or UTC)
    if began is None:
        return False
    day = began.date()
    return (span[0] is None or day >= span[0]) and (span[1] is None or day < span[1])


def find_moment(session: Session, zone: tzinfo) -> datetime | None:
    """When a session began, where the person was; a time without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(session.started_at)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(zone)
    except (ValueError, OverflowError):
        return None
