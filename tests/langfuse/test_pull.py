"""Sessions come out of Langfuse whole, once, in order, from servers of both generations."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadInput
from assay.http import AccessDenied, RemoteError
from assay.langfuse import SessionPick, connect, pull_sessions
from assay.langfuse.observations import merge_records, parse_v2, sort_records
from assay.langfuse.pull import name_file
from assay.sources.langfuse.records import END
from assay.testing.observations import (
    build_call,
    build_hook_turn,
    build_native_turn,
    build_row,
    build_step,
    build_trace,
    format_time,
)
from tests import conftest
from tests.langfuse.conftest import client_of, environment
from tests.langfuse.contract import CheckedServer

Make = Callable[..., CheckedServer]
BOTH = ["3.150.0", "4.16.0"]


def fill(standin: CheckedServer, *turns: list[dict[str, Any]]) -> None:
    """Put turns into a server: in disorder, and the first rows of each twice."""
    dice = random.Random(1)
    for turn in turns:
        rows = [*turn, *turn[:2]] if standin.is_modern else list(turn)
        dice.shuffle(rows)
        standin.observations += rows
        standin.traces.append(build_trace(turn))


def two_turns(session: str = "s1") -> list[list[dict[str, Any]]]:
    test = build_call(f"{session}a", "Bash", "Exit code 1\n1 failed in 0.1s", command="pytest -q")
    mend = build_call(f"{session}b", "Edit", "done", file_path="/loom/warp.py", old_string="a", new_string="b\nc")
    rerun = build_call(f"{session}c", "Bash", "2 passed in 0.1s", command="pytest -q")
    return [
        build_hook_turn(
            1, "Why do the threads break?", build_step(test), reply="The tension is wrong.", session=session
        ),
        build_hook_turn(
            2, "Mend it", build_step(mend, say="I mend it"), build_step(rerun), reply="Mended.", session=session
        ),
    ]


def streams(folder: Path) -> list[dict[str, Any]]:
    """The streams that `assay streams` finds below a folder."""
    found: list[dict[str, Any]] = conftest.streams(folder, "--store", folder / "store.db")["streams"]
    return found


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.mark.parametrize("version", BOTH)
def test_a_session_is_pulled_whole_in_order_and_each_row_once(make: Make, tmp_path, version):
    standin = make(version)
    fill(standin, *two_turns())
    report = pull_sessions(client_of(standin), tmp_path, ["s1"])
    found = report.pulled[0]
    assert (found.traces, found.observations) == (2, 10)
    assert found.repeated == (4 if version == "4.16.0" else 0)
    head, *rest = lines(found.path)
    assert (head["type"], head["session"], head["host"]) == ("session", "s1", "langfuse.example")
    assert [one.get("output", {}).get("content") for one in rest if not one.get("parent")] == [None, None]
    assert [one["output"]["content"] for one in rest if one["type"] == END] == ["The tension is wrong.", "Mended."]
    names = [one.get("name", one["type"]) for one in rest]
    assert names == [
        "Claude Code - Turn 1",
        "Claude Generation 1",
        "Tool: Bash",
        "Claude Generation 2",
        "end",
        "Claude Code - Turn 2",
        "Claude Generation 1",
        "Tool: Edit",
        "Claude Generation 2",
        "Tool: Bash",
        "Claude Generation 3",
        "end",
    ]


@pytest.mark.parametrize("version", BOTH)
def test_both_generations_give_the_same_stream(make: Make, tmp_path, version):
    standin = make(version)
    fill(standin, *two_turns())
    pull_sessions(client_of(standin), tmp_path, ["s1"])
    stream = streams(tmp_path)[0]
    assert (stream["id"], stream["agent"], stream["turns"]) == ("s1@langfuse.example/proj1", "langfuse", 2)
    facts = stream["facts"]
    assert facts["tokens"] == {"input": 50, "output": 25, "cache_read": 15, "cache_write": 10}
    assert (facts["lines_added"], facts["lines_removed"]) == (2, 1)
    assert facts["files"] == ["/loom/warp.py"]


@pytest.mark.parametrize("version", BOTH)
def test_a_second_pull_changes_nothing_and_counts_nothing_twice(make: Make, tmp_path, version):
    standin = make(version)
    fill(standin, *two_turns())
    first = pull_sessions(client_of(standin), tmp_path, ["s1"]).pulled[0]
    content = Path(first.path).read_bytes()
    facts = streams(tmp_path)[0]["facts"]
    again = pull_sessions(client_of(standin), tmp_path, ["s1"]).pulled[0]
    assert first.is_changed
    assert not again.is_changed
    assert Path(again.path).read_bytes() == content
    assert streams(tmp_path)[0]["facts"] == facts


def test_a_session_that_went_on_is_extended_and_what_was_deleted_stays(make: Make, tmp_path):
    standin = make()
    one, two = two_turns()
    fill(standin, one)
    pull_sessions(client_of(standin), tmp_path, ["s1"])
    standin.observations.clear()
    fill(standin, two)
    found = pull_sessions(client_of(standin), tmp_path, ["s1"]).pulled[0]
    assert found.is_changed
    assert found.traces == 2
    stream = streams(tmp_path)[0]
    assert stream["turns"] == 2
    assert stream["facts"]["tokens"]["output"] == 25


def test_a_row_that_was_half_written_is_replaced_by_the_whole_one(make: Make, tmp_path):
    standin = make()
    turn = two_turns()[0]
    half = [one | {"output": None, "endTime": None} for one in turn]
    standin.observations = half
    pull_sessions(client_of(standin), tmp_path, ["s1"])
    standin.observations = turn
    found = pull_sessions(client_of(standin), tmp_path, ["s1"]).pulled[0]
    assert found.observations == 4
    assert any(one["type"] == END for one in lines(found.path))


@pytest.mark.parametrize("version", BOTH)
def test_the_other_generation_is_tried_where_an_endpoint_is_missing(make: Make, tmp_path, version):
    standin = make(version)
    fill(standin, *two_turns())
    client = client_of(standin)
    right = client.generation
    client.generation = "v3" if right == "v4" else "v4"
    assert pull_sessions(client, tmp_path, ["s1"]).pulled
    assert client.generation == right


def test_a_server_with_neither_api_is_told(make: Make, tmp_path):
    standin = make()
    client = client_of(standin)
    client.load_project()
    standin.route = lambda *_: (404, {}, {"message": "Not Found"})
    assert "nor is there the other API" in pull_sessions(client, tmp_path, ["s1"]).failed[0][1]


@pytest.mark.parametrize("version", BOTH)
def test_sessions_are_found_by_time(make: Make, tmp_path, version):
    standin = make(version)
    fill(standin, build_hook_turn(1, "early", reply="so", session="early", second=0))
    fill(standin, build_hook_turn(1, "late", reply="so", session="late", second=5000))
    fill(standin, build_hook_turn(1, "later", reply="so", session="later", second=6000))
    report = pull_sessions(client_of(standin), tmp_path, pick=SessionPick(since=format_time(4000)))
    assert [one.session for one in report.pulled] == ["late", "later"]


def test_an_unknown_session_is_empty_and_leaves_no_file(make: Make, tmp_path):
    report = pull_sessions(client_of(make()), tmp_path, ["nobody"])
    assert report.empty == ("nobody",)
    assert not list(tmp_path.rglob("*"))


def test_one_session_that_fails_does_not_stop_the_others(make: Make, tmp_path):
    standin = make()
    fill(standin, *two_turns())
    client = client_of(standin)
    client.load_project()
    standin.planned = [(400, {}, {"message": "Invalid request data"})]
    report = pull_sessions(client, tmp_path, ["bad", "s1"])
    assert report.failed[0][0] == "bad"
    assert "400 Invalid request data" in report.failed[0][1]
    assert [one.session for one in report.pulled] == ["s1"]


@pytest.mark.parametrize(("status", "times"), [(524, 5), (413, 1)])
def test_a_page_that_is_too_much_is_asked_for_in_smaller_ones(make: Make, tmp_path, status, times):
    standin = make()
    fill(standin, *two_turns())
    client = client_of(standin)
    client.load_project()
    standin.planned = [(status, {}, {"message": "Too much"})] * times
    assert pull_sessions(client, tmp_path, ["s1"]).pulled[0].observations == 10
    assert {query["limit"] for query in standin.list_queries("v2/observations")} == {"200", "50"}


def test_a_cursor_that_does_not_move_is_an_error_and_no_endless_loop(make: Make, tmp_path):
    standin = make()
    client = client_of(standin)
    client.load_project()
    standin.planned = [(200, {}, {"data": [], "meta": {"cursor": "same"}})] * 9
    assert "same page twice" in pull_sessions(client, tmp_path, ["s1"]).failed[0][1]


def test_429_with_retry_after_is_waited_for(make: Make, tmp_path):
    standin = make()
    fill(standin, *two_turns())
    client = client_of(standin)
    client.load_project()
    standin.planned = [(429, {"Retry-After": "17"}, {"message": "Rate limit exceeded"})]
    assert pull_sessions(client, tmp_path, ["s1"]).pulled
    assert standin.time is not None
    assert standin.time.slept == [17.0]


def test_a_session_of_more_than_100_traces_and_300_000_tokens_comes_whole(make: Make, tmp_path):
    standin = make()
    standin.late_s = 1
    text = "weave " * 2_600  # about 3,100 tokens
    turns = []
    for n in range(120):
        spent = {"input": 3_000, "output": 100}
        look = build_call(f"c{n}", "Bash", text, command=f"cat loom{n}.py")
        turns.append(
            build_hook_turn(
                n, f"Row {n}, please", build_step(look, spent=spent), reply=f"Row {n} is woven", second=n * 60
            )
        )
    fill(standin, *turns)
    found = pull_sessions(client_of(standin), tmp_path, ["s1"]).pulled[0]
    assert (found.traces, found.observations) == (120, 480)
    assert Path(found.path).stat().st_size > 1_200_000
    stream = streams(tmp_path)[0]
    assert stream["turns"] == 120
    assert stream["facts"]["tokens"]["input"] >= 300_000
    assert stream["prompts_at"] == [format_time(n * 60) for n in range(120)]


def test_a_session_without_any_text_is_a_stream_without_text(make: Make, tmp_path):
    standin = make()
    fill(standin, build_native_turn(1, "Why?", text=False), build_native_turn(2, "So?", text=False))
    found = pull_sessions(client_of(standin), tmp_path, ["s1"]).pulled[0]
    assert not found.has_text
    stream = streams(tmp_path)[0]
    assert stream["turns"] == 2
    assert stream["facts"]["tokens"]["output"] == 124


def test_a_time_without_a_zone_is_the_persons_to_mend(make: Make, tmp_path):
    with pytest.raises(BadInput, match="no time with a zone"):
        pull_sessions(client_of(make()), tmp_path, pick=SessionPick(since="yesterday"))


def test_wrong_keys_stop_the_pull(make: Make, tmp_path):
    standin = make()
    client = connect(environment() | {"LANGFUSE_SECRET_KEY": "no"}, transport=standin.build_transport())
    with pytest.raises(AccessDenied):
        pull_sessions(client, tmp_path, ["s1"])


def test_a_folder_that_cannot_be_written_is_told(make: Make, tmp_path):
    standin = make()
    fill(standin, *two_turns())
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BadInput, match="can't be written"):
        pull_sessions(client_of(standin), tmp_path / "file", ["s1"])


def test_files_are_for_their_owner_alone(make: Make, tmp_path):
    standin = make()
    fill(standin, *two_turns())
    found = pull_sessions(client_of(standin), tmp_path / "new", ["s1"]).pulled[0]
    assert Path(found.path).stat().st_mode & 0o077 == 0
    assert Path(found.path).parent.stat().st_mode & 0o077 == 0
    assert [path.name for path in Path(found.path).parent.iterdir()] == ["s1.jsonl"]


@given(st.lists(st.text(min_size=1, max_size=120), min_size=2, max_size=6, unique=True))
def test_whatever_sessions_are_called_each_has_a_file_of_its_own_in_its_folder(names):
    folder = Path("/data")
    paths = [name_file(folder, "host:3000", "proj1", name) for name in names]
    assert len({str(path).lower() for path in paths}) == len(names)
    assert all(path.parent.parent.parent == folder and path.name.endswith(".jsonl") for path in paths)
    assert all(len(path.name.encode()) < 200 and path.name.isprintable() for path in paths)


@st.composite
def traces(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows with any parents: none, each other, themselves, or rows that never came."""
    size = draw(st.integers(1, 12))
    found = []
    for n in range(size):
        parent = draw(st.sampled_from([None, *(f"x{m}" for m in range(size + 2))]))
        kind = draw(st.sampled_from(["SPAN", "GENERATION", "TOOL"]))
        at = draw(st.integers(0, 3))
        output = draw(st.sampled_from([None, "", "done", '{"role":"assistant","content":"done"}', "[1", '{"a":']))
        found.append(build_row(kind, f"step {n}", at, id=f"x{n}", parentObservationId=parent, output=output))
    return found


