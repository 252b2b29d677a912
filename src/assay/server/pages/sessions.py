"""`/sessions`: the list, narrowed and searched."""

from typing import Any

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency

from assay.config import pick_zone
from assay.errors import BadInput
from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.api.reports import build_selection
from assay.server.hall import Hall
from assay.server.looking import Lookout, SessionsWanted
from assay.server.pages.answers import answer_page, build_context, read_given
from assay.server.people import BY_PEOPLE, check_people
from assay.server.replies import Refusal
from assay.server.seals import open_cursor, seal_cursor
from assay.server.threads import run_in_thread
from assay.web.links import to_sessions
from assay.web.pages.sessions import CHOICES, NAMES, SessionsShown, render_sessions

ROWS = 50
GIVEN = (*(one.name for one in CHOICES), *NAMES)


@get("/sessions", include_in_schema=False)
@run_in_thread
def show_sessions(request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> Response[Any]:
    """List the sessions that the address means, the newest first."""
    store = hall.open_store(visitor)
    given = read_given(request, (*GIVEN, "cursor"))
    wanted = {name: given[name] for name in GIVEN if given[name]}
    about, secret = msgspec.json.encode(["page", wanted]).decode(), store.keys.load_secret()
    selection = build_selection(hall, given["since"], given["until"], given["project"])
    check_people(hall, visitor, store, [one for one in BY_PEOPLE if given[f"by_{one}"]])
    meant = SessionsWanted(selection=selection, zone=pick_zone(hall.settings.config), given=wanted)
    after = open_cursor(secret, about, given["cursor"]) if given["cursor"] else ()
    try:
        found = Lookout(hall.reports, visitor.tenant, store, meant).look(after, ROWS)
    except BadInput:
        raise Refusal(400, "close the double quote in the search, or leave it out") from None
    onward = to_sessions(**wanted, cursor=seal_cursor(secret, about, found.after)) if found.after else ""
    shown = SessionsShown(
        sessions=found.sessions, next=onward, is_first=not after, looked=found.looked, is_cut=found.is_cut
    )
    context = build_context(hall, visitor)
    return answer_page(request, store, render_sessions(shown, wanted, context), context)


HANDLERS: list[Any] = [show_sessions]
