"""Transcripts as Claude Code writes them: `ClaudeTranscript` in a few lines, or record by record."""

import json
import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

Record = dict[str, Any]
BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
"""When every transcript made here begins."""
MODEL = "claude-sonnet-4-5"


class ClaudeTranscript:
    """A Claude Code transcript in the making: each method adds what happened next, one second later."""

    def __init__(self, stream: str = "s1", *, cwd: str = "/home/ada/loom", branch: str = "main") -> None:
        self.stream = stream
        self.place = {"cwd": cwd, "gitBranch": branch}
        self.second = 0.0
        """Seconds since the transcript began."""
        self.records: list[Record] = []

    def add_prompt(self, text: str) -> Self:
        """What the person typed."""
        return self._add(build_prompt(self.second, text, self.stream))

    def add_reply(self, text: str) -> Self:
        """Words of the agent."""
        return self._add(build_reply(self.second, text, self.stream))

    def add_call(self, tool: str, input: Record, output: str = "", *, is_error: bool = False) -> Self:
        """A call of any tool, and what came back."""
        return self._add_call(tool, input, output, {"stdout": ""}, is_error=is_error)

    def add_shell(self, command: str, output: str = "", exit_code: int = 0) -> Self:
        """A shell command that the agent ran, and how it ended."""
        told = f"Exit code {exit_code}\n{output}" if exit_code else output
        return self._add_call("Bash", {"command": command}, told, {"stdout": output}, is_error=bool(exit_code))

    def add_edit(self, path: str, old: str, new: str) -> Self:
        """An edit of a file that replaced some lines; an empty `old` writes the file anew."""
        full = path if path.startswith("/") else f"{self.place['cwd']}/{path}"
        if not old:
            outcome = {"type": "create", "filePath": full, "content": new, "structuredPatch": []}
            return self._add_call("Write", {"file_path": full, "content": new}, "created", outcome)
        lines = [*(f"-{line}" for line in old.splitlines()), *(f"+{line}" for line in new.splitlines())]
        patch = [{"oldStart": 1, "newStart": 1, "lines": lines}]
        change = {"file_path": full, "old_string": old, "new_string": new}
        return self._add_call("Edit", change, "updated", {"type": "update", "filePath": full, "structuredPatch": patch})

    def wait(self, *, seconds: float = 0, minutes: float = 0) -> Self:
        """Let time pass before what comes next."""
        self.second += seconds + 60 * minutes
        return self

    def write(self, path: Path) -> Path:
        """Write the file, into a folder under the stream's name."""
        return write_lines(path / f"{self.stream}.jsonl" if path.is_dir() else path, *self.records)

    def _add(self, record: Record) -> Self:
        self.records.append(record | self.place)
        self.second += 1
        return self

    def _add_call(self, tool: str, input: Record, output: str, outcome: Record, *, is_error: bool = False) -> Self:
        began = self.second
        self._add(build_call(began, tool, input, self.stream))
        ended = build_result(self.second, began, output, self.stream)
        if is_error:
            ended["message"]["content"][0]["is_error"] = True
        return self._add(ended | {"toolUseResult": f"Error: {output}" if is_error else outcome})


# --- record by record -------------------------------------------------------------------------


def format_time(seconds: float) -> str:
    """A time so many seconds after the transcript began, as Claude Code writes it."""
    return (BEGAN + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def build_record(kind: str, second: float, stream: str, **more: Any) -> Record:
    """A record of any kind in its envelope; `more` adds fields or replaces them."""
    common = {"sessionId": stream, "uuid": f"{stream}/{second}/{kind}", "timestamp": format_time(second)}
    place = {"cwd": "/home/ada/loom", "gitBranch": "main", "version": "2.1.300", "isSidechain": False}
    return {"type": kind, **common, **place, **more}


def build_prompt(second: float, text: str = "weave the blue scarf", stream: str = "s1", **more: Any) -> Record:
    """A prompt of the person's."""
    return build_record("user", second, stream, message={"role": "user", "content": text}, **more)


def build_reply(second: float, text: str = "woven", stream: str = "s1", **more: Any) -> Record:
    """Words of the agent."""
    message = {"id": f"m{second}/{stream}", "model": MODEL, "content": [{"type": "text", "text": text}]}
    return build_record("assistant", second, stream, message={**message, "usage": {"output_tokens": len(text)}}, **more)


def build_call(second: float, tool: str, input: Record, stream: str = "s1", **more: Any) -> Record:
    """A call of a tool; `build_result` with the same second answers it."""
    block = {"type": "tool_use", "id": f"c{second}/{stream}", "name": tool, "input": input}
    message = {"id": f"m{second}/{stream}", "model": MODEL, "content": [block]}
    usage = {"input_tokens": 10, "output_tokens": 5}
    return build_record("assistant", second, stream, message={**message, "usage": usage}, **more)


def build_shell_call(second: float, command: str = "pytest -q", stream: str = "s1", **more: Any) -> Record:
    """A shell command that the agent runs."""
    return build_call(second, "Bash", {"command": command}, stream, **more)


def build_result(second: float, call: float, output: str = "3 passed in 0.1s", stream: str = "s1") -> Record:
    """What came back of the call that was made at second `call`."""
    block = {"type": "tool_result", "tool_use_id": f"c{call}/{stream}", "content": output}
    return build_record(
        "user", second, stream, message={"role": "user", "content": [block]}, toolUseResult={"stdout": ""}
    )


def build_conversation(stream: str, turns: int = 2, padding: int = 0, start: int = 0) -> list[Record]:
    """Prompts, each with a shell run and a reply; outputs are `padding` characters longer."""
    dice = random.Random(stream)  # noqa: S311  the same for the same stream
    records = []
    for second in range(start, start + turns * 10, 10):
        commands = ("pytest -q", "git commit -am knot", "ls -la loom", "ruff check . && mypy src")
        output = f"{dice.randint(1, 9)} passed in 0.{second}s\n" + "thread " * (padding // 7)
        records += [
            build_prompt(second, f"weave row {second} of {stream}", stream),
            build_shell_call(second + 1, dice.choice(commands), stream),
            build_result(second + 2, second + 1, output, stream),
            build_reply(second + 3, f"row {second} is woven", stream),
        ]
    return records


def encode_lines(records: Iterable[Record | bytes | str]) -> bytes:
    """Lines of records; text and bytes stand for themselves, so that a line can be broken."""
    lines = []
    for record in records:
        text = record if isinstance(record, str | bytes) else json.dumps(record, ensure_ascii=False)
        lines.append(text if isinstance(text, bytes) else text.encode("utf-8"))
    return b"".join(line + b"\n" for line in lines)


def write_lines(path: Path, *records: Record | bytes | str) -> Path:
    """Write records to a file, whose folder is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode_lines(records))
    return path


def write_folder(path: Path, files: int, turns: int = 2, padding: int = 0) -> Path:
    """Write a folder with a conversation in each file."""
    for n in range(files):
        write_lines(path / f"p{n % 7}" / f"{n:04}.jsonl", *build_conversation(f"{n:04}-loom", turns + n % 3, padding))
    return path
