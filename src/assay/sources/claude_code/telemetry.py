"""Claude Code's OpenTelemetry to events: log events, what spans tell beside them, and metrics where both are silent.

Events and spans tell of the same prompts, requests and calls, and name them by the same ids: each is told once. Words
come along only where somebody switched that on; without them turns, tokens, calls and failures are still there.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from assay.sources.claude_code import hooks, prompts, tools
from assay.sources.claude_code.records import MessageBlock
from assay.types import (
    About,
    CallStatus,
    Edit,
    Emit,
    Event,
    Mark,
    Prompt,
    Reply,
    Result,
    Spend,
    TelemetryRecord,
    Usage,
    to_key,
)
from assay.types.value import to_list, to_table, to_text

PREFIX = "claude_code."
HIDDEN = "<REDACTED>"
ASIDE = frozenset({"compact"})
"""Requests whose answers are not said to the person."""
ASKING = frozenset({"api_request", "api_error"})
NOTICE_S = 5
"""Within this time the end of a sub-agent is told to the agent, as a prompt that nobody typed."""
GIVEN = {"file_path": "file_path", "full_command": "command", "subagent_type": "description"}
"""What is said of a tool's input where the input itself is not, by the names that the tool has for it."""
TOKENS = {"input": "input", "output": "output", "cacheRead": "cache_read", "cacheCreation": "cache_write"}
MOST_TOKENS = 1 << 40


def read_telemetry(records: Sequence[TelemetryRecord], emit: Emit) -> dict[str, int]:
    """Emit the events of a conversation, all of whose records are given by time; counts those of unknown kinds."""
    told_to_hooks = [one for one in records if hooks.is_hook(one)]
    records = [one for one in records if not hooks.is_hook(one)]
    reader = ClaudeTelemetry(records)
    first = next((one for one in records if one.signal == "logs"), None)
    version = next((found for one in records if (found := to_text(one.resource.get("service.version")))), "")
    emit(About(version=version, origin="telemetry"))
    if first is not None and first.sequence > 0:  # numbers run on after /clear, and only then
        emit(Mark(kind="clear", at=first.at))
    is_told = any(one.signal != "metrics" for one in records)
    for event in hooks.read_boundaries(told_to_hooks) if is_told else hooks.read_hooks(told_to_hooks):
        emit(event)
    for record in records:
        for event in reader.read_record(record):
            emit(event)
    if not reader.requests:
        for event in read_counted_tokens(records):
            emit(event)
    return reader.unknown


