"""Observations to events, in reading order: hook traces, native spans, proxy generations, and what is like them."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.sources.langfuse.messages import (
    CLIENT_COMMANDS,
    KINDS,
    SUMMARY,
    build_call,
    find_answer,
    find_exit_code,
    find_person_words,
    find_text,
    join_words,
    list_messages,
    list_tool_requests,
    list_tool_responses,
    parse_ending,
    to_plain_text,
)
from assay.sources.langfuse.records import (
    END,
    NO_USAGE,
    SESSION,
    Record,
    find_attributes,
    list_signs,
    name_stream,
    to_count,
    to_usage,
)
from assay.sources.langfuse.uploaded import is_uploaded, read_uploaded
from assay.types import About, Call, CallStatus, Emit, Event, Mark, Prompt, PromptKind, Reply, Result, Spend, to_key
from assay.types.value import sign_key, to_table, to_text

SPANS = frozenset({"SPAN", "AGENT", "CHAIN"})
QUIET = SPANS | {"EVENT", "RETRIEVER", "EMBEDDING", "GUARDRAIL", "EVALUATOR"}
ASIDE = re.compile(
    r"quota$|Please write a \d+-?\d* word title|Summarize this coding conversation in under|Analyze if this message"
)
"""What the client asks a small model beside the conversation."""
ASIDE_ANSWER = re.compile(r'\s*\{\s*"(?:isNewTopic|title)"')
PLACE = re.compile(r"Working directory: *(/[^\n<]{1,300}|[A-Za-z]:\\[^\n<]{1,300})")
"""Where the client tells the model that it works."""
MOST_NOTED = 50


PREFIX = "claude_code."
HIDDEN = "<REDACTED>"
UNHEARD = "[not recorded]"
"""Words with which the agent ended its turn, and which nobody switched on the recording of."""
GIVEN = {"file_path": "file_path", "full_command": "command", "subagent_type": "description"}
"""What a span says of a tool's input, by the names that the tool has for it."""


