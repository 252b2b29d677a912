"""`/team`: shares by project, model, agent and intent; people only where the tenant wants them told apart."""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.api.reports import InProject, Since, Until, build_selection
from assay.server.hall import Hall
from assay.server.pages.answers import answer_page, build_context
from assay.server.people import is_switched_on
from assay.server.threads import run_in_thread
from assay.web.pages.team import render_team


@get("/team", include_in_schema=False)
@run_in_thread
def show_team(
    request: AnyRequest,
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
    since: Since = "",
    until: Until = "",
    project: InProject = "",
) -> Response[Any]:
    """Show how groups of sessions do, with their intervals."""
    store = hall.open_store(visitor)
    report = hall.reports.read_report(visitor.tenant, store, build_selection(hall, since, until, project))
    window = {"since": since, "until": until, "project": project}
    context = build_context(hall, visitor, window)
    page = render_team(report, window, context, has_people=is_switched_on(hall, visitor))
    return answer_page(request, store, page, context)


HANDLERS: list[Any] = [show_team]
