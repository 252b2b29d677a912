"""`/rework`: how long lines stay, and sessions whose lines were later replaced."""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.api.reports import InProject, Since, Until, build_selection
from assay.server.hall import Hall
from assay.server.pages.answers import answer_page, build_context
from assay.server.threads import run_in_thread
from assay.web.links import to_sessions
from assay.web.pages.rework import ReworkShown, render_rework

MOST, KIND = 100, "reworked"


@get("/rework", include_in_schema=False)
@run_in_thread
def show_rework(
    request: AnyRequest,
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
    since: Since = "",
    until: Until = "",
    project: InProject = "",
) -> Response[Any]:
    """Show what became of the lines that sessions wrote."""
    store, selection = hall.open_store(visitor), build_selection(hall, since, until, project)
    report = hall.reports.read_report(visitor.tenant, store, selection)
    replaced = hall.reports.list_obstructed(visitor.tenant, store, selection, KIND, MOST + 1)
    window = {"since": since, "until": until, "project": project}
    context = build_context(hall, visitor, window)
    shown = ReworkShown(
        report=report, replaced=replaced[:MOST], has_more=len(replaced) > MOST, onward=to_sessions(obstacle=KIND)
    )
    return answer_page(request, store, render_rework(shown, window, context), context)


HANDLERS: list[Any] = [show_rework]
