"""Telemetry comes in over HTTP: checked, bounded, answered in its own encoding, and on the disk before it is."""

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)

from assay.config import Config, Tenant
from assay.errors import StoreError
from assay.server.keys import hash_token
from assay.server.limits import RateLimit, unpack_body
from assay.server.replies import Refusal, encode_varint
from assay.stores import open_store, to_tenant_url
from tests.server.serving import ELSEWHERE, JSON, PROTOBUF, Asked, add_key, build_logs, place_store, serve, tighten


@pytest.fixture
def url(tmp_path: Path) -> str:
    return place_store(tmp_path)


@pytest.fixture
def asked(url: str) -> Iterator[Asked]:
    with serve(url) as found:
        yield found


def count(url: str, tenant: str = "own") -> int:
    """How many records a tenant's store has."""
    with closing(open_store(to_tenant_url(url, tenant))) as store:
        return sum(one.records for one in store.telemetry.list_conversations())


def pack_logs(body: dict[str, Any]) -> bytes:
    message = json_format.ParseDict(body, ExportLogsServiceRequest())
    return bytes(message.SerializeToString())


def test_what_is_acknowledged_is_in_the_store(asked: Asked, url: str):
    reply = asked.send(build_logs("user_prompt", "api_request"))
    assert (reply.status_code, reply.json()) == (200, {})
    assert count(url) == 2


def test_json_and_protobuf_packed_or_not_are_the_same_records(asked: Asked, url: str):
    body = build_logs("user_prompt", "api_request")
    packed = pack_logs(body)
    replies = [
        asked.send(body),
        asked.send(body, content_encoding="gzip"),
        asked.ask("POST", "/v1/logs", content=packed, headers=PROTOBUF),
        asked.ask("POST", "/v1/logs", content=gzip.compress(packed), headers={**PROTOBUF, "content-encoding": "gzip"}),
    ]
    assert [one.status_code for one in replies] == [200] * 4
    assert replies[2].headers["content-type"] == "application/x-protobuf"
    assert replies[2].content == b""
    assert count(url) == 2


def test_what_is_of_no_use_is_told_in_the_encoding_of_the_request(asked: Asked, url: str):
    body = build_logs("user_prompt")
    body["resourceLogs"][0]["scopeLogs"][0]["logRecords"].append({"body": {"stringValue": "of nobody"}})
    told = asked.send(body).json()["partialSuccess"]
    assert told["rejectedLogRecords"] == "1"
    assert told["errorMessage"]
    reply = asked.ask("POST", "/v1/logs", content=pack_logs(body), headers=PROTOBUF)
    message = ExportLogsServiceResponse.FromString(reply.content)
    assert message.partial_success.rejected_log_records == 1
    assert message.partial_success.error_message == told["errorMessage"]
    assert count(url) == 1


@pytest.mark.parametrize("signal", ["logs", "metrics", "traces"])
def test_an_empty_request_is_taken(asked: Asked, signal: str):
    assert asked.send({}, signal=signal).status_code == 200


# --- what is refused ----------------------------------------------------------------------------

BOMB = gzip.compress(bytes(40 << 20))
DEEP = b'{"resourceLogs":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
DEEP_VALUE = (
    b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":' + b'{"arrayValue":{"values":[' * 5_000 + b"]}}" * 5_000
) + b"}]}]}]}"


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{", JSON, 400),
        (b"[]", JSON, 400),
        (b'"\xff"', JSON, 400),
        (DEEP, JSON, 400),
        (DEEP_VALUE, JSON, 400),
        (b"\xff" * 40, PROTOBUF, 400),
        (b"{}", {"content-type": "text/plain"}, 415),
        (b"{}", {}, 415),
        (b"{}", {**JSON, "content-encoding": "br"}, 415),
        (b"{}", {**JSON, "content-encoding": "gzip, gzip"}, 415),
        (b"no gzip", {**JSON, "content-encoding": "gzip"}, 400),
        (gzip.compress(b"{}" * 500)[:-9], {**JSON, "content-encoding": "gzip"}, 400),
        (BOMB, {**JSON, "content-encoding": "gzip"}, 413),
        (bytes(9 << 20), JSON, 413),
    ],
    ids=[
        "cut JSON", "a list", "no text", "deep JSON", "a deep value", "no protobuf", "plain text", "no type", "brotli",
        "packed twice", "no gzip", "cut gzip", "a zip bomb", "too large",
    ],
)  # fmt: skip
def test_what_can_not_be_used_is_refused_and_not_kept(
    asked: Asked, url: str, content: bytes, headers: dict[str, str], status: int
):
    reply = asked.ask("POST", "/v1/logs", content=content, headers=headers)
    assert reply.status_code == status
    assert count(url) == 0
    if headers.get("content-type") != PROTOBUF["content-type"]:
        assert set(reply.json()) == {"code", "message"}


def test_a_body_of_unknown_length_is_cut_off_at_the_limit(asked: Asked):
    def drip() -> Iterator[bytes]:
        for _ in range(20):
            yield bytes(1 << 20)

    assert asked.ask("POST", "/v1/logs", content=drip(), headers=JSON).status_code == 413


