"""Claude Code's own OpenTelemetry spans: interaction > llm_request, tool > tool.execution, tool.blocked_on_user.

Words come along only where the person switched that on; without them the spans still tell of turns, tokens,
tools and failures.
"""

from collections.abc import Iterator
from typing import Any

from assay.sources.langfuse.messages import CLIENT, spoken, text_of
from assay.sources.langfuse.records import Record, attributes, number, table, word
from assay.sources.langfuse.spending import NOTHING, usage_of
from assay.sources.langfuse.tools import call, ending, plain
from assay.types import CallStatus, Event, Mark, Prompt, PromptKind, Reply, Result, Spend, key_of

PREFIX = "claude_code."
HIDDEN = "<REDACTED>"
UNHEARD = "[not recorded]"
"""Words with which the agent ended its turn, and which nobody switched on the recording of."""
GIVEN = {"file_path": "file_path", "full_command": "command", "subagent_type": "description"}
"""What a span says of a tool's input, by the names that the tool has for it."""


def events(record: Record, is_compacting: bool, around: str) -> Iterator[Event]:
    """What one span tells; `is_compacting`: the person asked for the compaction; `around`: the call it is inside."""
    told = {"tool_use_id": around} | attributes(record)
    kind = record.name.removeprefix(PREFIX)
    if kind == "interaction":
        yield from interaction(record, told)
    elif kind == "llm_request":
        yield from request(record, told, is_compacting)
    elif kind == "tool":
        yield from tool(record, told)
    elif kind == "tool.execution":
        yield from execution(record, told)
    elif kind == "tool.blocked_on_user" and told.get("decision") == "reject":
        status: CallStatus = "rejected" if "user" in word(told.get("source")) else "denied"
        yield Result(id=call_id(record, told), at=record.ended_at or record.at, status=status)


def opens_call(record: Record) -> str:
    """The call that a span and those inside it are about; those don't always name it themselves."""
    return call_id(record, attributes(record)) if record.name == f"{PREFIX}tool" else ""


def is_compaction(record: Record) -> bool:
    """Whether a person asks for a compaction here."""
    return record.name == f"{PREFIX}interaction" and word(attributes(record).get("user_prompt")).startswith("/compact")


def interaction(record: Record, told: dict[str, Any]) -> Iterator[Event]:
    """A prompt; one whose words were held back has none."""
    raw = word(told.get("user_prompt")) or text_of(record.input)
    text = "" if raw == HIDDEN else spoken(raw)
    is_machine = raw not in ("", HIDDEN) and not text
    is_setting = raw.startswith("/") and raw[1:].split(" ")[0] in CLIENT
    if not is_machine and not is_setting:
        kind: PromptKind = "command" if text.startswith("/") else "typed"
        yield Prompt(at=record.at, text=text, key=key_of(f"{record.trace}/{record.id}"), kind=kind)


def request(record: Record, told: dict[str, Any], is_compacting: bool) -> Iterator[Event]:
    """A model's answer: tokens, words where there are any, and what went wrong."""
    by, at = word(told.get("agent_id")), record.ended_at or record.at
    for _ in range(min(number(told.get("attempt")), 20) - 1):
        yield Mark(kind="retry", at=record.at)
    if is_false(told.get("success")):
        detail = word(told.get("error_class")) or str(told.get("status_code") or "")
        yield Mark(kind="api_error", at=at, detail=detail)
    if told.get("query_source_safe") == "compact":
        yield Mark(kind="compact", at=at, detail="manual" if is_compacting else "auto")
    usage = usage_of(told if "output_tokens" in told else record.usage)
    if usage != NOTHING:
        key = key_of(word(told.get("request_id")) or f"{record.trace}/{record.id}")
        model = record.model or word(told.get("gen_ai.request.model")) or word(told.get("model"))
        yield Spend(at=at, key=key, model=model, usage=usage, by=by)
    has_ended = told.get("stop_reason") == "end_turn" and told.get("query_source_safe") != "compact"
    if not by and not is_compacting and (text := text_of(record.output) or (UNHEARD if has_ended else "")):
        yield Reply(at=at, text=text)


def tool(record: Record, told: dict[str, Any]) -> Iterator[Event]:
    """A call, with its result where the span holds one."""
    name = word(told.get("tool_name")) or word(told.get("gen_ai.tool.name"))
    given = {ours: told[theirs] for theirs, ours in GIVEN.items() if told.get(theirs)} | table(record.input)
    of = call_id(record, told)
    yield call(of, name, given, record.at, 0, word(told.get("agent_id")))
    if record.output is not None:
        status, code, text = ending(plain(record.output), is_error=record.level == "ERROR")
        yield Result(id=of, at=record.ended_at or record.at, status=status, exit_code=code, output=text)


def execution(record: Record, told: dict[str, Any]) -> Iterator[Event]:
    """How a call went."""
    has_failed = is_false(told.get("success")) or record.level == "ERROR"
    yield Result(
        id=call_id(record, told),
        at=record.ended_at or record.at,
        status="error" if has_failed else "ok",
        exit_code=None if has_failed else 0,
        output=word(told.get("error")) if has_failed else "",
    )


def call_id(record: Record, told: dict[str, Any]) -> str:
    """The tool call a span speaks of."""
    found = word(told.get("tool_use_id")) or word(told.get("gen_ai.tool.call.id"))
    return found or record.id


def is_false(value: Any) -> bool:
    """Whether something is said to be false, as a truth value or in words."""
    return value is False or value in ("false", "False")
