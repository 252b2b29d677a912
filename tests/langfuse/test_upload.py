"""Transcripts as sessions in Langfuse: the same spans each time, sent once, and read back as they were."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.langfuse import Delivery, build_traces, find_project, pull_sessions, upload_sessions
from assay.sources import langfuse
from assay.sources.langfuse import uploaded
from assay.sources.langfuse.records import UPLOAD_SOURCE, Record
from assay.stores import Store, open_store
from assay.testing import read_turns
from assay.testing.observations import read_spans
from assay.types import Call, Edit, Mark, Part, Prompt, Reply, Spend, Stream, Turn, Usage
from tests.langfuse.conftest import client_of
from tests.langfuse.contract import CheckedServer

Make = Callable[..., CheckedServer]
BOTH = ["3.150.0", "4.16.0"]
NOON = "2026-11-10T12:00:00.000Z"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as opened:
        yield opened


def at(second: int) -> str:
    return f"2026-11-10T12:00:{second:02}.000Z"


TEST = Call(
    id="c1", at=at(2), name="Bash", kind="shell", command="pytest -q", status="error", exit_code=1,
    output="1 failed in 0.1s", ended_at=at(3),
)  # fmt: skip
EDIT = Call(
    id="c2", at=at(4), name="Edit", kind="edit", target="/loom/warp.py", status="ok", exit_code=None, ended_at=at(4),
    edits=(Edit(path="/loom/warp.py", added=2, removed=1, text="-a\n+b\n+c"),),
)  # fmt: skip
RERUN = replace(TEST, id="c3", at=at(5), status="ok", exit_code=0, output="1 passed in 0.1s", ended_at=at(6))
SPENT = Spend(at=at(7), key=77, model="claude-sonnet-4-5", usage=Usage(input=5, output=7, cache_read=11, cache_write=3))
MENDED = Turn(
    at=at(1), ended_at=at(8), prompt=Prompt(at=at(1), text="Mend the warp", key=11), calls=(TEST, EDIT, RERUN),
    replies=(Reply(at=at(3), text="The tension is wrong."), Reply(at=at(7), text="Mended.")), spends=(SPENT,),
    marks=(Mark(kind="compact", at=at(8), detail="auto"),),
)  # fmt: skip
THANKED = Turn(at=at(20), ended_at=at(20), prompt=Prompt(at=at(20), text="Thanks", key=12))


def stream_of(*turns: Turn) -> Stream:
    about = Part(agent="codex", stream="s1", cwd="/loom", branch="main", versions=("0.99",))
    return Stream(id="s1", agent="codex", files=(), about=about, turns=turns)


def send(standin: CheckedServer, store: Store, stream: Stream, **more: Any) -> Any:
    client = client_of(standin)
    delivery = Delivery(client=client, store=store, project=find_project(client), **more)
    return upload_sessions(delivery, [(stream.id, build_traces(stream, "staging"))])[0]


def read_back(path: str) -> tuple[Turn, ...]:
    """The turns that Assay reads in a pulled file; keys are a project's own, and runs are found anew."""
    turns = read_turns(langfuse, Path(path))
    return tuple(map(strip_keys, turns))


def strip_keys(turn: Turn) -> Turn:
    prompt = replace(turn.prompt, key=0) if turn.prompt else None
    calls = tuple(replace(one, of=0, runs=()) for one in turn.calls)
    return replace(turn, prompt=prompt, calls=calls, spends=tuple(replace(one, key=0) for one in turn.spends), signs=())


@pytest.mark.parametrize("version", BOTH)
def test_what_is_sent_is_read_back_as_it_was(make: Make, store: Store, tmp_path, version):
    standin = make(version)
    assert send(standin, store, stream_of(MENDED, THANKED)).sent == 2
    pulled = pull_sessions(client_of(standin), tmp_path, ["s1"]).pulled[0]
    assert (pulled.environment, pulled.traces) == ("staging", 2)
    assert read_back(pulled.path) == (strip_keys(MENDED), strip_keys(THANKED))
    assert {(row["type"], row["level"]) for row in standin.observations} == {
        ("SPAN", "DEFAULT"), ("GENERATION", "DEFAULT"), ("TOOL", "DEFAULT"), ("TOOL", "ERROR"),
    }  # fmt: skip