class Reader(Struct):
    """Remembers, between two records, only what the next one needs."""

    unknown: dict[str, int] = {}
    cwd: str = ""
    key: tuple[str, ...] = ()
    """Sign of the key with which the session was pulled."""
    project: str = ""
    """Server and project that the session was pulled from: what stands in two projects is no copy of each other."""
    signs: tuple[str, ...] = ()
    trace: str = ""
    prompt: str | None = None
    """What the root of this trace asked; `None` where it asked nothing."""
    reply: int = 0
    """Key of the last words in this trace."""
    is_telling: bool = False
    """The agent of this trace tells of every call that failed."""
    is_uploaded: bool = False
    """This trace is one that we sent: its answers tell all that its root does."""
    is_beside: bool = False
    """This trace is no part of what the person and the agent say to each other."""
    spans: dict[str, str] = {}
    """Calls by the native spans of this trace that opened them."""
    compacting: str = ""
    """Trace in which the person asked for a compaction."""
    begun: int = 0
    """Key of the message with which the conversation begins; every request of a proxy repeats it."""
    seen: set[int] = set()
    """Messages that were read, each by a key of it and all before it."""
    orders: dict[int, str] = {}
    """Calls that started sub-agents, by what they were told."""
    answered: set[str] = set()
    """Calls whose results were read."""

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        if record.type == SESSION:
            self.key = (sign_key(record.key),) if record.key else ()
            self.project = f"{record.host}/{record.project}" if record.project else ""
            stream = name_stream(record.session, record.host, record.project)
            begun = About(at=record.at, stream=stream, version=record.version, origin=record.host)
            emit(replace(begun, signs=self.key))
            return
        self.read_record(record, build_emitter(self.project, emit))

    def read_record(self, record: Record, emit: Emit) -> None:
        """Emit the events of an observation, or of the end of a trace."""
        self.emit_signs(record, emit)
        if record.trace != self.trace:
            self.trace, self.prompt, self.reply, self.is_beside = record.trace, None, 0, False
            self.spans, self.is_telling, self.is_uploaded = {}, False, False
        self.is_telling = self.is_telling or is_claude_code(record)
        if is_uploaded(record):
            self.read_own(record, emit)
        elif record.type == END:
            if not self.is_beside and not self.is_uploaded:
                self.emit_reply(find_text(record.output), record.at, emit)
        elif record.name.startswith(PREFIX):
            self.read_native(record, emit)
        elif record.type == "GENERATION":
            self.read_generation(record, emit)
        elif record.type == "TOOL":
            self.read_tool(record, emit)
        elif record.is_root and record.type in SPANS:
            self.read_root(record, emit)
        elif record.type not in QUIET:
            self.count_unknown(record.type or "(no type)")

    def read_own(self, record: Record, emit: Emit) -> None:
        """What we sent ourselves."""
        self.is_uploaded = True
        for event in read_uploaded(record, self.cwd):
            if isinstance(event, About):
                self.cwd = event.cwd or self.cwd
            emit(event)

    def emit_signs(self, record: Record, emit: Emit) -> None:
        """Emit whose the record is, where that changed."""
        found = (*self.key, *list_signs(record))
        if found and found != self.signs:
            self.signs = found
            emit(About(signs=found))

    def read_native(self, record: Record, emit: Emit) -> None:
        """A span of Claude Code itself."""
        if is_compaction(record):
            self.compacting = record.trace
        if of := find_opened_call(record):
            self.spans[record.id] = of
        for event in read_span(record, self.compacting == record.trace, of or self.spans.get(record.parent, "")):
            if isinstance(event, Prompt):
                self.prompt = event.text
            if isinstance(event, Reply):
                if self.prompt or event.text != UNHEARD:  # where nobody's words are kept, neither are the agent's
                    self.emit_reply(event.text, event.at, emit)
            else:
                emit(event)

    def read_root(self, record: Record, emit: Emit) -> None:
        """The root of a trace: a turn of the hook, or somebody's own span around a request."""
        if (cwd := to_text(record.metadata.get("cwd"))) and cwd != self.cwd:
            self.cwd = cwd
            emit(About(cwd=cwd))
        is_hook = is_claude_code(record)
        is_message = isinstance(record.input, str) or to_table(record.input).get("role") == "user"
        raw = find_text(record.input) if is_message else ""
        text = find_person_words(raw)
        if text or (is_hook and not raw):
            self.prompt = text
            kind: PromptKind = "command" if text.startswith("/") and raw.lstrip().startswith("<") else "typed"
            emit(Prompt(at=record.at, text=text, key=to_key(f"{record.trace}/{record.id}"), kind=kind))

    def emit_reply(self, text: str, at: str, emit: Emit) -> None:
        """Emit the agent's words; a trace's root repeats the last of them."""
        key = to_key(text.strip())
        if text.strip() and key != self.reply:
            self.reply = key
            emit(Reply(at=at, text=text))

    def read_generation(self, record: Record, emit: Emit) -> None:
        """A model's answer, and the request it answers."""
        messages = list_messages(record.input)
        answer = find_answer(record.output)
        by, is_apart = self.read_request(record, messages, emit)
        self.is_beside = self.is_beside or is_apart or bool(by)
        key, at = to_key(f"{record.trace}/{record.id}"), record.ended_at or record.at
        usage = to_usage(record.usage)
        if usage != NO_USAGE:
            emit(Spend(at=at, key=key, model=record.model, usage=usage, by=by))
        if record.level == "ERROR":
            emit(Mark(kind="api_error", at=at, detail=record.said))
        if is_apart:
            return
        if not by:
            self.emit_reply(join_words(answer) if answer else find_text(record.output), at, emit)
        self.emit_calls(answer, at, key, by, emit)

    def emit_calls(self, message: dict[str, Any], at: str, key: int, by: str, emit: Emit) -> None:
        """Emit the calls in an assistant's message."""
        for one in list_tool_requests(message):
            if KINDS.get(one.name) == "agent" and (order := to_text(one.given.get("prompt"))):
                self.orders[to_key(order.strip())] = one.id
            emit(build_call(one.id, one.name, one.given, at, key, by))

    def read_request(self, record: Record, messages: list[dict[str, Any]], emit: Emit) -> tuple[str, bool]:
        """Read what is new in a request; gives the sub-agent behind it, and whether it is beside the conversation."""
        if self.prompt is not None or not messages:
            for message in messages:
                self.emit_results(message, record.at, emit)
            return "", False
        self.find_place(messages[0], emit)
        first = next((join_words(one) for one in messages if one.get("role") == "user"), "")
        begun = to_key(find_opening(first))
        by = self.orders.get(begun, "")
        is_new = begun != self.begun and not by
        if is_new and first.startswith(SUMMARY):
            emit(Mark(kind="compact", at=record.at, detail="auto"))
        elif is_new and (self.begun or is_aside(first, record.output)):
            return "", True
        self.begun = self.begun if by else begun
        self.read_messages(messages, begun, by, record.at, emit)
        return by, False

    def find_place(self, message: dict[str, Any], emit: Emit) -> None:
        """Emit the folder that the instructions name, where it changed."""
        found = PLACE.search(join_words(message)) if message.get("role") == "system" else None
        if found and found[1].strip() != self.cwd:
            self.cwd = found[1].strip()
            emit(About(cwd=self.cwd))

    def read_messages(self, messages: list[dict[str, Any]], chain: int, by: str, at: str, emit: Emit) -> None:
        """Emit prompts and results that no earlier request held."""
        before: dict[str, Any] = {}
        for message in messages:
            if message.get("role") not in ("user", "tool"):
                before = message
                continue
            ids, text = ",".join(one.id for one in list_tool_responses(message)), find_person_words(join_words(message))
            chain = to_key(f"{chain}/{ids}/{text}")
            if chain in self.seen:
                continue
            self.seen.add(chain)
            self.emit_calls(before, at, 0, by, emit)
            self.emit_results(message, at, emit)
            if text and not by and message.get("role") == "user":
                emit(Prompt(at=at, text=text, key=chain, kind="queued" if ids else "typed"))

    def emit_results(self, message: dict[str, Any], at: str, emit: Emit) -> None:
        """Emit the results in a message, each once."""
        for one in list_tool_responses(message):
            if one.id not in self.answered:
                self.answered.add(one.id)
                self.emit_result(one.id, one.output, at, one.is_error, emit)

    def read_tool(self, record: Record, emit: Emit) -> None:
        """A tool's own observation: the call, and its result if there was one."""
        name = to_text(record.metadata.get("tool_name")) or record.name.removeprefix("Tool: ")
        of = to_text(record.metadata.get("tool_id")) or record.id
        given = to_table(record.input)
        if KINDS.get(name) == "agent" and (order := to_text(given.get("prompt"))):
            self.orders[to_key(order.strip())] = of
        emit(build_call(of, name, given, record.at, to_key(f"{record.trace}/{record.parent}"), ""))
        if record.output is not None and of not in self.answered:
            self.answered.add(of)
            self.emit_result(of, record.output, record.ended_at or record.at, record.level == "ERROR" or None, emit)

    def emit_result(self, id: str, output: Any, at: str, is_error: bool | None, emit: Emit) -> None:
        """Emit how a call ended."""
        status, code, text = parse_ending(to_plain_text(output), is_error=is_error, is_telling=self.is_telling)
        if code is None and (code := find_exit_code(output)) and status == "ok":
            status = "error"
        emit(Result(id=id, at=at, status=status, exit_code=code, output=text))

    def count_unknown(self, what: str) -> None:
        """Count a type that is not understood, for `assay doctor`."""
        if what in self.unknown or len(self.unknown) < MOST_NOTED:
            self.unknown[what[:60]] = self.unknown.get(what[:60], 0) + 1