@given(traces(), st.randoms(use_true_random=False))
def test_every_row_is_kept_once_in_an_order_that_does_not_depend_on_how_they_came(rows, dice):
    def ordered(some: list[dict[str, Any]]) -> list[Any]:
        records = [record for one in some if (record := parse_v2(one))]
        return list(sort_records(merge_records(records).values()))

    shuffled = [*rows, *rows[: len(rows) // 2]]
    dice.shuffle(shuffled)
    found = ordered(rows)
    assert found == ordered(shuffled)
    ids = [one.id for one in found if one.type != END]
    assert sorted(ids) == sorted(one["id"] for one in rows)


@given(
    st.dictionaries(
        st.sampled_from("id traceId startTime type usageDetails metadata tags input".split()),
        st.integers() | st.text(max_size=5) | st.none() | st.lists(st.integers(), max_size=2),
    )
)
def test_a_row_of_any_form_is_read_or_left_out(wild):
    record = parse_v2(wild)
    assert record is None or record.id


def test_a_broken_earlier_file_is_made_anew(make: Make, tmp_path):
    standin = make()
    fill(standin, *two_turns())
    path = Path(pull_sessions(client_of(standin), tmp_path, ["s1"]).pulled[0].path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    pull_sessions(client_of(standin), tmp_path, ["s1"])
    assert path.read_bytes() == content


def test_an_error_of_the_server_in_the_list_of_sessions_is_raised(make: Make, tmp_path):
    client = client_of(standin := make())
    standin.planned = [(500, {}, {"message": "broken"})] * 99
    with pytest.raises(RemoteError, match="500 broken"):
        pull_sessions(client, tmp_path, pick=SessionPick(since=format_time(0)))


def test_what_is_no_file_is_not_replaced_by_a_session(make: Make, tmp_path: Path):
    standin = make(BOTH[-1])
    fill(standin, *two_turns())
    path = Path(pull_sessions(client_of(standin), tmp_path, ["s1"]).pulled[0].path)
    path.unlink()
    os.mkfifo(path)
    before = path.lstat().st_mode, path.lstat().st_mtime_ns
    with pytest.raises(BadInput, match="is a link, a pipe or a folder"):
        pull_sessions(client_of(standin), tmp_path, ["s1"])
    assert (path.lstat().st_mode, path.lstat().st_mtime_ns) == before


def picked(standin: CheckedServer, folder: Path, **pick: Any) -> list[str]:
    report = pull_sessions(client_of(standin), folder, pick=SessionPick(**pick))
    return [one.session for one in report.pulled]


PICKS: list[tuple[dict[str, Any], list[str]]] = [
    ({"environments": ("staging",)}, ["two"]),
    ({"users": ("ada",)}, ["one"]),
    ({"tags": ("nightly",)}, ["two"]),
    ({"names": ("Mangle",)}, ["three"]),
    ({"users": ("ada", "bob")}, ["one", "two"]),
    ({"users": ("ada", "bob"), "tags": ("nightly",)}, ["two"]),
    ({"environments": ("default",), "since": format_time(250)}, ["three"]),
    ({"users": ("nobody",)}, []),
]


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(("pick", "wanted"), PICKS)
def test_sessions_are_picked_by_what_their_traces_are(make: Make, tmp_path, version, pick, wanted):
    standin = make(version)
    about: dict[str, dict[str, Any]] = {
        "one": {"userId": "ada"},
        "two": {"userId": "bob", "environment": "staging", "tags": ["nightly"]},
        "three": {"traceName": "Mangle"},
    }
    for n, (session, more) in enumerate(about.items(), 1):
        rows = [row | more for row in build_hook_turn(n, "go", reply="so", session=session)]
        fill(standin, rows)
        standin.traces[-1] |= {"userId": more.get("userId"), "name": rows[0]["traceName"], "tags": rows[0]["tags"]}
    assert picked(standin, tmp_path, **pick) == wanted


@pytest.mark.parametrize("version", BOTH)
def test_a_trace_without_a_session_is_one_by_itself(make: Make, tmp_path, version):
    standin = make(version)
    fill(standin, build_hook_turn(1, "go", reply="so", session="s1"))
    lone = [row | {"sessionId": "", "traceId": "t9"} for row in build_hook_turn(2, "alone", reply="so", session="x")]
    fill(standin, lone)
    assert picked(standin, tmp_path, since=format_time(0)) == ["s1"]
    assert picked(standin, tmp_path, since=format_time(0), with_traces=True) == ["s1", "trace:t9"]
    found = pull_sessions(client_of(standin), tmp_path, ["trace:t9", "trace:none"])
    assert ([one.session for one in found.pulled], found.empty) == (["trace:t9"], ("trace:none",))


def test_what_an_earlier_version_pulled_without_its_project_is_left_out_once_it_was_pulled_again(make: Make, tmp_path):
    standin = make()
    fill(standin, *two_turns())
    path = Path(pull_sessions(client_of(standin), tmp_path, ["s1"]).pulled[0].path)
    head, *rest = path.read_text().splitlines()
    told = {key: value for key, value in json.loads(head).items() if key != "project"}
    (tmp_path / "langfuse.example" / "s1.jsonl").write_text("\n".join([json.dumps(told), *rest]) + "\n")
    assert [one["id"] for one in streams(tmp_path)] == ["s1@langfuse.example/proj1"]
    path.unlink()
    (tmp_path / "store.db").unlink()
    assert [one["id"] for one in streams(tmp_path)] == ["s1"]
