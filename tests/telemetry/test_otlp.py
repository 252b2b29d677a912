"""Bodies of OTLP requests become records; whatever else comes is refused."""

import json
from collections.abc import Callable
from typing import Any, get_args

import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadInput
from assay.telemetry.otlp import TelemetryBatch, decode_body, load_request
from assay.types import Signal

JSON, PROTOBUF = "application/json", "application/x-protobuf"
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
AT = 1_794_724_929_213_000_000


def to_attributes(said: dict[str, Any]) -> list[dict[str, Any]]:
    kinds = {str: "stringValue", bool: "boolValue", int: "intValue", float: "doubleValue"}
    return [{"key": key, "value": {kinds[type(value)]: value}} for key, value in said.items()]


def make_logs(*records: dict[str, Any], service: str = "loom") -> dict[str, Any]:
    resource = {"attributes": to_attributes({"service.name": service})}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": {}, "logRecords": list(records)}]}]}


def make_log(name: str = "user_prompt", conversation: str = "c-1", **more: Any) -> dict[str, Any]:
    said = {"session.id": conversation, "event.name": name, "event.sequence": 4, "cost_usd": 0.5, "fast": True}
    return {"timeUnixNano": str(AT), "attributes": to_attributes(said), **more}


def make_traces(**more: Any) -> dict[str, Any]:
    span = {"traceId": TRACE, "spanId": SPAN, "name": "chat", "startTimeUnixNano": AT, "endTimeUnixNano": AT + 10**9}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span | more]}]}]}


def make_metrics(point: dict[str, Any], temporality: Any = 1) -> dict[str, Any]:
    point = {"timeUnixNano": AT, "attributes": to_attributes({"session.id": "c-1"})} | point
    told = {"name": "token.usage", "sum": {"aggregationTemporality": temporality, "dataPoints": [point]}}
    return {"resourceMetrics": [{"scopeMetrics": [{"metrics": [told]}]}]}


def decode(signal: Signal, message: Any) -> TelemetryBatch:
    return decode_body(signal, JSON, json.dumps(message).encode())


def encode_protobuf(signal: Signal, message: Any) -> bytes:
    request, _ = load_request(signal)
    return bytes(ParseDict(message, request()).SerializeToString())


def test_a_log_event_is_a_record_of_its_conversation():
    (record,) = decode("logs", make_logs(make_log(traceId=TRACE, spanId=SPAN))).records
    assert (record.agent, record.conversation, record.name) == ("loom", "c-1", "user_prompt")
    assert (record.at, record.order, record.sequence) == ("2026-11-15T06:42:09.213Z", AT, 4)
    assert (record.trace, record.span, len(record.id)) == (TRACE, SPAN, 32)
    assert record.attributes["cost_usd"] == 0.5
    assert record.attributes["fast"] is True


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param({"timeUnixNano": AT}, {"timeUnixNano": str(AT)}, id="times"),
        pytest.param({"traceId": TRACE}, {"traceId": "CvdlGRbNQ92ESOshHIAxnA=="}, id="ids in hexadecimal and base64"),
        pytest.param({"traceId": TRACE}, {"traceId": TRACE.upper()}, id="ids in capitals"),
        pytest.param({"traceId": ""}, {"traceId": "0" * 32}, id="no id"),
        pytest.param({}, {"body": None, "spanId": None, "unknown": [{"deep": 1}]}, id="null and unknown fields"),
        pytest.param(
            {"attributes": [*make_log()["attributes"], {"key": "n", "value": {"intValue": 7}}]},
            {"attributes": [*make_log()["attributes"], {"key": "n", "value": {"intValue": "7"}}]},
            id="whole numbers",
        ),
        pytest.param(
            {"attributes": [*make_log()["attributes"], {"key": "n", "value": {"doubleValue": 7}}]},
            {"attributes": [*make_log()["attributes"], {"key": "n", "value": {"doubleValue": 7.0}}]},
            id="numbers",
        ),
    ],
)
def test_both_ways_to_write_a_thing_are_the_same(one: dict[str, Any], other: dict[str, Any]):
    assert decode("logs", make_logs(make_log() | one)) == decode("logs", make_logs(make_log() | other))


@pytest.mark.parametrize(
    ("signal", "message"),
    [
        ("logs", make_logs(make_log(), make_log("api_request", body={"stringValue": "loom.api_request"}))),
        ("traces", make_traces(traceId="CvdlGRbNQ92ESOshHIAxnA==", spanId="t61rcWkgMzE=", status={"code": 2})),
        ("metrics", make_metrics({"asInt": "5"})),
        ("metrics", make_metrics({"asDouble": 0.25}, temporality=2)),
    ],
)
def test_protobuf_and_json_of_the_same_are_equal(signal: Signal, message: Any):
    found = decode_body(signal, PROTOBUF, encode_protobuf(signal, message))
    assert found == decode(signal, message)
    assert found.records


def test_a_record_that_is_sent_again_has_the_same_id_and_another_has_another():
    ids = {
        decode("logs", make_logs(log)).records[0].id
        for log in (make_log(), make_log(), make_log("other"), make_log(timeUnixNano=AT + 1), make_log("x", "c-2"))
    }
    assert len(ids) == 4
    assert len(decode("logs", make_logs(make_log(), make_log())).records) == 1


