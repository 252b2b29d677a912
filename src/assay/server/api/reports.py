"""`/api/v1/score`, `trend`, `sessions`, `ledger` and `quality`: what is said of a tenant's sessions."""

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, QueryParameter
from msgspec import Struct
from msgspec.structs import replace

from assay.config import pick_zone
from assay.errors import BadInput
from assay.pipeline.inputs import parse_time
from assay.pipeline.quality import pick_quality_model
from assay.pipeline.scoring_run import Selection
from assay.reports.json import SessionDetail
from assay.scores import profiles
from assay.scores.breakdown import By, Period
from assay.scores.quality_means import build_group
from assay.server.access import Visitor
from assay.server.api.answers import READS, TAGGED, AnyRequest, answer
from assay.server.documents import LedgerPage, ScoreView, SessionsPage, TrendView, build_score_view
from assay.server.hall import Hall
from assay.server.people import check_people, hide_people, select_slices
from assay.server.qualities import judge_one
from assay.server.reading import Placed, SessionFilter
from assay.server.replies import Refusal
from assay.server.seals import open_cursor, seal_cursor
from assay.server.threads import run_in_thread
from assay.stores import Store
from assay.types.quality import Profile, Qualities

T = TypeVar("T")
Since = Annotated[str, QueryParameter(description="A day, a time, or how long ago: 2026-11-01, 7d.", max_length=40)]
Until = Annotated[str, QueryParameter(description="Only what began before this.", max_length=40)]
InProject = Annotated[str, QueryParameter(description="A folder, or a word in its path.", max_length=300)]
Limit = Annotated[int, QueryParameter(description="Rows of a page.", ge=1, le=200)]
Cursor = Annotated[str, QueryParameter(description="`next` of the page before.", max_length=2_000)]
OfProfile = Annotated[str, QueryParameter(description="The name of a quality profile.", max_length=60)]
PROFILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}", re.ASCII)
TIMES = "a day (2026-11-01), a time, or how long ago (12h, 7d, 4w)"


def build_selection(hall: Hall, since: str, until: str, project: str) -> Selection:
    """Which sessions are meant."""
    zone = pick_zone(hall.settings.config)
    try:
        begin, end = parse_time(since, "since", zone), parse_time(until, "until", zone)
    except BadInput:
        raise Refusal(400, f"since and until take {TIMES}") from None
    if "\0" in project:
        raise Refusal(400, "a project's path has no NUL in it")
    return Selection(since=begin, until=end, project=project)


class PageRequest(Struct, frozen=True, kw_only=True):
    """Which rows of a list are wanted."""

    since: str
    until: str
    project: str
    limit: int
    cursor: str

    def select(self, hall: Hall) -> Selection:
        return build_selection(hall, self.since, self.until, self.project)

    def describe(self, *more: str) -> str:
        """What a cursor is about: it means nothing in another list."""
        return msgspec.json.encode([self.since, self.until, self.project, *more]).decode()

    def read(
        self, store: Store, about: str, read: Callable[[Sequence[str], int], list[Placed[T]]]
    ) -> tuple[list[T], str | None]:
        """The rows of this page, and the cursor of the next."""
        secret = store.keys.load_secret()
        found = read(open_cursor(secret, about, self.cursor) if self.cursor else (), self.limit)
        page = found[: self.limit]
        return [row for _, row in page], seal_cursor(secret, about, page[-1][0]) if len(found) > self.limit else None


def read_page_request(
    since: Since = "", until: Until = "", project: InProject = "", limit: Limit = 50, cursor: Cursor = ""
) -> PageRequest:
    return PageRequest(since=since, until=until, project=project, limit=limit, cursor=cursor)


@get("/api/v1/score", responses=READS, response_headers=TAGGED)
@run_in_thread
def tell_score(
    request: AnyRequest,
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
    since: Since = "",
    until: Until = "",
    project: InProject = "",
    by: Annotated[list[By] | None, QueryParameter(description="Slices to tell, too.")] = None,
) -> Response[ScoreView]:
    """Tell the PRISM Score with all that is said beside it."""
    store, ways = hall.open_store(visitor), list(dict.fromkeys(by or ()))
    check_people(hall, visitor, store, ways)
    report = hall.reports.read_report(visitor.tenant, store, build_selection(hall, since, until, project))
    pending = hall.reports.count_pending(visitor.tenant, store)
    slices = {str(one): select_slices(one, report.slices[one], visitor, store) for one in ways}
    return answer(request, store, build_score_view(report, slices, pending))


