"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.jsonl`, and the `.json` files of older versions.

A line is the session's head, a message, or a change (`$set`, `$rewindTo`). A message is written again when its tool
calls have ended, and all of them when a conversation is resumed: each is known by its id. Folders come from the words
with which the client opens every conversation. Takes records, gives the events of `assay.types`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from assay.types import About, CallStatus, Edit, Emit, Mark, Prompt, Reply, Result, Spend, Usage, to_key
from assay.types.edits import EditHow, build_diff_edit
from assay.types.packed import PackedFile
from assay.types.tools import describe_call
from assay.types.value import to_count, to_list, to_table, to_text

AGENT, VERSION = "gemini-cli", 1
NAMES = ("session-*.json",)

HEAD = re.compile(rb'\s*\{\s*"sessionId"\s*:\s*"[^"]*"\s*,\s*"projectHash"\s*:')
PLACE = re.compile(r"(?:Workspace Directories:\*\*\s+- |working in the directory: )(\S[^\n]*)")
CONTEXT = ("<session_context>", "This is the Gemini CLI. We are setting up the context")
SUMMARY = ("<state_snapshot>", "<compressed")
EXIT = re.compile(r"^Exit Code: (-?\d{1,10})$", re.MULTILINE)
MOST_SEEN = 100_000


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """Where the client keeps what it calls temporary."""
    top = env.get("GEMINI_CLI_HOME", "")
    return [(Path(top) if top else home) / ".gemini" / "tmp"]


def claims(head: bytes) -> bool:
    """Whether a file begins with a session and its project."""
    return bool(HEAD.match(head.removeprefix(b"\xef\xbb\xbf")))


def unpack(file: PackedFile, conversation: str) -> Iterator[Any]:
    """The head and the messages of a file that holds the whole session."""
    whole = dict(to_table(file.value))
    messages = to_list(whole.pop("messages", None))
    yield whole
    yield from (one for one in messages if isinstance(one, dict))


class Record(Struct):
    """A head, a message, or a change."""

    sessionId: str = ""  # noqa: N815
    startTime: str = ""  # noqa: N815
    kind: str = ""
    id: str = ""
    timestamp: str = ""
    type: str = ""
    content: Any = None
    displayContent: Any = None  # noqa: N815
    model: str = ""
    tokens: Any = None
    toolCalls: Any = None  # noqa: N815
    change: Any = field(default=None, name="$set")
    rewind: Any = field(default=None, name="$rewindTo")


class Reader(Struct):
    """Remembers which messages were read, for each may come again."""

    unknown: dict[str, int] = {}
    seen: dict[str, int] = {}
    """How many calls of each message have ended."""
    is_begun: bool = False

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        if record.sessionId:
            begun = "" if self.is_begun else record.startTime
            self.is_begun = True
            emit(About(at=begun, stream=record.sessionId, origin="cli"))
        elif record.change is not None:
            self.read_change(to_table(record.change), emit)
        elif record.rewind is not None:
            emit(Mark(kind="rollback", at=record.timestamp))
        else:
            self.read_message(record, emit)

    def read_change(self, change: dict[str, Any], emit: Emit) -> None:
        """All messages anew, as a resumed or compressed conversation writes them; times are nobody's business."""
        for one in to_list(change.get("messages")):
            told = to_table(one)
            self.read_message(
                Record(
                    id=to_text(told.get("id")),
                    timestamp=to_text(told.get("timestamp")),
                    type=to_text(told.get("type")),
                    content=told.get("content"),
                    model=to_text(told.get("model")),
                    tokens=told.get("tokens"),
                    toolCalls=told.get("toolCalls"),
                ),
                emit,
            )

    def read_message(self, message: Record, emit: Emit) -> None:
        """What a person, the model or the client said."""
        if message.type == "gemini":
            self.read_answer(message, emit)
            return
        if message.id in self.seen:
            return
        self.remember(message.id, 0)
        if message.type == "user":
            self.read_user(message, emit)
        elif message.type == "error":
            emit(Mark(kind="api_error", at=message.timestamp, detail=join_parts(message.content)))
        elif message.type == "info" and "cancelled" in join_parts(message.content):
            emit(Mark(kind="interrupt", at=message.timestamp))
        elif message.type not in ("info", "warning"):
            self.count_unknown(message.type or "(no type)")

    def remember(self, id: str, calls: int) -> None:
        if id and (id in self.seen or len(self.seen) < MOST_SEEN):
            self.seen[id] = calls

    def read_user(self, message: Record, emit: Emit) -> None:
        """A prompt, unless the client wrote it or it brings results."""
        text = join_parts(message.content)
        if text.lstrip().startswith(CONTEXT):
            if place := PLACE.search(text):
                emit(About(cwd=place[1].strip()))
            return
        if text.lstrip().startswith(SUMMARY):
            emit(Mark(kind="compact", at=message.timestamp, detail="auto"))
            return
        images = sum("inlineData" in to_table(part) for part in to_list(message.content))
        said = join_parts(message.displayContent) or text
        if said.strip() or images:
            emit(Prompt(at=message.timestamp, text=said or "[image]", key=to_key(message.id), images=images))

    def read_answer(self, message: Record, emit: Emit) -> None:
        """Words, tokens and calls of a response, of which it may have come before."""
        key = to_key(message.id)
        calls = [to_table(one) for one in to_list(message.toolCalls)]
        if message.id not in self.seen and (text := join_parts(message.content)):
            emit(Reply(at=message.timestamp, text=text))
        if message.tokens:
            emit(Spend(at=message.timestamp, key=key, model=message.model, usage=to_usage(to_table(message.tokens))))
        if len(calls) >= self.seen.get(message.id, 0):
            for call in calls:
                read_call(call, message.timestamp, key, emit)
        self.remember(message.id, len(calls))

    def count_unknown(self, what: str) -> None:
        """Count a record type that is not understood, for `assay doctor`."""
        what = what[:60]
        if what in self.unknown or len(self.unknown) < 50:
            self.unknown[what] = self.unknown.get(what, 0) + 1


