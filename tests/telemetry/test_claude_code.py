"""Claude Code's telemetry becomes the turns that its transcript would have."""

import pytest

from assay.sessions.turns import TurnBuilder
from assay.sources.claude_code import read_telemetry
from assay.types import TelemetryRecord, Turn
from tests.telemetry.make_telemetry import HIDDEN, ClaudeRun, make_edit_run, make_output_event, make_record


def read(records: list[TelemetryRecord]) -> tuple[Turn, ...]:
    builder = TurnBuilder()
    read_telemetry(sorted(records, key=lambda one: (one.order, one.sequence)), builder.take)
    return builder.turns()


def test_a_run_becomes_turns_with_words_calls_and_tokens():
    (turn,) = read(make_edit_run().records)
    assert turn.prompt is not None
    assert turn.prompt.text == "Mend the loom in loom.py"
    assert [reply.text for reply in turn.replies] == ["I look at it first.", "Now the change.", "It is mended."]
    assert [(call.kind, call.status) for call in turn.calls] == [("read", "ok"), ("edit", "ok"), ("shell", "error")]
    assert [(one.path, one.added, one.removed) for one in turn.calls[1].edits] == [("/w/loom.py", 2, 1)]
    assert turn.calls[2].runs[0].purpose == "test"
    assert len(turn.spends) == 4
    assert {spend.usage.input for spend in turn.spends} == {10}


def test_without_words_the_turn_is_still_there():
    run = ClaudeRun()
    run.ask(HIDDEN)
    run.answer(HIDDEN)
    run.use_tool("Edit")
    (turn,) = read(run.records)
    assert turn.prompt is not None
    assert (turn.prompt.text, turn.replies) == ("", ())
    assert [(call.name, call.kind, call.status) for call in turn.calls] == [("Edit", "edit", "ok")]
    assert turn.spends


def test_a_clear_ends_one_conversation_and_begins_the_next():
    first = make_edit_run("c-1")
    first.ask("/clear", command_name="clear", command_source="builtin")
    second = ClaudeRun("c-2", sequence=next(first.sequence), start=first.second)
    second.ask("Now the mill")
    (before,), (after,) = read(first.records), read(second.records)
    assert [mark.kind for mark in before.marks] == []
    assert [mark.kind for mark in after.marks] == ["clear"]


def test_a_compaction_is_told_and_its_summary_is_no_reply():
    run = make_edit_run()
    run.ask("/compact", command_name="compact", command_source="builtin")
    run.answer("<summary>all of it</summary>", source="compact")
    run.tell("compaction", trigger="manual", success="true")
    (turn,) = read(run.records)
    assert [(mark.kind, mark.detail) for mark in turn.marks] == [("compact", "manual")]
    assert turn.replies[-1].text == "It is mended."


@pytest.mark.parametrize(
    ("source", "status", "marks"),
    [("user_reject", "rejected", ["interrupt"]), ("config", "denied", []), ("hook", "denied", [])],
)
def test_a_tool_that_was_not_let_through_has_no_result(source: str, status: str, marks: list[str]):
    run = ClaudeRun()
    run.ask()
    run.answer("I try.")
    run.refuse_tool("Bash", source, tool_parameters='{"full_command":"rm -rf cloth"}')
    (turn,) = read(run.records)
    assert [(call.command, call.status) for call in turn.calls] == [("rm -rf cloth", status)]
    assert [mark.kind for mark in turn.marks] == marks


def test_a_rejection_that_the_agent_goes_on_from_is_no_interruption():
    run = ClaudeRun()
    run.ask()
    run.answer("I try.")
    run.refuse_tool("Bash", "user_reject")
    run.answer("Another way then.")
    (turn,) = read(run.records)
    assert [mark.kind for mark in turn.marks] == []


@pytest.mark.parametrize("words", ["<task-notification>\n<task-id>a1</task-id>", HIDDEN])
def test_the_end_of_a_sub_agent_is_nobodys_prompt(words: str):
    run = ClaudeRun()
    run.ask()
    run.answer("I delegate.")
    run.answer(tokens=3, agent_id="a1", source="agent:builtin:general-purpose")
    run.use_tool("Bash", '{"command":"ls"}', agent_id="a1")
    run.tell("subagent_completed", is_async=True, agent_id="a1")
    run.ask(words)
    run.answer("It reported.")
    (turn,) = read(run.records)
    assert [call.by for call in turn.calls] == ["a1"]
    assert [spend.by for spend in turn.spends] == ["", "a1", ""]