def test_a_span_tells_its_length_its_events_and_how_it_ended():
    event = {"name": "tool.output", "timeUnixNano": AT, "attributes": to_attributes({"output": "ok"})}
    status = {"code": "STATUS_CODE_ERROR", "message": "not found"}
    (record,) = decode("traces", make_traces(parentSpanId=SPAN, events=[event], status=status)).records
    assert (record.conversation, record.trace, record.parent) == ("", TRACE, SPAN)
    assert record.ended_at == "2026-11-15T06:42:10.213Z"
    assert (record.has_failed, record.said) == (True, "not found")
    assert (record.events[0].name, record.events[0].attributes) == ("tool.output", {"output": "ok"})


@pytest.mark.parametrize(
    ("point", "value"), [({"asInt": "5"}, 5), ({"asInt": 5}, 5), ({"asDouble": 0.5}, 0.5), ({"asDouble": "1e3"}, 1000)]
)
def test_a_number_of_a_metric_is_a_record(point: dict[str, Any], value: float):
    (record,) = decode("metrics", make_metrics(point)).records
    assert (record.name, record.value, record.is_delta) == ("token.usage", value, True)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        pytest.param({"timeUnixNano": AT}, "names no conversation", id="no conversation"),
        pytest.param(make_log(timeUnixNano="soon"), "no time", id="a time that is none"),
        pytest.param(make_log(timeUnixNano=-1), "no time", id="a time before all times"),
        pytest.param(make_log(conversation="c" * 301), "too long", id="an endless id"),
        pytest.param(make_log(body={"stringValue": "x" * (5 << 20)}), "larger than", id="a huge record"),
    ],
)
def test_what_is_of_no_use_is_counted_with_its_reason(record: dict[str, Any], why: str):
    found = decode("logs", make_logs(record, make_log()))
    assert (len(found.records), found.rejected) == (1, 1)
    assert found.why.startswith("1 record: ")
    assert why in found.why


def nest(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"stringValue": "x"}
    for _ in range(depth):
        value = {"arrayValue": {"values": [value]}}
    return value


@pytest.mark.parametrize(
    ("media", "body"),
    [
        pytest.param(JSON, b"", id="nothing"),
        pytest.param(JSON, b"[]", id="a list"),
        pytest.param(JSON, b'{"resourceLogs": 5}', id="a number in place of a list"),
        pytest.param(JSON, b"\xff\xfe", id="no text"),
        pytest.param(JSON, b'{"resourceLogs":' + b"[" * 200_000, id="endless brackets"),
        pytest.param(JSON, json.dumps(make_logs(make_log(body=nest(60)))).encode(), id="a value nested deeply"),
        pytest.param(PROTOBUF, b"\xff\xff\xff", id="no protobuf"),
        pytest.param("text/plain", b"{}", id="another media type"),
        pytest.param("", b"{}", id="no media type"),
    ],
)
def test_a_body_that_is_no_such_message_is_refused_in_a_line(media: str, body: bytes):
    with pytest.raises(BadInput) as refused:
        decode_body("logs", media, body)
    assert len(str(refused.value)) <= 300
    assert "\n" not in str(refused.value)


def test_a_media_type_may_have_more_to_say():
    body = json.dumps(make_logs(make_log())).encode()
    assert decode_body("logs", "Application/JSON; charset=utf-8", body).records


def test_an_empty_message_holds_nothing():
    assert decode_body("logs", PROTOBUF, b"") == decode_body("traces", JSON, b"{}") == TelemetryBatch()


SIGNALS = st.sampled_from(get_args(Signal))
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(TRACE) | st.just(AT)
NAMES = """resourceLogs scopeLogs logRecords resourceSpans scopeSpans spans resourceMetrics scopeMetrics metrics sum
    gauge dataPoints resource scope attributes key value stringValue intValue doubleValue arrayValue kvlistValue values
    bytesValue timeUnixNano startTimeUnixNano endTimeUnixNano traceId spanId name body events status code asInt
    asDouble aggregationTemporality""".split()
WILD = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)


def decode_quietly(decoding: Callable[[], TelemetryBatch]) -> TelemetryBatch:
    try:
        return decoding()
    except BadInput:
        return TelemetryBatch()


@given(SIGNALS, st.sampled_from([JSON, PROTOBUF]), st.binary(max_size=200))
def test_wild_bytes_never_crash(signal: Signal, media: str, body: bytes):
    decode_quietly(lambda: decode_body(signal, media, body))


@given(SIGNALS, st.dictionaries(st.sampled_from(NAMES), WILD, max_size=4))
def test_wild_json_never_crashes(signal: Signal, message: Any):
    decode_quietly(lambda: decode(signal, message))


@given(st.dictionaries(st.sampled_from(NAMES), WILD, max_size=6))
def test_a_wild_record_never_crashes_and_takes_no_other_with_it(record: Any):
    found = decode_quietly(lambda: decode("logs", make_logs(make_log("fine"), record)))
    assert not found.records or "fine" in {one.name for one in found.records}


@given(SIGNALS, st.binary(max_size=3), st.integers(0, 10_000))
def test_protobuf_with_other_bytes_in_it_never_crashes(signal: Signal, other: bytes, where: int):
    messages = {"logs": make_logs(make_log()), "traces": make_traces(), "metrics": make_metrics({"asInt": 1})}
    body = encode_protobuf(signal, messages[signal])
    at = where % len(body)
    decode_quietly(lambda: decode_body(signal, PROTOBUF, body[:at] + other + body[at + len(other) :]))
