"""`/compare`: two windows or slices, named in the address."""

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency
from msgspec.structs import replace

from assay.config import pick_zone
from assay.errors import BadInput
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.scoring_run import Selection
from assay.pipeline.sides import Side, Span, compare_named, parse_side, parse_span, split_at
from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.api.reports import build_selection
from assay.server.hall import Hall
from assay.server.looking import format_moment
from assay.server.pages.answers import answer_page, build_context, read_given
from assay.server.people import BY_PEOPLE, FEW, check_people, has_few, is_alone
from assay.server.reading import SessionFilter
from assay.server.threads import run_in_thread
from assay.stores import Store
from assay.types import Session
from assay.web.pages.compare import render_compare

MOST = 10_000
"""Of a long history, the newest sessions that are compared."""
WINDOW = ("since", "until", "project")


@get("/compare", include_in_schema=False)
@run_in_thread
def show_compare(request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> Response[Any]:
    """Show two groups of sessions beside each other."""
    given = read_given(request, ("a", "b", "at", *WINDOW))
    store, window = hall.open_store(visitor), {name: given[name] for name in WINDOW}
    selection = build_selection(hall, *window.values())
    found, trouble, cut, words = None, "", 0, ["", ""]
    if given["at"] or (given["a"] and given["b"]):
        named = [kind for side in (given["a"], given["b"]) if (kind := side.strip().partition(":")[0]) in BY_PEOPLE]
        check_people(hall, visitor, store, named)
        try:
            sessions, cut = read_sessions(hall, visitor, store, list_windows(hall, selection, given))
            sides = name_sides(hall, sessions, (given["a"], given["b"]), given["at"])
            words = [one.word for one in sides]
            with hall.reports.take_place():
                found = compare_named(*sides, sessions, find_now(hall))
            if named and not is_alone(visitor, store) and has_few(found, sessions):
                found, trouble = None, FEW
        except BadInput as error:
            trouble = str(error).partition("\n")[0]
    elif given["a"] or given["b"]:
        trouble = "name both sides, or a day to compare before and after"
    context = build_context(hall, visitor, window)
    return answer_page(request, store, render_compare(found, trouble, cut, given, context, words), context)


def find_now(hall: Hall) -> datetime:
    config = hall.settings.config
    return pick_report_time(config).astimezone(pick_zone(config))


def list_windows(hall: Hall, selection: Selection, given: Mapping[str, str]) -> list[Selection]:
    """The windows whose sessions are read: of two spans of days each one's own, else the one that is given."""
    if given["at"]:
        return [selection]
    spans = [parse_span(given[name].strip(), find_now(hall).date()) for name in ("a", "b")]
    zone = pick_zone(hall.settings.config)
    return [narrow_window(selection, span, zone) for span in spans if span] if all(spans) else [selection]


def narrow_window(selection: Selection, span: Span, zone: tzinfo) -> Selection:
    """A window within some days."""
    since, until = (format_moment(day, zone) if day else "" for day in span)
    known = [one for one in (selection.until, until) if one]
    return replace(selection, since=max(selection.since, since), until=min(known, default=""))


def read_sessions(
    hall: Hall, visitor: Visitor, store: Store, windows: Sequence[Selection]
) -> tuple[list[Session], int]:
    """The newest sessions of some windows, and how many where these are not all."""
    most, found, is_cut = MOST // len(windows), dict[str, Session](), False
    for one in windows:
        rows = hall.reports.page_sessions(visitor.tenant, store, SessionFilter(selection=one), (), most)
        found |= {session.id: session for _, session in rows[:most]}
        is_cut = is_cut or len(rows) > most
    return [*found.values()], len(found) if is_cut else 0


def name_sides(hall: Hall, sessions: Sequence[Session], words: tuple[str, str], at: str) -> tuple[Side, Side]:
    """Two sides by their names, or by what began before a day and later."""
    if not sessions:
        raise BadInput("there are no sessions in this window")
    now = find_now(hall)
    one, other = words
    return split_at(at, now) if at else (parse_side(one, sessions, now), parse_side(other, sessions, now))


HANDLERS: list[Any] = [show_compare]
