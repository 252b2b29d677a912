"""The three shapes in which Claude Code arrives in Langfuse, as events and turns."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.langfuse.observations import build_root, merge_records, parse_v2, parse_v3, sort_records
from assay.sessions.turns import TurnBuilder
from assay.sources import langfuse
from assay.sources.langfuse.messages import find_exit_code
from assay.sources.langfuse.records import Record, to_usage
from assay.testing.observations import (
    build_assistant_message,
    build_call,
    build_generation,
    build_hook_turn,
    build_native_turn,
    build_row,
    build_span,
    build_step,
    build_tool_result,
    build_tool_use,
    build_usage,
    build_user_message,
    format_time,
)
from assay.types import About, Call, Event, Mark, Prompt, Reply, Result, Spend, Turn, Usage
from tests.tables import each_row

Row = dict[str, Any]
SAMPLES = Path(__file__).parents[3] / "shared" / "langfuse" / "samples"


def records(*rows: Row) -> list[Record]:
    """The lines of the file that pulling these rows would write."""
    found = [record for one in rows if (record := parse_v2(one))]
    lines = [Record(type="session", session="s1", at=format_time(0)), *sort_records(merge_records(found).values())]
    return [msgspec.json.decode(msgspec.json.encode(one), type=langfuse.Record) for one in lines]


def events(*rows: Row) -> list[Event]:
    found: list[Event] = []
    reader = langfuse.Reader()
    for record in records(*rows):
        reader.take(record, found.append)
    return found


def turns(*rows: Row) -> tuple[Turn, ...]:
    builder = TurnBuilder()
    for event in events(*rows):
        builder.take(event)
    return builder.turns()


def prompts(*rows: Row) -> list[str]:
    return [event.text for event in events(*rows) if isinstance(event, Prompt)]


def replies(*rows: Row) -> list[str]:
    return [event.text for event in events(*rows) if isinstance(event, Reply)]


def calls(*rows: Row) -> list[Call]:
    return [call for turn in turns(*rows) for call in turn.calls]


def marks(*rows: Row) -> list[tuple[str, str]]:
    return [(event.kind, event.detail) for event in events(*rows) if isinstance(event, Mark)]


# --- the hook -----------------------------------------------------------------------------------------

TEST = build_call("a", "Bash", "Exit code 1\n1 failed in 0.1s", command="pytest -q")
EDIT = build_call("b", "Edit", "done", file_path="/loom/warp.py", old_string="a", new_string="b\nc")
TURN = build_hook_turn(1, "Why?", build_step(TEST, EDIT, say="I look"), reply="So.")


def test_a_turn_of_the_hook_is_a_prompt_its_calls_and_its_replies():
    turn = turns(*TURN)[0]
    assert turn.prompt
    assert turn.prompt.text == "Why?"
    assert turn.prompt.at == format_time(100)
    assert [one.text for one in turn.replies] == ["I look", "So."], "the root repeats the last words"
    assert [(one.name, one.kind, one.status, one.exit_code) for one in turn.calls] == [
        ("Bash", "shell", "error", 1),
        ("Edit", "edit", "ok", None),
    ]
    assert [(one.added, one.removed) for one in turn.calls[1].edits] == [(2, 1)]
    assert turn.calls[0].runs[0].outcome == "failed"
    assert [one.usage for one in turn.spends] == [Usage(input=10, output=5, cache_read=3, cache_write=2)] * 2


def test_a_result_that_the_tool_and_the_next_request_both_hold_counts_once():
    assert [event.id for event in events(*TURN) if isinstance(event, Result)] == ["a", "b"]
    untold = [one for one in TURN if one["type"] != "TOOL"]
    assert [event.id for event in events(*untold) if isinstance(event, Result)] == ["a", "b"]


def test_ten_generations_of_one_millisecond_stand_in_their_order():
    steps = [build_step(build_call(f"c{n}", "Read", "x", file_path=f"/f{n}")) for n in range(12)]
    rows = [
        one | {"startTime": format_time(0), "endTime": format_time(0)}
        for one in build_hook_turn(1, "Go", *steps, reply="Done")
    ]
    assert [one.id for one in calls(*reversed(rows))] == [f"c{n}" for n in range(12)]
    assert replies(*reversed(rows)) == ["Done"]


ENDINGS = [
    ("2 passed", "ok", 0),
    ("Exit code 2\nboom", "error", 2),
    ("<tool_use_error>File has not been read yet</tool_use_error>", "error", None),
    ("Error: no such file", "error", None),
    ("The user doesn't want to proceed with this tool use.", "rejected", None),
    ("Claude requested permissions to use Bash", "denied", None),
    ("[Request interrupted by user for tool use]", "interrupted", None),
    ('[{"type": "text", "text": "fine"}]', "ok", 0),
    (None, "open", None),
]


@each_row(("output", "status", "code"), ENDINGS)
def test_how_a_call_ended_is_read_off_its_output(output, status, code):
    one = calls(*build_hook_turn(1, "Go", build_step(build_call("a", "Bash", output, command="make")), reply="So"))[0]
    assert (one.status, one.exit_code) == (status, code)


UNTOLD = [
    ("2 failed, 1 passed in 0.1s", "ok", None, "failed"),
    ("all good", "ok", None, None),
    ("Exit code: 1\nWall time: 0.2 seconds\nOutput:\nboom", "error", 1, "failed"),
    ("Chunk ID: 5\nWall time: 1 s\nProcess exited with code 0\nOutput:\nfine", "ok", 0, "passed"),
    ('{"output":"boom","metadata":{"exit_code":3}}', "error", 3, "failed"),
    ('{"output":"fine","metadata":{"exit_code":0}}', "ok", 0, "passed"),
    ("Error: no such file", "error", None, "failed"),
]


@each_row(("output", "status", "code", "outcome"), UNTOLD)
def test_of_an_agent_that_does_not_tell_a_call_without_an_exit_code_is_not_known_to_have_passed(
    output, status, code, outcome
):
    rows = build_hook_turn(1, "Go", build_step(build_call("a", "Bash", output, command="pytest -q")), reply="So")
    one = calls(*(row | {"tags": [], "metadata": row["metadata"] | {"source": "my-agent"}} for row in rows))[0]
    assert (one.status, one.exit_code, one.runs[0].outcome) == (status, code, outcome)


SAID = [(True, "error", None), (False, "ok", 0), (None, "ok", None)]


@each_row(("is_error", "status", "code"), SAID)
def test_a_proxys_result_tells_by_its_mark_alone(is_error, status, code):
    result = build_tool_result("a", "boom")
    result["content"][0]["is_error"] = is_error
    messages = [build_user_message("Go"), build_tool_use("a", "Bash", command="pytest -q"), result]
    one = calls(build_generation(1, messages, build_assistant_message("So")))[0]
    assert (one.status, one.exit_code) == (status, code)


NOT_SAID = [
    "<task-notification>done</task-notification>",
    "<local-command-stdout>ok</local-command-stdout>",
    "<command-name>/model</command-name><command-args></command-args>",
    "[Request interrupted by user]",
    "<system-reminder>The list is empty.</system-reminder>",
]


@pytest.mark.parametrize("text", NOT_SAID)
def test_what_a_machine_wrote_is_no_prompt(text):
    assert prompts(*build_hook_turn(1, text, reply="So")) == []


SAID = [
    ("<ide_opened_file>x.py</ide_opened_file>\nMend it", "Mend it"),
    ("<command-name>/review</command-name><command-args>the loom</command-args>", "/review the loom"),
    ("<html> is missing", "<html> is missing"),
    ("请把织机修好 🧶", "请把织机修好 🧶"),
]


@pytest.mark.parametrize(("text", "words"), SAID)
def test_a_persons_words_are_found_between_what_the_client_adds(text, words):
    assert prompts(*build_hook_turn(1, text, reply="So")) == [words]


def test_a_hook_turn_without_text_is_a_turn_without_text():
    bare = [one | {"input": None, "output": None} for one in TURN]
    assert prompts(*bare) == [""]
    assert replies(*bare) == []
    assert len(calls(*bare)) == 2


def test_turns_whose_numbers_repeat_are_told_apart_by_their_traces():
    again = [
        one | {"traceId": "again", "startTime": format_time(999)}
        for one in build_hook_turn(1, "Once more", reply="Yes")
    ]
    assert prompts(*again, *TURN) == ["Why?", "Once more"]


# --- native spans -------------------------------------------------------------------------------------


def test_native_spans_tell_of_prompt_tokens_tools_and_rejections():
    turn = turns(*build_native_turn(1, "Why do the threads break?"))[0]
    assert turn.prompt
    assert turn.prompt.text == "Why do the threads break?"
    spent = Usage(input=137, output=62, cache_read=10796, cache_write=120)
    assert [(one.model, one.usage) for one in turn.spends] == [("claude-sonnet-4-5", spent)]
    assert [(one.name, one.status, one.command or one.target) for one in turn.calls] == [
        ("Bash", "error", "pytest -q"),
        ("Edit", "rejected", "/loom/warp.py"),
    ]
    assert [one.kind for one in turn.marks] == ["retry"]


def test_native_spans_without_text_are_turns_without_text():
    first, second = turns(*build_native_turn(1, "a", text=False), *build_native_turn(2, "b", text=False))
    assert first.prompt
    assert second.prompt
    assert (first.prompt.text, second.prompt.text) == ("", "")
    assert [one.status for one in first.calls] == ["error", "rejected"]
    assert first.spends[0].usage.output == 62


def test_attributes_may_stand_nested():
    rows = build_native_turn(1, "Why?")
    for one in rows:
        told = {key[11:]: value for key, value in one["metadata"].items() if key.startswith("attributes.")}
        one["metadata"] = {"attributes": told}
    assert prompts(*rows) == ["Why?"]
    assert turns(*rows)[0].spends[0].usage.output == 62


@pytest.mark.parametrize(("said", "heard"), [("Why?", ["[not recorded]"]), ("<REDACTED>", [])])
def test_an_answer_whose_words_were_not_recorded_is_still_an_answer_to_words_that_were(said, heard):
    root = build_span("interaction", 0, user_prompt=said)
    calls_on = build_span("llm_request", 1, root, stop_reason="tool_use", output_tokens=5)
    ends = build_span("llm_request", 2, root, stop_reason="end_turn", output_tokens=5)
    assert replies(root, calls_on, ends) == heard


COMPACTIONS = [("/compact", "manual", []), ("Go on", "auto", ["Go on"])]


@pytest.mark.parametrize(("said", "how", "asked"), COMPACTIONS)
def test_compactions_are_told_from_one_another(said, how, asked):
    root = build_span("interaction", 0, user_prompt=said)
    request = build_span("llm_request", 1, root, query_source_safe="compact", output_tokens=9, success="true")
    assert marks(root, request) == [("compact", how)]
    assert prompts(root, request) == asked


def test_a_failed_request_is_an_api_error_that_spent_nothing():
    root = build_span("interaction", 0, user_prompt="Go")
    failed = build_span("llm_request", 1, root, success="false", error_class="server_error", status_code=500)
    assert marks(root, failed) == [("api_error", "server_error")]
    assert not [event for event in events(root, failed) if isinstance(event, Spend)]


def test_sub_agents_spend_and_call_in_their_own_name():
    root = build_span("interaction", 0, user_prompt="Go")
    agent = build_span("tool", 1, root, tool_name="Agent", tool_use_id="x", subagent_type="general-purpose")
    request = build_span("llm_request", 2, agent, agent_id="a1", output_tokens=5)
    look = build_span("tool", 3, agent, agent_id="a1", tool_name="Read", tool_use_id="y", file_path="/f")
    turn = turns(root, agent, request, look)[0]
    assert [one.by for one in turn.spends] == ["a1"]
    assert [(one.name, one.by) for one in turn.calls] == [("Agent", ""), ("Read", "a1")]


# --- a proxy --------------------------------------------------------------------------------------------


def conversation() -> list[Row]:
    """Two prompts, a failing test run and a sub-agent; each request holds all that came before."""
    messages = [build_user_message("Why do the threads break?")]
    found = [build_generation(0, list(messages), build_tool_use("a", "Bash", command="pytest -q"))]
    messages += [
        build_tool_use("a", "Bash", command="pytest -q"),
        build_tool_result("a", "Exit code 1\n1 failed", is_error=True),
    ]
    found.append(build_generation(10, list(messages), build_assistant_message("The tension is wrong.")))
    messages += [build_assistant_message("The tension is wrong."), build_user_message("go on")]
    found.append(build_generation(20, list(messages), build_assistant_message("Gone on.")))
    messages += [build_assistant_message("Gone on."), build_user_message("go on")]
    found.append(build_generation(30, list(messages), build_assistant_message("And on.")))
    return found


def test_messages_that_every_request_repeats_are_read_once():
    rows = conversation()
    assert prompts(*rows) == ["Why do the threads break?", "go on", "go on"]
    assert replies(*rows) == ["I use Bash", "The tension is wrong.", "Gone on.", "And on."]
    found = turns(*rows)
    assert [(one.id, one.status, one.exit_code) for one in found[0].calls] == [("a", "error", 1)]
    assert [len(turn.spends) for turn in found] == [2, 1, 1]


def test_a_sub_agents_order_is_no_prompt():
    rows = conversation()
    asks = build_tool_use("x", "Agent", prompt="Count the threads", description="count")
    rows.append(
        build_generation(
            40, [build_user_message("Why do the threads break?"), build_user_message("Use an agent")], asks
        )
    )
    rows.append(
        build_generation(50, [build_user_message("Count the threads")], build_tool_use("y", "Bash", command="wc -l"))
    )
    rows.append(
        build_generation(
            60,
            [
                build_user_message("Count the threads"),
                build_tool_use("y", "Bash", command="wc -l"),
                build_tool_result("y", "40"),
            ],
            build_assistant_message("40"),
        )
    )
    assert "Count the threads" not in prompts(*rows)
    assert "40" not in replies(*rows)
    assert [(one.id, one.by, one.status) for one in calls(*rows) if one.id == "y"] == [("y", "x", "ok")]


ASIDES = [
    ("quota", build_assistant_message("1")),
    ("Please write a 5-10 word title for the following conversation", build_assistant_message("Threads")),
    ("Why do the threads break?", build_assistant_message('{"isNewTopic": true, "title": "Threads"}')),
]


@pytest.mark.parametrize("is_wrapped", [False, True])
@pytest.mark.parametrize(("text", "answer"), ASIDES)
def test_what_the_client_asks_beside_the_conversation_only_costs(text, answer, is_wrapped):
    aside = build_generation(-5, [build_user_message(text)], answer)
    around = build_row("SPAN", "litellm", -5, traceId=aside["traceId"], id="around", output=answer)
    wrapped = [around, aside | {"parentObservationId": "around"}]
    rows = [*(wrapped if is_wrapped else [aside]), *conversation()]
    assert prompts(*rows) == prompts(*conversation())
    assert replies(*rows) == replies(*conversation())
    assert sum(len(turn.spends) for turn in turns(*rows)) == 5


def test_a_compaction_begins_the_messages_anew():
    summary = "This session is being continued from a previous conversation that ran out of context."
    rows = [
        *conversation(),
        build_generation(
            40, [build_user_message(summary), build_user_message("And now?")], build_assistant_message("Now this.")
        ),
    ]
    assert marks(*rows) == [("compact", "auto")]
    assert prompts(*rows)[-1] == "And now?"
    assert summary not in prompts(*rows)


def test_the_other_dialect_of_messages_is_read_too():
    call = {"id": "a", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "make"}'}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    answered = {"role": "tool", "tool_call_id": "a", "content": "built"}
    ask = {"role": "user", "content": "Build"}
    first = build_generation(
        0, {"messages": [{"role": "system", "content": "Be brief"}, ask]}, {"choices": [{"message": asked}]}
    )
    second = build_generation(10, {"messages": [ask, asked, answered]}, {"role": "assistant", "content": "Built."})
    assert prompts(first, second) == ["Build"]
    assert replies(first, second) == ["Built."]
    assert [(one.command, one.status) for one in calls(first, second)] == [("make", "ok")]


def test_the_place_of_work_is_found_in_the_instructions():
    system = {
        "role": "system",
        "content": [{"type": "text", "text": "<env>\nWorking directory: /home/ada/loom\n</env>"}],
    }
    found = events(
        build_generation(0, [system, build_user_message("Go")], build_assistant_message("Gone.")),
        build_generation(9, [system, build_user_message("Go")], build_assistant_message("Gone.")),
    )
    assert [event.cwd for event in found if isinstance(event, About) and event.cwd] == ["/home/ada/loom"]


def test_a_failed_generation_is_an_api_error():
    failed = build_generation(
        0, [build_user_message("Go")], {}, level="ERROR", statusMessage="overloaded", usageDetails={}
    )
    assert marks(failed | {"output": None}) == [("api_error", "overloaded")]


def test_generations_below_a_root_that_asks_nothing_are_read_as_if_they_stood_alone():
    rows = []
    for one in conversation():
        root = build_row(
            "SPAN", "litellm", 0, traceId=one["traceId"], startTime=one["startTime"], id=f"t-{one['traceId']}"
        )
        rows += [root | {"input": one["input"], "output": one["output"]}, one | {"parentObservationId": root["id"]}]
    assert prompts(*rows) == prompts(*conversation())
    assert replies(*rows) == replies(*conversation())


USAGES = [
    (build_usage(10, 5), Usage(input=10, output=5)),
    (build_usage(10, 5, total=15), Usage(input=10, output=5)),
    (
        build_usage(2, 333, input_cached_tokens=63002, input_cache_creation=679),
        Usage(input=2, output=333, cache_read=63002, cache_write=679),
    ),
    (
        build_usage(100, 20, cache_read_input_tokens=60, cache_creation_input_tokens=30, total=120),
        Usage(input=10, output=20, cache_read=60, cache_write=30),
    ),
    (
        build_usage(100, 20, cache_read_input_tokens=60, total=180),
        Usage(input=100, output=20, cache_read=60),
    ),
    (
        build_usage(1, 1, input_cache_creation_5m=5, input_cache_creation_1h=7),
        Usage(input=1, output=1, cache_write=12, cache_write_1h=7),
    ),
    ({"prompt_tokens": 3, "completion_tokens": 4}, Usage(input=3, output=4)),
    ({"input": -5, "output": 1 << 60}, Usage()),
]


@each_row(("given_", "spent"), USAGES)
def test_tokens_are_found_under_all_their_names(given_, spent):
    assert to_usage(given_) == spent


# --- whatever comes -------------------------------------------------------------------------------------


@pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"no answers of a real server lie at {SAMPLES}")
def test_the_recorded_session_of_a_real_server_is_read():
    rows = json.loads((SAMPLES / "v2-observations-session.json").read_text())["data"]
    found = turns(*rows)
    assert [turn.prompt and turn.prompt.text for turn in found] == ["fix the bug"] * len(found)
    assert all(turn.spends[0].model == "claude-sonnet-4-5" for turn in found)
    assert all(turn.spends[0].usage == Usage(input=10, output=5) for turn in found)
    assert all(turn.replies[-1].text == "done" for turn in found)


def test_a_trace_of_v3_without_a_root_has_one_made():
    parts = [parse_v3(one | {"traceId": "old"}, {"id": "old"}) for one in conversation()[:2]]
    found = [one for one in parts if one]
    trace = {
        "id": "old",
        "timestamp": format_time(0),
        "name": "chat",
        "input": "Why?",
        "output": "So.",
        "sessionId": "s1",
    }
    root = build_root(trace, found)
    assert root
    assert [one.parent for one in found] == ["t-old", "t-old"]
    assert (root.input, root.output) == ("Why?", "So.")


WILD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "role content messages text type tool_calls id name input tool_use_id choices prompt".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(st.tuples(st.sampled_from("SPAN GENERATION TOOL EVENT end odd".split()), WILD, WILD, WILD), max_size=5))
def test_nothing_that_a_row_can_hold_breaks_the_reader(rows):
    reader, builder = langfuse.Reader(), TurnBuilder()
    for n, (kind, given_, gave_, noted) in enumerate(rows):
        metadata = noted if isinstance(noted, dict) else {"attributes": noted}
        name = "claude_code.tool" if n % 3 == 2 else "step"
        one = Record(type=kind, trace=f"t{n % 2}", id=f"o{n}", name=name, at=format_time(n), input=given_, output=gave_)
        one.metadata = metadata
        reader.take(one, builder.take)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(reader), type=langfuse.Reader) == reader


@given(st.integers(0, 40))
def test_reading_can_stop_after_any_line_and_go_on_elsewhere(stop):
    lines = records(*conversation(), *TURN, *build_native_turn(7, "And?"))
    whole: list[Event] = []
    parts: list[Event] = []
    reader = langfuse.Reader()
    for line in lines:
        reader.take(line, whole.append)
    reader = langfuse.Reader()
    for n, line in enumerate(lines):
        if n == stop:
            reader = msgspec.msgpack.decode(msgspec.msgpack.encode(reader), type=langfuse.Reader)
        reader.take(line, parts.append)
    assert parts == whole


HEADS = [
    (b'{"langfuse":1,"type":"session","session":"s1"}\n', True),
    (b'\xef\xbb\xbf {"langfuse": 1, "type": "session"}', True),
    (b'{"type":"user","sessionId":"s1","langfuse":1}', False),
    (b'{"langfuse":1,"type":"end"}', False),
    (b"", False),
]


@pytest.mark.parametrize(("head", "is_ours"), HEADS)
def test_only_pulled_files_are_claimed(head, is_ours):
    assert langfuse.claims(head) is is_ours


@each_row(("code", "kept"), [(0, 0), (3221225786, 3221225786), (-1, -1), (10**30, None), (True, None), ("0", None)])
def test_an_exit_code_is_one_that_a_system_has(code: Any, kept: int | None):
    assert find_exit_code({"metadata": {"exit_code": code}}) == kept