def is_claude_code(record: Record) -> bool:
    """Whether a record is of Claude Code's hook, by what it says of itself."""
    return record.metadata.get("source") == "claude-code" or "claude-code" in record.tags


def build_emitter(project: str, emit: Emit) -> Emit:
    """Emits events with keys of their project's own."""
    if not project:
        return emit

    def emit_own(event: Event) -> None:
        if isinstance(event, Prompt | Spend):
            event = replace(event, key=to_key(f"{project}/{event.key}"))
        elif isinstance(event, Call) and event.of:
            event = replace(event, of=to_key(f"{project}/{event.of}"))
        emit(event)

    return emit_own


def find_opening(text: str) -> str:
    """The message that a conversation begins with, without context that changes from request to request."""
    return find_person_words(text) or text.strip()


def is_aside(first: str, output: Any) -> bool:
    """Whether a request is one of the client's own, beside the conversation."""
    return bool(ASIDE.match(first.strip()) or ASIDE_ANSWER.match(find_text(output)))


# --- Claude Code's own OpenTelemetry spans ---------------------------------------------------
#
# interaction > llm_request, tool > tool.execution, tool.blocked_on_user. Words come along only where the person
# switched that on; without them the spans still tell of turns, tokens, tools and failures.


def read_span(record: Record, is_compacting: bool, around: str) -> Iterator[Event]:
    """The events of one span; `is_compacting`: the person asked for a compaction; `around`: the call it is inside."""
    told = {"tool_use_id": around} | find_attributes(record)
    kind = record.name.removeprefix(PREFIX)
    if kind == "interaction":
        yield from read_interaction(record, told)
    elif kind == "llm_request":
        yield from read_llm_request(record, told, is_compacting)
    elif kind == "tool":
        yield from read_tool_span(record, told)
    elif kind == "tool.execution":
        yield from read_execution(record, told)
    elif kind == "tool.blocked_on_user" and told.get("decision") == "reject":
        status: CallStatus = "rejected" if "user" in to_text(told.get("source")) else "denied"
        yield Result(id=find_call_id(record, told), at=record.ended_at or record.at, status=status)