def join_parts(content: Any) -> str:
    """The words of a message."""
    if isinstance(content, str):
        return content
    parts = [part if isinstance(part, str) else to_text(to_table(part).get("text")) for part in to_list(content)]
    return "\n".join(filter(None, parts))


def to_usage(tokens: dict[str, Any]) -> Usage:
    """Tokens of a response: its input holds what came from the cache, its output not what it thought."""
    cached = to_count(tokens.get("cached"))
    return Usage(
        input=max(to_count(tokens.get("input")) + to_count(tokens.get("tool")) - cached, 0),
        output=to_count(tokens.get("output")) + to_count(tokens.get("thoughts")),
        cache_read=cached,
    )


def read_call(call: dict[str, Any], at: str, of: int, emit: Emit) -> None:
    """A call, which is written down when it has ended."""
    name, ended = to_text(call.get("id")), to_text(call.get("timestamp")) or at
    drafted = describe_call(to_text(call.get("name")), call.get("args"))
    emit(replace(drafted, id=name, at=at, of=of))
    output = find_output(call)
    told = EXIT.findall(output) if drafted.kind == "shell" else []
    status = find_status(to_text(call.get("status")), output)
    code = int(told[-1]) if told else 0 if status == "ok" and drafted.kind == "shell" else None
    emit(
        Result(
            id=name,
            at=ended,
            status="error" if status == "ok" and code else status,
            output=output,
            exit_code=code,
            edits=find_edits(to_table(call.get("resultDisplay")), status),
        )
    )


def find_output(call: dict[str, Any]) -> str:
    """What a tool said to the model."""
    answers = [to_table(to_table(one).get("functionResponse")) for one in to_list(call.get("result"))]
    said = [to_table(one.get("response")) for one in answers]
    words = [to_text(one.get("output")) or to_text(one.get("error")) for one in said]
    found = "\n".join(filter(None, words)) or to_text(call.get("resultDisplay"))
    return found.removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>")


def find_status(status: str, output: str) -> CallStatus:
    """How a call ended, in our words."""
    if status == "cancelled":
        return "rejected" if "did not allow" in output else "interrupted"
    known: dict[str, CallStatus] = {"success": "ok", "error": "error"}
    return known.get(status, "open")


def find_edits(shown: dict[str, Any], status: CallStatus) -> tuple[Edit, ...] | None:
    """The edit that the client's own diff shows; none where the call failed."""
    if "fileDiff" not in shown:
        return None
    path = to_text(shown.get("filePath")) or to_text(shown.get("fileName"))
    how: EditHow = "create" if shown.get("isNewFile") is True else "update"
    return tuple(build_diff_edit(path, to_text(shown.get("fileDiff")), how)) if status == "ok" else ()