def test_a_slash_command_that_asks_something_is_a_prompt_and_a_setting_is_none():
    run = ClaudeRun()
    run.ask("/model opus", command_name="model", command_source="builtin")
    run.ask("/review the loom", command_name="review", command_source="custom")
    (turn,) = read(run.records)
    assert turn.prompt is not None
    assert (turn.prompt.text, turn.prompt.kind) == ("/review the loom", "command")


def test_errors_and_retries_are_told():
    run = ClaudeRun()
    run.ask()
    run.tell("api_error", status_code=529, attempt=3, error="Overloaded")
    run.tell("api_retries_exhausted", status_code=529)
    (turn,) = read(run.records)
    assert [(mark.kind, mark.detail) for mark in turn.marks] == [("retry", ""), ("retry", ""), ("api_error", "529")]


def make_spans(run: ClaudeRun) -> list[TelemetryRecord]:
    """What spans tell of a run that edits a file."""
    run.show_span("interaction", user_prompt="Mend the loom", trace="t1")
    run.show_span("llm_request", request_id="r1", input_tokens=7, output_tokens=5, attempt=3, success=True)
    told = {"tool_use_id": "k1", "tool_name": "Edit"}
    events = make_output_event(file_path="/w/loom.py", diff='[{"lines":[" x","-a = 1","+a = 2","+b = 3"]}]')
    run.show_span("tool", **told, file_path="/w/loom.py", events=events)
    run.show_span("tool.execution", tool_use_id="k1", success=True)
    run.show_span("tool", tool_use_id="k2", tool_name="Bash", full_command="rm -rf cloth")
    run.show_span("tool.blocked_on_user", tool_use_id="k2", decision="reject", source="user_reject")
    return run.records


def test_spans_alone_tell_the_same():
    (turn,) = read(make_spans(ClaudeRun()))
    assert turn.prompt is not None
    assert turn.prompt.text == "Mend the loom"
    assert [(spend.usage.input, spend.usage.output) for spend in turn.spends] == [(7, 5)]
    assert [(call.status, [(one.added, one.removed) for one in call.edits]) for call in turn.calls] == [
        ("ok", [(2, 1)]),
        ("rejected", []),
    ]
    assert [mark.kind for mark in turn.marks] == ["retry", "retry"]


def test_what_events_and_spans_both_tell_counts_once_and_each_adds_what_it_alone_knows():
    spans = make_spans(ClaudeRun())
    root = spans[0]
    run = ClaudeRun(start=0.5)
    run.tell("user_prompt", prompt="Mend the loom", message__uuid="u1", trace=root.trace, span=root.span)
    run.tell("api_request", request_id="r1", input_tokens=7, output_tokens=5, model="m")
    run.tell("tool_decision", tool_use_id="k1", tool_name="Edit", decision="accept", source="config")
    run.tell("tool_result", tool_use_id="k1", tool_name="Edit", success="true")
    (turn,) = read([*spans, *run.records])
    assert len(turn.spends) == 1
    assert [call.id for call in turn.calls] == ["k1", "k2"]
    assert [(one.added, one.removed) for one in turn.calls[0].edits] == [(2, 1)]
    assert [mark.kind for mark in turn.marks] == ["retry", "retry"]


def make_counts() -> list[TelemetryRecord]:
    counts = {"input": 5.0, "output": 6.0, "cacheRead": 7.0, "cacheCreation": 8.0}
    return [
        make_record("claude-code", "c-1", "claude_code.token.usage", 90, signal="metrics", value=value, is_delta=True,
                    type=kind, model="claude-opus-5-5", query_source="main")
        for kind, value in counts.items()
    ]  # fmt: skip


def test_metrics_tell_tokens_only_where_nothing_else_does():
    (counted,) = read(make_counts())
    (spend,) = counted.spends
    usage = spend.usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (5, 6, 7, 8)
    run = make_edit_run()
    assert read([*run.records, *make_counts()]) == read(run.records)


def test_requests_that_a_proxy_gave_no_id_are_told_apart_and_told_once():
    run = ClaudeRun()
    run.ask()
    for _ in range(2):
        run.tell("api_request", input_tokens=7, output_tokens=5, model="m")
        run.show_span("llm_request", input_tokens=7, output_tokens=5, success=True)
    (turn,) = read(run.records)
    assert [spend.usage.input for spend in turn.spends] == [7, 7]


def test_events_that_nobody_knows_are_counted():
    run = ClaudeRun()
    run.ask()
    run.tell("loom_rethreaded")
    run.tell("hook_execution_start")
    assert read_telemetry(run.records, lambda _: None) == {"loom_rethreaded": 1}
