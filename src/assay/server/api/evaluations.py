"""`/api/v1/evaluations`: runs of `assay eval` in the folder that the server was given, for those whose folder it is."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from assay.errors import AssayError
from assay.evals.running.evaluation import build_evaluation
from assay.evals.running.recorded_run import COMPARISON, load_comparison, load_run
from assay.server.access import Visitor
from assay.server.api.answers import READS, TAGGED, AnyRequest, answer
from assay.server.documents import EvaluationLine, EvaluationsView
from assay.server.hall import Hall
from assay.server.replies import Refusal
from assay.server.tenants import HOME
from assay.server.threads import run_in_thread
from assay.types.evals import Evaluation

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII)
OWNERS = (HOME, "own")
"""Whose folder it is: evaluations lie on the server's own disk, not in anybody's store."""
MOST = 500


@get("/api/v1/evaluations", responses=READS, response_headers=TAGGED)
@run_in_thread
def list_evaluations(
    request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[EvaluationsView]:
    """List evaluations that were run, with their verdicts."""
    lines = [build_line(one) for one in list_runs(hall, visitor)]
    return answer(request, hall.open_store(visitor), EvaluationsView(evaluations=[one for one in lines if one]))


@get("/api/v1/evaluations/{name:str}", responses=READS, response_headers=TAGGED)
@run_in_thread
def tell_evaluation(
    request: AnyRequest, name: FromPath[str], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[Evaluation]:
    """Tell one evaluation, as `assay eval compare --json` prints it."""
    folder = next((one for one in list_runs(hall, visitor) if one.name == name), None)
    if folder is None:
        raise Refusal(404, "there is no such evaluation")
    try:
        found = build_evaluation(load_comparison(folder), load_run(folder))
    except AssayError:
        raise Refusal(404, "this evaluation can't be trusted; `assay eval compare` says why") from None
    return answer(request, hall.open_store(visitor), found)


def list_runs(hall: Hall, visitor: Visitor) -> Iterator[Path]:
    """Folders of runs, by name; nothing but plain folders right below the one that was given."""
    root = Path(hall.settings.runs)
    if not hall.settings.runs or visitor.tenant not in OWNERS or not root.is_dir():
        return
    for folder in sorted(root.iterdir())[:MOST]:
        is_plain = NAME.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink()
        if is_plain and (folder / COMPARISON).is_file():
            yield folder


def build_line(folder: Path) -> EvaluationLine | None:
    """What is said of a run in short; nothing of one that can't be read."""
    try:
        found = load_comparison(folder)
    except AssayError:
        return None
    return EvaluationLine(name=folder.name, verdict=found.verdict, promote=found.promote, net_gain=found.net_gain)


HANDLERS: list[Any] = [list_evaluations, tell_evaluation]
