"""The body of an OTLP request to records: logs, metrics and traces, in protobuf or JSON."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import blake2b
from importlib import import_module
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.errors import BadInput
from assay.telemetry.messages import JsonLogs, JsonMetrics, JsonTraces
from assay.telemetry.values import to_attributes, to_float, to_id, to_integer, to_nanoseconds, to_time, to_value
from assay.types.telemetry import CLAUDE_CODE, CODEX, Signal, SpanEvent, TelemetryRecord
from assay.types.value import to_text

PROTOBUF, JSON = "application/x-protobuf", "application/json"
LARGEST = 4 << 20
"""Bytes of one record; agents cut what they send far below."""
MOST_GROWN = 8
"""Times that a body can grow when it is written as JSON: a control character takes six."""
LONGEST_NAME = 300
CONVERSATION = ("session.id", "conversation.id", "gen_ai.conversation.id")
ERROR = (2, "2", "STATUS_CODE_ERROR")
DELTA = (1, "1", "AGGREGATION_TEMPORALITY_DELTA")
SCOPES = {"com.anthropic.claude_code": CLAUDE_CODE, "codex": CODEX}
"""Beginnings of the names of scopes that only these agents have; a service can be called anything."""
REQUESTS = {
    "logs": ("logs.v1.logs_service_pb2", "ExportLogsServiceRequest"),
    "metrics": ("metrics.v1.metrics_service_pb2", "ExportMetricsServiceRequest"),
    "traces": ("trace.v1.trace_service_pb2", "ExportTraceServiceRequest"),
}
ENCODE = msgspec.json.Encoder(order="deterministic").encode


class TelemetryBatch(Struct, frozen=True, kw_only=True):
    """What a request holds: the records that are to be kept, and how many are of no use."""

    records: tuple[TelemetryRecord, ...] = ()
    rejected: int = 0
    why: str = ""
    """Why some are of no use, for whoever sent them."""


class RecordPlace(NamedTuple):
    """Where a record stands in a request."""

    scope: str
    resource: dict[str, Any]
    told: str
    """The resource as text, for ids."""


class UselessRecord(Exception):
    """A record that nothing can be made of; the message says why."""


def decode_body(signal: Signal, media_type: str, body: bytes) -> TelemetryBatch:
    """The records of a request's body; raises `BadInput` for one that is no such message."""
    if signal not in REQUESTS:
        raise BadInput(f"no signal {signal!r}; there are logs, metrics and traces")
    kind = media_type.partition(";")[0].strip().lower()
    if kind == PROTOBUF:
        message = parse_protobuf(signal, body)
    elif kind == JSON:
        message = parse_json(signal, body)
    else:
        raise BadInput(f"{kind or 'no media type'}: send {PROTOBUF} or {JSON}")
    return collect_records(LISTS[signal](message), may_be_large=len(body) * MOST_GROWN > LARGEST)


def parse_json(signal: Signal, body: bytes) -> Any:
    """The message in a body of JSON."""
    try:
        return DECODERS[signal].decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"the body is no OTLP/JSON of {signal}: {error}"[:300]) from None
    except RecursionError:
        raise BadInput(f"the body is no OTLP/JSON of {signal}: nested too deeply") from None


def parse_protobuf(signal: Signal, body: bytes) -> Any:
    """The message in a body of protobuf."""
    request, error = load_request(signal)
    message = request()
    try:
        message.ParseFromString(body)
    except (error, RecursionError):
        raise BadInput(f"the body is no OTLP/protobuf of {signal}; check the path and the content type") from None
    return message


@cache
def load_request(signal: Signal) -> tuple[Any, type[Exception]]:
    """The class of a signal's requests, and what it raises; imported when the first one comes in."""
    module, name = REQUESTS[signal]
    try:
        found = getattr(import_module(f"opentelemetry.proto.collector.{module}"), name)
        return found, import_module("google.protobuf.message").DecodeError
    except ImportError:
        raise BadInput("OTLP in protobuf needs a package more: pip install 'assay[server]'") from None


