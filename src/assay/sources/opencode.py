"""OpenCode: `~/.local/share/opencode/opencode.db`, the JSON files of versions before it, and `opencode export`.

All three hold a session, its messages and the parts of these. Takes records, gives the events of `assay.types`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.types import About, CallStatus, Edit, Emit, Mark, Prompt, Reply, Result, Spend, Usage, to_key
from assay.types.edits import build_diff_edit, build_whole_edit
from assay.types.packed import PackedFile, Stamp, to_stamp
from assay.types.tools import describe_call
from assay.types.value import to_count, to_list, to_table, to_text, to_time

AGENT, VERSION = "opencode", 1
NAMES = ("opencode*.db", "opencode*.json", "ses_*.json")

JSON_HEAD = re.compile(rb'\s*\{\s*(?:"info"\s*:\s*\{\s*)?"id"\s*:\s*"ses_')
TABLES = (b"CREATE TABLE `session`", b"CREATE TABLE `part`")
PARTS = frozenset("reasoning step-start step-finish patch file snapshot agent subtask retry".split())
SESSION_ID = re.compile(r"[\w-]{1,100}", re.ASCII)
SESSIONS = "SELECT id, time_updated, (SELECT count(*) FROM part WHERE session_id = session.id) FROM session"
SESSION = "SELECT id, parent_id, directory, title, version, time_created, revert FROM session WHERE id = ?"
MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
PARTS_OF = "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY message_id, id"
ABOUT_PART = 2_000
"""Bytes that a part has, about."""


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """Where its data is."""
    top = env.get("XDG_DATA_HOME", "")
    return [(Path(top) if top else home / ".local" / "share") / "opencode"]


def claims(head: bytes) -> bool:
    """Whether a file is its database, one of its sessions, or an export."""
    if head.startswith(b"SQLite format 3\x00"):
        return all(table in head for table in TABLES)
    return bool(JSON_HEAD.match(head.removeprefix(b"\xef\xbb\xbf")))


def list_conversations(file: PackedFile) -> dict[str, Stamp]:
    """The sessions of a database."""
    return {to_text(one): to_stamp(to_count(parts) * ABOUT_PART, at) for one, at, parts in file.query(SESSIONS) if one}


def unpack(file: PackedFile, conversation: str) -> Iterator[Any]:
    """A session, then its messages, each with its parts behind it; what is damaged has no type."""
    if conversation:
        yield from unpack_rows(file, conversation)
        return
    whole = to_table(file.value)
    if not whole:
        return  # a database without sessions
    if "info" in whole:
        yield {"type": "session", "data": whole.get("info")}
        for one in map(to_table, to_list(whole.get("messages"))):
            yield {"type": "message", "data": one.get("info")}
            yield from ({"type": "part", "data": part} for part in to_list(one.get("parts")))
        return
    yield {"type": "session", "data": whole}
    name = to_text(whole.get("id"))
    for message in file.list_beside("..", "..", "message", name) if SESSION_ID.fullmatch(name) else ():
        yield build_row("message", file.read_beside("..", "..", "message", name, message))
        folder = ("..", "..", "part", message.removesuffix(".json"))
        for part in file.list_beside(*folder):
            yield build_row("part", file.read_beside(*folder, part))


def unpack_rows(file: PackedFile, conversation: str) -> Iterator[Any]:
    """The records of one session of a database."""
    revert = None
    for name, parent, folder, title, version, created, undone in file.query(SESSION, conversation):
        info = {"id": name, "parentID": parent, "directory": folder, "title": title, "version": version}
        yield {"type": "session", "data": {**info, "time": {"created": created}}}
        revert = undone
    parts: dict[Any, list[Any]] = {}
    for message, data in file.query(PARTS_OF, conversation):
        parts.setdefault(message, []).append(build_row("part", parse_row(data)))
    for name, data in file.query(MESSAGES, conversation):
        told = parse_row(data)
        yield build_row("message", {"id": name, **told} if told else None)
        yield from parts.get(name, ())
    if revert:
        yield {"type": "revert", "data": parse_row(revert)}


def parse_row(data: Any) -> dict[str, Any]:
    """The JSON of a row; empty where it is damaged."""
    try:
        return to_table(msgspec.json.decode(to_text(data)))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}


def build_row(what: str, data: Any) -> dict[str, Any]:
    """A record; one without data can't be read, and is counted as such."""
    return {"type": what, "data": data} if data else {"type": None}


class Record(Struct):
    """A session, a message, a part, or that the last messages were undone."""

    type: str
    data: Any = None


