"""Cursor: `User/globalStorage/state.vscdb`, a database with all conversations (`composerData`) and their bubbles.

Written from what others have published of the format: Cursor itself needs a login and a screen. Takes records, gives
the events of `assay.types`.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.types import About, CallStatus, Edit, Emit, Prompt, Reply, Result, Spend, Usage, to_key
from assay.types.packed import PackedFile, Stamp, to_stamp
from assay.types.tools import describe_call, pick_text
from assay.types.value import to_count, to_list, to_table, to_text, to_time

AGENT, VERSION = "cursor", 1
NAMES = ("state.vscdb",)

COMPOSER, BUBBLE = "composerData:", "bubbleId:"
COMPOSERS = (
    "SELECT key, json_extract(value, '$.lastUpdatedAt'), json_extract(value, '$.createdAt'), length(value) "
    "FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' AND json_valid(value)"
)
ONE = "SELECT value FROM cursorDiskKV WHERE key = ?"
BUBBLES = "SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ?"
PERSON, MODEL = 1, 2
"""Who speaks in a bubble."""
NO_EDITS: tuple[Edit, ...] = ()


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """Where the editor stores what is not of one workspace."""
    top = home / "Library" / "Application Support" if sys.platform == "darwin" else home / ".config"
    return [top / "Cursor" / "User" / "globalStorage"]


def claims(head: bytes) -> bool:
    """Whether a database has the table of conversations."""
    return head.startswith(b"SQLite format 3\x00") and b"cursorDiskKV" in head


def list_conversations(file: PackedFile) -> dict[str, Stamp]:
    """The conversations of the database that anything was said in."""
    found: dict[str, Stamp] = {}
    for key, changed, created, size in file.query(COMPOSERS):
        name = to_text(key).removeprefix(COMPOSER)
        if name:
            found[name] = to_stamp(to_count(size), changed if changed is not None else created)
    return found


def unpack(file: PackedFile, conversation: str) -> Iterator[Any]:
    """A conversation, then its bubbles in their order; what is damaged has no type."""
    if not conversation:
        return
    [whole] = [parse_value(row[0]) for row in file.query(ONE, COMPOSER + conversation)][:1] or [{}]
    yield {"type": "conversation", "id": conversation, "data": {key: whole.get(key) for key in KEPT}}
    inline = to_list(whole.get("conversation"))
    if inline:
        yield from ({"type": "bubble", "data": one} if isinstance(one, dict) else {"type": None} for one in inline)
        return
    start = f"{BUBBLE}{conversation}:"
    bubbles = {to_text(key)[len(start) :]: value for key, value in file.query(BUBBLES, start, f"{start[:-1]};")}
    order = [to_text(to_table(one).get("bubbleId")) for one in to_list(whole.get("fullConversationHeadersOnly"))]
    for name in order or bubbles:
        if name in bubbles:
            told = parse_value(bubbles[name])
            yield {"type": "bubble", "id": name, "data": told} if told else {"type": None}


KEPT = ("createdAt", "name", "modelConfig", "workspaceIdentifier", "subagentInfo")


def parse_value(value: Any) -> dict[str, Any]:
    """The JSON of a row, which is text or bytes; empty where it is damaged."""
    try:
        return to_table(msgspec.json.decode(value)) if isinstance(value, str | bytes) else {}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}


class Record(Struct):
    """A conversation, or a bubble of it."""

    type: str
    id: str = ""
    data: Any = None


class Reader(Struct):
    """Remembers the model, and the time that was told last, for older bubbles have none."""

    unknown: dict[str, int] = {}
    stream: str = ""
    model: str = ""
    at: str = ""
    steps: int = 0
    is_child: bool = False

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        self.steps += 1
        data = to_table(record.data)
        self.at = to_time(data.get("createdAt")) or self.at
        if record.type == "conversation":
            self.read_conversation(record.id, data, emit)
            return
        key = to_key(f"{self.stream}/{record.id or to_text(data.get('bubbleId')) or self.steps}")
        kind = data.get("type")
        if kind == PERSON:
            self.read_prompt(data, key, emit)
        elif kind == MODEL:
            self.read_answer(data, key, emit)
        else:
            self.unknown["bubble"] = self.unknown.get("bubble", 0) + 1

    def read_conversation(self, name: str, data: dict[str, Any], emit: Emit) -> None:
        """What a conversation says of itself; one that another began is a sub-agent's."""
        self.stream, self.model = name, to_text(to_table(data.get("modelConfig")).get("modelName"))
        place = to_table(to_table(data.get("workspaceIdentifier")).get("uri"))
        parent = to_text(to_table(data.get("subagentInfo")).get("parentComposerId"))
        self.is_child = bool(parent)
        about = About(at=self.at, stream=name, title=to_text(data.get("name")), model=self.model, origin="ide")
        emit(replace(about, cwd=pick_text(place, "fsPath path"), parent=parent, by=name if parent else ""))

    def read_prompt(self, data: dict[str, Any], key: int, emit: Emit) -> None:
        """What a person said."""
        text, images = to_text(data.get("text")), len(to_list(data.get("images")))
        if (text.strip() or images) and not self.is_child:
            emit(Prompt(at=self.at, text=text or "[image]", key=key, images=images))

    def read_answer(self, data: dict[str, Any], key: int, emit: Emit) -> None:
        """Words, tokens and the one call of a bubble."""
        tokens = to_table(data.get("tokenCount"))
        usage = Usage(input=to_count(tokens.get("inputTokens")), output=to_count(tokens.get("outputTokens")))
        if usage != Usage():  # most bubbles say 0 for what they don't know
            model = to_text(to_table(data.get("modelInfo")).get("modelName")) or self.model
            emit(Spend(at=self.at, key=key, model=model, usage=usage))
        if (text := to_text(data.get("text"))).strip() and not self.is_child:
            emit(Reply(at=self.at, text=text))
        if tool := to_table(data.get("toolFormerData")):
            self.read_tool(tool, key, emit)

    def read_tool(self, tool: dict[str, Any], key: int, emit: Emit) -> None:
        """A call with its result, both of which are JSON in texts."""
        given = parse_value(tool.get("rawArgs")) or parse_value(tool.get("params"))
        result = parse_value(tool.get("result"))
        name = to_text(tool.get("toolCallId")) or f"{self.stream}/{self.steps}"
        drafted = describe_call(to_text(tool.get("name")), given)
        emit(replace(drafted, id=name, at=self.at, of=key))
        status = find_status(tool)
        if status == "open":
            return
        code = result.get("exitCode")
        exit_code = code if type(code) is int and drafted.kind == "shell" else None
        said = pick_text(result, "output contents diff")
        output = said or to_text(to_table(tool.get("error")).get("clientVisibleErrorMessage"))
        emit(
            Result(
                id=name,
                at=self.at,
                status="error" if status == "ok" and exit_code else status,
                output=output,
                exit_code=exit_code,
                edits=None if status == "ok" else NO_EDITS,
                agent=to_text(result.get("agentId")),
            )
        )


def find_status(tool: dict[str, Any]) -> CallStatus:
    """How a call ended, in our words."""
    if to_text(tool.get("userDecision")) == "rejected":
        return "rejected"
    known: dict[str, CallStatus] = {"completed": "ok", "error": "error", "cancelled": "interrupted"}
    return known.get(to_text(tool.get("status")), "open")
