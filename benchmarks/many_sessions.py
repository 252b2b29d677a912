"""Many small sessions, made up quickly: `python -m benchmarks.many_sessions OUT --sessions 5000`.

Somebody asks, Claude Code or Codex reads, edits, tests and answers, over forty weeks and in several projects.
Four files in ten hold a second goal, one in twelve goes on with the work of the file before. The same seed and size
give the same bytes; `made.json` says what was made, and is written last.
"""

import argparse
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import orjson

from benchmarks.claude import stamp
from benchmarks.text import ADJECTIVES, NOUNS, VERBS

Record = dict[str, Any]
VERSION = 1
"""Of what is made: files of another version are not used again."""
BEGAN = datetime(2026, 1, 25, tzinfo=UTC).timestamp()
WEEKS = 40
DAY = 86_400.0
SESSIONS_PER_FILE = 1.3
CODEX_SHARE, SECOND_GOAL, GOES_ON = 0.2, 0.4, 0.08
CLAUDE_MODELS = ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001")
CODEX_MODELS = ("gpt-5.2-codex", "gpt-5.3-codex")
WISHES = (
    "Add a {a} {n} to {path}, with a test.", "Fix the {n} in {path}: it is {a} when a {m} arrives.",
    "The {a} {n} breaks every {m}. Find out why and repair {path}.", "Move the {n} out of {path} and rename it to {m}.",
    "{path} should {v} the {n} before the {m}; please change that.", "Refactor the {a} {n} in {path}, behaviour stays.",
)  # fmt: skip
QUESTIONS = (
    "Why is the {n} {a} after a {m}?", "How does {path} {v} the {n}?", "Review {path}: is the {a} {n} right?",
)  # fmt: skip
FAULTS = (
    "No, the {n} is still {a}.", "That is wrong: the {m} is lost now. Try again.", "It still fails with a {a} {n}.",
)  # fmt: skip
THANKS = ("Thanks, that works.", "Perfect.", "Good. Also mention the {n} in the docstring.")
CODE = (
    "    {n}_{m} = {v}_{n}({a}_{m}, {i})", "    if {n}.{a}_{m} > {i}:", "        return {v}_{m}({n}, limit={i})",
    "    for {m} in {n}.{v}_all({i}):", "        {n}.{m}[{i}] = '{a} {v}'", "    assert {n}_{i}.is_{a}, {m}",
)  # fmt: skip


@dataclass
class Project:
    """A folder in which people let agents work."""

    cwd: str
    paths: list[str]
    lines: dict[str, list[str]] = field(default_factory=dict)
    """What sessions have left in its files."""
    ended: float = 0.0
    touched: list[str] = field(default_factory=list)
    """When its last session ended, and on which files that worked."""


