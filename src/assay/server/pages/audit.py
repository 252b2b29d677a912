"""`/audit`: sessions drawn at random, one at a time, and a person's answers."""

from typing import Annotated, Any, Literal

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import URLEncodedBody
from msgspec import Meta, Struct
from msgspec.structs import replace

from assay.pipeline.audit import begin_draw, read_case, save_answer, withdraw_answer
from assay.pipeline.scoring_run import Selection
from assay.scores.audit import trace_answers
from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.api.marks import note
from assay.server.hall import Hall
from assay.server.keys import format_now
from assay.server.pages.answers import answer_page, build_context, go_to
from assay.server.threads import run_in_thread
from assay.web.pages.audit import AuditShown, render_audit

HERE = "/audit"


class DrawForm(Struct, frozen=True, kw_only=True):
    """How many sessions are to be looked at."""

    wanted: Annotated[int, Meta(ge=1, le=100_000)]


class AuditForm(Struct, frozen=True, kw_only=True):
    """What somebody says of the session that they were shown."""

    session: Annotated[str, Meta(max_length=64)]
    verdict: Literal["landed", "not", "unclear"]


class BackForm(Struct, frozen=True, kw_only=True):
    """The answer that is taken back."""

    session: Annotated[str, Meta(max_length=64)]


@get(HERE, include_in_schema=False)
@run_in_thread
def show_audit(request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> Response[Any]:
    """Show the session that is asked about next, and how far the audit is."""
    store, reports = hall.open_store(visitor), hall.reports
    report = reports.read_report(visitor.tenant, store, Selection())
    queue = reports.read_queue(visitor.tenant, store)
    shown = AuditShown(
        report=report,
        wanted=queue.wanted,
        answered=queue.answered,
        waiting=len(queue.waiting),
        steps=trace_answers(queue.answered, queue.chances),
    )
    if queue.waiting:
        case = reports.find_told(visitor.tenant, store, queue.waiting[0])
        with reports.take_place():
            turns, ending = read_case(store, hall.settings.config, case)
        shown = replace(shown, case=case, turns=turns, ending=ending)
    context = build_context(hall, visitor)
    return answer_page(request, store, render_audit(shown, context), context)


@post(f"{HERE}/draw", include_in_schema=False)
@run_in_thread
def draw_more(
    data: URLEncodedBody[DrawForm], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[Any]:
    """Draw sessions at random, to be asked about."""
    begin_draw(hall.open_store(visitor), data.wanted)
    return go_to(HERE)


@post(f"{HERE}/answers", include_in_schema=False)
@run_in_thread
def take_answer(
    data: URLEncodedBody[AuditForm], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[Any]:
    """Save an answer about a session that waits for one; a form that is sent twice changes nothing."""
    store = hall.open_store(visitor)
    if data.session in hall.reports.read_queue(visitor.tenant, store).waiting:
        found = hall.reports.find_told(visitor.tenant, store, data.session)
        save_answer(store, found, data.verdict, format_now())
        note(hall, visitor, store, "audit_answered", data.session)
    return go_to(HERE)


@post(f"{HERE}/back", include_in_schema=False)
@run_in_thread
def take_back(
    data: URLEncodedBody[BackForm], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[Any]:
    """Take the last answer back; its session is asked about again."""
    store = hall.open_store(visitor)
    answered = hall.reports.read_queue(visitor.tenant, store).answered
    if answered and answered[-1].id == data.session:
        withdraw_answer(store, answered[-1], format_now())
        note(hall, visitor, store, "audit_answered", data.session)
    return go_to(HERE)


HANDLERS: list[Any] = [show_audit, draw_more, take_answer, take_back]
