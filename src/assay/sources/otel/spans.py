"""Spans by the conventions for generative AI to events: agents that are invoked, models asked, tools run."""

from collections.abc import Iterator, Sequence
from typing import Any

from assay.sources.otel.messages import build_call, list_input, list_output, to_plain_text
from assay.types import About, Emit, Event, Mark, Prompt, Reply, Result, Spend, TelemetryRecord, Usage, to_key
from assay.types.value import to_text

OPERATION = "gen_ai.operation.name"
AGENT = "invoke_agent"
TOOL = "execute_tool"
MODEL = frozenset({"chat", "text_completion", "generate_content"})
INPUT = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
OUTPUT = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
READ = ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
WRITE = ("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens")
MOST_TOKENS, MOST_PARENTS = 1 << 40, 50


def read_telemetry(records: Sequence[TelemetryRecord], emit: Emit) -> dict[str, int]:
    """Emit the events of a conversation, all of whose records are given by time; counts spans of unknown kinds."""
    spans = [one for one in records if one.signal == "traces"]
    reader = SpanReader(spans)
    version = next((found for one in spans if (found := to_text(one.resource.get("service.version")))), "")
    emit(About(version=version, origin=next((one.agent for one in spans), "")))
    for span in spans:
        for event in reader.read_span(span):
            emit(event)
    return reader.unknown


class SpanReader:
    """Knows all spans of a conversation: who called whom, and whose words were kept."""

    def __init__(self, spans: Sequence[TelemetryRecord]) -> None:
        self.unknown: dict[str, int] = {}
        self.spans = {(one.trace, one.span): one for one in spans}
        self.worded = {
            one.trace for one in spans if any(said.role == "user" and said.text for said in list_input(one.attributes))
        }
        self.run = {to_text(one.attributes.get("gen_ai.tool.call.id")) for one in spans if find_operation(one) == TOOL}
        """Calls that have a span of their own."""

    def read_span(self, span: TelemetryRecord) -> Iterator[Event]:
        """The events of one span."""
        operation = find_operation(span)
        if operation == AGENT:
            return self.read_invocation(span)
        if operation in MODEL:
            return self.read_answer(span)
        if operation == TOOL:
            return self.read_tool(span)
        if operation and (operation in self.unknown or len(self.unknown) < 50):
            self.unknown[operation[:60]] = self.unknown.get(operation[:60], 0) + 1
        return iter(())

    def find_agent(self, span: TelemetryRecord) -> str:
        """The sub-agent within which a span stands: the innermost invocation that is inside of another one."""
        around: list[str] = []
        for _ in range(MOST_PARENTS):
            if find_operation(span) == AGENT:
                around.append(span.span)
            above = self.spans.get((span.trace, span.parent))
            if above is None or not span.parent:
                break
            span = above
        return around[0] if len(around) > 1 else ""

    def read_invocation(self, span: TelemetryRecord) -> Iterator[Event]:
        """An agent that a person invoked; where nobody's words were kept, its prompt has none."""
        if self.find_agent(span):
            return
        if span.trace not in self.worded:
            yield Prompt(at=span.at, text="", key=to_own_key(span.id))
        else:
            yield from self.read_prompts(span)
        if span.has_failed:
            yield Mark(kind="api_error", at=span.ended_at or span.at, detail=find_error(span))

    def read_prompts(self, span: TelemetryRecord) -> Iterator[Event]:
        """What is new in a request: what stands behind the last answer in it."""
        messages = list_input(span.attributes)
        last = max((n for n, one in enumerate(messages) if one.role == "assistant"), default=-1)
        for n, message in enumerate(messages[last + 1 :], last + 1):
            for one in message.responses:
                if one.id not in self.run:
                    yield Result(id=one.id, at=span.at, status="ok", output=one.text)
            if message.role == "user" and message.text:
                yield Prompt(at=span.at, text=message.text, key=to_own_key(f"{span.trace}/{n}/{message.text}"))

    def read_answer(self, span: TelemetryRecord) -> Iterator[Event]:
        """A model's answer: tokens, words, and the tools it asks for."""
        by, at, told = self.find_agent(span), span.ended_at or span.at, span.attributes
        if not by:
            yield from self.read_prompts(span)
        model = to_text(told.get("gen_ai.response.model")) or to_text(told.get("gen_ai.request.model"))
        usage = to_usage(told)
        if usage != Usage():
            yield Spend(at=at, key=to_own_key(span.id), model=model, usage=usage, by=by)
        if span.has_failed:
            yield Mark(kind="api_error", at=at, detail=find_error(span))
        for message in list_output(told):
            if message.text and not by:
                yield Reply(at=at, text=message.text)
            for one in message.requests:
                if one.id not in self.run:
                    yield build_call(one.id, one.name, one.given, at, by)

    def read_tool(self, span: TelemetryRecord) -> Iterator[Event]:
        """A tool that ran."""
        told = span.attributes
        of = to_text(told.get("gen_ai.tool.call.id")) or span.id
        yield build_call(
            of,
            to_text(told.get("gen_ai.tool.name")),
            told.get("gen_ai.tool.call.arguments"),
            span.at,
            self.find_agent(span),
        )
        output = to_plain_text(told.get("gen_ai.tool.call.result"))
        yield Result(
            id=of,
            at=span.ended_at or span.at,
            status="error" if span.has_failed else "ok",
            output=output or span.said,
        )


def find_operation(span: TelemetryRecord) -> str:
    return to_text(span.attributes.get(OPERATION))


def find_error(span: TelemetryRecord) -> str:
    return to_text(span.attributes.get("error.type")) or span.said


def to_usage(told: dict[str, Any]) -> Usage:
    """Tokens of an answer; the conventions count cached ones as input too."""
    asked, output, read, write = (find_count(told, names) for names in (INPUT, OUTPUT, READ, WRITE))
    cached = read + write
    return Usage(input=asked - cached if asked >= cached else asked, output=output, cache_read=read, cache_write=write)


def find_count(told: dict[str, Any], names: tuple[str, ...]) -> int:
    """The first of these counts that is given."""
    found = next((told[name] for name in names if name in told), 0)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 < found < MOST_TOKENS else 0


def to_own_key(identity: str) -> int:
    return to_key(f"otel/{identity}")
