"""Rollouts that are damaged, cut short, continued elsewhere, or not rollouts at all."""

import copy
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.sources import codex
from assay.types import Event
from tests.tables import each_row

HERE = Path(__file__).parent / "codex"
FIXTURES = {path.stem: path.read_bytes().splitlines() for path in sorted(HERE.glob("*.jsonl"))}
DECODER = msgspec.json.Decoder(codex.Record)
PATIENT = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    st.just([]),
    st.just({}),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.sampled_from(["type", "text", "subagent", "Ok"]), st.text(max_size=5), max_size=2),
    st.sampled_from(
        ["[" * 3000, '{"output"', "\ud800", "Chunk ID: \nWall time: \n", "*** Begin Patch\n*** Add File: "]
    ),
    st.sampled_from(["tools.exec_command({cmd: " + "(" * 500, "tools.apply_patch(" + "`a` + " * 400, "x=[" * 400]),
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every key and index of a JSON value, with what holds it."""
    keys: list[Any] = (
        list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    )
    return [(value, one) for one in keys] + [place for one in keys for place in places(value[one])]


def records(lines: list[bytes]) -> list[codex.Record]:
    found = []
    for line in lines:
        try:
            found.append(DECODER.decode(line))
        except msgspec.DecodeError:
            continue
    return found


@PATIENT
@given(name=st.sampled_from(sorted(FIXTURES)), draws=st.data())
def test_no_mutation_of_a_record_breaks_the_reader(name: str, draws: st.DataObject) -> None:
    rows = [json.loads(line) for line in FIXTURES[name]]
    for _ in range(draws.draw(st.integers(1, 8))):
        holder, key = draws.draw(
            st.sampled_from(places(rows[draws.draw(st.integers(0, len(rows) - 1))]) or [({}, "x")])
        )
        if draws.draw(st.booleans()) and isinstance(holder, dict):
            holder.pop(key, None)
        else:
            holder[key] = copy.deepcopy(draws.draw(ODD))
    reader, events = codex.Reader(), list[Event]()
    for row in rows:
        try:
            record = msgspec.convert(row, codex.Record, strict=False)
        except (msgspec.ValidationError, UnicodeEncodeError):
            continue
        reader.take(record, events.append)
    # Half a surrogate pair gets in only through a lenient decoder, which has to replace it: it cannot be stored.
    if "\\ud800" not in json.dumps(rows):
        msgspec.msgpack.encode((reader, events))


@PATIENT
@given(name=st.sampled_from(sorted(FIXTURES)), draws=st.data())
def test_cut_and_shuffled_lines_never_raise(name: str, draws: st.DataObject) -> None:
    lines = draws.draw(st.permutations(FIXTURES[name]))
    at = draws.draw(st.integers(0, len(lines) - 1))
    lines[at] = lines[at][: draws.draw(st.integers(0, len(lines[at])))]
    reader = codex.Reader()
    for record in records(lines):
        reader.take(record, lambda event: None)


@PATIENT
@given(name=st.sampled_from(sorted(FIXTURES)), draws=st.data())
def test_reading_can_stop_anywhere_and_go_on_in_another_process(name: str, draws: st.DataObject) -> None:
    lines = FIXTURES[name]
    whole, parts = list[Event](), list[Event]()
    one, other = codex.Reader(), codex.Reader()
    cuts = draws.draw(st.sets(st.integers(0, len(lines)), max_size=5))
    for at, record in enumerate(records(lines)):
        one.take(record, whole.append)
        if at in cuts:
            other = msgspec.msgpack.decode(msgspec.msgpack.encode(other), type=codex.Reader)
        other.take(record, parts.append)
    assert parts == whole
    assert other == one


@each_row("name", sorted(FIXTURES))
def test_a_rollout_is_claimed_whole_or_cut(name: str) -> None:
    lines = FIXTURES[name]
    assert codex.claims(b"\n".join(lines)[: 64 * 1024])
    assert codex.claims(lines[0][:200])
    assert codex.claims(b'{"broken\n' + lines[1] + b"\n")


@pytest.mark.parametrize("keys", [("payload", "type", "timestamp"), ("ordinal", "payload", "timestamp", "type")])
def test_the_order_of_keys_does_not_matter(keys: tuple[str, ...]) -> None:
    record = {"timestamp": "t", "ordinal": 3, "type": "event_msg", "payload": {"type": "task_started"}}
    assert codex.claims(json.dumps({key: record[key] for key in keys}).encode())


def test_a_first_record_too_long_to_be_seen_whole_is_claimed_in_any_order() -> None:
    meta = {"id": "x", "cli_version": "0.166.0", "base_instructions": {"text": "long " * 50_000}}
    late = {"payload": meta, "timestamp": "t", "type": "session_meta"}
    hook = {"timestamp": "t", "payload": {"type": "event_msg", "text": "long " * 50_000}}
    assert codex.claims(json.dumps(late).encode()[: 64 * 1024])
    assert not codex.claims(json.dumps(hook).encode()[: 64 * 1024])


@each_row(
    "line",
    [
        {"type": "user", "message": {"role": "user", "content": "hi"}, "timestamp": "t", "uuid": "u"},
        {"type": "thread.started", "thread_id": "x"},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "hi"}},
        {"session_id": "x", "ts": 1, "text": "hi"},
        {"resourceLogs": [{"payload": {"type": "event_msg"}}]},
        {"hook_event_name": "Stop", "timestamp": "t", "payload": {"type": "event_msg"}},
        {"$set": {"messages": []}},
        {"timestamp": "t", "type": "event_msg", "payload": "text"},
        {"timestamp": "t", "type": "progress", "payload": {}},
        [],
    ],
)
def test_other_json_lines_are_not_claimed(line: Any) -> None:
    assert not codex.claims(json.dumps(line).encode() + b"\n")


@each_row("head", [b"", b"\n\n", b"\x00\xff", b"PK\x03\x04", b"{", b'{"a":', b"[" * 9000, b'{"payload":' * 9000])
def test_noise_is_not_claimed(head: bytes) -> None:
    assert not codex.claims(head)


def test_roots_follow_the_environment() -> None:
    assert codex.roots({}, Path("/home/ada")) == [
        Path("/home/ada/.codex/sessions"),
        Path("/home/ada/.codex/archived_sessions"),
    ]
    assert codex.roots({"CODEX_HOME": "/data/cx"}, Path("/home/ada"))[0] == Path("/data/cx/sessions")
