"""What Claude Code tells its hooks to events: boundaries beside telemetry, all of it where nothing else tells.

A hook's words are those of the transcript, without tokens. Where telemetry tells of the conversation too, only its
boundaries are taken; a transcript tells more than both.
"""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw

from assay.sources.claude_code import prompts, tools
from assay.sources.claude_code.records import MessageBlock, ToolOutcome
from assay.types import Event, Mark, Prompt, Reply, Result, TelemetryRecord, to_key
from assay.types.telemetry import HOOK
from assay.types.value import to_text

STARTED, PROMPTED, USED, FAILED, ASKED, STOPPED = (
    f"{HOOK}{name}"
    for name in ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "Stop")
)
OUTCOME = msgspec.json.Decoder(ToolOutcome)
CLEAR, COMPACT = "clear", "compact"


def is_hook(record: TelemetryRecord) -> bool:
    """Whether a record is what a hook was told."""
    return record.name.startswith(HOOK)


def read_boundaries(records: Sequence[TelemetryRecord]) -> Iterator[Mark]:
    """What hooks know of a conversation that its telemetry does not say: that it began with /clear."""
    for one in records:
        if one.name == STARTED and one.attributes.get("source") == CLEAR:
            yield Mark(kind="clear", at=one.at)


def read_hooks(records: Sequence[TelemetryRecord]) -> Iterator[Event]:
    """The conversation as its hooks were told of it, all of whose records are given by time."""
    done = {identify_use(one) for one in records if one.name in (USED, FAILED)}
    for one in records:
        if one.name == STARTED:
            yield from read_boundaries((one,))
            if one.attributes.get("source") == COMPACT:
                yield Mark(kind="compact", at=one.at)
        elif one.name == PROMPTED:
            yield from read_prompt(one)
        elif one.name in (USED, FAILED):
            yield from read_use(one)
        elif one.name == ASKED and identify_use(one) not in done:
            yield from read_refusal(one)
        elif one.name == STOPPED and (said := to_text(one.attributes.get("last_assistant_message"))):
            yield Reply(at=one.at, text=said)


def read_prompt(record: TelemetryRecord) -> Iterator[Prompt]:
    """A prompt, unless a machine wrote it; one whose words were held back has none."""
    raw = record.attributes.get("prompt")
    said = prompts.from_text(raw) if isinstance(raw, str) else ("typed", "")
    if said is not None:
        key = to_key(f"hook/{to_text(record.attributes.get('prompt_id')) or record.id}")
        yield Prompt(at=record.at, text=said[1], key=key, kind="command" if said[1].startswith("/") else said[0])


def read_use(record: TelemetryRecord) -> Iterator[Event]:
    """A call and how it ended."""
    told = record.attributes
    of = to_text(told.get("tool_use_id")) or record.id
    yield build_call(record, of)
    is_error = record.name == FAILED
    has_stopped = told.get("is_interrupt") is True
    text = (
        "[Request interrupted" if has_stopped else to_text(told.get("error")) or read_output(told.get("tool_response"))
    )
    block = MessageBlock(tool_use_id=of, content=text, is_error=is_error)
    yield tools.build_result(block, record.at, parse_outcome(told.get("tool_response")), "")
    if has_stopped:
        yield Mark(kind="interrupt", at=record.at)


def read_refusal(record: TelemetryRecord) -> Iterator[Event]:
    """A call that was asked for and never made: somebody did not let it through."""
    yield build_call(record, record.id)
    yield Result(id=record.id, at=record.at, status="rejected")


def build_call(record: TelemetryRecord, of: str) -> Event:
    told = record.attributes
    given = to_text(told.get("tool_input")).encode("utf-8", "surrogatepass")
    block = MessageBlock(id=of, name=to_text(told.get("tool_name")), input=Raw(given))
    return tools.build_call(block, record.at, 0, to_text(told.get("agent_id")))


def identify_use(record: TelemetryRecord) -> tuple[str, str]:
    """By what a call is known before it has an id."""
    return to_text(record.attributes.get("tool_name")), to_text(record.attributes.get("tool_input"))


def parse_outcome(told: object) -> ToolOutcome | None:
    try:
        return OUTCOME.decode(told) if isinstance(told, str) else None
    except (msgspec.DecodeError, UnicodeError):
        return None


def read_output(told: object) -> str:
    """What a tool printed, where its response says so."""
    try:
        found = msgspec.json.decode(told) if isinstance(told, str) else None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
    if isinstance(found, str):
        return found
    said = [found.get(name) for name in ("stdout", "stderr")] if isinstance(found, dict) else []
    return "\n".join(one for one in said if isinstance(one, str) and one)
