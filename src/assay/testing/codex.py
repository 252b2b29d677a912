"""Transcripts as Codex writes them: `CodexTranscript` in a few lines."""

import json
from pathlib import Path
from typing import Any, Self

from assay.testing.claude_code import Record, format_time, write_lines

MODEL = "gpt-5.4"


class CodexTranscript:
    """A Codex rollout in the making: each method adds what happened next, one second later."""

    def __init__(self, stream: str = "t1", *, cwd: str = "/home/ada/loom", branch: str = "main") -> None:
        self.stream = stream
        self.cwd = cwd
        self.second = 0.0
        """Seconds since the transcript began."""
        self.records: list[Record] = []
        self.turns = self.calls = self.input = self.output = 0
        self._add(
            "session_meta",
            {"id": stream, "timestamp": format_time(0), "cwd": cwd, "originator": "codex-tui",
             "cli_version": "0.125.0", "source": "cli", "git": {"branch": branch}},
        )  # fmt: skip

    def add_prompt(self, text: str) -> Self:
        """What the person typed; it ends the turn before."""
        self._end_turn()
        self.turns += 1
        self._add_event("task_started", turn_id=f"turn-{self.turns}")
        self._add("turn_context", {"turn_id": f"turn-{self.turns}", "cwd": self.cwd, "model": MODEL})
        return self._add_event("user_message", message=text, images=[])

    def add_reply(self, text: str) -> Self:
        """Words of the agent."""
        self._add_event("agent_message", message=text)
        self._add_item("message", role="assistant", content=[{"type": "output_text", "text": text}])
        return self._spend(10, len(text))

    def add_call(self, tool: str, input: Record, output: str = "", *, is_error: bool = False) -> Self:
        """A call of any tool, and what came back."""
        call = self._next_call()
        self._add_item("function_call", name=tool, arguments=json.dumps(input), call_id=call)
        told = {"content": output, "success": False} if is_error else output
        return self._add_item("function_call_output", call_id=call, output=told)

    def add_shell(self, command: str, output: str = "", exit_code: int = 0) -> Self:
        """A shell command that the agent ran, and how it ended."""
        call = self._next_call()
        asked = json.dumps({"cmd": command, "workdir": self.cwd})
        self._add_item("function_call", name="exec_command", arguments=asked, call_id=call)
        self._add_event(
            "exec_command_end", call_id=call, turn_id=f"turn-{self.turns}", command=["/bin/bash", "-lc", command],
            exit_code=exit_code, aggregated_output=output, stdout="", stderr="",
            status="failed" if exit_code else "completed",
        )  # fmt: skip
        told = f"Wall time: 0.0100 seconds\nProcess exited with code {exit_code}\nOutput:\n{output}"
        self._add_item("function_call_output", call_id=call, output=told)
        return self._spend(10, 5)

    def add_edit(self, path: str, old: str, new: str) -> Self:
        """An edit of a file that replaced some lines; an empty `old` writes the file anew."""
        call = self._next_call()
        lines = [*(f"-{line}" for line in old.splitlines()), *(f"+{line}" for line in new.splitlines())]
        head = [f"*** Update File: {path}", "@@"] if old else [f"*** Add File: {path}"]
        patch = "\n".join(["*** Begin Patch", *head, *lines, "*** End Patch"])
        self._add_item("custom_tool_call", name="apply_patch", input=patch, call_id=call, status="completed")
        done = json.dumps({"output": "Success.", "metadata": {"exit_code": 0, "duration_seconds": 0.1}})
        self._add_item("custom_tool_call_output", call_id=call, output=done)
        return self._spend(10, 5)

    def wait(self, *, seconds: float = 0, minutes: float = 0) -> Self:
        """Let time pass before what comes next."""
        self.second += seconds + 60 * minutes
        return self

    def write(self, path: Path) -> Path:
        """Write the file, into a folder under the name that Codex gives it."""
        self._end_turn()
        name = f"rollout-2026-03-02T09-00-00-{self.stream}.jsonl"
        return write_lines(path / name if path.is_dir() else path, *self.records)

    def _end_turn(self) -> None:
        last = self.records[-1]["payload"]
        if self.turns and last.get("type") != "task_complete":
            self._add_event("task_complete", turn_id=f"turn-{self.turns}", last_agent_message=None)

    def _next_call(self) -> str:
        self.calls += 1
        return f"{self.stream}-c{self.calls}"

    def _spend(self, input: int, output: int) -> Self:
        self.input, self.output = self.input + input, self.output + output
        last, total = _count_tokens(input, output), _count_tokens(self.input, self.output)
        return self._add_event("token_count", info={"total_token_usage": total, "last_token_usage": last})

    def _add_event(self, kind: str, **more: Any) -> Self:
        return self._add("event_msg", {"type": kind, **more})

    def _add_item(self, kind: str, **more: Any) -> Self:
        return self._add("response_item", {"type": kind, **more})

    def _add(self, kind: str, payload: Record) -> Self:
        self.records.append({"timestamp": format_time(self.second), "type": kind, "payload": payload})
        self.second += 1
        return self


def _count_tokens(input: int, output: int) -> dict[str, int]:
    return {"input_tokens": input, "cached_input_tokens": 0, "output_tokens": output, "total_tokens": input + output}