def collect_records(builds: Iterable[Callable[[], TelemetryRecord]], *, may_be_large: bool) -> TelemetryBatch:
    """The records that can be used, each once, and why others can't."""
    found: dict[str, TelemetryRecord] = {}
    useless: Counter[str] = Counter()
    for build in builds:
        try:
            record = build()
            if may_be_large and len(ENCODE(record)) > LARGEST:
                raise UselessRecord(f"larger than {LARGEST >> 20} MB")
        except UselessRecord as error:
            useless[str(error)] += 1
        else:
            found[record.id] = record
    why = "; ".join(f"{n} {'record' if n == 1 else 'records'}: {reason}" for reason, n in sorted(useless.items()))
    return TelemetryBatch(records=tuple(found.values()), rejected=useless.total(), why=why)


# --- one function for each signal: what to build, record by record -----------------------------


def list_logs(message: Any) -> Iterator[Callable[[], TelemetryRecord]]:
    for group in message.resource_logs or ():
        resource = read_resource(group)
        for scoped in group.scope_logs or ():
            place = RecordPlace(read_scope(scoped), *resource)
            for one in scoped.log_records or ():
                yield lambda one=one, place=place: build_log(one, place)  # type: ignore[misc]


def list_spans(message: Any) -> Iterator[Callable[[], TelemetryRecord]]:
    for group in message.resource_spans or ():
        resource = read_resource(group)
        for scoped in group.scope_spans or ():
            place = RecordPlace(read_scope(scoped), *resource)
            for one in scoped.spans or ():
                yield lambda one=one, place=place: build_span(one, place)  # type: ignore[misc]


def list_points(message: Any) -> Iterator[Callable[[], TelemetryRecord]]:
    for group in message.resource_metrics or ():
        resource = read_resource(group)
        for scoped in group.scope_metrics or ():
            place = RecordPlace(read_scope(scoped), *resource)
            for metric in scoped.metrics or ():
                for counted, is_delta in ((metric.sum, True), (metric.gauge, False)):
                    points = (counted.data_points if counted is not None else None) or ()
                    delta = is_delta and bool(points) and counted.aggregation_temporality in DELTA
                    for one in points:
                        name = metric.name or ""
                        yield lambda one=one, n=name, d=delta, p=place: build_point(one, n, d, p)  # type: ignore[misc]


def read_resource(group: Any) -> tuple[dict[str, Any], str]:
    """The attributes of a resource, and the same as text."""
    found = to_attributes(group.resource.attributes if group.resource is not None else None)
    return found, ENCODE(found).decode()


def read_scope(scoped: Any) -> str:
    return (scoped.scope.name if scoped.scope is not None else None) or ""


def build_log(one: Any, place: RecordPlace) -> TelemetryRecord:
    """A log event; Codex gives only the time at which it was observed."""
    attributes = to_attributes(one.attributes)
    body = to_value(one.body)
    name = to_text(attributes.get("event.name")) or one.event_name or (body if isinstance(body, str) else "")
    at = to_nanoseconds(one.time_unix_nano) or to_nanoseconds(one.observed_time_unix_nano)
    sequence = to_integer(attributes.get("event.sequence"))
    trace, span = to_id(one.trace_id, 16), to_id(one.span_id, 8)
    record = begin_record("logs", name, at, attributes, place)
    return identify_record(
        replace(
            record,
            trace=trace,
            span=span,
            sequence=sequence if sequence is not None and 0 <= sequence < 1 << 60 else -1,
            body=None if isinstance(body, str) and body.endswith(name) else body,
        ),
        place,
    )