def test_a_bomb_within_a_bomb_makes_no_more_than_the_limit():
    many = gzip.compress(bytes(1 << 20)) * 64
    with pytest.raises(Refusal, match="unpacks to more"):
        unpack_body(many, "gzip", 8 << 20)
    assert unpack_body(gzip.compress(b"a") + gzip.compress(b"b"), "gzip", 2) == b"ab"


@given(st.binary(max_size=200), st.integers(0, 64))
def test_whatever_claims_to_be_gzip_is_unpacked_within_the_limit_or_refused(body: bytes, most: int):
    for packed in (body, gzip.compress(body), zlib.compress(body)):
        with suppress(Refusal):
            assert len(unpack_body(packed, "gzip", most)) <= most


@given(
    st.sampled_from(["logs", "metrics", "traces"]),
    st.one_of(st.binary(max_size=300), st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
            ["resourceLogs", "scopeLogs", "logRecords", "resourceSpans", "scopeSpans", "spans", "resourceMetrics",
             "scopeMetrics", "metrics", "attributes", "key", "value", "stringValue", "intValue", "body", "traceId",
             "timeUnixNano", "name", "events"]), inner, max_size=4), max_leaves=12,
    ).map(lambda one: json.dumps(one).encode())),
    st.sampled_from([JSON, PROTOBUF]),
)  # fmt: skip
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_sent_is_taken_or_refused_and_never_breaks_the_server(
    shared: Asked, signal: str, content: bytes, headers: dict[str, str]
):
    assert shared.ask("POST", f"/v1/{signal}", content=content, headers=headers).status_code in (200, 400)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    limits = tighten(key_rate=1e9, key_burst=1e9)
    with serve(place_store(tmp_path_factory.mktemp("shared")), limits=limits) as found:
        yield found


@given(st.integers(0, 2**63 - 1))
def test_numbers_are_written_as_protobuf_has_them(number: int):
    wanted = ExportLogsServiceResponse()
    wanted.partial_success.rejected_log_records = number
    packed = wanted.partial_success.SerializeToString()
    assert packed == (b"\x08" + encode_varint(number) if number else b"")


# --- overload and outage ------------------------------------------------------------------------


def hold_writer(asked: Asked, until: "Callable[[], None]") -> None:
    """Have the store wait before it saves anything."""
    store = asked.server.hall.stores.find("")
    assert store
    save = store.telemetry.save_records
    store.telemetry.save_records = lambda records: (until(), save(records))[1]  # type: ignore[method-assign]


def test_a_store_that_can_not_keep_up_gives_503_and_when_to_try_again(url: str):
    from threading import Event, Thread

    slow, entered = Event(), Event()
    with serve(url, limits=tighten(waiting_records=3)) as asked:
        asked.send({})

        def wait() -> None:
            entered.set()
            slow.wait(10)

        hold_writer(asked, wait)
        first: list[Any] = []
        thread = Thread(target=lambda: first.append(asked.send(build_logs("a", "b"))))
        thread.start()
        assert entered.wait(10)
        refused = asked.send(build_logs("c", "d"))
        slow.set()
        thread.join()
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) >= 1
        assert first[0].status_code == 200
        assert asked.send(build_logs("c", "d")).status_code == 200
    assert count(url) == 4


def test_what_the_store_did_not_keep_is_not_acknowledged(asked: Asked):
    def fail() -> None:
        raise StoreError("the disk /secret/place is full")

    asked.send({})
    hold_writer(asked, fail)
    reply = asked.send(build_logs("a"))
    assert reply.status_code == 503
    assert "retry-after" in reply.headers
    assert "/secret" not in reply.text


def test_a_bug_in_the_store_acknowledges_nothing_and_the_next_request_is_served(asked: Asked, url: str):
    broken = [True]

    def fail_once() -> None:
        if broken.pop():
            broken.append(False)
            raise RuntimeError("/secret/place")

    asked.send({})
    hold_writer(asked, fail_once)
    reply = asked.send(build_logs("a"))
    assert reply.status_code >= 500
    assert "/secret" not in reply.text
    assert asked.send(build_logs("a")).status_code == 200
    assert count(url) == 1


def test_too_much_in_memory_at_once_is_refused(url: str):
    with serve(url, limits=tighten(held_bytes=100)) as asked:
        assert asked.send(build_logs("a")).status_code == 503
        assert asked.server.hall.receiver.bytes.held == 0


def test_many_at_once_become_few_transactions(asked: Asked, url: str):
    asked.send({})
    store = asked.server.hall.stores.find("")
    assert store
    times, save = [], store.telemetry.save_records
    store.telemetry.save_records = lambda records: (times.append(len(records)), save(records))[1]  # type: ignore
    receiver = asked.server.hall.receiver

    async def send_many() -> None:
        batches = [receiver.writer.save("", store, decode(build_logs("a", session=f"s-{n}"))) for n in range(50)]
        await asyncio.gather(*batches)

    asked.client.portal_call(send_many) if hasattr(asked.client, "portal_call") else asyncio.run(send_many())
    assert sum(times) == 50
    assert len(times) < 10
    assert count(url) == 50


