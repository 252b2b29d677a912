"""`/compare`: two windows or slices, named in the address."""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from assay.config import pick_zone
from assay.errors import BadInput
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.scoring_run import Selection
from assay.pipeline.sides import compare_named, compare_words, split_at
from assay.scores.comparison import ScoreComparison
from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.api.reports import build_selection
from assay.server.hall import Hall
from assay.server.pages.answers import answer_page, build_context, read_given
from assay.server.people import BY_PEOPLE, FEW, check_people, has_few, is_alone
from assay.server.reading import SessionFilter
from assay.server.threads import run_in_thread
from assay.stores import Store
from assay.types import Session
from assay.web.pages.compare import render_compare

MOST = 20_000
"""Of a long history, the newest sessions that are compared."""
WINDOW = ("since", "until", "project")


@get("/compare", include_in_schema=False)
@run_in_thread
def show_compare(request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> Response[Any]:
    """Show two groups of sessions beside each other."""
    given = read_given(request, ("a", "b", "at", *WINDOW))
    store, window = hall.open_store(visitor), {name: given[name] for name in WINDOW}
    selection = build_selection(hall, *window.values())
    found, trouble, cut = None, "", 0
    if given["at"] or (given["a"] and given["b"]):
        named = [kind for side in (given["a"], given["b"]) if (kind := side.strip().partition(":")[0]) in BY_PEOPLE]
        check_people(hall, visitor, store, named)
        sessions, cut = read_sessions(hall, visitor, store, selection)
        try:
            found = compare_sides(hall, sessions, (given["a"], given["b"]), given["at"])
            if named and not is_alone(visitor, store) and has_few(found, sessions):
                found, trouble = None, FEW
        except BadInput as error:
            trouble = str(error).partition("\n")[0]
    elif given["a"] or given["b"]:
        trouble = "name both sides, or a day to compare before and after"
    context = build_context(hall, visitor, window)
    return answer_page(request, store, render_compare(found, trouble, cut, given, context), context)


def read_sessions(hall: Hall, visitor: Visitor, store: Store, selection: Selection) -> tuple[list[Session], int]:
    """The newest sessions of a window, and how many where these are not all."""
    rows = hall.reports.page_sessions(visitor.tenant, store, SessionFilter(selection=selection), (), MOST)
    return [one for _, one in rows[:MOST]], MOST if len(rows) > MOST else 0


def compare_sides(hall: Hall, sessions: list[Session], words: tuple[str, str], at: str) -> ScoreComparison:
    """Two sides by their names, or by what began before a day and later."""
    if not sessions:
        raise BadInput("there are no sessions in this window")
    config = hall.settings.config
    now = pick_report_time(config).astimezone(pick_zone(config))
    with hall.reports.take_place():
        return compare_named(*split_at(at, now), sessions, now) if at else compare_words(*words, sessions, now)


HANDLERS: list[Any] = [show_compare]
