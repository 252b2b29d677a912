"""Sessions that a list on a page means: the database narrows by what it knows, the rest is looked through for a while.

Nobody waits long for a rare thing in a long history: the list says how far it looked, and goes on from there.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from assay.pipeline.inputs import pick_report_time
from assay.pipeline.kept_report import build_choice
from assay.pipeline.privacy import build_rules
from assay.pipeline.scoring_run import Selection
from assay.pipeline.search import search_sessions
from assay.scores.breakdown import PERIODS
from assay.scores.conditions import CRUSHED, fits_conditions
from assay.server.reading import SESSION, Placed, ReportReader, page_rows, place_session
from assay.stores import Store, ToldChoice
from assay.types import Session

LOOKING_S = 1.5
PORTION, SEARCHED = 500, 100
"""Sessions that are looked at in one go, and those whose words are."""


class SessionsWanted(Struct, frozen=True, kw_only=True):
    """What the address of a list of sessions says."""

    selection: Selection
    zone: tzinfo
    given: Mapping[str, str]
    side: Callable[[Session], bool] | None = None
    """Of a comparison: which sessions stand on one of its sides."""

    def takes(self, one: Session) -> bool:
        """Whether a session is meant, apart from words that are looked for."""
        return (self.side is None or self.side(one)) and fits_conditions(one, self.given, self.zone)

    def narrow(self, choice: ToldChoice) -> ToldChoice:
        """What the database can leave out."""
        get = self.given.get
        crushed = CRUSHED.get(get("crushed", ""))
        if get("left") == "crushed":
            crushed = True
        elif get("lost") in ("complete", "crushed"):
            crushed = False
        bounds = [bound_period(get(f"by_{by}", ""), by, self.zone) for by in PERIODS]
        if get("status") == "in_progress":  # written to a moment ago
            bounds.append((format_moment((datetime.now(UTC) - timedelta(days=1)).date(), UTC), ""))
        return replace(
            choice,
            crushed=crushed,
            obstacle=get("obstacle", ""),
            since=max(choice.since, *(begin for begin, _ in bounds)),
            until=min((end for end in (choice.until, *(end for _, end in bounds)) if end), default=""),
        )


class SessionsFound(Struct, frozen=True, kw_only=True):
    """A page of a list: its sessions, from where to go on, and how many were looked through in vain."""

    sessions: Sequence[Session]
    after: Sequence[str]
    """The place behind which to go on; empty at the end."""
    looked: int
    """Sessions that were looked at; more than found where they are rare."""
    is_cut: bool
    """The time was over before the page was full."""


def bound_period(name: str, by: str, zone: tzinfo) -> tuple[str, str]:
    """When a day, week or month begins and ends, as records write it; empty for none."""
    try:
        begin = date.fromisoformat(f"{name}-01" if by == "month" else name)
    except ValueError:
        return "", ""
    end = (
        (begin.replace(day=28) + timedelta(days=4)).replace(day=1)
        if by == "month"
        else begin + timedelta(days=7 if by == "week" else 1)
    )
    return format_moment(begin, zone), format_moment(end, zone)


def format_moment(day: date, zone: tzinfo) -> str:
    moment = datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


class Lookout:
    """Looks through a tenant's sessions, the newest first, a portion at a time."""

    def __init__(self, reports: ReportReader, tenant: str, store: Store, wanted: SessionsWanted) -> None:
        self.reports = reports
        self.store = store
        self.wanted = wanted
        self.text = wanted.given.get("search", "").strip()
        self.choice: ToldChoice | None = None
        self.told: Sequence[Session] = ()
        if reports.update(tenant, store):
            self.choice = wanted.narrow(build_choice(store, wanted.selection))
        else:
            self.told = reports.read_report(tenant, store, wanted.selection).sessions

    def read(self, after: Sequence[str], most: int) -> list[Placed[Session]]:
        """The next sessions that the database does not leave out."""
        if self.choice:
            return [(place, SESSION(body)) for place, body in self.store.told.list_newest(self.choice, after, most)]
        return page_rows(self.told, place_session, after, most)[:most]

    def pick(self, rows: Sequence[Placed[Session]]) -> list[Placed[Session]]:
        """Those of them that are wanted."""
        taken = [(place, one) for place, one in rows if self.wanted.takes(one)]
        if not self.text or not taken:
            return taken
        rules = build_rules(self.reports.config, pick_report_time(self.reports.config))
        with self.reports.take_place():
            said = search_sessions(self.store, [one for _, one in taken], self.text, rules)
        known = {(one.agent, one.id) for one in said}
        return [(place, one) for place, one in taken if (one.agent, one.id) in known]

    def look(self, after: Sequence[str], most: int) -> SessionsFound:
        """As many as fit a page, or were found in time."""
        portion = SEARCHED if self.text else PORTION if is_picky(self.wanted) else most + 1
        found: list[Placed[Session]] = []
        looked, until, is_end = 0, time.monotonic() + LOOKING_S, False
        while not is_end and len(found) <= most and (not looked or time.monotonic() < until):
            rows = self.read(after, portion)
            found += self.pick(rows)
            looked, is_end = looked + len(rows), len(rows) < portion
            after = rows[-1][0] if rows else after
        has_more = len(found) > most
        return SessionsFound(
            sessions=[one for _, one in found[:most]],
            after=found[most - 1][0] if has_more else () if is_end else after,
            looked=looked,
            is_cut=not is_end and not has_more,
        )


def is_picky(wanted: SessionsWanted) -> bool:
    """Whether sessions are left out that the database does not leave out."""
    return any(value for name, value in wanted.given.items() if name not in ("since", "until", "project", "cursor"))