class ClaudeTelemetry:
    """Knows all records of a conversation, so that none tells again what another tells better."""

    def __init__(self, records: Sequence[TelemetryRecord]) -> None:
        self.unknown: dict[str, int] = {}
        self.requests = 0
        """Requests that were told of."""
        self.calls: set[str] = set()
        self.ended_agent = 0
        """When the last sub-agent in the background ended."""
        logs = [one for one in records if one.signal == "logs"]
        self.prompted = {(one.trace, one.span): one for one in logs if one.name == "user_prompt" and one.span}
        """Events of prompts by the spans that they begin."""
        self.read: set[str] = set()
        """Prompts that were told."""
        self.asked = {find_request(one) for one in logs if one.name == "api_request"}
        self.ended = {find_call_id(one) for one in logs if one.name == "tool_result"}
        self.last_request = {to_text(one.attributes.get("prompt.id")): one.order for one in logs if one.name in ASKING}
        """When each prompt last had something asked of a model."""
        self.inputs: dict[str, dict[str, Any]] = {}
        """What tools were given, by their calls."""
        self.outputs: dict[str, dict[str, Any]] = {}
        for one in records:
            self.note_tool(one)
        self.readers: dict[str, Callable[[TelemetryRecord], Iterator[Event]]] = {
            "user_prompt": self.read_prompt,
            "api_request": self.read_request,
            "assistant_response": self.read_reply,
            "tool_decision": self.read_decision,
            "tool_result": self.read_result,
            "api_error": self.read_error,
            "compaction": self.read_compaction,
            "subagent_completed": self.note_ended_agent,
            f"{PREFIX}interaction": self.read_interaction,
            f"{PREFIX}llm_request": self.read_llm_request,
            f"{PREFIX}tool": self.read_tool_span,
            f"{PREFIX}tool.execution": self.read_execution,
            f"{PREFIX}tool.blocked_on_user": self.read_block,
        }

    def read_record(self, record: TelemetryRecord) -> Iterator[Event]:
        """The events of one record."""
        found = self.readers.get(record.name)
        if found is not None:
            return found(record)
        if record.signal == "logs" and not record.name.startswith(QUIET):
            name = record.name[:60]
            if name in self.unknown or len(self.unknown) < 50:
                self.unknown[name] = self.unknown.get(name, 0) + 1
        return iter(())

    def note_tool(self, record: TelemetryRecord) -> None:
        """Note what a tool was given and gave: events and spans each tell a part of it."""
        of = find_call_id(record)
        if not of:
            return
        told = record.attributes
        given = {ours: told[theirs] for theirs, ours in GIVEN.items() if told.get(theirs)}
        parameters = parse_table(told.get("tool_parameters"))
        given |= {ours: parameters[theirs] for theirs, ours in GIVEN.items() if parameters.get(theirs)}
        whole = parse_table(told.get("tool_input"))
        self.inputs[of] = given | self.inputs.get(of, {}) | whole
        for event in record.events:
            if event.name == "tool.output":
                self.outputs[of] = event.attributes

    # --- log events ------------------------------------------------------------------------

    def read_prompt(self, record: TelemetryRecord) -> Iterator[Event]:
        """A prompt, unless it steers the client or a machine wrote it."""
        told = record.attributes
        if record.id in self.read or to_text(told.get("command_name")) in prompts.CLIENT_COMMANDS:
            return
        self.read.add(record.id)
        raw = to_text(told.get("prompt")) or to_text(told.get("prompt_text"))
        key = to_text(told.get("message.uuid")) or to_text(told.get("prompt.id")) or record.id
        yield from self.build_prompt(record, raw, key)

    def build_prompt(self, record: TelemetryRecord, raw: str, key: str) -> Iterator[Prompt]:
        """The prompt of some words; of one whose words were held back there are none."""
        if raw in ("", HIDDEN):
            if record.order - self.ended_agent > NOTICE_S * 1_000_000_000:
                yield Prompt(at=record.at, text="", key=to_own_key(key))
            self.ended_agent = 0
            return
        said = prompts.from_text(raw)
        if said is None or (raw.startswith("/") and raw[1:].split(" ")[0] in prompts.CLIENT_COMMANDS):
            return
        kind = "command" if raw.startswith("/") else said[0]
        yield Prompt(at=record.at, text=said[1], key=to_own_key(key), kind=kind)

    def read_request(self, record: TelemetryRecord) -> Iterator[Event]:
        """The tokens of a request."""
        self.requests += 1
        told = record.attributes
        yield Spend(
            at=record.at,
            key=to_own_key(find_request(record) or record.id),  # a proxy may name no request
            model=to_text(told.get("model")),
            usage=to_usage(told),
            by=to_text(told.get("agent_id")),
        )

    def read_reply(self, record: TelemetryRecord) -> Iterator[Event]:
        """What the agent said to the person."""
        told = record.attributes
        text = to_text(told.get("response"))
        if text not in ("", HIDDEN) and not told.get("agent_id") and told.get("query_source") not in ASIDE:
            yield Reply(at=record.at, text=text)

    def read_decision(self, record: TelemetryRecord) -> Iterator[Event]:
        """A call, and its end where it was not let through: no result comes then."""
        yield from self.open_call(record)
        if record.attributes.get("decision") == "reject":
            yield Result(id=find_call_id(record), at=record.at, status=find_refusal(record))
            asked = self.last_request.get(to_text(record.attributes.get("prompt.id")), 0)
            if find_refusal(record) == "rejected" and asked < record.order:  # nothing follows: the turn was stopped
                yield Mark(kind="interrupt", at=record.at)

    def read_result(self, record: TelemetryRecord) -> Iterator[Event]:
        """How a call ended."""
        yield from self.open_call(record)
        yield self.build_result(record, record.at)

    def open_call(self, record: TelemetryRecord) -> Iterator[Event]:
        """The call that a record speaks of, once."""
        told, of = record.attributes, find_call_id(record)
        if not of or of in self.calls:
            return
        self.calls.add(of)
        name = to_text(told.get("tool_name")) or to_text(told.get("gen_ai.tool.name"))
        block = MessageBlock(id=of, name=name, input=Raw(msgspec.json.encode(self.inputs.get(of, {}))))
        request = find_request(record)
        yield tools.build_call(block, record.at, to_own_key(request) if request else 0, to_text(told.get("agent_id")))

    def build_result(self, record: TelemetryRecord, at: str) -> Result:
        """The result that a record tells of, with the output that its span may hold."""
        of, has_failed = find_call_id(record), is_false(record.attributes.get("success"))
        out = self.outputs.get(of, {})
        text = to_text(out.get("output")) or to_text(out.get("content"))
        return Result(
            id=of,
            at=at,
            status="error" if has_failed else "ok",
            output=text or (to_text(record.attributes.get("error")) if has_failed else ""),
            exit_code=None if has_failed else 0,
            edits=list_made_edits(out),
        )

    def read_error(self, record: TelemetryRecord) -> Iterator[Event]:
        """A request that failed for good; those before it were tried again."""
        told = record.attributes
        for _ in range(min(to_count(told.get("attempt")), 20) - 1):
            yield Mark(kind="retry", at=record.at)
        yield Mark(kind="api_error", at=record.at, detail=str(told.get("status_code") or ""))

    def read_compaction(self, record: TelemetryRecord) -> Iterator[Event]:
        if not is_false(record.attributes.get("success")):
            yield Mark(kind="compact", at=record.at, detail=to_text(record.attributes.get("trigger")) or "auto")

    def note_ended_agent(self, record: TelemetryRecord) -> Iterator[Event]:
        """A sub-agent in the background ended: a prompt that tells so follows at once."""
        if record.attributes.get("is_async") in (True, "true"):
            self.ended_agent = record.order
        yield from ()

    # --- spans: what no event told -----------------------------------------------------------

    def read_interaction(self, record: TelemetryRecord) -> Iterator[Event]:
        """A prompt begins with its span, whichever of both tells its words."""
        if event := self.prompted.get((record.trace, record.span)):
            yield from self.read_prompt(event)
        else:
            yield from self.build_prompt(record, to_text(record.attributes.get("user_prompt")), record.id)

    def read_llm_request(self, record: TelemetryRecord) -> Iterator[Event]:
        """How often a request was tried, and its tokens where no event told them."""
        told, at = record.attributes, record.ended_at or record.at
        if not is_false(told.get("success")):
            for _ in range(min(to_count(told.get("attempt")), 20) - 1):
                yield Mark(kind="retry", at=record.at)
        if find_request(record) not in self.asked and "output_tokens" in told:
            self.requests += 1
            yield Spend(
                at=at,
                key=to_own_key(find_request(record) or record.id),
                model=to_text(told.get("gen_ai.request.model")) or to_text(told.get("model")),
                usage=to_usage(told),
                by=to_text(told.get("agent_id")),
            )

    def read_tool_span(self, record: TelemetryRecord) -> Iterator[Event]:
        return self.open_call(record)

    def read_execution(self, record: TelemetryRecord) -> Iterator[Event]:
        if find_call_id(record) not in self.ended:
            yield self.build_result(record, record.ended_at or record.at)

    def read_block(self, record: TelemetryRecord) -> Iterator[Event]:
        if record.attributes.get("decision") == "reject" and find_call_id(record):
            yield Result(id=find_call_id(record), at=record.ended_at or record.at, status=find_refusal(record))


