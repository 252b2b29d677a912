"""`/`: the overview."""

from typing import Annotated, Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from assay.scores.breakdown import PERIODS
from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.api.reports import InProject, Since, Until, build_selection
from assay.server.hall import Hall
from assay.server.pages.answers import answer_page, build_context
from assay.server.replies import Refusal
from assay.server.threads import run_in_thread
from assay.stores import Store
from assay.web.pages.overview import list_examples, render_overview


@get("/", include_in_schema=False)
@run_in_thread
def show_overview(
    request: AnyRequest,
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
    since: Since = "",
    until: Until = "",
    project: InProject = "",
    by: Annotated[str, QueryParameter(max_length=10)] = "",
) -> Response[Any]:
    """Show the score and all that stands beside it."""
    store = hall.open_store(visitor)
    report = hall.reports.read_report(visitor.tenant, store, build_selection(hall, since, until, project))
    window = {"since": since, "until": until, "project": project}
    context = build_context(hall, visitor, window)
    titles = {name: find_title(hall, visitor, store, name) for name in list_examples(report)}
    page = render_overview(report, window | {"by": by if by in PERIODS else ""}, context, titles)
    return answer_page(request, store, page, context)


def find_title(hall: Hall, visitor: Visitor, store: Store, id: str) -> str:
    """What a session is called; one that is gone meanwhile goes by its id."""
    try:
        return hall.reports.find_told(visitor.tenant, store, id).title
    except Refusal:
        return id


HANDLERS: list[Any] = [show_overview]
