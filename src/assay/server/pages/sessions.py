"""`/sessions`: the list, narrowed and searched."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency

from assay.config import pick_zone
from assay.errors import BadInput
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.sides import read_side
from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.api.reports import build_selection
from assay.server.hall import Hall
from assay.server.looking import Lookout, SessionsWanted
from assay.server.pages.answers import answer_page, build_context, read_given, read_number
from assay.server.people import BY_PEOPLE, check_people
from assay.server.replies import Refusal
from assay.server.seals import open_cursor, seal_cursor
from assay.server.threads import run_in_thread
from assay.stores import Store
from assay.types import Session
from assay.web.links import to_sessions
from assay.web.pages.sessions import CHOICES, NAMES, SORTS, SessionsShown, render_sessions, sort_sessions

ROWS, MOST_SORTED = 50, 2_000
"""Of a page, and the newest that are put into another order than that of time."""
SIGN = re.compile("[=:]")
"""What stands behind the kind of a side."""
GIVEN = (*(one.name for one in CHOICES), *NAMES)


@get("/sessions", include_in_schema=False)
@run_in_thread
def show_sessions(request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> Response[Any]:
    """List the sessions that the address means, the newest first or sorted."""
    store = hall.open_store(visitor)
    given = read_given(request, (*GIVEN, "cursor", "page"))
    wanted = {name: given[name] for name in GIVEN if given[name]}
    selection = build_selection(hall, given["since"], given["until"], given["project"])
    check_people(hall, visitor, store, [one for one in BY_PEOPLE if given[f"by_{one}"]])
    check_people(hall, visitor, store, [SIGN.split(given[name])[0] for name in ("side", "beside")])
    meant = SessionsWanted(
        selection=selection, zone=pick_zone(hall.settings.config), given=wanted, side=read_sides(hall, given)
    )
    lookout = Lookout(hall.reports, visitor.tenant, store, meant)
    try:
        shown = (
            sort_found(lookout, wanted, read_number(given["page"]) or 1)
            if given["sort"] in SORTS
            else page_found(lookout, wanted, given["cursor"], store)
        )
    except BadInput:
        raise Refusal(400, "close the double quote in the search, or leave it out") from None
    context = build_context(hall, visitor)
    return answer_page(request, store, render_sessions(shown, wanted, context), context)


def page_found(lookout: Lookout, wanted: Mapping[str, str], cursor: str, store: Store) -> SessionsShown:
    """A page of the list as it stands, the newest first."""
    about, secret = msgspec.json.encode(["page", wanted]).decode(), store.keys.load_secret()
    after = open_cursor(secret, about, cursor) if cursor else ()
    found = lookout.look(after, ROWS)
    onward = to_sessions(**wanted, cursor=seal_cursor(secret, about, found.after)) if found.after else ""
    return SessionsShown(
        sessions=found.sessions, next=onward, is_first=not after, looked=found.looked, is_cut=found.is_cut
    )


def sort_found(lookout: Lookout, wanted: Mapping[str, str], page: int) -> SessionsShown:
    """A page of the newest sessions in another order: a database that knows nothing of it would read all of them."""
    found = lookout.look((), MOST_SORTED)
    ordered = sort_sessions(found.sessions, wanted["sort"])
    first = (page - 1) * ROWS
    onward = to_sessions(**wanted, page=str(page + 1)) if first + ROWS < len(ordered) else ""
    return SessionsShown(
        sessions=ordered[first : first + ROWS],
        next=onward,
        is_first=page == 1,
        looked=found.looked,
        is_cut=False,
        sorted=len(ordered) if found.after else 0,
    )


def read_sides(hall: Hall, given: Mapping[str, str]) -> Callable[[Session], bool] | None:
    """Which sessions stand on one side of a comparison and not on the other; `None` where none is named."""
    if not given["side"]:
        return None
    config = hall.settings.config
    now = pick_report_time(config).astimezone(pick_zone(config))
    try:
        takes = read_side(given["side"], now)
        other = read_side(given["beside"], now) if given["beside"] else None
    except BadInput as error:
        raise Refusal(400, str(error)) from None
    return lambda one: takes(one) and not (other and other(one))


HANDLERS: list[Any] = [show_sessions]
