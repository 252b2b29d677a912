"""Aider: `.aider.chat.history.md` in a repository, a chat after the other.

A line that begins with `#### ` is the person's, one with `> ` the client's, all else the model's. Of times only that
of the beginning of a chat is told: what follows has it too, with some milliseconds that keep the order. Tokens are as
rounded as the client prints them. Takes records, gives the
events of `assay.types`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from assay.types import About, Call, Edit, Emit, Mark, Prompt, PromptKind, Reply, Result, Spend, Usage, to_key
from assay.types.edits import build_block_edit
from assay.types.packed import PackedFile, Stamp
from assay.types.value import add_milliseconds, to_time

AGENT, VERSION = "aider", 1
NAMES = (".aider.chat.history*.md",)

START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
CLIENT = re.compile(r"Aider v(?P<version>\S+)|(?:Main model|Model|Models): (?P<model>\S+?),? with ")
TOKENS = re.compile(r"Tokens: (.*? received)\b")
NUMBER = re.compile(r"([\d.,]+)([kKM]?) (sent|cache write|cache hit|received)")
SCALE = {"": 1, "k": 1_000, "K": 1_000, "M": 1_000_000}
APPLIED = re.compile(r"Applied edit to (\S.*?)\s*$")
COMMIT = re.compile(r"Commit ([0-9a-f]{7,40}) ")
RUNNING = re.compile(r"Running (\S.*?)\s*$")
BLOCK = re.compile(r"<{5,9} SEARCH")
NAME = re.compile(r"[`*#\s]*([\w./\\@-][\w./\\@ -]{0,300}?)[`*:\s]*")
ASKING = frozenset({"ask", "code", "architect", "help", "context"})
"""Commands that bring a request."""


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """Nowhere but in the repositories it was used in."""
    return []


def claims(head: bytes) -> bool:
    """Whether a file begins with a chat."""
    return bool(START.match(head.removeprefix(b"\xef\xbb\xbf").lstrip()[:200].decode("utf-8", "replace")))


def list_conversations(file: PackedFile) -> dict[str, Stamp]:
    """The chats of a history."""
    return {name: Stamp(sum(map(len, lines)), to_key("\n".join(lines))) for name, lines in split_chats(file).items()}


def split_chats(file: PackedFile) -> dict[str, list[str]]:
    """The lines of each chat, by when it began and what was first said in it."""
    chats: list[list[str]] = []
    for line in file.list_lines():
        if START.fullmatch(line):
            chats.append([])
        if chats:
            chats[-1].append(line)
    named: dict[str, list[str]] = {}
    for lines in chats:
        first = next((line for line in lines if line.startswith("#### ")), "")
        name = base = f"{lines[0].rstrip()[-19:]} {to_key(first) & 0xFFFFFFFF:08x}"
        while name in named:
            name = f"{base} {len(named)}"
        named[name] = lines
    return named


def unpack(file: PackedFile, conversation: str) -> Iterator[Any]:
    """The lines of one chat, those of one speaker together."""
    lines = split_chats(file).get(conversation, [])
    if not lines:
        return
    began = START.fullmatch(lines[0])
    yield {"type": "chat", "text": conversation, "at": began[1] if began else "", "cwd": file.repository}
    speaker, said = "", list[str]()
    for line in [*lines[1:], ""]:
        who = "person" if line.startswith("####") else "client" if line.startswith("> ") or line == ">" else "agent"
        if who != speaker and (said or speaker):
            yield {"type": speaker, "text": "\n".join(said)}
            said = []
        speaker = who
        said.append(
            line.removeprefix("#### ").removeprefix("####").removeprefix("> ").rstrip() if who != "agent" else line
        )
    yield {"type": speaker, "text": "\n".join(said)}


class Record(Struct):
    """A chat, or what one speaker said without a break."""

    type: str = ""
    text: str = ""
    at: str = ""
    cwd: str = ""


class Reader(Struct):
    """Remembers the last words of the model: the client says afterwards what it made of them."""

    unknown: dict[str, int] = {}
    stream: str = ""
    began: str = ""
    at: str = ""
    """Of what is read now."""
    done_at: str = ""
    """Of edits that the last words ask for: they are part of these, not what came after."""
    model: str = ""
    said: str = ""
    steps: int = 0
    last: str = ""
    """The last edit: a commit that follows is of it."""

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        self.steps += 1
        self.at = add_milliseconds(self.began, 2 * self.steps)
        if record.type == "chat":
            self.stream, self.began = record.text, to_time(record.at)
            self.at = self.began
            emit(About(at=self.at, stream=self.stream, cwd=record.cwd, origin="cli"))
        elif record.type == "person":
            self.read_person(record.text, emit)
        elif record.type == "agent":
            if record.text.strip():
                self.said, self.done_at = record.text, add_milliseconds(self.began, 2 * self.steps - 1)
                emit(Reply(at=self.at, text=record.text.strip()))
        elif record.type == "client":
            for line in record.text.splitlines():
                self.read_client(line, emit)
        else:
            self.unknown["(no type)"] = self.unknown.get("(no type)", 0) + 1

    def read_person(self, text: str, emit: Emit) -> None:
        """A prompt, or a command to the client."""
        kind: PromptKind = "typed"
        if text.startswith(("/", "!")):
            word, _, rest = text.lstrip("/!").partition(" ")
            if text.startswith("!") or word in ("run", "test", "git"):
                kind, text = "shell", text[1:] if text.startswith("!") else f"git {rest}" if word == "git" else rest
            elif word in ASKING:
                kind, text = "command", rest
            else:
                if word in ("clear", "reset"):
                    emit(Mark(kind="clear", at=self.at))
                elif word == "undo":
                    emit(Mark(kind="rollback", at=self.at, detail="1"))
                return
        if text.strip():
            emit(Prompt(at=self.at, text=text.strip(), key=to_key(f"{self.stream}/{self.steps}"), kind=kind))

    def read_client(self, line: str, emit: Emit) -> None:
        """What the client says of itself, of tokens, edits, commits and commands."""
        if told := CLIENT.match(line):
            self.model = told["model"] or self.model
            emit(About(version=told["version"] or "", model=self.model))
        elif told := TOKENS.match(line):
            key = to_key(f"{self.stream}/{self.steps}/{line}")
            emit(Spend(at=self.at, key=key, model=self.model, usage=parse_tokens(told[1])))
        elif told := APPLIED.match(line):
            self.last = f"{self.stream}/{self.steps}/{told[1]}"
            edits = find_edits(self.said, told[1])
            emit(Call(id=self.last, at=self.done_at, name="edit", kind="edit", target=told[1], edits=edits))
            emit(Result(id=self.last, at=self.done_at, status="ok"))
        elif (told := COMMIT.match(line)) and self.last:
            emit(Result(id=self.last, at=self.done_at, status="ok", commit=told[1]))
        elif told := RUNNING.match(line):
            name = f"{self.stream}/{self.steps}/{line}"
            emit(Call(id=name, at=self.at, name="shell", kind="shell", command=told[1]))
        elif line.startswith("litellm."):
            emit(Mark(kind="api_error", at=self.at, detail=line.split(":")[0]))


def parse_tokens(text: str) -> Usage:
    """Tokens as the client prints them: `2.3k sent, 101 received`."""
    found = {
        what: round(float(n.replace(",", "")) * SCALE[scale]) for n, scale, what in NUMBER.findall(text) if is_number(n)
    }
    return Usage(
        input=found.get("sent", 0),
        output=found.get("received", 0),
        cache_read=found.get("cache hit", 0),
        cache_write=found.get("cache write", 0),
    )


def is_number(text: str) -> bool:
    return bool(re.fullmatch(r"\d{1,3}(?:,\d{3})*(?:\.\d+)?|\d{1,12}(?:\.\d+)?", text))


def find_edits(said: str, path: str) -> tuple[Edit, ...]:
    """The edit of one file that the blocks in the model's words ask for; none where they are in another form."""
    lines = said.splitlines()
    blocks: list[str] = []
    for at, line in enumerate(lines):
        if BLOCK.match(line) and any(is_named(path, above) for above in lines[max(at - 3, 0) : at]):
            blocks.append("\n".join(lines[at:]).split(" REPLACE", 1)[0] + " REPLACE")
    return tuple(build_block_edit(path, "\n".join(blocks))) if blocks else ()


def is_named(path: str, line: str) -> bool:
    """Whether a line above a block is the name of this file."""
    named = NAME.fullmatch(line)
    return named is not None and (named[1] == path or path.endswith(f"/{named[1]}"))
