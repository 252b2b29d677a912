"""`/live`: what goes on now."""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from assay.config import pick_zone
from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.api.reports import build_selection
from assay.server.hall import Hall
from assay.server.looking import Lookout, SessionsWanted
from assay.server.pages.answers import answer_page, build_context
from assay.server.threads import run_in_thread
from assay.web.pages.live import render_live

MOST = 100


@get("/live", include_in_schema=False)
@run_in_thread
def show_live(request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> Response[Any]:
    """Show the sessions of the last day, those that go on first."""
    store = hall.open_store(visitor)
    wanted = SessionsWanted(
        selection=build_selection(hall, "1d", "", ""), zone=pick_zone(hall.settings.config), given={}
    )
    found = Lookout(hall.reports, visitor.tenant, store, wanted).look((), MOST)
    context = build_context(hall, visitor)
    return answer_page(request, store, render_live(found.sessions, context), context)


HANDLERS: list[Any] = [show_live]
