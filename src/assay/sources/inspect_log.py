"""Logs of Inspect: `*.eval` archives and `*.json` documents; each sample of an evaluation is a conversation.

Takes records, gives the events of `assay.types`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.types import About, CallStatus, Emit, Prompt, Reply, Result, Spend, Usage, to_key
from assay.types.packed import PackedFile, Stamp
from assay.types.tools import describe_call
from assay.types.value import to_count, to_list, to_table, to_text, to_time

AGENT, VERSION = "inspect", 1
NAMES = ("*.eval", "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*.json")

HEAD = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"[a-z]+"\s*,\s*"eval"\s*:\s*\{')
MEMBER = re.compile(r"samples/(.+)\.json")


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """Where it is told to write; `./logs` is of whoever ran it."""
    place = env.get("INSPECT_LOG_DIR", "")
    return [Path(place)] if place and "://" not in place else []


def claims(head: bytes) -> bool:
    """Whether a file is an archive that begins with its journal, or a log as one document."""
    if head.startswith(b"PK\x03\x04"):
        return head[30:].startswith((b"_journal/", b"header.json", b"samples/"))
    return bool(HEAD.match(head.removeprefix(b"\xef\xbb\xbf")))


def list_conversations(file: PackedFile) -> dict[str, Stamp]:
    """The samples of a log."""
    members = {found[1]: stamp for name, stamp in file.list_members().items() if (found := MEMBER.fullmatch(name))}
    if members:
        return members
    return {name: Stamp(0, to_key(repr(one))) for name, one in list_samples(file).items()}


def list_samples(file: PackedFile) -> dict[str, dict[str, Any]]:
    """The samples of a log that is one document."""
    samples = map(to_table, to_list(to_table(file.value).get("samples")))
    return {f"{one.get('id')}_epoch_{one.get('epoch')}": one for one in samples}


def unpack(file: PackedFile, conversation: str) -> Iterator[Any]:
    """What a sample is, then its messages, each with the time and the tokens that its event tells."""
    if not conversation:
        return
    members = file.list_members()
    if members:
        head = "header.json" if "header.json" in members else "_journal/start.json"
        about = to_table(to_table(file.read_member(head)).get("eval"))
        sample = to_table(file.read_member(f"samples/{conversation}.json"))
    else:
        about = to_table(to_table(file.value).get("eval"))
        sample = list_samples(file).get(conversation, {})
    told = find_responses(sample)
    yield {
        "type": "sample",
        "id": to_text(sample.get("uuid")) or f"{about.get('eval_id')}/{conversation}",
        "title": f"{about.get('task')} {conversation}",
        "model": to_text(about.get("model")),
        "at": sample.get("started_at"),
        "version": to_text(to_table(about.get("packages")).get("inspect_ai")),
    }
    for one in map(to_table, to_list(sample.get("messages"))):
        response = told.get(to_text(one.get("id")), {})
        more = {"at": response.get("timestamp"), "usage": to_table(response.get("output")).get("usage")}
        yield {"type": "message", **{key: one.get(key) for key in MESSAGE}, **more}


def find_verdict(file: PackedFile, conversation: str) -> tuple[str, str, bool] | None:
    """How a sample was graded; nothing where scorers disagree, or say something between right and wrong."""
    if file.list_members():
        sample = to_table(file.read_member(f"samples/{conversation}.json"))
    else:
        sample = list_samples(file).get(conversation, {})
    words = [str(to_table(one).get("value")).lower() for one in to_table(sample.get("scores")).values()]
    is_told = bool(words) and (all(one in RIGHT for one in words) or all(one in WRONG for one in words))
    task = conversation.rpartition("_epoch_")[0] or conversation
    return ("inspect", task, words[0] in RIGHT) if is_told else None


RIGHT, WRONG = ("c", "1", "1.0", "true"), ("i", "0", "0.0", "false", "n")
"""What scorers call right and wrong; `n` is no answer."""
MESSAGE = ("id", "role", "content", "tool_calls", "tool_call_id", "function", "error", "model")


def find_responses(sample: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The events of a sample, by the messages that they brought."""
    found: dict[str, dict[str, Any]] = {}
    for event in map(to_table, to_list(sample.get("events"))):
        if event.get("event") == "model":
            choices = to_list(to_table(event.get("output")).get("choices"))
            message = to_table(to_table(choices[0]).get("message")) if choices else {}
            found[to_text(message.get("id"))] = event
        elif event.get("event") == "tool":
            found[to_text(event.get("message_id"))] = event
    return found


class Record(Struct):
    """A sample, or one of its messages."""

    type: str = ""
    id: str | None = None
    title: str = ""
    model: str | None = None
    version: str = ""
    at: Any = None
    role: str = ""
    content: Any = None
    tool_calls: Any = None
    tool_call_id: str | None = None
    function: str | None = None
    error: Any = None
    usage: Any = None


class Reader(Struct):
    """Remembers the time that was told last."""

    unknown: dict[str, int] = {}
    stream: str = ""
    model: str = ""
    at: str = ""
    steps: int = 0

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        self.steps += 1
        self.at = to_time(record.at) or self.at
        if record.type == "sample":
            self.stream, self.model = record.id or "", record.model or ""
            emit(About(at=self.at, stream=self.stream, title=record.title, model=self.model, version=record.version))
            return
        key, text = to_key(f"{self.stream}/{record.id or self.steps}"), join_words(record.content)
        if record.role == "user":
            if text.strip():
                emit(Prompt(at=self.at, text=text, key=key))
        elif record.role == "assistant":
            self.read_answer(record, text, key, emit)
        elif record.role == "tool" and record.function != "submit":
            error = to_table(record.error)
            status: CallStatus = "error" if error else "ok"
            said = text or to_text(error.get("message"))
            edits = () if error else None
            emit(Result(id=record.tool_call_id or "", at=self.at, status=status, output=said, edits=edits))
        elif record.role not in ("system", "tool"):
            self.unknown["message"] = self.unknown.get("message", 0) + 1

    def read_answer(self, record: Record, text: str, key: int, emit: Emit) -> None:
        """Words, tokens and calls of a response; its input holds nothing that came from the cache."""
        if told := to_table(record.usage):
            usage = Usage(
                input=to_count(told.get("input_tokens")),
                output=to_count(told.get("output_tokens")),
                cache_read=to_count(told.get("input_tokens_cache_read")),
                cache_write=to_count(told.get("input_tokens_cache_write")),
            )
            emit(Spend(at=self.at, key=key, model=record.model or self.model, usage=usage))
        if text.strip():
            emit(Reply(at=self.at, text=text))
        for one in map(to_table, to_list(record.tool_calls)):
            name, given = to_text(one.get("function")), one.get("arguments")
            if name == "submit":  # to hand in is the last word, not work
                if answer := to_text(to_table(given).get("answer")):
                    emit(Reply(at=self.at, text=answer))
                continue
            drafted = describe_call(name, given)
            emit(replace(drafted, id=to_text(one.get("id")), at=self.at, of=key))


def join_words(content: Any) -> str:
    """The words of a message: a text, or parts of which some are texts."""
    if isinstance(content, str):
        return content
    parts = [to_table(one) for one in to_list(content)]
    return "\n".join(text for one in parts if one.get("type") == "text" and (text := to_text(one.get("text"))))