class Words:
    """Chance, and sentences and ids by chance."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)

    def fill(self, template: str, path: str = "") -> str:
        pick = self.rng.choice
        return template.format(
            n=pick(NOUNS), m=pick(NOUNS), a=pick(ADJECTIVES), v=pick(VERBS), i=self.rng.randrange(10_000), path=path
        )

    def choose(self, templates: tuple[str, ...], path: str = "") -> str:
        return self.fill(self.rng.choice(templates), path)

    def uuid(self) -> str:
        h = f"{self.rng.getrandbits(128):032x}"
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"

    def id(self, prefix: str) -> str:
        return f"{prefix}01{self.rng.getrandbits(96):024x}"


class Transcript:
    """What both kinds of file have in common: a clock that goes on with every record, and the lines."""

    def __init__(self, words: Words, cwd: str, began: float) -> None:
        self.words, self.cwd, self.now = words, cwd, began
        self.id = words.uuid()
        self.lines: list[bytes] = []

    def tick(self) -> str:
        self.now += self.words.rng.uniform(1, 20)
        return stamp(self.now)


class ClaudeFile(Transcript):
    """A conversation with Claude Code."""

    def __init__(self, words: Words, cwd: str, began: float) -> None:
        super().__init__(words, cwd, began)
        self.model = words.rng.choice(CLAUDE_MODELS)
        self.last: str | None = None

    @property
    def path(self) -> str:
        return f"claude/projects/{re.sub(r'[^0-9A-Za-z]', '-', self.cwd)}/{self.id}.jsonl"

    def put(self, kind: str, **more: Any) -> None:
        record = {
            "parentUuid": self.last, "isSidechain": False, "userType": "external", "cwd": self.cwd,
            "sessionId": self.id, "version": "2.1.220", "gitBranch": "main", "type": kind, **more,
            "uuid": self.words.uuid(), "timestamp": self.tick(),
        }  # fmt: skip
        self.last = record["uuid"]
        self.lines.append(orjson.dumps(record))

    def ask(self, text: str) -> None:
        self.put("user", message={"role": "user", "content": text})

    def reply(self, block: Record, stop: str) -> None:
        usage = {"input_tokens": 9, "output_tokens": self.words.rng.randrange(40, 900)}
        usage |= {
            "cache_read_input_tokens": self.words.rng.randrange(9_000, 90_000),
            "cache_creation_input_tokens": 400,
        }
        message: Record = {"model": self.model, "id": self.words.id("msg_"), "type": "message", "role": "assistant"}
        message |= {"content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage}
        self.put("assistant", message=message, requestId=self.words.id("req_"))

    def say(self, text: str) -> None:
        self.reply({"type": "text", "text": text}, "end_turn")

    def call(self, name: str, given: Record, said: str, outcome: Any, *, failed: bool = False) -> None:
        use = self.words.id("toolu_")
        self.reply({"type": "tool_use", "id": use, "name": name, "input": given}, "tool_use")
        block: Record = {"tool_use_id": use, "type": "tool_result", "content": said}
        if failed:
            block["is_error"] = True
        self.put("user", message={"role": "user", "content": [block]}, toolUseResult=outcome)

    def read(self, path: str, lines: list[str]) -> None:
        text, file = "\n".join(lines), f"{self.cwd}/{path}"
        noted = {"filePath": file, "content": text, "numLines": len(lines), "startLine": 1, "totalLines": len(lines)}
        self.call("Read", {"file_path": file}, text, {"type": "text", "file": noted})

    def edit(self, path: str, old: list[str], new: list[str]) -> None:
        file = f"{self.cwd}/{path}"
        given = {"file_path": file, "old_string": "\n".join(old), "new_string": "\n".join(new)}
        hunk = {"oldStart": 1, "oldLines": len(old), "newStart": 1, "newLines": len(new)}
        patch = [hunk | {"lines": [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]}]
        noted = {"filePath": file, "oldString": given["old_string"], "newString": given["new_string"]}
        self.call("Edit", given, f"The file {file} has been updated.", noted | {"structuredPatch": patch})

    def run(self, command: str, out: str, code: int = 0) -> None:
        given = {"command": command, "description": "Run it"}
        if code:
            text = f"Exit code {code}\n{out}"
            self.call("Bash", given, text, f"Error: {text}", failed=True)
        else:
            self.call("Bash", given, out, {"stdout": out, "stderr": "", "interrupted": False, "isImage": False})

    def close(self) -> None:
        pass


class CodexFile(Transcript):
    """A thread of Codex."""

    def __init__(self, words: Words, cwd: str, began: float) -> None:
        super().__init__(words, cwd, began)
        self.model = words.rng.choice(CODEX_MODELS)
        self.began, self.turn = stamp(began), ""
        self.total = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens"), 0)
        meta = {"id": self.id, "timestamp": self.began, "cwd": cwd, "originator": "codex-tui", "cli_version": "0.128.0"}
        self.put("session_meta", meta | {"source": "cli", "git": {"branch": "main"}})

    @property
    def path(self) -> str:
        day, clock = self.began[:10], self.began[11:19].replace(":", "-")
        return f"codex/sessions/{day.replace('-', '/')}/rollout-{day}T{clock}-{self.id}.jsonl"

    def put(self, kind: str, payload: Record) -> None:
        self.lines.append(orjson.dumps({"timestamp": self.tick(), "type": kind, "payload": payload}))

    def event(self, name: str, /, **more: Any) -> None:
        self.put("event_msg", {"type": name, **more})

    def item(self, name: str, /, **more: Any) -> None:
        self.put("response_item", {"type": name, **more})

    def ask(self, text: str) -> None:
        self.close()
        self.turn = self.words.uuid()
        self.event("task_started", turn_id=self.turn, model_context_window=258_400)
        self.put("turn_context", {"turn_id": self.turn, "cwd": self.cwd, "model": self.model, "effort": "medium"})
        self.item("message", role="user", content=[{"type": "input_text", "text": text}])
        self.event("user_message", message=text, images=[])

    def bill(self) -> None:
        read, wrote = self.words.rng.randrange(9_000, 60_000), self.words.rng.randrange(40, 900)
        last = {"input_tokens": read, "cached_input_tokens": read - 900, "output_tokens": wrote}
        last["total_tokens"] = read + wrote
        self.total = {name: count + last[name] for name, count in self.total.items()}
        info = {"total_token_usage": self.total, "last_token_usage": last, "model_context_window": 258_400}
        self.event("token_count", info=info)

    def say(self, text: str) -> None:
        self.event("agent_message", message=text)
        self.item("message", role="assistant", phase="final_answer", content=[{"type": "output_text", "text": text}])
        self.bill()

    def run(self, command: str, out: str, code: int = 0) -> None:
        call, given = self.words.id("call_"), {"cmd": command, "workdir": self.cwd}
        self.item("function_call", name="exec_command", arguments=orjson.dumps(given).decode(), call_id=call)
        self.bill()
        head = f"Chunk ID: {call[-6:]}\nWall time: 0.4 seconds\nProcess exited with code {code}\nOutput:\n"
        self.item("function_call_output", call_id=call, output=head + out)

    def read(self, path: str, lines: list[str]) -> None:
        self.run(f"cat {path}", "\n".join(lines))

    def edit(self, path: str, old: list[str], new: list[str]) -> None:
        call, body = self.words.id("call_"), "\n".join([*(f"-{line}" for line in old), *(f"+{line}" for line in new)])
        text = f"*** Begin Patch\n*** Update File: {path}\n@@\n{body}\n*** End Patch"
        self.item("custom_tool_call", status="completed", call_id=call, name="apply_patch", input=text)
        self.bill()
        diff = f"@@ -1,{len(old)} +1,{len(new)} @@\n{body}\n"
        changes = {f"{self.cwd}/{path}": {"type": "update", "unified_diff": diff, "move_path": None}}
        noted = {"call_id": call, "turn_id": self.turn, "stdout": "Success.", "stderr": "", "success": True}
        self.event("patch_apply_end", **noted, changes=changes)
        self.item("custom_tool_call_output", call_id=call, output=f"Success. Updated the following files:\nM {path}")

    def close(self) -> None:
        if self.turn:
            self.event("task_complete", turn_id=self.turn, last_agent_message=None)
            self.turn = ""


AnyFile = ClaudeFile | CodexFile


class Writer:
    """Writes the goals of many files, one after the other in time."""

    def __init__(self, seed: int, projects: int) -> None:
        self.words, self.rng = (words := Words(seed)), words.rng
        self.projects = [self.found_project(number) for number in range(projects)]
        self.shares = [(rank + 1) ** -0.5 for rank in range(projects)]

    def found_project(self, number: int) -> Project:
        pick, paths = self.rng.choice, [f"src/{noun}/{self.rng.choice(VERBS)}_{noun}.py" for noun in NOUNS]
        return Project(f"/home/dev/{pick(NOUNS)}-{pick(NOUNS)}-{number}", paths)

    def write_file(self, began: float) -> AnyFile:
        """A conversation in some project: one goal or two, or more of what the last one did there."""
        project = self.rng.choices(self.projects, self.shares)[0]
        goes_on = bool(project.touched) and self.rng.random() < GOES_ON
        paths = project.touched if goes_on else self.choose_paths(project)
        began = project.ended + self.rng.uniform(30, 480) if goes_on else began
        kind = CodexFile if self.rng.random() < CODEX_SHARE else ClaudeFile
        file: AnyFile = kind(self.words, project.cwd, began)
        has_second = self.rng.random() < SECOND_GOAL
        self.write_goal(file, project, paths, is_handed_in=has_second)
        if has_second:
            file.now += self.rng.uniform(1, 6) * 3600
            paths = self.choose_paths(project, but=paths)
            self.write_goal(file, project, paths, is_handed_in=False)
        file.close()
        project.ended, project.touched = file.now, paths
        return file

    def choose_paths(self, project: Project, but: list[str] | None = None) -> list[str]:
        left = [path for path in project.paths if path not in but] if but else project.paths
        return self.rng.sample(left, self.rng.choice((1, 1, 2, 3)))

    def write_goal(self, file: AnyFile, project: Project, paths: list[str], *, is_handed_in: bool) -> None:
        """A wish or a question, and what comes of it."""
        if not is_handed_in and self.rng.random() < 0.25:
            file.ask(self.words.choose(QUESTIONS, paths[0]))
            file.read(paths[0], project.lines.get(paths[0]) or [self.words.choose(CODE)])
            file.say(self.words.fill("The {n} is {a}, because every {m} comes before it."))
            return
        file.ask(self.words.choose(WISHES, paths[0]))
        self.work(file, project, paths)
        if self.rng.random() < 0.2:
            file.ask(self.words.choose(FAULTS))
            if self.rng.random() < 0.3 and not is_handed_in:
                file.say(self.words.fill("I could not find out why the {n} is {a}."))
                return
            self.work(file, project, paths[:1])
        if is_handed_in or self.rng.random() < 0.3:
            message = self.words.fill("{v} the {a} {n}")
            said = f"[main {self.rng.getrandbits(28):07x}] {message}\n {len(paths)} files changed, 9 insertions(+)"
            file.run(f"git add -A && git commit -m '{message}'", said)
            file.say("Committed.")
        elif self.rng.random() < 0.3:
            file.ask(self.words.choose(THANKS))
            file.say("You are welcome.")

    def work(self, file: AnyFile, project: Project, paths: list[str]) -> None:
        """Read, edit and test; some edits replace what an earlier session wrote."""
        for path in paths:
            known = project.lines.setdefault(path, [self.words.choose(CODE) for _ in range(4)])
            file.read(path, known[:12])
            at = self.rng.randrange(len(known))
            old = known[at : at + self.rng.choice((1, 2, 3, 8, 16))]
            new = [self.words.choose(CODE) for _ in range(self.rng.choice((2, 3, 4, 6, 14)))]
            file.edit(path, old, new)
            known[at : at + len(old)] = new
            del known[40:]
        if self.rng.random() < 0.15:
            file.run(
                "python -m pytest -q", self.words.fill("FAILED tests/test_{n}.py::test_{v}\n1 failed, 8 passed"), 1
            )
            if self.rng.random() < 0.4:
                file.say(self.words.fill("The {n} is changed, but one test of the {m} still fails."))
                return
            file.edit(paths[0], [new[0]], [fresh := self.words.choose(CODE)])
            known[at] = fresh
        file.run("python -m pytest -q", "9 passed in 0.31s")
        file.say(self.words.fill("Done: the {n} is {a} no more, and all 9 tests pass."))

    def write_files(self, count: int) -> Iterator[AnyFile]:
        step = WEEKS * 7 * DAY / count
        for number in range(count):
            yield self.write_file(BEGAN + (number + self.rng.random()) * step)


def make_sessions(out: Path, sessions: int, seed: int = 1) -> Record:
    """Write the files of about so many sessions below `out`, unless they are there; says what was made."""
    noted = out / "made.json"
    wanted = {"version": VERSION, "sessions": sessions, "seed": seed}
    if noted.exists():
        made: Record = orjson.loads(noted.read_bytes())
        if made.items() >= wanted.items():
            return made
        raise FileExistsError(f"{out} holds other sessions than those asked for; name another folder")
    count, size = max(1, round(sessions / SESSIONS_PER_FILE)), 0
    writer = Writer(seed, projects=max(3, int(sessions**0.5 / 3)))
    grown = ""
    for file in writer.write_files(count):
        path = out / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        size += path.write_bytes(b"\n".join(file.lines) + b"\n")
        if isinstance(file, ClaudeFile) and file.cwd == writer.projects[0].cwd:
            grown = file.path
    made = {**wanted, "files": count, "bytes": size, "projects": len(writer.projects)}
    made |= {"grown": grown, "grown_bytes": (known := (out / grown).stat()).st_size, "grown_at": known.st_mtime_ns}
    noted.write_bytes(orjson.dumps(made, option=orjson.OPT_INDENT_2))
    return made


def shrink_grown(out: Path, made: Record) -> None:
    """Take back what was appended to the file that grows, so that a store of before still knows it."""
    os.truncate(out / made["grown"], made["grown_bytes"])
    os.utime(out / made["grown"], ns=(made["grown_at"], made["grown_at"]))


def write_addition(path: Path, number: int) -> bytes:
    """One more prompt and reply of a Claude Code file, an hour after its last."""
    last = orjson.loads(path.read_bytes().rstrip().rsplit(b"\n", 1)[-1])
    at = datetime.fromisoformat(last["timestamp"]).timestamp() + 3600
    file = ClaudeFile(Words(number), last["cwd"], at)
    file.id, file.last = last["sessionId"], last["uuid"]
    file.ask(f"One thing more, number {number}: what does the queue do when the ledger is empty?")
    file.say("It waits until a booking arrives.")
    return b"\n".join(file.lines) + b"\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_sessions", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sessions", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    began = time.perf_counter()
    print(orjson.dumps(make_sessions(args.out, args.sessions, args.seed), option=orjson.OPT_INDENT_2).decode())
    print(f"in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
