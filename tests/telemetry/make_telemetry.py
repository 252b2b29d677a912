"""Telemetry as agents send it, in words of our own."""

from collections.abc import Iterator
from itertools import count
from typing import Any

from msgspec.structs import replace

from assay.telemetry.otlp import hash_text
from assay.telemetry.values import to_time
from assay.types import SpanEvent, TelemetryRecord

BEGAN = 1_794_700_000_000_000_000
SECOND = 1_000_000_000
HIDDEN = "<REDACTED>"


def make_record(agent: str, conversation: str, name: str, second: float, **more: Any) -> TelemetryRecord:
    """A record some seconds after all began; what is more are its own fields, or attributes."""
    order = BEGAN + int(second * SECOND)
    fields = {key: more.pop(key) for key in list(more) if key in TelemetryRecord.__struct_fields__}
    attributes = {key.replace("__", "."): value for key, value in more.items()} | fields.pop("attributes", {})
    made = TelemetryRecord(
        id="", agent=agent, conversation=conversation, name=name, at=to_time(order), order=order, attributes=attributes
    )
    made = replace(made, resource={"service.name": agent, "service.version": "2.1.325", "team": "weavers"}, **fields)
    return replace(made, id=hash_text(f"{agent}/{conversation}/{name}/{order}/{attributes}/{made.span}/{made.value}"))


class ClaudeRun:
    """A run of Claude Code as it tells of itself: events, and spans beside them."""

    def __init__(self, conversation: str = "c-1", sequence: int = 0, start: float = 0) -> None:
        self.conversation = conversation
        self.sequence = count(sequence)
        self.second = start
        self.records: list[TelemetryRecord] = []
        self.ids = count(1)
        self.prompt = ""
        self.request = ""

    def tell(self, name: str, **said: Any) -> TelemetryRecord:
        """Send an event."""
        self.second += 1
        said |= {"event__name": name, "session__id": self.conversation}
        if self.prompt:
            said["prompt__id"] = self.prompt
        record = make_record("claude-code", self.conversation, name, self.second, sequence=next(self.sequence), **said)
        self.records.append(record)
        return record

    def show_span(self, name: str, **said: Any) -> TelemetryRecord:
        """Send a span that ends now."""
        record = make_record(
            "claude-code", self.conversation, f"claude_code.{name}", self.second, signal="traces",
            ended_at=to_time(BEGAN + int(self.second * SECOND)), span=f"{next(self.ids):016x}", **said,
        )  # fmt: skip
        self.records.append(record)
        return record

    def ask(self, words: str = "Mend the loom", **said: Any) -> None:
        self.prompt = f"{self.conversation}-p{next(self.ids)}"
        self.tell("user_prompt", prompt=words, prompt_length=str(len(words)), message__uuid=f"u-{self.prompt}", **said)

    def answer(self, words: str = "", tokens: int = 10, source: str = "repl_main_thread", **said: Any) -> None:
        self.request = f"{self.conversation}-r{next(self.ids)}"
        spent = {"input_tokens": tokens, "output_tokens": tokens, "cache_read_tokens": tokens, "cost_usd": 0.01}
        told = {"request_id": self.request, "query_source": source, "model": "claude-opus-5-5"} | said
        self.tell("api_request", **spent, **told)
        if words:
            self.tell("assistant_response", response=words, **told)

    def use_tool(self, name: str, given: str = "", fails: bool = False, **said: Any) -> str:
        of = f"{self.conversation}-t{next(self.ids)}"
        told = {"tool_name": name, "tool_use_id": of, "request_id": self.request} | said
        self.tell("tool_decision", decision="accept", source="config", **told)
        self.tell("tool_result", success="false" if fails else "true", tool_input=given, **told)
        return of

    def refuse_tool(self, name: str, source: str, **said: Any) -> None:
        of = f"{self.conversation}-t{next(self.ids)}"
        self.tell("tool_decision", decision="reject", source=source, tool_name=name, tool_use_id=of, **said)


def make_edit_run(conversation: str = "c-1") -> ClaudeRun:
    """A run that reads, edits and checks."""
    run = ClaudeRun(conversation)
    run.tell("managed_settings_resolved")
    run.ask("Mend the loom in loom.py")
    run.answer("I look at it first.")
    run.use_tool("Read", '{"file_path":"/w/loom.py"}')
    run.answer("Now the change.")
    run.use_tool("Edit", '{"file_path":"/w/loom.py","old_string":"a = 1","new_string":"a = 2\\nb = 3"}')
    run.answer()
    run.use_tool("Bash", '{"command":"pytest -q"}', fails=True)
    run.answer("It is mended.")
    return run


def make_codex_run(conversation: str = "x-1", words: str = "Mend the loom") -> Iterator[TelemetryRecord]:
    """A run of Codex: a prompt, a patch, a check that fails."""

    def tell(name: str, second: float, **said: Any) -> TelemetryRecord:
        return make_record("codex", conversation, f"codex.{name}", second, **said)

    spent = {"event.kind": "response.completed", "output_token_count": "20", "input_token_count": "100"}
    spent |= {"cached_token_count": "30", "model": "gpt-5.1-codex"}
    patch = "*** Begin Patch\\n*** Add File: loom.py\\n+a = 1\\n+b = 2\\n*** End Patch\\n"
    yield tell("conversation_starts", 0, originator="codex_exec", attributes={"app.version": "0.166.0"})
    yield tell("user_prompt", 1, prompt=words)
    yield tell("sse_event", 2, attributes={"event.kind": "response.completed"})
    yield tell("sse_event", 3, attributes=spent)
    yield tell("tool_decision", 4, tool_name="exec_command", call_id="k1", decision="approved", source="Config")
    ran = {"success": "true", "tool_name": "exec_command", "agent_name": "/root"}
    given = f'{{"cmd":"apply_patch <<\'EOF\'\\n{patch}EOF"}}'
    fine = "Exit code: 0\nWall time: 0 s\nOutput:\n"
    failed = "Wall time: 1 s\nProcess exited with code 1\nOutput:\n1 failed\n"
    yield tell("tool_result", 5, call_id="k1", arguments=given, output=fine, **ran)
    yield tell("tool_decision", 6, tool_name="exec_command", call_id="k2", decision="approved", source="User")
    yield tell("tool_result", 7, call_id="k2", arguments='{"cmd":"pytest -q"}', output=failed, **ran)
    yield tell("tool_decision", 8, tool_name="exec_command", call_id="k3", decision="denied", source="User")


def make_gen_ai_span(name: str, second: float, span: str, parent: str = "", **said: Any) -> TelemetryRecord:
    """A span by the conventions for generative AI."""
    fields = {key: said.pop(key) for key in ("conversation", "has_failed", "said", "trace") if key in said}
    return make_record(
        "loom-agent", fields.pop("conversation", "g-1"), name, second, signal="traces", span=span, parent=parent,
        **({"trace": "t1", "ended_at": to_time(BEGAN + int((second + 1) * SECOND))} | fields),
        attributes={f"gen_ai.{key.replace('__', '.')}": value for key, value in said.items()},
    )  # fmt: skip


def make_output_event(**said: Any) -> tuple[SpanEvent, ...]:
    return (SpanEvent(name="tool.output", attributes=said),)
