"""`/sessions/ID`: one session, a page of its turns at a time."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from assay.pipeline.places import list_places
from assay.pipeline.quality import pick_quality_model
from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.api.reports import find_profile
from assay.server.hall import Hall
from assay.server.pages.answers import answer_page, build_context, go_to, read_given, read_number
from assay.server.qualities import judge_one
from assay.server.threads import run_in_thread
from assay.stores import Store, ToldChoice
from assay.types import LedgerLine, Session
from assay.types.quality import Quality
from assay.web.links import TURNS, to_session
from assay.web.pages.session import SessionShown, render_session

LINE = msgspec.json.Decoder(LedgerLine).decode
LONG, NOW = 1_500, "now"
"""Turns and calls from which on a session's page does not wait for them, and the word that says to wait."""


@get("/sessions/{session:str}", include_in_schema=False)
@run_in_thread
def show_session(
    request: AnyRequest,
    session: FromPath[str],
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
) -> Response[Any]:
    """Show one session; of one that was joined to another, the whole."""
    store = hall.open_store(visitor)
    given = read_given(request, ("page", "only", "quality", "turns"))
    page, only = read_number(given["page"]) or 1, read_number(given["only"])
    found = hall.reports.find_told(visitor.tenant, store, session)
    if found.id != session:
        return go_to(to_session(found.id))
    is_later = is_long(found) and given["turns"] != NOW and not hall.turns.has(visitor.tenant, store, found)
    with hall.reports.take_place():
        turns = () if is_later else hall.turns.read(visitor.tenant, store, found)
        total = found.facts.get("turns", 0) if is_later else len(turns)
        only = min(only, total)
        first = only or min((page - 1) * TURNS, max(0, total - 1) // TURNS * TURNS) + 1
        view = SessionShown(
            session=found,
            turns=turns[first - 1 : first if only else first - 1 + TURNS],
            first=first,
            total=total,
            places=list_places(store, hall.settings.config, found),
            ledger=list_lines(store, found),
            quality=read_quality(hall, store, found, given["quality"]) if given["quality"] else None,
            before=find_before(store, found),
            only=bool(only),
            later=to_turns(found.id, page, only) if is_later else "",
        )
    context = build_context(hall, visitor)
    return answer_page(request, store, render_session(view, context), context)


def is_long(session: Session) -> bool:
    """Whether reading what was said takes so long that the rest is shown without waiting for it."""
    return int(session.facts.get("turns", 0)) + int(session.facts.get("tool_calls", 0)) > LONG


def to_turns(id: str, page: int, only: int) -> str:
    """The same page with its turns, however long they take."""
    return f"{to_session(id)}?{urlencode({'page': page, 'turns': NOW} | ({'only': only} if only else {}))}"


def list_lines(store: Store, session: Session) -> list[LedgerLine]:
    """The lines of the ledger that are about a session, where they are kept."""
    choice = ToldChoice(names=((session.agent, session.id),))
    return [LINE(line) for line in store.told.list_ledger(choice, 0, 50)]


def find_before(store: Store, session: Session) -> str:
    """The session before this one in the stream that it begins in; empty for none."""
    told = store.told.find_in_stream((session.agent, session.streams[0])) if session.streams else []
    bodies = store.told.list_bodies(ToldChoice(names=tuple(told))) if len(told) > 1 else ()
    began: Sequence[tuple[str, str]] = [(one.started_at, one.id) for one in map(STARTED, bodies)]
    return max((one for one in began if one < (session.started_at, session.id)), default=("", ""))[1]


class Started(msgspec.Struct, frozen=True):
    """Of a kept session, when it began."""

    id: str
    started_at: str


STARTED = msgspec.json.Decoder(Started).decode


def read_quality(hall: Hall, store: Store, session: Session, profile: str) -> Quality | None:
    """How well a session was run, by what is known; of one that was shipped, that is told where it was."""
    if session.machine:
        return None
    return judge_one(store, pick_quality_model(hall.settings.config), find_profile(profile), session, is_named=True)


HANDLERS: list[Any] = [show_session]