def find_opened_call(record: Record) -> str:
    """The id of the call that a `tool` span opens; spans inside don't always name it."""
    return find_call_id(record, find_attributes(record)) if record.name == f"{PREFIX}tool" else ""


def is_compaction(record: Record) -> bool:
    """Whether a person asks for a compaction in this span."""
    return record.name == f"{PREFIX}interaction" and to_text(find_attributes(record).get("user_prompt")).startswith(
        "/compact"
    )


def read_interaction(record: Record, told: dict[str, Any]) -> Iterator[Event]:
    """A prompt; one whose words were held back has none."""
    raw = to_text(told.get("user_prompt")) or find_text(record.input)
    text = "" if raw == HIDDEN else find_person_words(raw)
    is_machine = raw not in ("", HIDDEN) and not text
    is_setting = raw.startswith("/") and raw[1:].split(" ")[0] in CLIENT_COMMANDS
    if not is_machine and not is_setting:
        kind: PromptKind = "command" if text.startswith("/") else "typed"
        yield Prompt(at=record.at, text=text, key=to_key(f"{record.trace}/{record.id}"), kind=kind)


def read_llm_request(record: Record, told: dict[str, Any], is_compacting: bool) -> Iterator[Event]:
    """A model's answer: tokens, words where there are any, and what went wrong."""
    by, at = to_text(told.get("agent_id")), record.ended_at or record.at
    for _ in range(min(to_count(told.get("attempt")), 20) - 1):
        yield Mark(kind="retry", at=record.at)
    if is_false(told.get("success")):
        detail = to_text(told.get("error_class")) or str(told.get("status_code") or "")
        yield Mark(kind="api_error", at=at, detail=detail)
    if told.get("query_source_safe") == "compact":
        yield Mark(kind="compact", at=at, detail="manual" if is_compacting else "auto")
    usage = to_usage(told if "output_tokens" in told else record.usage)
    if usage != NO_USAGE:
        key = to_key(to_text(told.get("request_id")) or f"{record.trace}/{record.id}")
        model = record.model or to_text(told.get("gen_ai.request.model")) or to_text(told.get("model"))
        yield Spend(at=at, key=key, model=model, usage=usage, by=by)
    has_ended = told.get("stop_reason") == "end_turn" and told.get("query_source_safe") != "compact"
    if not by and not is_compacting and (text := find_text(record.output) or (UNHEARD if has_ended else "")):
        yield Reply(at=at, text=text)


def read_tool_span(record: Record, told: dict[str, Any]) -> Iterator[Event]:
    """A call, with its result where the span holds one."""
    name = to_text(told.get("tool_name")) or to_text(told.get("gen_ai.tool.name"))
    given = {ours: told[theirs] for theirs, ours in GIVEN.items() if told.get(theirs)} | to_table(record.input)
    of = find_call_id(record, told)
    yield build_call(of, name, given, record.at, 0, to_text(told.get("agent_id")))
    if record.output is not None:
        text = to_plain_text(record.output)
        status, code, text = parse_ending(text, is_error=record.level == "ERROR" or None, is_telling=True)
        yield Result(id=of, at=record.ended_at or record.at, status=status, exit_code=code, output=text)


def read_execution(record: Record, told: dict[str, Any]) -> Iterator[Event]:
    """How a call went."""
    has_failed = is_false(told.get("success")) or record.level == "ERROR"
    yield Result(
        id=find_call_id(record, told),
        at=record.ended_at or record.at,
        status="error" if has_failed else "ok",
        exit_code=None if has_failed else 0,
        output=to_text(told.get("error")) if has_failed else "",
    )


def find_call_id(record: Record, told: dict[str, Any]) -> str:
    """The id of the tool call that a span speaks of."""
    found = to_text(told.get("tool_use_id")) or to_text(told.get("gen_ai.tool.call.id"))
    return found or record.id


def is_false(value: Any) -> bool:
    """Whether a value says false, as a truth value or in words."""
    return value is False or value in ("false", "False")