@pytest.mark.parametrize("version", BOTH)
def test_sent_twice_nothing_is_sent_again_whatever_the_store_remembers(make: Make, store: Store, tmp_path, version):
    standin = make(version)
    send(standin, store, stream_of(MENDED, THANKED))
    rows = list(standin.observations)
    assert send(standin, store, stream_of(MENDED, THANKED)).unchanged == 2
    with closing(open_store(f"sqlite:///{tmp_path / 'new.db'}")) as other:
        assert send(standin, other, stream_of(MENDED, THANKED)).unchanged == 2
    assert standin.observations == rows


def test_a_turn_that_went_on_is_sent_anew_and_counts_once(make: Make, store: Store, tmp_path):
    standin = make()
    send(standin, store, stream_of(replace(MENDED, calls=(TEST,))))
    found = send(standin, store, stream_of(MENDED, THANKED))
    assert (found.sent, found.unchanged) == (2, 0)
    assert send(standin, store, stream_of(MENDED, THANKED)).unchanged == 2
    pulled = pull_sessions(client_of(standin), tmp_path, ["s1"]).pulled[0]
    assert (pulled.traces, pulled.observations) == (2, 7)


def test_a_dry_run_sends_nothing(make: Make, store: Store):
    standin = make()
    assert send(standin, store, stream_of(MENDED, THANKED), dry_run=True).would_send == 2
    assert standin.observations == []


def test_what_the_server_swallows_is_told_and_sent_again_next_time(make: Make, store: Store):
    standin = make()
    take = standin.take_spans
    standin.take_spans = lambda body: (200, {}, {})  # type: ignore[method-assign]
    lost = send(standin, store, stream_of(MENDED))
    assert (lost.is_fault, "could be read back" in lost.why) == (True, True)
    standin.take_spans = take  # type: ignore[method-assign]
    assert send(standin, store, stream_of(MENDED)).sent == 1


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
seconds = st.integers(0, 59).map(at)


odd = st.one_of(
    st.none(), texts, st.sampled_from(["--5", "-", "٣", "9" * 19, "shell", "ok", "create"]), st.just(10**30),
    st.integers(), st.booleans(), st.floats(allow_nan=False), st.lists(st.integers(), max_size=5),
)  # fmt: skip


@given(
    st.sampled_from(["SPAN", "TOOL", "GENERATION"]),
    st.dictionaries(st.sampled_from(["kind", "status", "exit_code", "of", "key", "images", "commits", "agent"]), odd),
    st.lists(st.lists(odd, min_size=3, max_size=5), max_size=3),
    odd,
)
def test_whatever_a_server_says_of_an_upload_can_be_read_and_kept(kind: str, told: dict, rows: list, one: Any):
    metadata = {"source": UPLOAD_SOURCE, "prompt": told, "call": told | {"edits": rows}, "marks": rows, "key": one}
    record = Record(type=kind, id="a", trace="t", at=NOON, usage={"input": 1}, metadata=metadata)
    for event in uploaded.read_uploaded(record, ""):
        msgspec.msgpack.encode(event)


@st.composite
def wild_turns(draw: st.DrawFn) -> list[Turn]:
    """Turns of any words and times, some without a prompt, some without a time."""
    found = []
    for n in range(draw(st.integers(1, 5))):
        prompt = draw(st.one_of(st.none(), st.builds(Prompt, at=seconds, text=texts, key=st.integers(1, 5))))
        calls = draw(st.lists(st.builds(Call, id=texts, at=seconds, name=texts, output=texts), max_size=3))
        replies = draw(st.lists(st.builds(Reply, at=st.sampled_from(["", NOON, "soon"]), text=texts), max_size=2))
        began = draw(st.sampled_from([at(n), "", "never"]))
        found.append(Turn(at=began, prompt=prompt, calls=tuple(calls), replies=tuple(replies)))
    return found


@given(wild_turns())
def test_whatever_a_transcript_holds_every_span_has_an_id_of_its_own_and_the_same_each_time(turns: list[Turn]):
    traces = build_traces(stream_of(*turns))
    assert traces == build_traces(stream_of(*turns))
    spans = [span for one in traces for span in one.spans]
    assert len({(span["traceId"], span["spanId"]) for span in spans}) == len(spans)
    assert len(read_spans({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})) == len(spans)
    assert all(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) for span in spans)
