"""Conversations into Langfuse as sessions, each trace once: what is there already is not sent again."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct

from assay.http import AccessDenied, RemoteError
from assay.langfuse.client import INGESTION, Client
from assay.langfuse.observations import fetch_observations
from assay.langfuse.push import Delivery
from assay.langfuse.spans import TraceUpload
from assay.langfuse.write import FIRST_LOOK_S, LONGEST_PAUSE_S
from assay.sources.langfuse.records import UPLOAD_DIGEST
from assay.stores import UPLOADED, WrittenRow
from assay.types import Document, Row

SPANS = "/api/public/otel/v1/traces"
MOST_BYTES = 2_000_000
NOT_SEEN = "the server took {}, but within {:g} s not all could be read back; run it again"
SCOPE = {"name": "assay"}


class UploadedSession(Row, frozen=True):
    """What became of one conversation."""

    session: str
    traces: int
    sent: int = 0
    """Traces that were sent and read back."""
    unchanged: int = 0
    """Traces that were there already."""
    would_send: int = 0
    why: str = ""
    """Why not all of it is there, or why nothing of it leaves."""
    is_fault: bool = False


class UploadReport(Document, frozen=True, kw_only=True, tag="langfuse_upload"):
    """`assay langfuse upload --json`: what became of all conversations."""

    host: str
    project: str
    sessions: list[UploadedSession]


class OpenUpload(Struct, kw_only=True):
    """A conversation on its way."""

    session: str
    traces: Sequence[TraceUpload]
    left: dict[str, TraceUpload]
    """Sent, and not seen there yet."""
    unchanged: int = 0
    sent: int = 0
    why: str = ""


def upload_sessions(delivery: Delivery, sessions: Iterable[tuple[str, Sequence[TraceUpload]]]) -> list[UploadedSession]:
    """Send what is not there yet, then look until it can be seen or the time is up."""
    delivery.client.http.headers["x-langfuse-ingestion-version"] = "4"
    found = [send_session(delivery, session, traces) for session, traces in sessions]
    if not delivery.dry_run:
        look_back(delivery, [one for one in found if one.left])
    return [conclude_upload(one, delivery) for one in found]


def send_session(delivery: Delivery, session: str, traces: Sequence[TraceUpload]) -> OpenUpload:
    """Send those traces of a conversation that are not there as they are now."""
    known = find_sent(delivery, session, traces)
    missing = [one for one in traces if known.get(one.id) != one.digest]
    open_ = OpenUpload(session=session, traces=traces, left={}, unchanged=len(traces) - len(missing))
    if delivery.dry_run:
        open_.left = {one.id: one for one in missing}
        return open_
    for portion in split_traces(missing):
        try:
            delivery.client.http.post(SPANS, build_request(portion), bucket=INGESTION)
        except AccessDenied:
            raise
        except RemoteError as error:
            open_.why = str(error)
            break
        open_.left |= {one.id: one for one in portion}
    return open_


def find_sent(delivery: Delivery, session: str, traces: Sequence[TraceUpload]) -> dict[str, str]:
    """Digests of traces that are there, by what this store remembers, else by what the server has."""
    rows = [one for one in delivery.store.written.list_rows(delivery.project, [session]) if one.family == UPLOADED]
    if rows and not delivery.recheck:
        return {one.id: one.digest for one in rows}
    found = fetch_digests(delivery.client, session)
    if not delivery.dry_run:
        for one in traces:
            if found.get(one.id) == one.digest:
                save_trace(delivery, session, one)
    return found


def fetch_digests(client: Client, session: str) -> dict[str, str]:
    """What the roots of a session's traces say of themselves; of one that was sent twice, all that was sent."""
    found: dict[str, str] = {}
    size: dict[str, int] = {}
    for one in fetch_observations(client, session):
        digest = one.metadata.get(UPLOAD_DIGEST)
        if isinstance(digest, str) and one.upload_size >= size.get(one.trace, 0):
            found[one.trace], size[one.trace] = digest, one.upload_size
    return found


def look_back(delivery: Delivery, sent: Sequence[OpenUpload]) -> None:
    """Look again and again until every trace is there."""
    clock, pause_s = delivery.client.http.clock, FIRST_LOOK_S
    ends, left = clock.now() + delivery.wait_s, list(sent)
    while left:
        clock.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        for one in left:
            note_seen(delivery, one)
        left = [one for one in left if one.left and not one.why]
        if clock.now() >= ends:
            return


def note_seen(delivery: Delivery, one: OpenUpload) -> None:
    """Remember the traces of a conversation that are there now."""
    try:
        digests = fetch_digests(delivery.client, one.session)
    except AccessDenied:
        raise
    except RemoteError as error:
        one.why = f"sent, but not read back: {error}"
        return
    for trace in [trace for trace in one.left.values() if digests.get(trace.id) == trace.digest]:
        save_trace(delivery, one.session, trace)
        one.left.pop(trace.id)
        one.sent += 1


def save_trace(delivery: Delivery, session: str, trace: TraceUpload) -> None:
    row = WrittenRow(id=trace.id, digest=trace.digest, session=session, name="trace", family=UPLOADED)
    delivery.store.written.save_row(delivery.project, row, delivery.now().isoformat(timespec="seconds"))


def conclude_upload(one: OpenUpload, delivery: Delivery) -> UploadedSession:
    """What became of a conversation."""
    is_dry = delivery.dry_run
    why = one.why or ("" if is_dry or not one.left else NOT_SEEN.format(len(one.left), delivery.wait_s))
    return UploadedSession(
        session=one.session,
        traces=len(one.traces),
        sent=one.sent,
        unchanged=one.unchanged,
        would_send=len(one.left) if is_dry else 0,
        why=why,
        is_fault=bool(why),
    )


def split_traces(traces: Iterable[TraceUpload]) -> Iterator[list[TraceUpload]]:
    """Traces in portions that a server takes at once; one that is larger goes alone."""
    portion: list[TraceUpload] = []
    size = 0
    for one in traces:
        bytes_ = len(msgspec.json.encode(one.spans))
        if portion and size + bytes_ > MOST_BYTES:
            yield portion
            portion, size = [], 0
        portion.append(one)
        size += bytes_
    if portion:
        yield portion


def build_request(traces: Iterable[TraceUpload]) -> dict[str, object]:
    """The spans of some traces as OTLP has them."""
    service = {"key": "service.name", "value": {"stringValue": "assay"}}
    spans = [span for one in traces for span in one.spans]
    return {
        "resourceSpans": [{"resource": {"attributes": [service]}, "scopeSpans": [{"scope": SCOPE, "spans": spans}]}]
    }
