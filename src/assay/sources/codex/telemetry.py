"""Codex's OpenTelemetry to events: its log events, which tell prompts, tokens, decisions and results.

What the agent says is not in it. Prompts have words where `log_user_prompt` is switched on; tools always tell theirs.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from assay.sources.codex.outputs import parse_output, to_status
from assay.sources.codex.reader import find_person_words
from assay.sources.codex.tools import CallDraft, draft_call, draft_script_calls, parse_arguments
from assay.types import About, Call, Emit, Event, Mark, Prompt, Reply, Result, Spend, TelemetryRecord, Usage, to_key
from assay.types.telemetry import HOOK
from assay.types.value import to_list, to_text

PREFIX = "codex."
HIDDEN = "[REDACTED]"
ROOT = "/root"
"""The agent that the person talks to; others are its sub-agents."""
MOST_TOKENS = 1 << 40
REFUSED = ("denied", "abort", "timed_out")
QUIET = frozenset(
    """startup_phase turn_ttft api_request.retry websocket_connect websocket_request websocket_event auth_recovery
    sandbox_assessment turn_e2e_duration""".split()
)


def read_telemetry(records: Sequence[TelemetryRecord], emit: Emit) -> dict[str, int]:
    """Emit the events of a conversation, all of whose records are given by time; counts those of unknown kinds."""
    heard = [one for one in records if one.name.startswith(HOOK)]
    records = [one for one in records if not one.name.startswith(HOOK)]
    reader = CodexTelemetry(records)
    for event in () if records else read_turn_ends(heard):
        emit(event)
    for record in records:
        for event in reader.read_record(record):
            emit(event)
    return reader.unknown


def read_turn_ends(records: Sequence[TelemetryRecord]) -> Iterator[Event]:
    """The conversation as its notify hook heard of it, where nothing else tells: what was asked and answered."""
    for one in records:
        for n, said in enumerate(to_list(parse_arguments(one.attributes.get("input-messages")))):
            if isinstance(said, str):
                yield Prompt(at=one.at, text=said, key=to_key(f"hook/{one.id}/{n}"))
        if text := to_text(one.attributes.get("last-assistant-message")):
            yield Reply(at=one.at, text=text)


class CodexTelemetry:
    """Knows all records of a conversation: what a tool was given stands in its result alone."""

    def __init__(self, records: Sequence[TelemetryRecord]) -> None:
        self.unknown: dict[str, int] = {}
        self.calls: set[str] = set()
        self.given = {
            find_call_id(one): one.attributes.get("arguments")
            for one in records
            if one.name == f"{PREFIX}tool_result" and find_call_id(one)
        }
        asked = [one for one in records if one.name == f"{PREFIX}api_request"]
        self.tried_again = {one.id for one, after in pairwise(asked) if to_count(after.attributes.get("attempt"))}
        self.readers: dict[str, Callable[[TelemetryRecord], Iterator[Event]]] = {
            "conversation_starts": self.read_start,
            "user_prompt": self.read_prompt,
            "api_request": self.read_request,
            "sse_event": self.read_response,
            "tool_decision": self.read_decision,
            "tool_result": self.read_result,
        }

    def read_record(self, record: TelemetryRecord) -> Iterator[Event]:
        """The events of one record."""
        name = record.name.removeprefix(PREFIX)
        found = self.readers.get(name)
        if found is not None:
            return found(record)
        if record.signal == "logs" and name not in QUIET and (name in self.unknown or len(self.unknown) < 50):
            self.unknown[name[:60]] = self.unknown.get(name[:60], 0) + 1
        return iter(())

    def read_start(self, record: TelemetryRecord) -> Iterator[Event]:
        told = record.attributes
        yield About(
            version=to_text(told.get("app.version")),
            model=to_text(told.get("model")),
            origin=to_text(told.get("originator")),
        )

    def read_prompt(self, record: TelemetryRecord) -> Iterator[Event]:
        """A prompt; one whose words were held back has none."""
        raw = to_text(record.attributes.get("prompt"))
        text = "" if raw == HIDDEN else find_person_words(raw)
        if text is not None:
            yield Prompt(at=record.at, text=text, key=to_own_key(record.id))

    def read_request(self, record: TelemetryRecord) -> Iterator[Event]:
        """A request that was tried again, or failed for good."""
        told = record.attributes
        if to_count(told.get("attempt")):
            yield Mark(kind="retry", at=record.at)
        if record.id in self.tried_again:
            return
        if told.get("error.message") or to_count(told.get("http.response.status_code")) >= 400:
            yield Mark(kind="api_error", at=record.at, detail=str(told.get("http.response.status_code") or ""))

    def read_response(self, record: TelemetryRecord) -> Iterator[Event]:
        """The tokens of a response: of two events for its end, only one has them."""
        told = record.attributes
        if told.get("event.kind") != "response.completed" or "output_token_count" not in told:
            return
        cached, written = to_count(told.get("cached_token_count")), to_count(told.get("cache_write_token_count"))
        usage = Usage(
            input=max(to_count(told.get("input_token_count")) - cached - written, 0),
            output=to_count(told.get("output_token_count")),
            cache_read=cached,
            cache_write=written,
        )
        yield Spend(at=record.at, key=to_own_key(record.id), model=to_text(told.get("model")), usage=usage)

    def read_decision(self, record: TelemetryRecord) -> Iterator[Event]:
        """A call, and its end where it was not let through."""
        yield from self.open_call(record)
        decision = to_text(record.attributes.get("decision")).lower()
        if decision in REFUSED and find_call_id(record) not in self.given:
            is_person = to_text(record.attributes.get("source")).lower() == "user"
            yield Result(id=find_call_id(record), at=record.at, status="rejected" if is_person else "denied")

    def read_result(self, record: TelemetryRecord) -> Iterator[Event]:
        """How a call ended; one of a script's calls tells for all of them."""
        yield from self.open_call(record)
        told = record.attributes
        out = parse_output(to_text(told.get("output")))
        status = out.status if out.exit_code is None else to_status(out.exit_code)
        if told.get("success") in (False, "false") and status == "ok":
            status = "error"
        yield Result(id=find_call_id(record), at=record.at, status=status, output=out.text, exit_code=out.exit_code)

    def open_call(self, record: TelemetryRecord) -> Iterator[Event]:
        """The call that a record speaks of, once."""
        told, of = record.attributes, find_call_id(record)
        if not of or of in self.calls:
            return
        self.calls.add(of)
        by = to_text(told.get("agent_name"))
        for n, draft in enumerate(list_drafts(to_text(told.get("tool_name")), self.given.get(of))):
            yield Call(
                id=f"{of}/{n}" if n else of,
                at=record.at,
                name=draft.name,
                kind=draft.kind,
                target=draft.target,
                command=draft.command,
                dialect=draft.dialect,
                edits=draft.edits,
                by="" if by == ROOT else by,
            )


def list_drafts(name: str, given: Any) -> list[CallDraft]:
    """The calls that a tool's call holds: one, or those of a script."""
    if name == "exec" and isinstance(given, str):
        return draft_script_calls(given) or [CallDraft(name)]
    return [draft_call(name, parse_arguments(given))]


def find_call_id(record: TelemetryRecord) -> str:
    return to_text(record.attributes.get("call_id"))


def to_count(value: Any) -> int:
    """A count, which Codex gives as text; 0 for what can't be one."""
    try:
        found = int(value) if isinstance(value, int | str) and not isinstance(value, bool) else 0
    except ValueError:
        return 0
    return found if 0 < found < MOST_TOKENS else 0


def to_own_key(identity: str) -> int:
    """A key that no rollout has: what is there twice is no copy of each other."""
    return to_key(f"otel/{identity}")
