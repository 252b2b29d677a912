"""Pi: `~/.pi/agent/sessions/<folder>/<time>_<session>.jsonl`, a tree of entries of which each names the one before it.

Takes records, gives the events of `assay.types`. Known from 0.73, the third version of its format.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.types import About, Emit, Mark, Prompt, Reply, Result, Spend, Usage, to_key
from assay.types.tools import describe_call, find_kind
from assay.types.value import to_count, to_list, to_table, to_text

AGENT, VERSION = "pi", 1

HEAD = re.compile(rb'\s*\{\s*"type"\s*:\s*"session"\s*,\s*"version"\s*:\s*\d+\s*,\s*"id"\s*:')
EXIT = re.compile(r"^Command exited with code (\d{1,10})\s*\Z", re.MULTILINE)
QUIET = frozenset("model_change thinking_level_change label custom custom_message leaf branch_summary".split())


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """Where sessions are kept."""
    top = env.get("PI_CODING_AGENT_DIR", "")
    return [(Path(top).expanduser() if top else home / ".pi" / "agent") / "sessions"]


def claims(head: bytes) -> bool:
    """Whether a file begins with the head of a session."""
    return bool(HEAD.match(head.removeprefix(b"\xef\xbb\xbf")))


class Record(Struct):
    """An entry."""

    type: str = ""
    id: str = ""
    parentId: str | None = None  # noqa: N815
    timestamp: str = ""
    cwd: str = ""
    name: str = ""
    message: Any = None


class Reader(Struct):
    """Remembers the last entry: one that goes on from another undoes what came between."""

    unknown: dict[str, int] = {}
    last: str = ""
    stream: str = ""

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        if record.type == "session":
            self.stream = record.id
            emit(About(at=record.timestamp, stream=record.id, cwd=record.cwd, origin="cli"))
            return
        if self.last and record.parentId and record.parentId != self.last:
            emit(Mark(kind="rollback", at=record.timestamp))
        self.last = record.id or self.last
        if record.type == "message":
            self.read_message(record, to_table(record.message), emit)
        elif record.type == "compaction":
            emit(Mark(kind="compact", at=record.timestamp))
        elif record.type == "session_info":
            emit(About(title=record.name))
        elif record.type not in QUIET:
            self.count_unknown(record.type or "(no type)")

    def read_message(self, record: Record, message: dict[str, Any], emit: Emit) -> None:
        """What a person, the model or a tool said."""
        role, key = to_text(message.get("role")), to_key(f"{self.stream}/{record.id}")
        if role == "user":
            blocks = to_list(message.get("content"))
            images = sum(to_table(one).get("type") == "image" for one in blocks)
            text = join_words(message.get("content"))
            if text.strip() or images:
                emit(Prompt(at=record.timestamp, text=text or "[image]", key=key, images=images))
        elif role == "assistant":
            read_answer(message, record.timestamp, key, emit)
        elif role == "toolResult":
            emit(build_result(message, record.timestamp))
        elif role == "bashExecution":
            emit(Prompt(at=record.timestamp, text=to_text(message.get("command")), key=key, kind="shell"))
        elif role not in ("custom", "branchSummary", "compactionSummary"):
            self.count_unknown(f"message/{role}")

    def count_unknown(self, what: str) -> None:
        """Count a record type that is not understood, for `assay doctor`."""
        what = what[:60]
        if what in self.unknown or len(self.unknown) < 50:
            self.unknown[what] = self.unknown.get(what, 0) + 1


def join_words(content: Any) -> str:
    """The words of a message."""
    if isinstance(content, str):
        return content
    blocks = [to_table(one) for one in to_list(content)]
    return "\n".join(text for one in blocks if one.get("type") == "text" and (text := to_text(one.get("text"))))


def read_answer(message: dict[str, Any], at: str, key: int, emit: Emit) -> None:
    """Words, tokens and calls of a response, or why there is none."""
    if usage := to_table(message.get("usage")):
        spent = Usage(
            input=to_count(usage.get("input")),
            output=to_count(usage.get("output")),
            cache_read=to_count(usage.get("cacheRead")),
            cache_write=to_count(usage.get("cacheWrite")),
        )
        emit(Spend(at=at, key=key, model=to_text(message.get("model")), usage=spent))
    if text := join_words(message.get("content")):
        emit(Reply(at=at, text=text))
    for block in map(to_table, to_list(message.get("content"))):
        if block.get("type") == "toolCall":
            drafted = describe_call(to_text(block.get("name")), block.get("arguments"))
            emit(replace(drafted, id=to_text(block.get("id")), at=at, of=key))
    if message.get("stopReason") == "error":
        emit(Mark(kind="api_error", at=at, detail=to_text(message.get("errorMessage"))))
    elif message.get("stopReason") == "aborted":
        emit(Mark(kind="interrupt", at=at))


def build_result(message: dict[str, Any], at: str) -> Result:
    """How a call ended."""
    text, has_failed = join_words(message.get("content")), message.get("isError") is True
    is_shell = find_kind(to_text(message.get("toolName"))) == "shell"
    told = EXIT.search(text) if is_shell and has_failed else None
    return Result(
        id=to_text(message.get("toolCallId")),
        at=at,
        status="error" if has_failed else "ok",
        output=text[: told.start()].rstrip() if told else text,
        exit_code=int(told[1]) if told else 0 if is_shell and not has_failed else None,
        edits=() if has_failed else None,
    )
