"""Codex's telemetry, and spans of any agent by the conventions for generative AI."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.sessions.turns import TurnBuilder
from assay.sources import find_source
from assay.types import SpanEvent, TelemetryRecord, Turn
from tests.telemetry.make_telemetry import make_codex_run, make_gen_ai_span


def read(source: str, records: list[TelemetryRecord]) -> tuple[Turn, ...]:
    builder = TurnBuilder()
    find_source(source).read_telemetry(records, builder.take)  # type: ignore[attr-defined]
    return builder.turns()


def test_a_run_of_codex_becomes_a_turn_with_patch_tokens_and_refusal():
    (turn,) = read("codex", list(make_codex_run()))
    assert turn.prompt is not None
    assert turn.prompt.text == "Mend the loom"
    assert [(spend.usage.input, spend.usage.output, spend.usage.cache_read) for spend in turn.spends] == [(70, 20, 30)]
    assert [(call.status, call.exit_code) for call in turn.calls] == [("ok", 0), ("error", 1), ("rejected", None)]
    assert [(one.path, one.added) for one in turn.calls[0].edits] == [("loom.py", 2)]
    assert turn.calls[1].runs[0].outcome == "failed"


def test_codex_without_words_still_has_its_turn():
    (turn,) = read("codex", list(make_codex_run(words="[REDACTED]")))
    assert turn.prompt is not None
    assert (turn.prompt.text, len(turn.calls)) == ("", 3)


def say(role: str, **part: Any) -> dict[str, Any]:
    return {"role": role, "parts": [part]}


def make_agent_run() -> list[TelemetryRecord]:
    """Two requests to a model with a tool between them, inside of an agent."""
    asked = [say("user", type="text", content="Mend the loom")]
    call = say(
        "assistant", type="tool_call", id="k1", name="edit_file", arguments={"path": "loom.py", "content": "a\nb"}
    )
    after = [*asked, call, say("tool", type="tool_call_response", id="k1", response="done")]
    end = [say("assistant", type="text", content="It is mended.")]
    chat = {"operation__name": "chat", "request__model": "loom-1"}
    return [
        make_gen_ai_span("invoke_agent", 1, "s1", operation__name="invoke_agent"),
        make_gen_ai_span("chat", 2, "s2", "s1", **chat, input__messages=json.dumps(asked),
                         output__messages=json.dumps([call]), usage__input_tokens=12, usage__output_tokens=3),
        make_gen_ai_span("chat", 4, "s3", "s1", **chat, input__messages=json.dumps(after),
                         output__messages=json.dumps(end), usage__input_tokens=20, usage__output_tokens=4),
    ]  # fmt: skip


def test_spans_of_any_agent_become_a_turn():
    (turn,) = read("otel", make_agent_run())
    assert turn.prompt is not None
    assert turn.prompt.text == "Mend the loom"
    assert [reply.text for reply in turn.replies] == ["It is mended."]
    assert [(call.kind, call.status, call.edits[0].added) for call in turn.calls] == [("edit", "ok", 2)]
    assert [spend.usage.input for spend in turn.spends] == [12, 20]


def test_a_tool_with_a_span_of_its_own_is_told_by_it():
    run = make_agent_run()
    tool = make_gen_ai_span(
        "execute_tool", 3, "s4", "s1", operation__name="execute_tool", tool__name="edit_file", tool__call__id="k1",
        has_failed=True, said="no such file",
    )  # fmt: skip
    (turn,) = read("otel", [*run[:2], tool, run[2]])
    assert [(call.id, call.status, call.output) for call in turn.calls] == [("k1", "error", "no such file")]


def test_an_agent_whose_words_were_not_kept_still_has_its_turn():
    run = [one for one in make_agent_run() if one.name == "invoke_agent"]
    (turn,) = read("otel", run)
    assert turn.prompt is not None
    assert turn.prompt.text == ""


def test_an_agent_inside_of_another_speaks_to_nobody():
    run = make_agent_run()
    inner = make_gen_ai_span("invoke_agent", 2.5, "s8", "s1", operation__name="invoke_agent")
    words = json.dumps([say("user", type="text", content="Look into the shed")])
    asked = make_gen_ai_span(
        "chat", 2.6, "s9", "s8", operation__name="chat", input__messages=words, usage__input_tokens=5
    )
    (turn,) = read("otel", [*run[:2], inner, asked, run[2]])
    assert [spend.by for spend in turn.spends] == ["", "s8", ""]


def test_messages_that_are_spelled_out_are_read_too():
    span = make_gen_ai_span(
        "chat", 1, "s1", operation__name="chat", prompt__0__role="user", prompt__0__content="Mend it",
        completion__0__role="assistant", completion__0__content="Done.", usage__prompt_tokens=5,
    )  # fmt: skip
    (turn,) = read("otel", [span])
    assert turn.prompt is not None
    assert (turn.prompt.text, turn.replies[0].text, turn.spends[0].usage.input) == ("Mend it", "Done.", 5)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
    | st.sampled_from(["[", '{"a":1}', '["x"]', '[{"role":"user","parts":[{"type":"text","content":"x"}]}]']),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)  # fmt: skip
NAMES = """prompt response command_name message.uuid request_id input_tokens output_tokens tool_use_id tool_name
    tool_input tool_parameters success attempt decision source is_async type trigger arguments output call_id event.kind
    output_token_count gen_ai.operation.name gen_ai.input.messages gen_ai.output.messages gen_ai.tool.call.id
    gen_ai.usage.input_tokens gen_ai.prompt.0.role gen_ai.prompt.0.content diff file_path""".split()
EVENTS = """user_prompt api_request assistant_response tool_decision tool_result api_error compaction
    subagent_completed claude_code.interaction claude_code.llm_request claude_code.tool claude_code.tool.execution
    claude_code.tool.blocked_on_user claude_code.token.usage codex.user_prompt codex.sse_event codex.tool_decision
    codex.tool_result codex.api_request chat""".split()
RECORDS = st.builds(
    lambda name, signal, said, span, value: TelemetryRecord(
        id=f"{span}", agent="a", conversation="c", trace="t", span=str(span), parent=str(span - 1), signal=signal,
        name=name, at="2026-11-09T09:00:00.000Z", order=span, attributes=said, value=value,
        is_delta=True, events=(SpanEvent(name="tool.output", attributes=said),),
    ),
    st.sampled_from(EVENTS),
    st.sampled_from(["logs", "traces", "metrics"]),
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5)
    | st.builds(
        lambda said, name: said | {"gen_ai.operation.name": name},
        st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4),
        st.sampled_from(["chat", "invoke_agent", "execute_tool"]),
    ),
    st.integers(0, 5),
    st.floats(allow_nan=False),
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["claude_code", "codex", "otel"]), st.lists(RECORDS, max_size=6))
def test_wild_records_never_crash_a_reader(source: str, records: list[TelemetryRecord]):
    read(source, records)
