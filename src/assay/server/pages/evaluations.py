"""`/evaluations`: runs of `assay eval`, for those whose folder it is."""

from datetime import UTC, datetime
from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from assay.errors import AssayError
from assay.evals.running.evaluation import build_evaluation
from assay.evals.running.recorded_run import COMPARISON, load_comparison, load_run
from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.api.evaluations import OWNERS, list_runs
from assay.server.hall import Hall
from assay.server.pages.answers import answer_page, build_context
from assay.server.replies import Refusal
from assay.server.threads import run_in_thread
from assay.web.pages.evaluation import EvaluationPlace, render_evaluation
from assay.web.pages.evaluations import EvaluationRow, render_evaluations


@get("/evaluations", include_in_schema=False)
@run_in_thread
def show_evaluations(
    request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[Any]:
    """List evaluations with their verdicts, the newest first."""
    rows, unreadable = [], 0
    for folder in list_runs(hall, visitor):
        try:
            ended = datetime.fromtimestamp((folder / COMPARISON).stat().st_mtime, UTC).isoformat(timespec="seconds")
            rows.append(EvaluationRow(name=folder.name, ended_at=ended, found=load_comparison(folder)))
        except (AssayError, OSError):
            unreadable += 1
    rows.sort(key=lambda one: (one.ended_at, one.name), reverse=True)
    context = build_context(hall, visitor)
    page = render_evaluations(rows, unreadable, find_reason(hall, visitor), context)
    return answer_page(request, hall.open_store(visitor), page, context)


def find_reason(hall: Hall, visitor: Visitor) -> str:
    """Why there may be none."""
    if visitor.tenant not in OWNERS:
        return "stranger"
    return "runs" if hall.settings.runs else "folder"


@get("/evaluations/{name:str}", include_in_schema=False)
@run_in_thread
def show_evaluation(
    request: AnyRequest, name: FromPath[str], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[Any]:
    """Show one evaluation."""
    folder = next((one for one in list_runs(hall, visitor) if one.name == name), None)
    if folder is None:
        raise Refusal(404, "there is no such evaluation")
    try:
        with hall.reports.take_place():
            found = build_evaluation(load_comparison(folder), load_run(folder))
    except AssayError:
        raise Refusal(404, "this evaluation can't be trusted; `assay eval compare` says why") from None
    context = build_context(hall, visitor)
    page = render_evaluation(EvaluationPlace(name=name, found=found), context)
    return answer_page(request, hall.open_store(visitor), page, context)


HANDLERS: list[Any] = [show_evaluations, show_evaluation]
