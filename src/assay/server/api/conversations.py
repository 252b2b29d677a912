"""`/api/v1/live`: conversations of the last day, and where each is on its way to a score."""

from typing import Annotated

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from assay.server.access import Visitor
from assay.server.api.answers import READS, TAGGED, AnyRequest, answer
from assay.server.documents import LivePage
from assay.server.hall import Hall
from assay.server.threads import run_in_thread


@get("/api/v1/live", responses=READS, response_headers=TAGGED)
@run_in_thread
def list_live(
    request: AnyRequest,
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
    limit: Annotated[int, QueryParameter(description="Conversations at most.", ge=1, le=500)] = 100,
) -> Response[LivePage]:
    """List what goes on, the latest first: open, provisional (quiet), sealed, or judged."""
    store = hall.open_store(visitor)
    return answer(request, store, hall.reports.list_live(store, limit))


HANDLERS = [list_live]