QUIET = ("hook_", "plugin_", "managed_settings", "api_retries_exhausted", "mcp_", "auth", "skill_", "internal_error")
"""Beginnings of the names of events that hold nothing for us."""


def read_counted_tokens(records: Sequence[TelemetryRecord]) -> Iterator[Spend]:
    """Tokens as metrics count them, for a conversation of which nothing else tells any."""
    spent: dict[tuple[str, str, str], dict[str, int]] = {}
    for one in records:
        kind = TOKENS.get(to_text(one.attributes.get("type")))
        if one.name != f"{PREFIX}token.usage" or not kind or not one.is_delta or one.value is None:
            continue
        by = to_text(one.attributes.get("query_source"))
        counts = spent.setdefault((one.at, to_text(one.attributes.get("model")), by), {})
        counts[kind] = counts.get(kind, 0) + to_count(one.value)
    for (at, model, by), counts in spent.items():
        yield Spend(at=at, key=to_own_key(f"{at}/{model}/{by}"), model=model, usage=Usage(**counts))


def find_request(record: TelemetryRecord) -> str:
    return to_text(record.attributes.get("request_id"))


def find_call_id(record: TelemetryRecord) -> str:
    """The id of the tool call that a record speaks of."""
    told = record.attributes
    return to_text(told.get("tool_use_id")) or to_text(told.get("gen_ai.tool.call.id"))


def find_refusal(record: TelemetryRecord) -> CallStatus:
    """Who did not let a call through: the person, or a rule."""
    return "rejected" if to_text(record.attributes.get("source")).startswith("user") else "denied"


def list_made_edits(out: dict[str, Any]) -> tuple[Edit, ...] | None:
    """The edit that the client's own patch reports; `None` where there is no patch."""
    path, hunks = to_text(out.get("file_path")), to_list(parse_json(out.get("diff")))
    lines = [line for hunk in hunks for line in to_list(to_table(hunk).get("lines")) if isinstance(line, str)]
    if not path or not lines:
        return None
    added = [line[1:] for line in lines if line[:1] == "+"]
    removed = [line[1:] for line in lines if line[:1] == "-"]
    return (tools.build_edit(path, added, removed, lines),)


def to_usage(told: dict[str, Any]) -> Usage:
    return Usage(
        input=to_count(told.get("input_tokens")),
        output=to_count(told.get("output_tokens")),
        cache_read=to_count(told.get("cache_read_tokens")),
        cache_write=to_count(told.get("cache_creation_tokens")),
        cache_write_1h=to_count(told.get("cache_creation_1h_tokens")),
    )


def to_count(value: Any) -> int:
    """A count, which may be given as text; 0 for what can't be one."""
    try:
        found = int(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0
    except (ValueError, OverflowError):
        return 0
    return found if 0 < found < MOST_TOKENS else 0


def to_own_key(identity: str) -> int:
    """A key that no transcript has: what is there twice is no copy of each other."""
    return to_key(f"otel/{identity}")


def is_false(value: Any) -> bool:
    return value is False or value in ("false", "False")


def parse_table(value: Any) -> dict[str, Any]:
    return to_table(parse_json(value))


def parse_json(value: Any) -> Any:
    """What a text of JSON says; `None` where it is none."""
    try:
        return msgspec.json.decode(value) if isinstance(value, str) else None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