@get("/api/v1/trend", responses=READS, response_headers=TAGGED)
@run_in_thread
def tell_trend(
    request: AnyRequest,
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
    since: Since = "",
    until: Until = "",
    project: InProject = "",
    by: Annotated[Period, QueryParameter(description="How long each point is.")] = "week",
) -> Response[TrendView]:
    """Tell whether the score rises or falls."""
    store = hall.open_store(visitor)
    report = hall.reports.read_report(visitor.tenant, store, build_selection(hall, since, until, project))
    found = TrendView(
        by=by,
        points=report.slices[by],
        trend=report.trends[by],
        windows=report.windows,
        pending=hall.reports.count_pending(visitor.tenant, store),
    )
    return answer(request, store, found)


# --- lists --------------------------------------------------------------------------------------


@get("/api/v1/sessions", responses=READS, response_headers=TAGGED)
@run_in_thread
def list_sessions(
    request: AnyRequest,
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
    page: NamedDependency[PageRequest],
    crushed: Annotated[bool | None, QueryParameter(description="Only those that did, or did not, crush.")] = None,
    intent: Annotated[str, QueryParameter(description="Only those of this intent or aim.", max_length=40)] = "",
) -> Response[SessionsPage]:
    """List sessions, the newest first, page by page: what comes in meanwhile moves nothing to another page."""
    store = hall.open_store(visitor)
    wanted = SessionFilter(selection=page.select(hall), crushed=crushed, intent=intent)
    read = partial(hall.reports.page_sessions, visitor.tenant, store, wanted)
    rows, after = page.read(store, page.describe("sessions", str(crushed), intent), read)
    pending = hall.reports.count_pending(visitor.tenant, store)
    seen = hide_people(hall, visitor, store, rows)
    return answer(request, store, SessionsPage(sessions=seen, next=after, pending=pending))


@get("/api/v1/sessions/{session:str}", responses=READS, response_headers=TAGGED)
@run_in_thread
def tell_session(
    request: AnyRequest, session: FromPath[str], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[SessionDetail]:
    """Tell one session with its turns."""
    store = hall.open_store(visitor)
    found = hall.reports.read_session(visitor.tenant, store, session)
    seen = hide_people(hall, visitor, store, [found.session])[0]
    return answer(request, store, replace(found, session=seen))


@get("/api/v1/ledger", responses=READS, response_headers=TAGGED)
@run_in_thread
def list_ledger(
    request: AnyRequest,
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
    page: NamedDependency[PageRequest],
) -> Response[LedgerPage]:
    """List where sessions begin and were joined, and by what sign, the newest first."""
    store = hall.open_store(visitor)
    read = partial(hall.reports.page_ledger, visitor.tenant, store, page.select(hall))
    rows, after = page.read(store, page.describe("ledger"), read)
    pending = hall.reports.count_pending(visitor.tenant, store)
    return answer(request, store, LedgerPage(ledger=rows, next=after, pending=pending))


# --- quality ------------------------------------------------------------------------------------


@get("/api/v1/quality/{session:str}", responses=READS, response_headers=TAGGED)
@run_in_thread
def tell_quality(
    request: AnyRequest,
    session: FromPath[str],
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
    profile: OfProfile = "enhanced",
) -> Response[Qualities]:
    """Tell how well a session was run, by a profile; a model is never asked anything new."""
    store = hall.open_store(visitor)
    asked, told = find_profile(profile), hall.reports.find_session(visitor.tenant, store, session)
    if told.machine:
        raise Refusal(404, "this session was shipped from another machine; its quality is told there")
    with hall.reports.take_place():
        found = [judge_one(store, pick_quality_model(hall.settings.config), asked, told, is_named=True)]
    return answer(request, store, Qualities(qualities=found, summary=build_group("all", found, asked)))


def find_profile(name: str) -> Profile:
    """A profile by its name: a path is none."""
    known = [one.name for one in profiles.list_profiles(profiles.list_folders(os.environ, Path.cwd()))]
    if not PROFILE.fullmatch(name) or name not in known:
        raise Refusal(404, "there is no such profile")
    return profiles.load_profile(name, profiles.list_folders(os.environ, Path.cwd()))


DEPENDENCIES = {"page": Provide(read_page_request, sync_to_thread=False)}
HANDLERS = [tell_score, tell_trend, list_sessions, tell_session, list_ledger, tell_quality]