class Reader(Struct):
    """Remembers the message to which the next parts belong."""

    unknown: dict[str, int] = {}
    stream: str = ""
    parent: str = ""
    role: str = ""
    at: str = ""
    key: int = 0
    texts: int = 0
    """Texts of the message so far: a prompt may have several."""

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        data = to_table(record.data)
        if record.type == "session":
            self.read_session(data, emit)
        elif record.type == "message":
            self.read_message(data, emit)
        elif record.type == "part":
            self.read_part(data, emit)
        elif record.type == "revert":
            emit(Mark(kind="rollback", at=self.at))
        else:
            self.count_unknown(record.type or "(no type)")

    def read_session(self, data: dict[str, Any], emit: Emit) -> None:
        """What a session says of itself; one that another began is a sub-agent's."""
        self.stream, self.parent = to_text(data.get("id")), to_text(data.get("parentID"))
        title = to_text(data.get("title"))
        emit(
            About(
                at=to_time(to_table(data.get("time")).get("created")),
                stream=self.stream,
                by=self.stream if self.parent else "",
                parent=self.parent,
                cwd=to_text(data.get("directory")),
                version=to_text(data.get("version")),
                title="" if title.startswith(("New session - ", "Child session - ")) else title,
            )
        )

    def read_message(self, data: dict[str, Any], emit: Emit) -> None:
        """Whose words follow, and what they cost."""
        self.role, self.texts = to_text(data.get("role")), 0
        self.at = to_time(to_table(data.get("time")).get("created"))
        self.key = to_key(to_text(data.get("id")) or f"{self.stream}/{self.role}/{self.at}")
        if self.role != "assistant":
            return
        if data.get("summary") is True:
            emit(Mark(kind="compact", at=self.at))
        if tokens := to_table(data.get("tokens")):
            emit(Spend(at=self.at, key=self.key, model=to_text(data.get("modelID")), usage=to_usage(tokens)))
        if error := to_table(data.get("error")):
            name = to_text(error.get("name"))
            emit(Mark(kind="interrupt" if name == "MessageAbortedError" else "api_error", at=self.at, detail=name))

    def read_part(self, data: dict[str, Any], emit: Emit) -> None:
        """A part of the message before it."""
        kind, text = to_text(data.get("type")), to_text(data.get("text"))
        if kind == "text":
            self.read_text(text, data, emit)
        elif kind == "tool":
            self.read_tool(data, emit)
        elif kind == "compaction":
            emit(Mark(kind="compact", at=self.at, detail="auto" if data.get("auto") is True else "manual"))
        elif kind not in PARTS:
            self.count_unknown(f"part/{kind}")

    def read_text(self, text: str, data: dict[str, Any], emit: Emit) -> None:
        """Words of a person or of the agent; those that the client put in are nobody's."""
        if not text.strip() or data.get("synthetic") is True or data.get("ignored") is True:
            return
        if self.role == "assistant":
            if not self.parent:
                emit(Reply(at=to_time(to_table(data.get("time")).get("end")) or self.at, text=text))
        elif self.role == "user" and not self.parent:
            key = to_key(f"{self.key}/{self.texts}") if self.texts else self.key
            self.texts += 1
            emit(Prompt(at=self.at, text=text, key=key))

    def read_tool(self, data: dict[str, Any], emit: Emit) -> None:
        """A call with all that became of it."""
        state, name = to_table(data.get("state")), to_text(data.get("callID"))
        given, told, time = (to_table(state.get(one)) for one in ("input", "metadata", "time"))
        drafted = describe_call(to_text(data.get("tool")), given)
        emit(replace(drafted, id=name, at=to_time(time.get("start")) or self.at, of=self.key))
        status = find_status(to_text(state.get("status")), to_text(state.get("error")))
        if status == "open":
            return
        code = told.get("exit")
        exit_code = code if drafted.kind == "shell" and type(code) is int else None
        emit(
            Result(
                id=name,
                at=to_time(time.get("end")) or self.at,
                status="error" if status == "ok" and exit_code else status,
                output=to_text(state.get("output")) or to_text(state.get("error")),
                exit_code=exit_code,
                edits=find_edits(drafted.edits, given, told) if status == "ok" else (),
                agent=to_text(told.get("sessionId")) if drafted.kind == "agent" else "",
            )
        )

    def count_unknown(self, what: str) -> None:
        """Count a record type that is not understood, for `assay doctor`."""
        what = what[:60]
        if what in self.unknown or len(self.unknown) < 50:
            self.unknown[what] = self.unknown.get(what, 0) + 1


def to_usage(tokens: dict[str, Any]) -> Usage:
    """Tokens of a response; what it thought is output too."""
    cache = to_table(tokens.get("cache"))
    return Usage(
        input=to_count(tokens.get("input")),
        output=to_count(tokens.get("output")) + to_count(tokens.get("reasoning")),
        cache_read=to_count(cache.get("read")),
        cache_write=to_count(cache.get("write")),
    )


def find_status(status: str, error: str) -> CallStatus:
    """How a call ended, in our words."""
    if status == "completed":
        return "ok"
    if status != "error":
        return "open"
    if "rejected permission" in error or "dismissed this question" in error:
        return "rejected"
    if "specified a rule which prevents" in error:
        return "denied"
    return "interrupted" if "aborted" in error else "error"


def find_edits(asked: tuple[Edit, ...], given: dict[str, Any], told: dict[str, Any]) -> tuple[Edit, ...] | None:
    """The edit that the client's own diff shows, or a file that was not there before."""
    if len(asked) != 1:
        return None
    if diff := to_text(told.get("diff")):
        return tuple(build_diff_edit(asked[0].path, diff))
    if told.get("exists") is False:
        return tuple(build_whole_edit(asked[0].path, to_text(given.get("content")), "create"))
    return None
