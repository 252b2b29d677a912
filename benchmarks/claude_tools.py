"""Tool calls of Claude Code with their inputs, result text and `toolUseResult`, in the shapes of 2.1.x."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.shell import Shell
from benchmarks.text import Pool

GIANT = 1_000_000
GIANT_SHARE = 0.137  # of Claude bytes, so that 12 % of the whole corpus lies in lines of 1 MB and more

# Calls per 1,000 in 2,878 real files, rounded.
MIX = {
    "Bash": 275, "Read": 300, "Edit": 140, "Grep": 118, "TodoWrite": 60, "Glob": 40, "Write": 30,
    "Task": 12, "mcp__browser__screenshot": 8, "WebFetch": 17,
}  # fmt: skip


@dataclass
class Call:
    name: str
    input: dict[str, Any]
    content: str | list[dict[str, Any]]
    result: dict[str, Any] | str | list[dict[str, Any]] | None
    failed: bool = False


@dataclass
class Tally:
    """Bytes written so far, and those of them in giant lines; steers when the next giant comes."""

    written: int = 0
    giant: int = 0

    def wants_giant(self) -> bool:
        return self.written > 4 * GIANT and self.giant < GIANT_SHARE * self.written

    def add(self, line: bytes) -> None:
        self.written += len(line)
        if len(line) >= GIANT:
            self.giant += len(line)


class Tools:
    """Makes calls one by one; `cwd` is set by the session that asks."""

    def __init__(self, rng: Random, pool: Pool, tally: Tally) -> None:
        self.rng, self.pool, self.tally = rng, pool, tally
        self.shell = Shell(rng, pool)
        self.cwd = "/work"
        self.makers: dict[str, Callable[[], Call]] = {
            "Bash": self.bash, "Read": self.read, "Edit": self.edit, "Grep": self.grep, "Glob": self.glob,
            "TodoWrite": self.todo, "Write": self.write, "mcp__browser__screenshot": self.screenshot,
            "WebFetch": self.fetch,
        }  # fmt: skip

    def pick(self) -> str:
        """The name of the next tool; a giant falls due to those that can carry one."""
        if self.tally.wants_giant() and self.rng.random() < 0.2:
            return self.rng.choice(("Edit", "Edit", "mcp__browser__screenshot"))
        return self.rng.choices(tuple(MIX), tuple(MIX.values()))[0]

    def call(self, name: str) -> Call:
        call = self.makers[name]()
        if call.name != "Bash" and self.rng.random() < 0.03:
            text = f"<tool_use_error>{self.pool.take('prose', 120)}</tool_use_error>"
            return Call(call.name, call.input, text, f"Error: {text}", failed=True)
        return call

    def bash(self) -> Call:
        given = {"command": self.shell.command(), "description": self.pool.take("prose", 45)}
        out = self.pool.take("log", self.pool.size(900, 1.4, 30_000))
        if self.rng.random() < 0.07:
            text = f"Exit code {self.rng.choice((1, 1, 1, 2, 127, 128, 144))}\n{out}"
            return Call("Bash", given, text, f"Error: {text}", failed=True)
        result = {
            "stdout": out,
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "noOutputExpected": False,
        }
        return Call("Bash", given, out, result)

    def read(self) -> Call:
        path = f"{self.cwd}/{self.pool.path()}"
        size = self.pool.size(4_000, 0.95, 60_000)
        shown, plain = self.pool.take("numbered", size), self.pool.take("code", int(size * 0.86))
        lines = plain.count("\n") + 1
        file = {"filePath": path, "content": plain, "numLines": lines, "startLine": 1, "totalLines": lines}
        return Call("Read", {"file_path": path}, shown, {"type": "text", "file": file})

    def edit(self) -> Call:
        pool, rng = self.pool, self.rng
        path = f"{self.cwd}/{pool.path()}"
        size = pool.size(8_500, 1.12, 900_000)
        if self.tally.wants_giant():
            size = int(rng.triangular(GIANT, 6.5 * GIANT, GIANT))
        original = pool.take("code", size)
        length = pool.size(450, 0.9, 6_000)
        at = rng.randrange(max(1, len(original) - length))
        old, new = original[at : at + length], pool.take("code", pool.size(550, 0.9, 8_000))
        given = {"file_path": path, "old_string": old, "new_string": new, "replace_all": False}
        result = {
            "filePath": path, "oldString": old, "newString": new, "originalFile": original,
            "structuredPatch": [_hunk(old, new, rng.randrange(1, 900))], "userModified": False, "replaceAll": False,
        }  # fmt: skip
        return Call("Edit", given, f"The file {path} has been updated successfully.", result)

    def write(self) -> Call:
        path, body = (
            f"{self.cwd}/{self.pool.path()}",
            self.pool.take("code", self.pool.size(3_500, 1.0, 80_000)),
        )
        result: dict[str, Any] = {"type": "create", "filePath": path, "content": body}
        result |= {"structuredPatch": [], "originalFile": None}
        if self.rng.random() < 0.25:
            old = self.pool.take("code", len(body))
            hunk = _hunk(old[: len(old) // 3], body[: len(body) // 3], 1)
            result |= {"type": "update", "originalFile": old, "structuredPatch": [hunk]}
        return Call("Write", {"file_path": path, "content": body}, f"File created successfully at: {path}", result)

    def grep(self) -> Call:
        given = {
            "pattern": f"{self.pool.words(2, '_')}\\(",
            "path": self.cwd,
            "output_mode": "content",
            "-n": True,
        }
        found = self.pool.take("log", self.pool.size(800, 1.3, 20_000))
        lines = found.count("\n") + 1
        result = {"mode": "content", "numFiles": 0, "filenames": [], "content": found, "numLines": lines}
        return Call("Grep", given, found, result)

    def glob(self) -> Call:
        names = [f"{self.cwd}/{self.pool.path()}" for _ in range(self.rng.randrange(1, 30))]
        result = {"filenames": names, "durationMs": 31, "numFiles": len(names), "truncated": False}
        return Call("Glob", {"pattern": f"**/*{self.pool.words(1)}*"}, "\n".join(names), result)

    def todo(self) -> Call:
        states = ("completed", "in_progress", "pending", "pending")
        todos = [{"content": self.pool.take("prose", 60), "status": s, "activeForm": "Working"} for s in states]
        said = "Todos have been modified successfully. Ensure that you continue to use the todo list."
        return Call("TodoWrite", {"todos": todos}, said, {"oldTodos": todos[1:], "newTodos": todos})

    def fetch(self) -> Call:
        url, said = (
            f"https://{self.pool.words(2)}.example/docs",
            self.pool.talk(self.pool.size(1_800, 0.7, 12_000)),
        )
        result = {
            "bytes": 48_211,
            "code": 200,
            "codeText": "OK",
            "result": said,
            "durationMs": 2_100,
            "url": url,
        }
        return Call("WebFetch", {"url": url, "prompt": self.pool.take("prose", 90)}, said, result)

    def screenshot(self) -> Call:
        """An image comes back twice: in the message and beside it."""
        is_giant = self.tally.wants_giant()
        size = self.rng.randrange(GIANT // 2, 3 * GIANT) if is_giant else self.pool.size(50_000, 0.6, 400_000)
        blocks = [{"type": "text", "text": "Captured."}, image(self.pool.take("base64", size))]
        return Call("mcp__browser__screenshot", {"fullPage": is_giant}, blocks, blocks)


def image(body: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": body}}


def _hunk(old: str, new: str, start: int) -> dict[str, Any]:
    before, after = old.split("\n"), new.split("\n")
    lines = ["     return kept", *(f"-{line}" for line in before), *(f"+{line}" for line in after), " "]
    return {
        "oldStart": start, "oldLines": len(before) + 2, "newStart": start, "newLines": len(after) + 2, "lines": lines,
    }  # fmt: skip
