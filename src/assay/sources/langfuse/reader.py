"""Observations to events, in reading order: hook traces, native spans, proxy generations, and what is like them."""

import re
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.sources.langfuse import native
from assay.sources.langfuse.messages import SUMMARY, asked, of_answer, of_request, ran, spoken, text_of, words
from assay.sources.langfuse.records import END, SESSION, Record, signs, table, word
from assay.sources.langfuse.spending import NOTHING, usage_of
from assay.sources.langfuse.tools import KINDS, call, ending, plain
from assay.types import About, Emit, Mark, Prompt, PromptKind, Reply, Result, Spend, key_of
from assay.types.signs import of_key

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


class Reader(Struct):
    """Remembers, between two records, only what the next one needs."""

    unknown: dict[str, int] = {}
    cwd: str = ""
    key: tuple[str, ...] = ()
    """Sign of the key with which the session was pulled."""
    signs: tuple[str, ...] = ()
    trace: str = ""
    prompt: str | None = None
    """What the root of this trace asked; `None` where it asked nothing."""
    reply: int = 0
    """Key of the last words in this trace."""
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
        """Turn one record into events."""
        if record.type == SESSION:
            self.key = (of_key(record.key),) if record.key else ()
            begun = About(at=record.at, stream=record.session, version=record.version, origin=record.host)
            emit(replace(begun, signs=self.key))
            return
        self.tell(record, emit)
        if record.trace != self.trace:
            self.trace, self.prompt, self.reply, self.is_beside = record.trace, None, 0, False
            self.spans = {}
        if record.type == END:
            if not self.is_beside:
                self.say(text_of(record.output), record.at, emit)
        elif record.name.startswith(native.PREFIX):
            self.native(record, emit)
        elif record.type == "GENERATION":
            self.generation(record, emit)
        elif record.type == "TOOL":
            self.tool(record, emit)
        elif record.is_root and record.type in SPANS:
            self.turn(record, emit)
        elif record.type not in QUIET:
            self.not_understood(record.type or "(no type)")

    def tell(self, record: Record, emit: Emit) -> None:
        """Whose a record is, where that changed."""
        found = (*self.key, *signs(record))
        if found and found != self.signs:
            self.signs = found
            emit(About(signs=found))

    def native(self, record: Record, emit: Emit) -> None:
        """A span of Claude Code itself."""
        if native.is_compaction(record):
            self.compacting = record.trace
        if of := native.opens_call(record):
            self.spans[record.id] = of
        for event in native.events(record, self.compacting == record.trace, of or self.spans.get(record.parent, "")):
            if isinstance(event, Prompt):
                self.prompt = event.text
            if isinstance(event, Reply):
                if (
                    self.prompt or event.text != native.UNHEARD
                ):  # where nobody's words are kept, neither are the agent's
                    self.say(event.text, event.at, emit)
            else:
                emit(event)

    def turn(self, record: Record, emit: Emit) -> None:
        """The root of a trace: a turn of the hook, or somebody's own span around a request."""
        if (cwd := word(record.metadata.get("cwd"))) and cwd != self.cwd:
            self.cwd = cwd
            emit(About(cwd=cwd))
        is_hook = record.metadata.get("source") == "claude-code" or "claude-code" in record.tags
        is_message = isinstance(record.input, str) or table(record.input).get("role") == "user"
        raw = text_of(record.input) if is_message else ""
        text = spoken(raw)
        if text or (is_hook and not raw):
            self.prompt = text
            kind: PromptKind = "command" if text.startswith("/") and raw.lstrip().startswith("<") else "typed"
            emit(Prompt(at=record.at, text=text, key=key_of(f"{record.trace}/{record.id}"), kind=kind))

    def say(self, text: str, at: str, emit: Emit) -> None:
        """Words of the agent; a trace's root repeats the last of them."""
        key = key_of(text.strip())
        if text.strip() and key != self.reply:
            self.reply = key
            emit(Reply(at=at, text=text))

    def generation(self, record: Record, emit: Emit) -> None:
        """A model's answer, and what it was sent."""
        messages = of_request(record.input)
        answer = of_answer(record.output)
        by, is_apart = self.read_request(record, messages, emit)
        self.is_beside = self.is_beside or is_apart or bool(by)
        key, at = key_of(f"{record.trace}/{record.id}"), record.ended_at or record.at
        usage = usage_of(record.usage)
        if usage != NOTHING:
            emit(Spend(at=at, key=key, model=record.model, usage=usage, by=by))
        if record.level == "ERROR":
            emit(Mark(kind="api_error", at=at, detail=record.said))
        if is_apart:
            return
        if not by:
            self.say(words(answer) if answer else text_of(record.output), at, emit)
        self.calls(answer, at, key, by, emit)

    def calls(self, message: dict[str, Any], at: str, key: int, by: str, emit: Emit) -> None:
        """The calls in an assistant's message."""
        for one in asked(message):
            if KINDS.get(one.name) == "agent" and (order := word(one.given.get("prompt"))):
                self.orders[key_of(order.strip())] = one.id
            emit(call(one.id, one.name, one.given, at, key, by))

    def read_request(self, record: Record, messages: list[dict[str, Any]], emit: Emit) -> tuple[str, bool]:
        """What is new in a request; gives the sub-agent that made it, and whether it stands beside the conversation."""
        if self.prompt is not None or not messages:
            for message in messages:
                self.results(message, record.at, emit)
            return "", False
        self.place(messages[0], emit)
        first = next((words(one) for one in messages if one.get("role") == "user"), "")
        begun = key_of(first_of(first))
        by = self.orders.get(begun, "")
        is_new = begun != self.begun and not by
        if is_new and first.startswith(SUMMARY):
            emit(Mark(kind="compact", at=record.at, detail="auto"))
        elif is_new and (self.begun or is_aside(first, record.output)):
            return "", True
        self.begun = self.begun if by else begun
        self.read_messages(messages, begun, by, record.at, emit)
        return by, False

    def place(self, message: dict[str, Any], emit: Emit) -> None:
        """Where the session is run, if the instructions say so."""
        found = PLACE.search(words(message)) if message.get("role") == "system" else None
        if found and found[1].strip() != self.cwd:
            self.cwd = found[1].strip()
            emit(About(cwd=self.cwd))

    def read_messages(self, messages: list[dict[str, Any]], chain: int, by: str, at: str, emit: Emit) -> None:
        """Prompts and results that no earlier request held."""
        before: dict[str, Any] = {}
        for message in messages:
            if message.get("role") not in ("user", "tool"):
                before = message
                continue
            ids, text = ",".join(one.id for one in ran(message)), spoken(words(message))
            chain = key_of(f"{chain}/{ids}/{text}")
            if chain in self.seen:
                continue
            self.seen.add(chain)
            self.calls(before, at, 0, by, emit)
            self.results(message, at, emit)
            if text and not by and message.get("role") == "user":
                emit(Prompt(at=at, text=text, key=chain, kind="queued" if ids else "typed"))

    def results(self, message: dict[str, Any], at: str, emit: Emit) -> None:
        """Results in a message, each once."""
        for one in ran(message):
            if one.id not in self.answered:
                self.answered.add(one.id)
                self.result(one.id, one.output, at, one.is_error, emit)

    def tool(self, record: Record, emit: Emit) -> None:
        """A tool's own observation: the call, and its result if there was one."""
        name = word(record.metadata.get("tool_name")) or record.name.removeprefix("Tool: ")
        of = word(record.metadata.get("tool_id")) or record.id
        given = table(record.input)
        if KINDS.get(name) == "agent" and (order := word(given.get("prompt"))):
            self.orders[key_of(order.strip())] = of
        emit(call(of, name, given, record.at, key_of(f"{record.trace}/{record.parent}"), ""))
        if record.output is not None and of not in self.answered:
            self.answered.add(of)
            self.result(of, record.output, record.ended_at or record.at, record.level == "ERROR", emit)

    def result(self, id: str, output: Any, at: str, is_error: bool, emit: Emit) -> None:
        """How a call ended."""
        status, code, text = ending(plain(output), is_error=is_error)
        emit(Result(id=id, at=at, status=status, exit_code=code, output=text))

    def not_understood(self, what: str) -> None:
        """Count a type for `assay doctor`."""
        if what in self.unknown or len(self.unknown) < MOST_NOTED:
            self.unknown[what[:60]] = self.unknown.get(what[:60], 0) + 1


def first_of(text: str) -> str:
    """The message a conversation begins with, without context that the client may change from request to request."""
    return spoken(text) or text.strip()


def is_aside(first: str, output: Any) -> bool:
    """Whether a request is one of the client's own, beside the conversation."""
    return bool(ASIDE.match(first.strip()) or ASIDE_ANSWER.match(text_of(output)))
