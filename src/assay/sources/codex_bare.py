"""Codex rollouts of before September 2025: a head, then items of the model's conversation without envelope or time.

Of times only that of the beginning is told: what follows has it too, with some milliseconds that keep the order. Takes
records, gives the events of `assay.types`.
"""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.types import About, Call, Edit, Emit, Prompt, Reply, Result, to_key
from assay.types.edits import PATCH, parse_patch
from assay.types.tools import describe_call
from assay.types.value import add_milliseconds, to_list, to_table, to_text, to_time

AGENT, VERSION = "codex", 1

HEAD = re.compile(rb'\s*\{\s*"id"\s*:\s*"[^"]*"\s*,\s*"timestamp"\s*:\s*"[^"]*"\s*,\s*"(?:instructions|git)"\s*:')
PLACE = re.compile(r"<cwd>([^<\n]{1,1000})</cwd>|Current working directory: (\S[^\n]*)")
INJECTED = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>")
SHELL = re.compile(r"(?:^|/)(?:ba|z|da|k)?sh$")
NO_EDITS: tuple[Edit, ...] = ()


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """Folders in which Codex keeps its rollouts, of whatever age."""
    place = env.get("CODEX_HOME", "")
    top = Path(place) if place else home / ".codex"
    return [top / "sessions", top / "archived_sessions"]


def claims(head: bytes) -> bool:
    """Whether a file begins with the head of such a rollout."""
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    return bool(HEAD.match(first)) and b'"payload"' not in first[:200]


class Record(Struct):
    """The head, an item, or a mark of the client's state."""

    id: Any = None
    timestamp: str = ""
    git: Any = None
    record_type: str = ""
    type: str = ""
    role: str = ""
    content: Any = None
    name: str = ""
    arguments: Any = None
    action: Any = None
    call_id: str | None = None
    output: Any = None


class Reader(Struct):
    """Remembers where in the rollout it is, for nothing else tells what came first."""

    unknown: dict[str, int] = {}
    stream: str = ""
    began: str = ""
    steps: int = 0

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        self.steps += 1
        at = add_milliseconds(self.began, self.steps)
        if not record.type:
            self.read_head(record, emit)
        elif record.type == "message":
            self.read_message(record, at, emit)
        elif record.type in ("function_call", "local_shell_call"):
            given = record.arguments if record.type == "function_call" else to_table(record.action)
            drafted = describe_shell(record.name or "shell", parse_text(given))
            emit(replace(drafted, id=record.call_id or "", at=at, of=to_key(f"{self.stream}/{self.steps}")))
        elif record.type == "function_call_output":
            emit(build_result(record, at))
        elif record.type != "reasoning":
            what = record.type[:60]
            if what in self.unknown or len(self.unknown) < 50:
                self.unknown[what] = self.unknown.get(what, 0) + 1

    def read_head(self, record: Record, emit: Emit) -> None:
        """What a rollout says of itself; a mark of state says nothing."""
        if isinstance(record.id, str) and not self.stream:
            self.stream, self.began = record.id, to_time(record.timestamp)
            branch = to_text(to_table(record.git).get("branch"))
            emit(About(at=self.began, stream=record.id, branch=branch, origin="cli"))

    def read_message(self, record: Record, at: str, emit: Emit) -> None:
        """What a person or the model said; what the client told the model in a person's place tells the folder."""
        blocks = [to_table(one) for one in to_list(record.content)]
        text = "\n".join(filter(None, (to_text(one.get("text")) for one in blocks)))
        if record.role == "assistant":
            if text.strip():
                emit(Reply(at=at, text=text))
        elif record.role == "user":
            if text.lstrip().startswith(INJECTED):
                place = PLACE.search(text)
                if place:
                    emit(About(cwd=(place[1] or place[2]).strip()))
                return
            images = sum(one.get("type") == "input_image" for one in blocks)
            if text.strip() or images:
                key = to_key(f"{self.stream}/{self.steps}")
                emit(Prompt(at=at, text=text or "[image]", key=key, images=images))


def parse_text(given: Any) -> dict[str, Any]:
    """JSON in a text, or an object as it stands; empty for what is neither."""
    try:
        return to_table(msgspec.json.decode(given) if isinstance(given, str) else given)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}


def describe_shell(name: str, given: dict[str, Any]) -> Call:
    """A call: nearly all are shell commands, some of which are patches."""
    words = [one for one in to_list(given.get("command")) if isinstance(one, str)]
    if not words:
        return describe_call(name, given)
    if len(words) >= 3 and SHELL.search(words[0]) and words[1].startswith("-"):
        return describe_call("shell", {"command": words[2]})
    if words[0] == "apply_patch" and PATCH in words[-1]:
        edits = parse_patch(words[-1])
        call = describe_call("apply_patch", {})
        return replace(call, target=edits[0].path if edits else "", edits=edits)
    return describe_call("shell", {"command": shlex.join(words)})


def build_result(record: Record, at: str) -> Result:
    """How a call ended: what it printed with its exit code, as JSON in a text."""
    told = parse_text(record.output)
    code = to_table(told.get("metadata")).get("exit_code")
    exit_code = code if type(code) is int else None
    output = to_text(told.get("output")) if told else to_text(record.output)
    return Result(
        id=record.call_id or "",
        at=at,
        status="error" if exit_code else "ok",
        output=output,
        exit_code=exit_code,
        edits=NO_EDITS if exit_code else None,
    )
