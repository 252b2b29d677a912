"""GitHub Copilot CLI: `~/.copilot/session-state/<session>/events.jsonl`, every line `{type, data, id, timestamp}`.

Takes records, gives the events of `assay.types`. Known from 1.0.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.types import About, CallStatus, Edit, Emit, Mark, Prompt, Reply, Result, Spend, Usage, to_key
from assay.types.tools import describe_call
from assay.types.value import to_count, to_list, to_table, to_text

AGENT, VERSION = "copilot-cli", 1

HEAD = re.compile(rb'^\s*\{\s*"type"\s*:\s*"session\.(?:start|resume)"\s*,\s*"data"\s*:\s*\{', re.MULTILINE)
LINES_LOOKED_AT = 20
EXIT = re.compile(r"<(?:shellId: \S+ completed|exited) with exit code (-?\d{1,10})>\s*\Z")
QUIET = (
    *("assistant.turn", "assistant.intent", "assistant.reasoning", "system.", "hook.", "permission.", "skill."),
    *("session.info", "session.warning", "session.model", "session.mode", "session.context", "session.truncation"),
    *("session.compaction_start", "session.handoff", "session.idle", "session.tools", "session.plan", "session.task"),
    *("session.workspace", "session.background", "session.custom", "session.skills", "session.snapshot", "tool.user"),
    *("tool.execution_partial", "tool.execution_progress", "subagent.", "external_tool.", "user_input.", "mcp."),
    *("session.permissions", "session.remote", "session.limits", "session.import", "assistant.message_start"),
)


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """Where sessions are kept."""
    top = env.get("COPILOT_HOME", "")
    return [(Path(top) if top else home / ".copilot") / "session-state"]


def claims(head: bytes) -> bool:
    """Whether one of the first lines begins or resumes a session."""
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:LINES_LOOKED_AT]
    return any(HEAD.match(line) and (b'"copilot' in line or b'"resumeTime"' in line) for line in lines)


class Record(Struct):
    """An event."""

    type: str = ""
    data: Any = None
    id: str = ""
    timestamp: str = ""


class Reader(Struct):
    """Remembers what the totals at the end of a run must not count again."""

    unknown: dict[str, int] = {}
    stream: str = ""
    is_counted: bool = False
    """Tokens were told response by response."""

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        read = READERS.get(record.type)
        if read is not None:
            read(self, record, to_table(record.data), emit)
        elif not record.type.startswith(QUIET):
            self.count_unknown(record.type or "(no type)")

    def read_start(self, record: Record, data: dict[str, Any], emit: Emit) -> None:
        """Where and with what a run of the session begins."""
        self.stream = to_text(data.get("sessionId")) or self.stream
        place = to_table(data.get("context"))
        emit(
            About(
                at=to_text(data.get("startTime")),
                stream=self.stream,
                cwd=to_text(place.get("cwd")),
                branch=to_text(place.get("branch")),
                version=to_text(data.get("copilotVersion")),
                model=to_text(data.get("selectedModel")),
                origin="cli",
            )
        )

    def read_prompt(self, record: Record, data: dict[str, Any], emit: Emit) -> None:
        """What a person said; what the client said in their place is none."""
        text, source = to_text(data.get("content")), to_text(data.get("source"))
        images = sum(to_text(to_table(one).get("type")) == "image" for one in to_list(data.get("attachments")))
        if (text.strip() or images) and source in ("", "user"):
            key = to_key(to_text(data.get("messageId")) or record.id)
            kind = "queued" if data.get("delivery") == "steering" else "typed"
            prompt = Prompt(at=record.timestamp, text=text or "[image]", key=key, images=images)
            emit(replace(prompt, kind=kind))

    def read_answer(self, record: Record, data: dict[str, Any], emit: Emit) -> None:
        """Words and calls of a response."""
        key, by = to_key(to_text(data.get("messageId")) or record.id), to_text(data.get("parentToolCallId"))
        if (text := to_text(data.get("content"))) and not by:
            emit(Reply(at=record.timestamp, text=text))
        for asked in map(to_table, to_list(data.get("toolRequests"))):
            drafted = describe_call(to_text(asked.get("name")), asked.get("arguments"))
            emit(replace(drafted, id=to_text(asked.get("toolCallId")), at=record.timestamp, of=key, by=by))

    def read_call(self, record: Record, data: dict[str, Any], emit: Emit) -> None:
        """A call that no response told of; else it is known."""
        drafted = describe_call(to_text(data.get("toolName")), data.get("arguments"))
        by = to_text(data.get("parentToolCallId"))
        emit(replace(drafted, id=to_text(data.get("toolCallId")), at=record.timestamp, by=by))

    def read_result(self, record: Record, data: dict[str, Any], emit: Emit) -> None:
        """How a call ended."""
        result, error = to_table(data.get("result")), to_table(data.get("error"))
        output = to_text(result.get("content")) or to_text(error.get("message"))
        told = EXIT.search(output)
        code = to_table(data.get("shellExecution")).get("exitCode", int(told[1]) if told else None)
        code = code if type(code) is int else None
        status = find_status(data.get("success") is True, to_text(error.get("code")))
        emit(
            Result(
                id=to_text(data.get("toolCallId")),
                at=record.timestamp,
                status="error" if status == "ok" and code else status,
                output=output[: told.start()].rstrip() if told else output,
                exit_code=code,
                edits=None if status == "ok" else NO_EDITS,
            )
        )

    def read_usage(self, record: Record, data: dict[str, Any], emit: Emit) -> None:
        """Tokens of one response."""
        told = to_table(data.get("usage")) or data
        self.is_counted = True
        key = to_key(record.id)
        emit(Spend(at=record.timestamp, key=key, model=to_text(told.get("model")), usage=to_usage(told)))

    def read_end(self, record: Record, data: dict[str, Any], emit: Emit) -> None:
        """What a session took so far, where nothing told it response by response."""
        told = to_table(data.get("accountingSnapshot")) or data
        for model, figures in to_table(told.get("modelMetrics")).items():
            if not self.is_counted:
                usage = to_usage(to_table(to_table(figures).get("usage")))
                emit(Spend(at=record.timestamp, key=to_key(f"{self.stream}/{model}"), model=model, usage=usage))

    def read_title(self, record: Record, data: dict[str, Any], emit: Emit) -> None:
        emit(About(title=to_text(data.get("title"))))

    def read_compaction(self, record: Record, data: dict[str, Any], emit: Emit) -> None:
        emit(Mark(kind="compact", at=record.timestamp))

    def read_abort(self, record: Record, data: dict[str, Any], emit: Emit) -> None:
        emit(Mark(kind="interrupt", at=record.timestamp, detail=to_text(data.get("reason"))))

    def read_error(self, record: Record, data: dict[str, Any], emit: Emit) -> None:
        emit(Mark(kind="api_error", at=record.timestamp, detail=to_text(data.get("errorType"))))

    def read_rewind(self, record: Record, data: dict[str, Any], emit: Emit) -> None:
        emit(Mark(kind="rollback", at=record.timestamp))

    def count_unknown(self, what: str) -> None:
        """Count a record type that is not understood, for `assay doctor`."""
        what = what[:60]
        if what in self.unknown or len(self.unknown) < 50:
            self.unknown[what] = self.unknown.get(what, 0) + 1


NO_EDITS: tuple[Edit, ...] = ()
READERS: dict[str, Callable[[Reader, Record, dict[str, Any], Emit], None]] = {
    "session.start": Reader.read_start,
    "session.resume": Reader.read_start,
    "user.message": Reader.read_prompt,
    "assistant.message": Reader.read_answer,
    "tool.execution_start": Reader.read_call,
    "tool.execution_complete": Reader.read_result,
    "session.usage_record": Reader.read_usage,
    "assistant.usage": Reader.read_usage,
    "session.shutdown": Reader.read_end,
    "session.title_changed": Reader.read_title,
    "session.compaction_complete": Reader.read_compaction,
    "abort": Reader.read_abort,
    "session.error": Reader.read_error,
    "session.snapshot_rewind": Reader.read_rewind,
}


def to_usage(told: dict[str, Any]) -> Usage:
    """Tokens of a response, whose input holds what came from the cache and what went there."""
    read, written = to_count(told.get("cacheReadTokens")), to_count(told.get("cacheWriteTokens"))
    return Usage(
        input=max(to_count(told.get("inputTokens")) - read - written, 0),
        output=to_count(told.get("outputTokens")),
        cache_read=read,
        cache_write=written,
    )


def find_status(is_fine: bool, code: str) -> CallStatus:
    """How a call ended, in our words."""
    known: dict[str, CallStatus] = {"rejected": "rejected", "denied": "denied", "aborted": "interrupted"}
    return "ok" if is_fine else known.get(code, "error")
