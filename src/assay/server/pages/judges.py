"""`/judges`: how good each judge is."""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from assay.pipeline.judgement import find_judge
from assay.pipeline.scoring_run import Selection
from assay.scores.card import build_card
from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.hall import Hall
from assay.server.pages.answers import answer_page, build_context
from assay.server.threads import run_in_thread
from assay.web.pages.judges import render_judges

OFFLINE = "offline"


@get("/judges", include_in_schema=False)
@run_in_thread
def show_judges(request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> Response[Any]:
    """Show a card for the offline judge, and for whoever else judged."""
    store = hall.open_store(visitor)
    report = hall.reports.read_report(visitor.tenant, store, Selection())
    answered = hall.reports.read_queue(visitor.tenant, store).answered
    versions = {OFFLINE: find_judge(OFFLINE).versions()}
    for one in report.by_judge:
        versions.setdefault(one.judge, one.versions)
    cards = [build_card(judge, known, answered) for judge, known in versions.items()]
    context = build_context(hall, visitor)
    return answer_page(request, store, render_judges(cards, report.judge.backend, context), context)


HANDLERS: list[Any] = [show_judges]
