"""`/api/v1/marks`, `audit` and words: a person's word on sessions, and what they want deleted."""

from typing import Annotated, Any, Literal

from litestar import Response, delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from assay.pipeline.audit import begin_draw, save_answer, withdraw_answer
from assay.pipeline.corrections import save_mark, take_back_mark
from assay.pipeline.scoring_run import Selection
from assay.pipeline.shipped import forget_shipped
from assay.pipeline.store_care import forget_streams
from assay.reports.json import SessionsView
from assay.server.access import Visitor
from assay.server.api.answers import ERRORS, READS, TAGGED, AnyRequest, answer, answer_change
from assay.server.documents import AuditProgress, ForgottenWords, MarkedSession
from assay.server.hall import Hall
from assay.server.keys import format_now
from assay.server.people import hide_people
from assay.server.replies import Refusal
from assay.server.threads import run_in_thread
from assay.stores import Store
from assay.types import Deed, DeedKind


class MarkRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a session ended."""

    verdict: Literal["landed", "not", "exclude"]
    why: Annotated[str, Meta(max_length=500)] = ""


class DrawRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many sessions are to be looked at."""

    wanted: Annotated[int, Meta(ge=1, le=100_000)]


class AuditAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person says of a session that was drawn."""

    session: Annotated[str, Meta(max_length=64)]
    verdict: Literal["landed", "not", "unclear"]


@get("/api/v1/marks", responses=READS, response_headers=TAGGED)
@run_in_thread
def list_marks(
    request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[SessionsView]:
    """List the sessions of which somebody said how they ended."""
    store = hall.open_store(visitor)
    found = hide_people(hall, visitor, store, hall.reports.list_marked(visitor.tenant, store))
    return answer(request, store, SessionsView(sessions=found, ledger=()))


@put("/api/v1/sessions/{session:str}/mark", responses=ERRORS)
@run_in_thread
def mark_session(
    session: FromPath[str], data: JSONBody[MarkRequest], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[MarkedSession]:
    """Say how a session ended; it wins over every judge."""
    store = hall.open_store(visitor)
    found = hall.reports.find_session(visitor.tenant, store, session)
    save_mark(store, found, data.verdict, data.why, format_now())
    return tell_marked(hall, visitor, store, session)


@delete("/api/v1/sessions/{session:str}/mark", status_code=200, responses=ERRORS)
@run_in_thread
def withdraw_mark(
    session: FromPath[str], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[MarkedSession]:
    """Take back what was said of how a session ended."""
    store = hall.open_store(visitor)
    take_back_mark(store, hall.reports.find_session(visitor.tenant, store, session), format_now())
    return tell_marked(hall, visitor, store, session)


def tell_marked(hall: Hall, visitor: Visitor, store: Store, session: str) -> Response[MarkedSession]:
    """Write down that a session was marked, and tell it anew."""
    note(hall, visitor, store, "session_marked", session)
    after = hall.reports.find_told(visitor.tenant, store, session)
    return answer_change(MarkedSession(session=hide_people(hall, visitor, store, [after])[0]))


@delete("/api/v1/sessions/{session:str}/words", status_code=200, responses=ERRORS)
@run_in_thread
def delete_words(
    session: FromPath[str], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[ForgottenWords]:
    """Delete every word of the conversations that a session stands in, for good; facts in numbers stay."""
    store = hall.open_store(visitor)
    found = hall.reports.find_session(visitor.tenant, store, session)
    with hall.reports.take_place():
        streams = store.transcripts.list_stream_files({(found.agent, one) for one in found.streams})
        gone = forget_streams(store, streams)
        gone += forget_shipped(store, store.shipped.find_relatives([(found.agent, found.id)]))
    if gone:
        note(hall, visitor, store, "words_deleted", session, gone)
    return answer_change(ForgottenWords(session=session, conversations=gone))


# --- audits -------------------------------------------------------------------------------------


@get("/api/v1/audit", responses=READS, response_headers=TAGGED)
@run_in_thread
def tell_audit(
    request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[AuditProgress]:
    """Tell how far the audit is, and what to ask about next."""
    store = hall.open_store(visitor)
    return answer(request, store, read_progress(hall, visitor, store))


@post("/api/v1/audit", status_code=200, responses=ERRORS)
@run_in_thread
def draw_audit(
    data: JSONBody[DrawRequest], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[AuditProgress]:
    """Draw sessions at random, to be asked about."""
    store = hall.open_store(visitor)
    begin_draw(store, data.wanted)
    return answer_change(read_progress(hall, visitor, store))


@post("/api/v1/audit/answers", status_code=200, responses=ERRORS)
@run_in_thread
def answer_audit(
    data: JSONBody[AuditAnswer], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[AuditProgress]:
    """Say whether a session that was drawn landed."""
    store = hall.open_store(visitor)
    found = hall.reports.find_session(visitor.tenant, store, data.session)
    queue = hall.reports.read_queue(visitor.tenant, store)
    if found.id not in {*queue.waiting, *(one.id for one in queue.answered)}:
        raise Refusal(400, "this session was not drawn; `waiting` of GET /api/v1/audit has those that are asked about")
    save_answer(store, found, data.verdict, format_now())
    note(hall, visitor, store, "audit_answered", data.session)
    return answer_change(read_progress(hall, visitor, store))


@delete("/api/v1/audit/answers/{session:str}", status_code=200, responses=ERRORS)
@run_in_thread
def withdraw_audit(
    session: FromPath[str], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[AuditProgress]:
    """Take an answer back; the session is asked about again."""
    store = hall.open_store(visitor)
    found = hall.reports.find_session(visitor.tenant, store, session)
    if found.id not in {one.id for one in hall.reports.read_queue(visitor.tenant, store).answered}:
        raise Refusal(400, "nobody answered about this session in an audit; there is nothing to take back")
    withdraw_answer(store, found, format_now())
    note(hall, visitor, store, "audit_answered", session)
    return answer_change(read_progress(hall, visitor, store))


def read_progress(hall: Hall, visitor: Visitor, store: Store) -> AuditProgress:
    """How far the audit of a tenant's sessions is."""
    report = hall.reports.read_report(visitor.tenant, store, Selection())
    queue = hall.reports.read_queue(visitor.tenant, store)
    return AuditProgress(
        wanted=queue.wanted,
        audit=report.audit,
        corrected=report.score.corrected,
        predicted=report.score.predicted,
        waiting=[*queue.waiting],
    )


def note(hall: Hall, visitor: Visitor, store: Store, kind: DeedKind, about: str, count: int = 1) -> None:
    """Write down what was done, and tell what is asked next anew."""
    store.keys.save_deed(Deed(at=format_now(), who=visitor.name, kind=kind, about=about[:64], count=count))
    hall.reports.forget(visitor.tenant)


HANDLERS: list[Any] = [
    list_marks, mark_session, withdraw_mark, delete_words, tell_audit, draw_audit, answer_audit, withdraw_audit,
]  # fmt: skip
