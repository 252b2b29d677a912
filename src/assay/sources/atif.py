"""Trajectories in Harbor's interchange format (ATIF): `trajectory.json`, one document with the steps of a run.

Which agent it was stands in the document, and is told as the origin. Takes records, gives the events of `assay.types`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.types import About, Emit, Prompt, Reply, Result, Spend, Usage, to_key
from assay.types.packed import PackedFile
from assay.types.tools import describe_call
from assay.types.value import to_count, to_list, to_table, to_text, to_time

AGENT, VERSION = "atif", 1
NAMES = ("trajectory*.json", "*.trajectory.json")

HEAD = re.compile(rb'\s*\{\s*"schema_version"\s*:\s*"ATIF-v\d')


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """Nowhere but where runs were kept."""
    return []


def claims(head: bytes) -> bool:
    """Whether a document names the format."""
    return bool(HEAD.match(head.removeprefix(b"\xef\xbb\xbf")))


def unpack(file: PackedFile, conversation: str) -> Iterator[Any]:
    """What the document says of itself, then its steps."""
    whole = to_table(file.value)
    yield {"type": "run", "session_id": to_text(whole.get("session_id")), "agent": whole.get("agent")}
    yield from ({"type": "step", **one} for one in to_list(whole.get("steps")) if isinstance(one, dict))


class Record(Struct):
    """A run, or one step of it."""

    type: str = ""
    session_id: str = ""
    agent: Any = None
    step_id: Any = None
    timestamp: str = ""
    source: str = ""
    model_name: str = ""
    message: Any = None
    tool_calls: Any = None
    observation: Any = None
    metrics: Any = None


class Reader(Struct):
    """Remembers whose run it is."""

    unknown: dict[str, int] = {}
    stream: str = ""
    model: str = ""

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        if record.type == "run":
            agent = to_table(record.agent)
            self.stream, self.model = record.session_id, to_text(agent.get("model_name"))
            version, origin = to_text(agent.get("version")), to_text(agent.get("name"))
            emit(About(stream=self.stream, version=version, model=self.model, origin=origin))
            return
        at, key = to_time(record.timestamp), to_key(f"{self.stream}/{record.step_id}")
        text = join_words(record.message)
        if record.source == "user":
            if text.strip():
                emit(Prompt(at=at, text=text, key=key))
        elif record.source == "agent":
            self.read_agent(record, text, at, key, emit)
        elif record.source != "system":
            self.unknown["step"] = self.unknown.get("step", 0) + 1
        for number, one in enumerate(map(to_table, to_list(to_table(record.observation).get("results")))):
            name = to_text(one.get("source_call_id")) or f"{self.stream}/{record.step_id}/{number}"
            emit(Result(id=name, at=at, status="ok", output=join_words(one.get("content"))))

    def read_agent(self, record: Record, text: str, at: str, key: int, emit: Emit) -> None:
        """Words, tokens and calls of a step; its prompt holds what came from the cache."""
        if metrics := to_table(record.metrics):
            cached = to_count(metrics.get("cached_tokens"))
            usage = Usage(
                input=max(to_count(metrics.get("prompt_tokens")) - cached, 0),
                output=to_count(metrics.get("completion_tokens")),
                cache_read=cached,
            )
            if usage != Usage():
                emit(Spend(at=at, key=key, model=record.model_name or self.model, usage=usage))
        if text.strip():
            emit(Reply(at=at, text=text))
        for number, one in enumerate(map(to_table, to_list(record.tool_calls))):
            drafted = describe_call(to_text(one.get("function_name")), one.get("arguments"))
            name = to_text(one.get("tool_call_id")) or f"{self.stream}/{record.step_id}/{number}"
            emit(replace(drafted, id=name, at=at, of=key))


def join_words(content: Any) -> str:
    """The words of a message: a text, or parts of which some are texts."""
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, (to_text(to_table(one).get("text")) for one in to_list(content))))
