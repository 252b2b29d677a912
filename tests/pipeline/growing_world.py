"""A machine on which all that a score depends on changes step by step: transcripts, git, words, settings, time.

`GrowingWorld` keeps one store that lives through every step, and can make another from nothing that was told the same:
the transcripts as they were last read, what people said, and what the last report told. Both must print the same bytes.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import Engine, event
from typer.testing import CliRunner

from assay.cli import program
from assay.pipeline import judge_stream, rework
from assay.pipeline.inputs import find_files
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import scan
from assay.sessions.rework.survival import follow_lines
from assay.stores import FILE_URL, Fate, Store, open_store
from assay.stores.sql import engine
from assay.testing.claude_code import BEGAN, ClaudeTranscript, build_prompt, encode_lines, format_time
from assay.testing.codex import CodexTranscript
from assay.types import AuditDraw
from tests import make, plain_judge
from tests.conftest import warm
from tests.pipeline.rework_repositories import DAY, Repository, at, code, text

Transcript = ClaudeTranscript | CodexTranscript
FILES = ("src/sum.py", "src/tax.py")
SECRETS = "Now mail ada@woolmill.io on build7.woolmill.io at /home/ada with ghp_" + "aB3dE6gH9" * 4
PIECES = ("talk", "write", "commit", "fail", "now", "also", "clear", "undo", "secret", "unanswerable", "hm", "look")


class Killed(BaseException):
    """The end of a process, as far as one can end within a test."""


class StoryClock(datetime):
    """A clock that shows what the story says."""

    present = BEGAN

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return cls.present.astimezone(tz or UTC)


class GrowingWorld:
    """Transcripts and repositories in a folder, the settings that hold, and the store that has seen it all."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, new_url: Callable[[Path, str], str]) -> None:
        warm()
        self.folder, self.patch, self.new_url = folder, patch, new_url
        self.inputs = folder / "in"
        self.conversations: list[tuple[Path, Transcript]] = []
        self.shelf: dict[Path, bytes] = {}
        """What stood in files that are deleted, to be restored."""
        self.read: dict[Path, bytes] = {}
        """What the store has read of each file last."""
        self.listed: set[Path] = set()
        """Files that were there when it was last looked."""
        self.second, self.ticks, self.stores = 0.0, 0, 0
        self.settings: dict[str, str] = {"judge": '"plain"', "timezone": '"UTC"'}
        self.repositories = {name: Repository(folder / name) for name in ("till", "mill")}
        self.places = [*(str(one.path) for one in self.repositories.values()), "/home/ada/loom"]
        patch.setattr(engine, "create_engine", share_compiled(engine.create_engine))
        plain_judge.install(patch, make_folder(folder / "plugin"))
        patch.setattr(plain_judge, "rubric", self.build_rubric(plain_judge.rubric))
        self.save_settings()
        self.url = new_url(folder, "grown")

    # --- transcripts ----------------------------------------------------------------------------

    def begin(self, agent: str, place: int, opening: str = "") -> int:
        """A new conversation; which one it is."""
        n, cwd = len(self.conversations), self.places[place % len(self.places)]
        if agent == "codex":
            found: Transcript = CodexTranscript(f"thread-{n}", cwd=cwd)
            found.second = self.second
            found.records[0]["timestamp"] = found.records[0]["payload"]["timestamp"] = format_time(self.second)
            path = self.inputs / "codex" / f"rollout-{n}.jsonl"
        else:
            found = ClaudeTranscript(f"stream-{n}", cwd=cwd)
            path = self.inputs / "claude" / f"p{place % 3}" / f"stream-{n}.jsonl"
        self.conversations.append((path, found))
        if opening:
            self.add_piece(n, opening)
        return n

    def resume(self, of: int) -> None:
        """A conversation that begins with a copy of another, as resuming and forking make them."""
        old = self.conversations[of][1]
        if not isinstance(old, ClaudeTranscript):
            return
        n = self.begin("claude", self.places.index(str(old.place["cwd"])))
        new = self.conversations[n][1]
        new.records = [one | {"sessionId": new.stream} for one in old.records]
        self.add_piece(n, "write")

    def accept_plan(self, of: int) -> None:
        """A conversation that an accepted plan of another opens."""
        old = self.conversations[of][1]
        n = self.begin("claude", of)
        _, new = self.conversations[n]
        new.second = self.second
        there = f"/home/ada/.claude/projects/p/{old.stream}.jsonl"
        new.add_prompt(f"Implement the following plan:\n\n# Weave\n\nread the full transcript at: {there}")
        self.add_piece(n, "write")

    def send_agent(self, of: int) -> None:
        """A sub-agent of a conversation, in a file of its own."""
        path, old = self.conversations[of]
        if not isinstance(old, ClaudeTranscript):
            return
        name = f"a{len(self.conversations)}"
        side = ClaudeTranscript(old.stream, cwd=str(old.place["cwd"]))
        side.place |= {"isSidechain": True, "agentId": name}
        side.second = self.second + 0.25
        side.add_prompt("Find where the threads are counted").add_shell("rg thread", "src/sum.py:3").add_reply("There.")
        self.conversations.append((path.parent / old.stream / "subagents" / f"agent-{name}.jsonl", side))
        self.second = max(self.second, side.second)
        self.write(len(self.conversations) - 1)

    def add_piece(self, of: int, piece: str, seed: int = 1) -> None:
        """Let a conversation go on with a piece of work, now."""
        _, one = self.conversations[of]
        one.second = max(one.second, self.second)
        file, cwd = FILES[seed % len(FILES)], self.find_cwd(one)
        if piece == "clear" and isinstance(one, ClaudeTranscript):
            one._add(build_prompt(one.second, make.command("/clear"), one.stream))
        self.say_prompt(one, piece, seed)
        if piece in ("write", "commit", "now", "also"):
            one.add_edit(file, "", text(code(14 + seed, seed)))
        if piece == "look":
            one.add_call("Read", {"file_path": f"{cwd}/{file}"}, "1 till")
        if piece in ("write", "fail"):
            one.add_shell("pytest -q", "1 failed" if piece == "fail" else "3 passed in 0.1s", int(piece == "fail"))
        self.second = max(self.second, one.second)
        if piece == "commit":
            one.add_shell("git commit -qam till", f"[main {self.commit_file(cwd, file, seed)[:7]}] till")
        if piece == "undo":
            one.add_shell(f"git restore {file}")
        one.add_reply("It is done: 3 passed.")
        self.second = max(self.second, one.second)
        self.write(of)

    def say_prompt(self, one: Transcript, piece: str, seed: int) -> None:
        words = {
            "secret": SECRETS, "now": f"Now weave row {seed}", "also": f"Also weave row {seed}", "hm": "hm",
            "fail": f"failed row {seed}", "unanswerable": f"unanswerable row {seed}", "look": "What does the till do?",
        }  # fmt: skip
        one.add_prompt(words.get(piece, f"Weave row {seed} of the scarf"))

    def find_cwd(self, one: Transcript) -> str:
        return str(one.place["cwd"]) if isinstance(one, ClaudeTranscript) else one.cwd

    def write(self, of: int, share: float = 1.0) -> None:
        """Write a conversation as its agent would; with a share below 1, up to there, wherever that falls."""
        path, one = self.conversations[of]
        data = self.encode(one)
        self.put(path, data[: max(1, int(len(data) * share))])

    def encode(self, one: Transcript) -> bytes:
        """The lines of a conversation; its turns have names that no other has."""
        return encode_lines(one.records).replace(b'"turn-', f'"{one.stream}-turn-'.encode())

    def put(self, path: Path, data: bytes) -> None:
        """Give a file this content, in place, at a time of its own."""
        make_folder(path.parent)
        self.shelf.pop(path, None)
        self.ticks += 1
        path.write_bytes(data)
        os.utime(path, ns=(self.ticks * 10**9, self.ticks * 10**9))

    def rewrite(self, of: int, how: int) -> None:
        """Replace a file by another that holds less, more, other words, or nothing of it."""
        path, one = self.conversations[of]
        half = len(one.records) // 2
        if how == 0:
            one.records = one.records[half:] or one.records
        elif how == 1:
            self.put(path, self.encode(one).replace(b"scarf", b"shawl"))
            return
        elif how == 2:
            one.records = one.records[: half + 1]
        else:
            self.put(path, b"no transcript\n" * 3)
            return
        self.write(of)

    def delete(self, of: int) -> None:
        path = self.conversations[of][0]
        if path.exists():
            self.shelf[path] = path.read_bytes()
            path.unlink()

    def restore(self, of: int) -> None:
        path = self.conversations[of][0]
        if path in self.shelf:
            self.put(path, self.shelf[path])

    # --- repositories ---------------------------------------------------------------------------

    @property
    def day(self) -> float:
        """The present as repositories count it."""
        return (BEGAN.timestamp() + self.second - at(0)) / DAY

    def commit_file(self, cwd: str, file: str, seed: int) -> str:
        """Commit what an agent wrote; the id, or one of nowhere."""
        there = next((one for one in self.repositories.values() if str(one.path) == cwd), None)
        if there is None:
            return "abc1234"
        return there.commit(self.day, {file: text(code(14 + seed, seed))}, f"Row {seed}")

    def commit_by_person(self, place: int, seed: int) -> None:
        """A person replaces a file's lines in a repository."""
        there = self.repositories[("till", "mill")[place % 2]]
        there.commit(self.day, {FILES[seed % 2]: text(code(20, seed + 5))}, "My way", who="bob")
        self.second += 1

    def revert(self, place: int) -> None:
        there = self.repositories[("till", "mill")[place % 2]]
        there.git("revert", "--no-edit", "HEAD", day=self.day, who="bob", check=False)
        self.second += 1

    # --- settings, versions and time ------------------------------------------------------------

    def save_settings(self) -> None:
        top = [f"{key} = {value}" for key, value in self.settings.items() if "." not in key]
        below = [f"{key} = {value}" for key, value in self.settings.items() if "." in key]
        (self.folder / "assay.toml").write_text("\n".join([*top, *below, ""]))

    def change_setting(self, key: str, value: str) -> None:
        """Set something in the person's own file; an empty value takes it out."""
        self.settings.pop(key, None)
        if value:
            self.settings[key] = value
        self.save_settings()

    def build_rubric(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        """A judge whose word shows its version: what is not judged again is seen."""
        return lambda turns: replace(
            plain(turns), summary=f"judged by {os.environ.get(plain_judge.VERSION, '1')} in {judge_stream.VERSION}"
        )

    def change_version(self, what: int, to: int) -> None:
        """Have another version of the judge, of what puts judgements together, or of what follows lines."""
        if what == 0:
            self.patch.setenv(plain_judge.VERSION, str(to))
            self.patch.setenv(plain_judge.TOPICS, ("Also", "Now")[to % 2])
        elif what == 1:
            self.patch.setattr(judge_stream, "VERSION", 100 + to)
        else:
            self.patch.setattr(rework, "VERSION", 100 + to)
            for module in list_modules():
                if hasattr(module, "REWORK_VERSION"):
                    self.patch.setattr(module, "REWORK_VERSION", 100 + to)
            self.patch.setattr(rework, "follow_lines", self.build_follower(to))

    def build_follower(self, version: int) -> Callable[..., Any]:
        """Lines followed in a way that shows its version."""

        def follow(*words: Any) -> dict[str, Any]:
            found = follow_lines(*words)
            return {
                name: replace(one, reworked=replace(one.reworked, detail=f"by {version}"))
                for name, one in found.items()
            }

        return follow

    def show_time(self) -> None:
        """Have every clock of ours show the present of the story."""
        StoryClock.present = StoryClock.fromtimestamp(BEGAN.timestamp() + self.second, UTC)
        for module in list_modules():
            if getattr(module, "datetime", None) is datetime:
                self.patch.setattr(module, "datetime", StoryClock)

    # --- the program ----------------------------------------------------------------------------

    def tell(self, url: str, *words: object) -> str:
        """All that a command prints, and how it ends, on a store."""
        self.show_time()
        env = {
            "HOME": str(self.folder), "COLUMNS": "100", "ASSAY_CONFIG": str(self.folder / "assay.toml"), "TZ": "UTC",
            "ASSAY_STORE": url.removeprefix(FILE_URL), "XDG_CONFIG_HOME": "", "CLICOLOR": "0",
        }  # fmt: skip
        handler = signal.getsignal(signal.SIGPIPE)
        try:
            done = CliRunner().invoke(program.app, [*map(str, words)], env=env)
        finally:
            signal.signal(signal.SIGPIPE, handler)
        ended = done.exception if done.exception and not isinstance(done.exception, SystemExit) else done.exit_code
        if isinstance(ended, Exception) and not type(ended).__module__.startswith("assay"):
            raise ended
        said = f"{done.stdout}\n--- {done.stderr}\n--- {ended!r}"
        return said.replace(url.removeprefix(FILE_URL), "STORE")

    def tell_grown(self, *words: object) -> str:
        """What a command prints on the store that has seen it all, and note what it read."""
        said = self.tell(self.url, *words)
        for root in [Path(str(word)) for word in words if str(word).startswith(str(self.inputs))]:
            self.note_reading(root)
        return said

    def note_reading(self, root: Path) -> None:
        there = {path for path in root.rglob("*.jsonl") if path.is_file()} if root.is_dir() else set()
        self.listed = {path for path in self.listed if not path.is_relative_to(root)} | there
        self.read |= {path: path.read_bytes() for path in there}

    # --- the same from nothing --------------------------------------------------------------------

    def build_fresh(self) -> str:
        """A new store that is told all that the grown one knows of the world; its URL."""
        self.stores += 1
        url = self.new_url(self.folder, f"fresh-{self.stores}")
        if url.startswith(FILE_URL):  # empty, and as good as one that is made anew
            shutil.copy(self.build_empty(), url.removeprefix(FILE_URL))
        with closing(open_store(self.url)) as grown, closing(open_store(url)) as new:
            copy_words(grown, new)
            with self.show_as_read():
                scan(new, find_files([self.inputs]), 1, ignore_progress, with_facts=False)
                for path in self.read.keys() - self.listed:
                    path.unlink()
                if self.read.keys() - self.listed:
                    scan(new, find_files([self.inputs]), 1, ignore_progress, with_facts=False)
        return url

    def build_empty(self) -> Path:
        """A store that nobody used yet."""
        empty = self.folder / "empty.db"
        if not empty.exists():
            open_store(f"{FILE_URL}{empty}").close()
        return empty

    @contextmanager
    def show_as_read(self) -> Iterator[None]:
        """Have the files for a while as the store has read them: what did not change since is the very same file."""
        aside = self.folder / "in-as-it-is"
        self.inputs.rename(aside)
        try:
            make_folder(self.inputs)
            for path, data in self.read.items():
                there = aside / path.relative_to(self.inputs)
                make_folder(path.parent)
                if there.is_file() and there.read_bytes() == data:
                    os.link(there, path)
                else:
                    path.write_bytes(data)
            yield
        finally:
            shutil.rmtree(self.inputs)
            aside.rename(self.inputs)

    @contextmanager
    def stop_before_commit(self, k: int, stop: Callable[[object], None]) -> Iterator[None]:
        """Have whatever runs stop before its k-th transaction is kept: at any other moment as much is in the store."""
        seen = 0

        def count(connection: object) -> None:
            nonlocal seen
            seen += 1
            if seen == k:
                stop(connection)

        event.listen(Engine, "commit", count)
        try:
            yield
        finally:
            event.remove(Engine, "commit", count)


def list_modules() -> list[ModuleType]:
    """All of ours that are imported."""
    return [module for name, module in list(sys.modules.items()) if name.startswith("assay.")]


def raise_killed(_: object) -> None:
    raise Killed


COMPILED: dict[str, Any] = {}


def share_compiled(create: Callable[..., Engine]) -> Callable[..., Engine]:
    """Statements are compiled once for all the stores of a story: that would be two thirds of its time."""

    def create_engine(*words: Any, **more: Any) -> Engine:
        made = create(*words, **more)
        made.dialect = COMPILED.setdefault("dialect", made.dialect)
        return made.execution_options(compiled_cache=COMPILED.setdefault("cache", {}))

    return create_engine


def make_folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def copy_words(grown: Store, new: Store) -> None:
    """What people said and were told: all that no transcript holds."""
    for one in grown.corrections.load_corrections():
        new.corrections.save_correction(one)
    new.corrections.save_verdicts(grown.corrections.load_verdicts())
    if draw := grown.corrections.load_draw():
        new.corrections.save_draw(AuditDraw(seed=draw.seed, wanted=draw.wanted))
    new.sessions.save_last_report(grown.sessions.load_last_report())
    new.rework.save_fates([Fate(agent=agent, id=name, is_told=True) for agent, name in list_told(grown)])


def list_told(store: Store) -> Sequence[tuple[str, str]]:
    """The sessions of which the last report said that they crushed."""
    [rows] = [
        [dict(zip(table.columns, row, strict=True)) for portion in table.portions for row in portion]
        for table in store.dump_tables()
        if table.name == "rework"
    ]
    return sorted((str(row["agent"]), str(row["id"])) for row in rows if row["is_told"])


LATER = [timedelta(seconds=30), timedelta(minutes=4), timedelta(minutes=12), timedelta(hours=5), timedelta(days=3),
         timedelta(days=16)]  # fmt: skip