def build_span(one: Any, place: RecordPlace) -> TelemetryRecord:
    """A span with what happened in it."""
    trace, span = to_id(one.trace_id, 16), to_id(one.span_id, 8)
    if not trace or not span:
        raise UselessRecord("a span without an id")
    record = begin_record(
        "traces", one.name or "", to_nanoseconds(one.start_time_unix_nano), to_attributes(one.attributes), place
    )
    events = tuple(
        SpanEvent(
            name=event.name or "",
            at=to_time(to_nanoseconds(event.time_unix_nano)),
            attributes=to_attributes(event.attributes),
        )
        for event in one.events or ()
    )
    found = replace(
        record,
        id=hash_text(f"span/{trace}/{span}"),
        trace=trace,
        span=span,
        parent=to_id(one.parent_span_id, 8),
        ended_at=to_time(to_nanoseconds(one.end_time_unix_nano)),
        events=events,
        has_failed=one.status is not None and one.status.code in ERROR,
        said=(one.status.message if one.status is not None else None) or "",
    )
    return require_conversation(found)


def build_point(one: Any, name: str, is_delta: bool, place: RecordPlace) -> TelemetryRecord:
    """One number of a sum or gauge."""
    record = begin_record("metrics", name, to_nanoseconds(one.time_unix_nano), to_attributes(one.attributes), place)
    value = read_number(one)
    if value is None:
        raise UselessRecord("a metric without a number")
    return identify_record(replace(record, value=value, is_delta=is_delta), place)


def read_number(one: Any) -> float | None:
    """The number of a point, whichever type it has."""
    if isinstance(one, msgspec.Struct):
        whole = to_integer(one.as_int)  # type: ignore[attr-defined]
        return to_float(one.as_double if whole is None else whole)  # type: ignore[attr-defined]
    kind = one.WhichOneof("value")
    return to_float(getattr(one, kind)) if kind else None


def begin_record(signal: Signal, name: str, at: int, attributes: dict[str, Any], place: RecordPlace) -> TelemetryRecord:
    """What all kinds of records have in common."""
    if not at:
        raise UselessRecord("no time")
    found = (to_text(attributes.get(key)) or to_text(place.resource.get(key)) for key in CONVERSATION)
    return TelemetryRecord(
        id="",
        agent=find_agent(name, place),
        conversation=next((one for one in found if one), ""),
        signal=signal,
        name=name[:LONGEST_NAME],
        at=to_time(at),
        order=at,
        attributes=attributes,
        resource=place.resource,
    )


def find_agent(name: str, place: RecordPlace) -> str:
    """Who sent a record."""
    for beginning, agent in SCOPES.items():
        if place.scope.startswith(beginning) or name.startswith(f"{agent.replace('-', '_')}."):
            return agent
    return to_text(place.resource.get("service.name"))[:LONGEST_NAME] or "unknown"


def identify_record(record: TelemetryRecord, place: RecordPlace) -> TelemetryRecord:
    """The record with its id: all that it says, and who says it."""
    said = ENCODE([record.signal, record.name, record.order, record.trace, record.span, record.attributes, record.body])
    numbers = ENCODE([record.value, record.is_delta]).decode()
    found = replace(record, id=hash_text(f"{place.scope}\n{place.told}\n{said.decode()}\n{numbers}"))
    return require_conversation(found)


def require_conversation(record: TelemetryRecord) -> TelemetryRecord:
    """The record, where a conversation can be found for it."""
    if len(record.conversation) > LONGEST_NAME:
        raise UselessRecord("the id of its conversation is too long")
    if not record.conversation and not record.trace:
        raise UselessRecord("names no conversation (session.id, conversation.id or gen_ai.conversation.id)")
    return record


def hash_text(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


LISTS: dict[str, Callable[[Any], Iterator[Callable[[], TelemetryRecord]]]] = {
    "logs": list_logs,
    "metrics": list_points,
    "traces": list_spans,
}
DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    "logs": msgspec.json.Decoder(JsonLogs),
    "metrics": msgspec.json.Decoder(JsonMetrics),
    "traces": msgspec.json.Decoder(JsonTraces),
}