def decode(body: dict[str, Any]) -> Any:
    from assay.telemetry.otlp import decode_body

    return decode_body("logs", "application/json", json.dumps(body).encode()).records


# --- whose it is --------------------------------------------------------------------------------


def test_what_comes_with_a_key_lies_in_its_tenants_store_alone(url: str):
    mill, loom = add_key(url, "mill"), add_key(url, "loom")
    with serve(url, address=ELSEWHERE, host="0.0.0.0") as asked:
        assert asked.send(build_logs("a", "b"), mill).status_code == 200
        assert asked.send(build_logs("a"), loom).status_code == 200
        assert asked.send(build_logs("a")).status_code == 401
    assert (count(url, "mill"), count(url, "loom"), count(url, "own")) == (2, 1, 0)


OUT = {
    "the whole tenant": ({"mill": Tenant(opt_out=True)}, 403, 0),
    "one of its services": ({"x": Tenant(attributes={"service.name": "claude-code"}, opt_out=True)}, 200, 0),
    "a folder": ({"x": Tenant(projects=("/work/secret",), opt_out=True)}, 200, 0),
    "another folder": ({"x": Tenant(projects=("/work/open",), opt_out=True)}, 200, 2),
    "what is too old": ({"mill": Tenant(retention_days=1)}, 200, 0),
    "what is young enough": ({"mill": Tenant(retention_days=36_500)}, 200, 2),
    "nobody": ({}, 200, 2),
}


@pytest.mark.parametrize("name", OUT)
def test_what_may_not_be_kept_is_dropped_before_it_is_stored_and_counted(url: str, name: str):
    tenants, status, kept = OUT[name]
    key = add_key(url, "mill")
    with serve(url, config=Config(tenants=tenants)) as asked:
        reply = asked.send(build_logs("a", "b", cwd="/work/secret/deep"), key)
        assert reply.status_code == status
        figures = asked.server.hall.figures.render()
        if status == 200 and not kept:
            assert reply.json()["partialSuccess"]["rejectedLogRecords"] == "2"
            assert 'outcome="withheld",signal="logs"} 2' in figures
    assert count(url, "mill") == kept


def test_a_tenant_is_known_by_the_hash_of_its_key(url: str):
    mill, other = add_key(url, "mill"), add_key(url, "mill")
    tenants = {"x": Tenant(keys=(hash_token(mill),), opt_out=True)}
    with serve(url, config=Config(tenants=tenants)) as asked:
        assert "partialSuccess" in asked.send(build_logs("a"), mill).json()
        assert asked.send(build_logs("a"), other).json() == {}
    assert count(url, "mill") == 1


# --- rates --------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 5), min_size=1, max_size=60), st.floats(0.1, 5), st.integers(1, 10))
def test_nobody_gets_more_than_their_rate_whatever_the_times(waits: list[float], rate: float, burst: int):
    now = [0.0]
    limit = RateLimit(rate, burst, lambda: now[0])
    taken = 0
    for wait in waits:
        now[0] += wait
        taken += limit.take("ada") == 0
    assert taken <= burst + now[0] * rate + 1


def test_a_key_over_its_rate_is_told_when_to_come_again_and_others_are_served(url: str):
    ada, bob = add_key(url), add_key(url)
    with serve(url, limits=tighten(key_rate=0.1, key_burst=2)) as asked:
        assert [asked.send({}, ada).status_code for _ in range(3)] == [200, 200, 429]
        assert int(asked.send({}, ada).headers["retry-after"]) >= 1
        assert asked.send({}, bob).status_code == 200


# --- from the agent to the score ----------------------------------------------------------------


def test_what_an_agent_sends_is_a_session_that_the_api_tells(url: str):
    with serve(url) as asked:
        assert asked.get("/api/v1/sessions").json()["sessions"] == []
        assert asked.send(build_logs("user_prompt", "api_request", "user_prompt", session="live-1")).status_code == 200
        [session] = asked.get("/api/v1/sessions").json()["sessions"]
        assert session["streams"] == ["live-1@claude-code"]
        assert session["facts"]["turns"] == 2
        asked.send(build_logs("user_prompt", session="live-1", at=1_790_000_100))
        assert asked.get("/api/v1/sessions").json()["sessions"][0]["facts"]["turns"] == 3
        told = asked.get(f"/api/v1/sessions/{session['id']}").json()
        assert told["turns"][0]["prompt"]["text"] == "weave 0"
        assert asked.ask("DELETE", f"/api/v1/sessions/{session['id']}/words").json()["conversations"] == 1
    with closing(open_store(url)) as store:
        [conversation] = store.telemetry.list_conversations()
        kept = store.telemetry.load_records(conversation.agent, conversation.id)
        assert b"weave" not in msgspec.json.encode(kept)
