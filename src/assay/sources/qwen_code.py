"""Qwen Code: `~/.qwen/projects/<folder>/chats/<session>.jsonl`: messages, results of tools, notes of the client.

Takes records, gives the events of `assay.types`. Known from 0.15.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.types import About, CallStatus, Edit, Emit, Mark, Prompt, Reply, Result, Spend, Usage, to_key
from assay.types.edits import EditHow, build_diff_edit
from assay.types.tools import describe_call, find_kind
from assay.types.value import to_count, to_list, to_table, to_text

AGENT, VERSION = "qwen-code", 1

LINE = re.compile(
    rb'^\s*\{"uuid"\s*:.*"sessionId"\s*:.*"message"\s*:\s*\{\s*"role"\s*:\s*"(?:user|model)"\s*,\s*"parts"'
    rb'|^\s*\{"uuid"\s*:.*"systemPayload"\s*:\s*\{'
)
EXIT = re.compile(r"^Exit Code: (-?\d{1,10})$", re.MULTILINE)
LINES_LOOKED_AT = 20
QUIET = frozenset("attribution_snapshot ui_telemetry slash_command at_command notification custom_title".split())


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """Where the client keeps what it knows of projects."""
    top = env.get("QWEN_HOME", "")
    return [(Path(top) if top else home / ".qwen") / "projects"]


def claims(head: bytes) -> bool:
    """Whether one of the first lines is a message in parts, under Qwen Code's envelope."""
    return any(map(LINE.match, head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:LINES_LOOKED_AT]))


class Record(Struct):
    """A line."""

    uuid: str = ""
    sessionId: str = ""  # noqa: N815
    timestamp: str = ""
    type: str = ""
    subtype: str = ""
    cwd: str = ""
    version: str = ""
    gitBranch: str = ""  # noqa: N815
    model: str = ""
    message: Any = None
    usageMetadata: Any = None  # noqa: N815
    toolCallResult: Any = None  # noqa: N815
    systemPayload: Any = None  # noqa: N815


class Reader(Struct):
    """Remembers where the last record was written."""

    unknown: dict[str, int] = {}
    place: tuple[str, str, str, str] = ("", "", "", "")

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        place = (record.sessionId, record.cwd, record.gitBranch, record.version)
        if place != self.place:
            at = record.timestamp if not self.place[0] else ""
            stream, cwd, branch, version = self.place = place
            emit(About(at=at, stream=stream, cwd=cwd, branch=branch, version=version, origin="cli"))
        parts = [to_table(part) for part in to_list(to_table(record.message).get("parts"))]
        if record.type == "user":
            read_user(record, parts, emit)
        elif record.type == "assistant":
            read_answer(record, parts, emit)
        elif record.type == "tool_result":
            read_result(record, parts, emit)
        elif record.type == "system" and record.subtype == "chat_compression":
            emit(Mark(kind="compact", at=record.timestamp, detail="auto"))
        elif record.type == "system" and record.subtype == "rewind":
            emit(Mark(kind="rollback", at=record.timestamp))
        elif record.type != "system" or record.subtype not in QUIET:
            self.count_unknown(f"{record.type}/{record.subtype}" if record.subtype else record.type or "(no type)")

    def count_unknown(self, what: str) -> None:
        """Count a record type that is not understood, for `assay doctor`."""
        what = what[:60]
        if what in self.unknown or len(self.unknown) < 50:
            self.unknown[what] = self.unknown.get(what, 0) + 1


def join_words(parts: list[dict[str, Any]]) -> str:
    """The words of a message, without what the model thought."""
    return "\n".join(text for part in parts if not part.get("thought") and (text := to_text(part.get("text"))))


def read_user(record: Record, parts: list[dict[str, Any]], emit: Emit) -> None:
    """A prompt."""
    text, images = join_words(parts), sum("inlineData" in part for part in parts)
    if record.subtype in ("cron", "notification"):
        return
    if text.strip() or images:
        emit(Prompt(at=record.timestamp, text=text or "[image]", key=to_key(record.uuid), images=images))


def read_answer(record: Record, parts: list[dict[str, Any]], emit: Emit) -> None:
    """Words, tokens and calls of a response."""
    key = to_key(record.uuid)
    if record.usageMetadata:
        usage = to_usage(to_table(record.usageMetadata))
        emit(Spend(at=record.timestamp, key=key, model=record.model, usage=usage))
    if text := join_words(parts):
        emit(Reply(at=record.timestamp, text=text))
    for part in parts:
        if asked := to_table(part.get("functionCall")):
            drafted = describe_call(to_text(asked.get("name")), asked.get("args"))
            emit(replace(drafted, id=to_text(asked.get("id")), at=record.timestamp, of=key))


def to_usage(told: dict[str, Any]) -> Usage:
    """Tokens of a response: the prompt holds what came from the cache, the output what was thought."""
    cached = to_count(told.get("cachedContentTokenCount"))
    return Usage(
        input=max(to_count(told.get("promptTokenCount")) - cached, 0),
        output=to_count(told.get("candidatesTokenCount")),
        cache_read=cached,
    )


def read_result(record: Record, parts: list[dict[str, Any]], emit: Emit) -> None:
    """How a call ended."""
    told = to_table(record.toolCallResult)
    for part in parts:
        answer = to_table(part.get("functionResponse"))
        said = to_table(answer.get("response"))
        output = to_text(said.get("output")) or to_text(said.get("error"))
        is_shell = find_kind(to_text(answer.get("name"))) == "shell"
        codes = EXIT.findall(output) if is_shell else []
        status = find_status(to_text(told.get("status")), "error" in said, output)
        code = int(codes[-1]) if codes else None
        emit(
            Result(
                id=to_text(told.get("callId")) or to_text(answer.get("id")),
                at=record.timestamp,
                status="error" if status == "ok" and code else status,
                output=output,
                exit_code=code,
                edits=find_edits(to_table(told.get("resultDisplay")), status),
            )
        )


def find_status(status: str, has_error: bool, output: str) -> CallStatus:
    """How a call ended, in our words."""
    if status == "cancelled":
        return "rejected" if "did not allow" in output else "interrupted"
    return "error" if status == "error" or has_error else "ok"


def find_edits(shown: dict[str, Any], status: CallStatus) -> tuple[Edit, ...] | None:
    """The edit that the client's own diff shows, unless it names its file without its folder."""
    if "fileDiff" not in shown:
        return None
    if status != "ok":
        return ()
    path = to_text(shown.get("filePath"))
    how: EditHow = "update" if shown.get("originalContent") else "create"
    return tuple(build_diff_edit(path, to_text(shown.get("fileDiff")), how)) if path else None
