"""`POST /sessions/ID/…`: what a person says of a session on its page; the same that `assay session` does."""

from typing import Any, Literal

from litestar import Response, post
from litestar.di import NamedDependency
from litestar.params import FromPath, URLEncodedBody
from msgspec import Struct

from assay.pipeline import corrections
from assay.server.access import Visitor
from assay.server.api.marks import note
from assay.server.hall import Hall
from assay.server.keys import format_now
from assay.server.pages.answers import go_to
from assay.server.threads import run_in_thread
from assay.types import DeedKind
from assay.web.links import to_session


class MarkForm(Struct, frozen=True, kw_only=True):
    verdict: Literal["landed", "not", "exclude"]
    why: str = ""


class TitleForm(Struct, frozen=True, kw_only=True):
    title: str = ""


class SplitForm(Struct, frozen=True, kw_only=True):
    turn: str


class MergeForm(Struct, frozen=True, kw_only=True):
    other: str


def finish(hall: Hall, visitor: Visitor, kind: DeedKind, about: str, shown: str) -> Response[Any]:
    """Write down what was done, and show what became of it."""
    note(hall, visitor, hall.open_store(visitor), kind, about)
    return go_to(to_session(shown))


@post("/sessions/{session:str}/mark", include_in_schema=False)
@run_in_thread
def mark(
    session: FromPath[str],
    data: URLEncodedBody[MarkForm],
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
) -> Response[Any]:
    """Say how a session ended."""
    store = hall.open_store(visitor)
    one = hall.reports.find_session(visitor.tenant, store, session)
    corrections.save_mark(store, one, data.verdict, data.why, format_now())
    return finish(hall, visitor, "session_marked", session, session)


@post("/sessions/{session:str}/unmark", include_in_schema=False)
@run_in_thread
def unmark(session: FromPath[str], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> Response[Any]:
    """Take back how a session ended."""
    store = hall.open_store(visitor)
    corrections.take_back_mark(store, hall.reports.find_session(visitor.tenant, store, session), format_now())
    return finish(hall, visitor, "session_marked", session, session)


@post("/sessions/{session:str}/rename", include_in_schema=False)
@run_in_thread
def rename(
    session: FromPath[str],
    data: URLEncodedBody[TitleForm],
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
) -> Response[Any]:
    """Give a session a title."""
    store = hall.open_store(visitor)
    one = hall.reports.find_session(visitor.tenant, store, session)
    corrections.save_title(store, one, data.title, format_now())
    return finish(hall, visitor, "session_corrected", session, session)


@post("/sessions/{session:str}/unname", include_in_schema=False)
@run_in_thread
def unname(session: FromPath[str], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> Response[Any]:
    """Take a title back."""
    store = hall.open_store(visitor)
    corrections.take_back_title(store, hall.reports.find_session(visitor.tenant, store, session), format_now())
    return finish(hall, visitor, "session_corrected", session, session)


@post("/sessions/{session:str}/split", include_in_schema=False)
@run_in_thread
def split(
    session: FromPath[str],
    data: URLEncodedBody[SplitForm],
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
) -> Response[Any]:
    """Let a new session begin with a turn; it is shown."""
    store, config = hall.open_store(visitor), hall.settings.config
    one = hall.reports.find_session(visitor.tenant, store, session)
    with hall.reports.take_place():
        _, new = corrections.split_session(store, config, one, data.turn, format_now())
    return finish(hall, visitor, "session_corrected", session, new.id)


@post("/sessions/{session:str}/merge", include_in_schema=False)
@run_in_thread
def merge(
    session: FromPath[str],
    data: URLEncodedBody[MergeForm],
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
) -> Response[Any]:
    """Let a session go on with another."""
    store = hall.open_store(visitor)
    one = hall.reports.find_session(visitor.tenant, store, session)
    other = hall.reports.find_begun(visitor.tenant, store, data.other.strip().lower())
    corrections.save_merge(store, one, other, format_now())
    note(hall, visitor, store, "session_corrected", session)
    return go_to(to_session(hall.reports.find_told(visitor.tenant, store, session).id))


HANDLERS: list[Any] = [mark, unmark, rename, unname, split, merge]
