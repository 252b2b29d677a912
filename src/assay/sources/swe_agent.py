"""SWE-agent and mini-swe-agent: `*.traj` and `*.traj.json`, one document with all steps of a run on one instance.

The two share their ending and little else; which of them it was is told as the origin. The instance is the file's name.
Takes records, gives the events of `assay.types`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.types import About, Call, Emit, Prompt, Reply, Result, Spend, Usage, to_key
from assay.types.packed import PackedFile
from assay.types.tools import describe_call
from assay.types.value import to_count, to_list, to_table, to_text, to_time

AGENT, VERSION = "swe-agent", 1
NAMES = ("*.traj", "*.traj.json")

SWE = re.compile(rb'\s*\{\s*"(?:trajectory|environment)"\s*:\s*[\["]')
MINI = re.compile(rb'\s*\{\s*"info"\s*:\s*\{\s*"model_stats"\s*:')
FENCED = re.compile(r"```[\w-]*\n(.*?)\n```", re.DOTALL)
RETURNED = re.compile(r"\A\s*<returncode>(-?\d{1,10})</returncode>\s*(?:<output>\n?(.*?)\n?</output>)?", re.DOTALL)
SUBMITS = re.compile(r"\s*(?:submit\b|echo ['\"]?(?:COMPLETE_TASK_AND_SUBMIT|MINI_SWE_AGENT)_FINAL_OUTPUT)")
"""To hand in is the last word, not work."""
EDITOR = re.compile(r"str_replace_editor (create|str_replace|view|insert|undo_edit) (\S+)")


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """Nowhere but where runs were kept."""
    return []


def claims(head: bytes) -> bool:
    """Whether a document begins as either of the two writes it."""
    plain = head.removeprefix(b"\xef\xbb\xbf")
    if SWE.match(plain):
        return b'"action"' in plain or b'"trajectory"' in plain
    return bool(MINI.match(plain)) and (b'"mini_version"' in plain or b'"api_calls"' in plain)


def unpack(file: PackedFile, conversation: str) -> Iterator[Any]:
    """The run, then its messages or steps."""
    whole = to_table(file.value)
    info, name = to_table(whole.get("info")), re.sub(r"\.traj(?:\.json)?\Z", "", file.name)
    stats = to_table(info.get("model_stats"))
    model, first = find_model(whole, info), find_first_words(whole)
    run = {"type": "run", "title": name, "stats": stats, "model": model}
    run["id"] = f"{name}/{to_key(f'{file.folder}/{model}/{first}') & 0xFFFFFFFF:08x}"
    if "trajectory" not in whole:
        yield {**run, "origin": "mini-swe-agent", "version": to_text(info.get("mini_version"))}
        yield from ({"type": "message", **one} for one in to_list(whole.get("messages")) if isinstance(one, dict))
        return
    yield {**run, "origin": "swe-agent", "version": to_text(info.get("swe_agent_version"))}
    users = [one for one in map(to_table, to_list(whole.get("history"))) if one.get("role") == "user"]
    asked = next((one for one in users if not one.get("is_demo")), {})
    yield {"type": "message", "role": "user", "content": asked.get("content")}
    yield from ({"type": "step", **one} for one in to_list(whole.get("trajectory")) if isinstance(one, dict))


def find_first_words(whole: dict[str, Any]) -> str:
    """What tells a run from others on the same instance: when it began, and how it began to answer."""
    steps = [to_table(one) for one in to_list(whole.get("trajectory")) or to_list(whole.get("messages"))]
    times = (to_table(one.get("extra")).get("timestamp") for one in steps)
    words = (one.get("response") for one in steps)
    return f"{next(filter(None, times), '')}/{next(filter(None, words), '')}"


def find_model(whole: dict[str, Any], info: dict[str, Any]) -> str:
    """The model of a run, where its configuration names one."""
    config = to_table(to_table(info.get("config")).get("model"))
    replayed = whole.get("replay_config")
    named = re.search(r'"name": ?"([^"]{1,100})"', replayed) if isinstance(replayed, str) else None
    return to_text(config.get("model_name")) or (named[1] if named else "")


class Record(Struct):
    """A run, a message, or a step."""

    type: str = ""
    id: str = ""
    title: str = ""
    model: str = ""
    origin: str = ""
    version: str = ""
    stats: Any = None
    role: str = ""
    content: Any = None
    tool_calls: Any = None
    tool_call_id: str | None = None
    extra: Any = None
    thought: str | None = None
    response: Any = None
    action: str = ""
    observation: Any = None


class Reader(Struct):
    """Remembers the last command of a run whose results do not say which call they answer."""

    unknown: dict[str, int] = {}
    stream: str = ""
    steps: int = 0
    waiting: list[str] = []
    is_asked: bool = False
    model: str = ""
    taken: tuple[int, int] = (0, 0)

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        self.steps += 1
        if record.type == "run":
            self.read_run(record, emit)
        elif record.type == "step":
            self.read_step(record, emit)
        elif record.role == "assistant" or to_list(to_table(record.extra).get("actions")):
            self.read_answer(record, emit)
        elif record.role == "tool" or (record.role == "user" and self.is_asked):
            self.read_result(record, emit)
        elif record.role == "user":
            self.read_prompt(record, emit)
        elif record.role not in ("system", "exit"):
            self.unknown["message"] = self.unknown.get("message", 0) + 1

    def build_key(self) -> int:
        return to_key(f"{self.stream}/{self.steps}")

    def read_run(self, record: Record, emit: Emit) -> None:
        """What a run is, and what all of it took: nothing tells that step by step."""
        self.stream, self.model = record.id, record.model
        about = About(stream=record.id, version=record.version, model=record.model, origin=record.origin)
        emit(replace(about, title=record.title))
        stats = to_table(record.stats)
        self.taken = (to_count(stats.get("tokens_sent")), to_count(stats.get("tokens_received")))

    def read_prompt(self, record: Record, emit: Emit) -> None:
        """The task, with the tokens of all that follows."""
        self.is_asked = True
        at, key = find_time(record), self.build_key()
        emit(Prompt(at=at, text=join_words(record.content), key=key))
        if any(self.taken):
            emit(Spend(at=at, key=key, model=self.model, usage=Usage(input=self.taken[0], output=self.taken[1])))

    def read_step(self, record: Record, emit: Emit) -> None:
        """One step of SWE-agent: what it thought, did and saw."""
        text = (record.thought or FENCED.sub("", to_text(record.response))).strip()
        if text:
            emit(Reply(at="", text=text))
        if record.action.strip() and not SUBMITS.match(record.action):
            name = f"{self.stream}/{self.steps}"
            emit(replace(describe_action(record.action), id=name, of=self.build_key()))
            emit(Result(id=name, at="", status="ok", output=join_words(record.observation)))

    def read_answer(self, record: Record, emit: Emit) -> None:
        """Words and commands of mini-swe-agent."""
        at, extra = find_time(record), to_table(record.extra)
        text = join_words(record.content)
        if words := FENCED.sub("", text).strip():
            emit(Reply(at=at, text=words))
        given = [to_table(one) for one in to_list(extra.get("actions"))]
        commands = [(to_text(one.get("command")), to_text(one.get("tool_call_id"))) for one in given]
        if not given and (found := FENCED.search(text)):
            commands = [(found[1], "")]
        self.waiting = []
        for number, (command, name) in enumerate(commands):
            if SUBMITS.match(command):
                continue
            self.waiting.append(name or f"{self.stream}/{self.steps}/{number}")
            emit(replace(describe_call("bash", {"command": command}), id=self.waiting[-1], at=at, of=self.build_key()))

    def read_result(self, record: Record, emit: Emit) -> None:
        """What a command came to."""
        extra, text = to_table(record.extra), join_words(record.content)
        told = RETURNED.match(text)
        code = extra.get("returncode", int(told[1]) if told else None)
        code = code if type(code) is int else None
        name = record.tool_call_id or (self.waiting.pop(0) if self.waiting else "")
        output = to_text(extra.get("raw_output")) or (told[2] or "" if told else text)
        if name:
            emit(Result(id=name, at=find_time(record), status="error" if code else "ok", output=output, exit_code=code))


def describe_action(action: str) -> Call:
    """A command of SWE-agent; those of its editor are edits."""
    found = EDITOR.match(action)
    if not found:
        return describe_call("bash", {"command": action})
    is_view = found[1] == "view"
    return replace(
        describe_call("view" if is_view else "edit", {}), name="str_replace_editor", target=found[2], edits=()
    )


def find_time(record: Record) -> str:
    return to_time(to_table(record.extra).get("timestamp"))


def join_words(content: Any) -> str:
    """The words of a message: a text, or parts of which some are texts."""
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, (to_text(to_table(one).get("text")) for one in to_list(content))))
