"""The door: a command that would print the same again prints it at once, and anything that changed opens the house."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.cli import answer as cli_answer
from assay.cli import asked_before, keeping
from assay.errors import BadInput
from assay.listing import find_kind, find_state
from assay.pipeline import lasting
from assay.pipeline.neighbourhoods import forget_folders, list_git_paths, sign_folder
from assay.scores.report import LostSession
from assay.stores import open_store
from assay.testing.claude_code import build_prompt, build_reply, write_lines
from assay.types import PersonCorrection, PersonVerdict, VerdictKind
from tests.conftest import become, environment, warm

SHOWN = re.compile(r'"id":\s*"([0-9a-f]{12})"')


class Answer:
    """What a command printed, and whether the house had to be opened for it."""

    def __init__(self, code: int | None, out: bytes, err: bytes, *, is_kept: bool) -> None:
        self.code, self.out, self.err, self.is_kept = code, out, err, is_kept


class Person:
    """Somebody with a home, two transcripts, a repository they were worked in, and a store."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        warm()
        self.folder, self.patch = folder, patch
        self.home, self.repository, self.inputs = folder / "home", folder / "loom", folder / "in"
        self.here, self.store = folder / "here", folder / "kept" / "s.db"
        self.env: dict[str, str] = {"HOME": str(self.home), "XDG_CONFIG_HOME": str(folder / "settings")}
        for one in (self.home, self.repository, self.here, self.store.parent, folder / "settings" / "assay"):
            one.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.git("commit", "-q", "--allow-empty", "-m", "the loom")
        for name in ("one", "two"):
            self.write(name, 3)
        self.ask("score", "IN")

    def git(self, *words: str) -> None:
        env = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@loom.example")
        subprocess.run(["git", *who, *words], cwd=self.repository, env=env, check=True, capture_output=True)

    def write(self, name: str, prompts: int, word: str = "weave") -> Path:
        lines = []
        for n in range(prompts):
            lines.append(build_prompt(60 * n, f"{word} row {n} of {name}", name, cwd=str(self.repository)))
            lines.append(build_reply(60 * n + 30, "woven", name, cwd=str(self.repository)))
        return write_lines(self.inputs / f"{name}.jsonl", *lines)

    def ask(self, *words: object, store: Path | None = None, **env: str) -> Answer:
        """Run a command as a process of its own."""
        spoken = [str(self.inputs) if word == "IN" else str(word) for word in words]
        spoken += ["--store", str(store or self.store)]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as note:
            streams = out.fileno(), err.fileno()
            args = (spoken, environment(**self.env | env), streams, self.here, note.fileno())
            process = get_context("fork").Process(target=become_noting, args=args)
            process.start()
            process.join(60)
            for one in (out, err, note):
                one.seek(0)
            return Answer(process.exitcode, out.read(), err.read(), is_kept=note.read() == b"kept")

    def ask_twice(self, *words: object) -> bytes:
        """Run a command, and once more: then it is kept."""
        first, second = self.ask(*words), self.ask(*words)
        assert (first.code, second.code, first.is_kept, second.is_kept) == (0, 0, False, True), first.err
        assert first.out == second.out != b""
        return first.out

    def ask_plainly(self, *words: object) -> bytes:
        """What the program itself says, on a copy of the store, without any cache."""
        copy = self.folder / "copy.db"
        shutil.copy(self.store, copy)
        answer = self.ask(*words, store=copy, XDG_CACHE_HOME=str(self.folder / "no" / "cache"))
        assert not answer.is_kept
        return answer.out


def become_noting(words: list[str], env: dict[str, str], streams: tuple[int, int], cwd: Path, note: int) -> None:
    """Be `assay`, and say in the end whether anything was imported for it."""
    sys.modules.pop("assay.cli.program", None)
    try:
        become(words, env, streams, cwd)
    finally:
        os.write(note, b"opened" if "assay.cli.program" in sys.modules else b"kept")


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    return Person(Path(os.path.realpath(tmp_path)), monkeypatch)


COMMANDS: dict[str, tuple[str, ...]] = {
    "score": ("score", "IN"),
    "score as json": ("score", "IN", "--json"),
    "score by week": ("score", "IN", "--by", "week", "--by", "project"),
    "sessions": ("sessions", "IN"),
    "sessions as json": ("sessions", "IN", "--all", "--json"),
    "sessions with words": ("sessions", "IN", "--search", "weave"),
    "ledger": ("sessions", "IN", "--ledger"),
    "show": ("show", "last"),
    "show in full": ("show", "last", "--full"),
    "show as json": ("show", "last", "--json"),
}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_that_was_run_before_is_answered_at_the_door(person: Person, name: str):
    words = COMMANDS[name]
    assert person.ask_twice(*words) == person.ask_plainly(*words)


def test_commands_do_not_drop_each_others_answers(person: Person):
    asked = [COMMANDS[name] for name in ("show", "score", "sessions", "ledger")]
    for words in asked:
        person.ask(*words)
    assert [person.ask(*words).is_kept for words in asked] == [True] * 4


def test_a_report_in_which_something_is_new_is_kept_at_once(person: Person):
    person.write("one", 5)
    person.ask_twice("score", "IN")


def test_the_usual_places_are_looked_at_where_no_paths_are_given(person: Person):
    place = person.home / ".claude" / "projects" / "loom"
    place.mkdir(parents=True)
    shutil.copy(person.inputs / "one.jsonl", place)
    person.store = person.store.with_name("usual.db")
    person.ask("score")
    before = person.ask_twice("score")
    (person.home / ".codex" / "sessions").mkdir(parents=True)
    assert not person.ask("score").is_kept
    shutil.copy(person.inputs / "two.jsonl", place)
    answer = person.ask("score")
    assert not answer.is_kept
    assert answer.out == person.ask("score").out != before


# --- what an answer depends on --------------------------------------------------------------------


def change_store(person: Person, change: Callable[[Any, str], None]) -> None:
    with closing(open_store(f"sqlite:///{person.store}")) as store:
        change(store, store.sessions.list_segments(None)[0].segment.id)


def say(person: Person, verdict: VerdictKind) -> None:
    said = PersonVerdict(turn="", verdict=verdict, at="2026-03-09T09:00:00Z")
    change_store(person, lambda store, turn: store.corrections.save_verdicts([replace(said, turn=turn)]))


def rename(person: Person) -> None:
    said = PersonCorrection(kind="rename", turn="", title="The scarf", at="2026-03-09T09:00:00Z")
    change_store(person, lambda store, turn: store.corrections.save_correction(replace(said, turn=turn)))


def rewrite(person: Person) -> None:
    """Other words of the same length."""
    before = (person.inputs / "one.jsonl").stat()
    person.write("one", 3, "knits")
    os.utime(person.inputs / "one.jsonl", ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def write_anything(person: Person) -> None:
    change_store(person, lambda store, _: store.sessions.save_last_report(b"{}"))


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


READ: dict[str, Callable[[Person], object]] = {
    "a transcript grew": lambda one: one.write("one", 4),
    "a transcript was rewritten": rewrite,
    "a transcript came": lambda one: one.write("three", 2),
    "a transcript came in a folder below": lambda one: one.write("below/three", 2),
    "a transcript went": lambda one: (one.inputs / "two.jsonl").unlink(),
    "a transcript is a link by now": lambda one: (
        (one.inputs / "two.jsonl").rename(one.folder / "two.jsonl"),
        (one.inputs / "two.jsonl").symlink_to(one.folder / "two.jsonl"),
        one.write("../two", 5),
    ),
    "the folder leads elsewhere": lambda one: (
        one.inputs.rename(one.folder / "old"),
        one.write("one", 1),
    ),
    "a folder can't be looked at": lambda one: (one.inputs / "loop.jsonl").symlink_to("loop.jsonl"),
}
"""What commands notice that read transcripts."""
ANY: dict[str, Callable[[Person], object]] = {
    "a person said how a session ended": lambda one: say(one, "not"),
    "a person named a session": rename,
    "anything was written to the store": write_anything,
    "a commit": lambda one: one.git("commit", "-q", "--allow-empty", "-m", "more"),
    "a branch": lambda one: one.git("branch", "-f", "other"),
    "branches in folders": lambda one: one.git("branch", "some/where/else"),
    "where a repository comes from": lambda one: one.git("config", "remote.origin.url", "https://loom.example/x.git"),
    "a repository around it": lambda one: shutil.copytree(one.repository / ".git", one.folder / ".git"),
    "no repository any more": lambda one: shutil.rmtree(one.repository / ".git"),
    "no folder any more": lambda one: one.repository.rename(one.folder / "gone"),
    "a link in its place": lambda one: (
        one.repository.rename(one.folder / "gone"),
        one.repository.symlink_to(one.folder / "gone"),
    ),
    "settings here": lambda one: put(one.here / "assay.toml", 'timezone = "Asia/Tokyo"'),
    "settings above": lambda one: put(one.folder / "assay.toml", 'boundaries.commit = "off"'),
    "settings of the person": lambda one: put(one.folder / "settings/assay/assay.toml", "redaction.home = true"),
    "a variable": lambda one: one.env.update(ASSAY_TIMEZONE="Asia/Tokyo"),
    "any variable": lambda one: one.env.update(FORCE_COLOR="1"),
    "a wider terminal": lambda one: one.env.update(COLUMNS="90"),
    "another folder": lambda one: one.__dict__.update(here=one.inputs),
    "another time": lambda one: one.patch.setattr(asked_before.time, "time", lambda: 1.0),
    "another program": lambda one: one.patch.setattr(asked_before, "sign_program", lambda: ["another"]),
    "another package": lambda one: (
        (one.folder / "site" / "knit-1.dist-info").mkdir(parents=True),
        one.patch.syspath_prepend(str(one.folder / "site")),
    ),
    "another copy of the store": lambda one: (
        shutil.copy(one.store, one.folder / "other.db"),
        (one.folder / "other.db").replace(one.store),
    ),
    "somebody uses the store": lambda one: put(Path(f"{one.store}-wal"), ""),
    "no cache": lambda one: shutil.rmtree(one.home / ".cache"),
}
"""What every command notices."""


@pytest.mark.parametrize("name", [*READ, *ANY])
def test_whatever_changed_the_answer_is_made_anew(person: Person, name: str):
    words = COMMANDS["score as json"]
    person.ask_twice(*words)
    (READ | ANY)[name](person)
    assert not (answer := person.ask(*words)).is_kept
    assert answer.out == person.ask_plainly(*words)


OF_A_SESSION = ("a person named a session", "a commit", "settings above", "another folder", "another program")


@pytest.mark.parametrize("name", OF_A_SESSION)
def test_whatever_changed_of_a_session_it_is_shown_anew(person: Person, name: str):
    person.ask_twice("show", "last", "--json")
    ANY[name](person)
    assert not (answer := person.ask("show", "last", "--json")).is_kept
    assert answer.out == person.ask_plainly("show", "last", "--json")


def test_a_package_that_came_to_a_place_that_was_there_is_noticed(person: Person):
    site = person.folder / "site"
    site.mkdir()
    person.patch.syspath_prepend(str(site))
    person.ask_twice("score", "IN")
    (site / "knit-1.dist-info").mkdir()
    assert not person.ask("score", "IN").is_kept


def test_what_holds_only_until_some_time_is_told_anew_then(person: Person):
    person.ask_twice("score", "IN")
    with closing(sqlite3.connect(person.store)) as opened:
        (body,) = opened.execute("SELECT body FROM printed").fetchone()
    until = json.loads(body.partition(b"\n")[0])["until"]
    person.patch.setattr(asked_before.time, "time", lambda: until)
    assert person.ask("score", "IN").is_kept
    person.patch.setattr(asked_before.time, "time", lambda: until + 0.001)
    assert not person.ask("score", "IN").is_kept


# --- what is not kept -----------------------------------------------------------------------------


NEVER: dict[str, tuple[str, ...]] = {
    "of late": ("score", "IN", "--since", "7d"),
    "a project": ("score", "IN", "--project", "loom"),
    "as it was": ("score", "IN", "--as-of", "2026-03-09"),
    "by a repository": ("score", "IN", "--repo", "REPO"),
    "what if": ("score", "IN", "--commit", "hard"),
    "to a file": ("score", "IN", "-o", "FILE"),
    "an error": ("show", "no-such-id"),
    "other commands": ("usage", "IN"),
}


@pytest.mark.parametrize("name", NEVER)
def test_what_says_more_than_it_prints_or_depends_on_more_is_never_kept(person: Person, name: str):
    given = {"REPO": str(person.repository), "FILE": str(person.folder / "out.json")}
    words = [given.get(word, word) for word in NEVER[name]]
    assert not any(person.ask(*words).is_kept for _ in range(3))


def test_what_was_lost_is_told_once(person: Person):
    """The next report says nothing of it any more."""
    score = cli_answer.score_run
    lost = [LostSession(id="0" * 12, title="The scarf", by="", share=1.0)]

    def lose(*args: Any, **more: Any) -> Any:
        found = score(*args, **more)
        return replace(found, report=replace(found.report, lost=lost))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli_answer, "score_run", lose)
        said = [person.ask("score", "IN", "--by", "week") for _ in range(3)]
    assert [(one.out.count(b"Lost their crush"), one.is_kept) for one in said] == [(1, False)] * 3
    assert b"Lost their crush" not in person.ask_twice("score", "IN", "--by", "week")


def test_a_tenant_whose_words_end_with_time_is_told_each_time(person: Person):
    put(
        person.folder / "settings/assay/assay.toml",
        f'[tenants.loom]\nprojects = ["{person.repository}"]\nretention_days = 9999',
    )
    assert not any(person.ask("score", "IN").is_kept for _ in range(3))


def test_nothing_is_kept_that_somebody_else_changed_meanwhile(person: Person):
    find = lasting.find_lasting

    def disturb(*args: Any) -> Any:
        with closing(sqlite3.connect(person.store, isolation_level=None)) as other:
            other.execute("UPDATE generation SET n = n + 1")
        return find(*args)

    person.patch.setattr(keeping, "find_lasting", disturb)
    assert not any(person.ask("sessions", "IN").is_kept for _ in range(3))


def test_nothing_is_kept_of_a_repository_in_which_somebody_is_at_work(person: Person):
    person.patch.setattr(
        lasting, "list_ways", lambda folders: person.git("commit", "-q", "--allow-empty", "-m", "x") or []
    )
    assert not any(person.ask("score", "IN").is_kept for _ in range(3))


# --- whose words are printed ----------------------------------------------------------------------


def list_pointers(person: Person) -> list[Path]:
    return [*(person.home / ".cache" / "assay" / "printed").iterdir()]


def test_pointers_are_for_the_person_alone_and_hold_no_words(person: Person):
    person.ask_twice("show", "last")
    (pointer,) = list_pointers(person)
    assert pointer.stat().st_mode & 0o777 == 0o600
    assert pointer.parent.stat().st_mode & 0o777 == 0o700
    assert b"weave" not in pointer.read_bytes()


def forge_row(person: Person, body: bytes) -> None:
    with closing(sqlite3.connect(person.store, isolation_level=None)) as opened:
        opened.execute("UPDATE printed SET body = ?", (body,))


def forge_header(person: Person) -> None:
    with closing(sqlite3.connect(person.store)) as opened:
        (body,) = opened.execute("SELECT body FROM printed").fetchone()
    forge_row(person, body.replace(b'"until":', b'"until":9'))


FORGED: dict[str, Callable[[Person], object]] = {
    "other words": lambda one: forge_row(one, b"\x1b[2Jforged"),
    "another time": forge_header,
    "a pointer for all to write": lambda one: list_pointers(one)[0].chmod(0o666),
    "a pointer elsewhere": lambda one: (
        (there := list_pointers(one)[0]).rename(one.folder / "pointer"),
        there.symlink_to(one.folder / "pointer"),
    ),
    "a pointer cut short": lambda one: os.truncate(list_pointers(one)[0], 30),
    "an empty pointer": lambda one: os.truncate(list_pointers(one)[0], 0),
    "a pointer of another kind": lambda one: list_pointers(one)[0].write_text("[]"),
    "a store that is none": lambda one: one.store.write_bytes(b"SQLite format 3\0" + bytes(5000)),
    "no store": lambda one: one.store.unlink(),
    "no row": lambda one: forge_row(one, b""),
}


@pytest.mark.parametrize("name", FORGED)
def test_only_what_this_person_printed_is_printed_again(person: Person, name: str):
    person.ask_twice("score", "IN")
    FORGED[name](person)
    answer = person.ask("score", "IN")
    assert not answer.is_kept
    assert b"forged" not in answer.out


def test_words_that_are_forgotten_leave_no_copy_behind(person: Person):
    person.ask_twice("show", "last", "--full")
    assert person.store.read_bytes().count(b"weave row 2 of two") or person.store.read_bytes().count(
        b"weave row 2 of one"
    )
    put(
        person.folder / "settings/assay/assay.toml",
        f'[tenants.loom]\nprojects = ["{person.repository}"]\nretention_days = 1',
    )
    person.ask("score", "IN")
    assert b"weave row" not in person.store.read_bytes()


# --- stopped on the way ---------------------------------------------------------------------------


def stop(*_: object) -> Any:
    os._exit(9)


@pytest.mark.parametrize("place", ["save_printed", "write_pointer", "find_lasting", "encode_terms"])
def test_whoever_is_killed_on_the_way_leaves_nothing_wrong(person: Person, place: str):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keeping, place, stop)
        assert person.ask("score", "IN").code == 9
    plain = person.ask_plainly("score", "IN")
    assert person.ask("score", "IN").out == plain
    assert person.ask_twice("sessions", "IN")
    person.write("one", 5)
    assert person.ask("score", "IN").out == person.ask_plainly("score", "IN") != plain


def test_a_locked_store_keeps_nobody_waiting(person: Person):
    with closing(sqlite3.connect(person.store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        assert person.ask("sessions", "IN").code == 0
        assert time.monotonic() - began < 20  # a writer would be waited for for half a minute
        other.execute("ROLLBACK")


def test_only_so_many_answers_are_kept(person: Person):
    person.patch.setattr(keeping, "MOST_POINTERS", 2)
    for width in ("80", "90", "100"):
        person.ask("score", "IN", COLUMNS=width)
    assert len(list_pointers(person)) == 2
    assert [person.ask("score", "IN", COLUMNS=width).is_kept for width in ("90", "100")] == [True, True]


def test_a_full_disk_is_told_at_the_door_as_in_the_house(person: Person):
    person.ask_twice("score", "IN")
    with Path("/dev/full").open("wb") as full, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as note:
        words = ["score", str(person.inputs), "--store", str(person.store)]
        args = (words, environment(**person.env), (full.fileno(), err.fileno()), person.here, note.fileno())
        process = get_context("fork").Process(target=become_noting, args=args)
        process.start()
        process.join(60)
        err.seek(0)
        assert (process.exitcode, err.read()) == (2, b"assay: can't write the output: No space left on device\n")


def test_nothing_is_imported_for_an_answer_that_is_there(person: Person):
    variables = environment(**person.env)
    words = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "assay",
        "score",
        str(person.inputs),
        "--store",
        str(person.store),
    ]
    for _ in range(2):
        done = subprocess.run(words, capture_output=True, env=variables, cwd=person.here, check=True)
    imported = {line.rpartition(b"|")[2].strip().partition(b".")[0] for line in done.stderr.splitlines()}
    assert b"sqlite3" in imported
    assert not imported & {b"msgspec", b"sqlalchemy", b"rich", b"typer", b"subprocess", b"platformdirs"}


# --- whatever happens -----------------------------------------------------------------------------

MOVES: dict[str, Callable[[Path], object]] = {
    "make": lambda path: path.mkdir(parents=True, exist_ok=True),
    "remove": lambda path: shutil.rmtree(path, ignore_errors=True),
    "move": lambda path: path.rename(path.with_name(f"{path.name}x")),
    "link": lambda path: path.symlink_to("a"),
    "init": lambda path: subprocess.run(["git", "init", "-q", str(path)], check=False, capture_output=True),
    "bare": lambda path: subprocess.run(["git", "init", "-q", "--bare", str(path)], check=False, capture_output=True),
    "git file": lambda path: put(path / ".git", "gitdir: ../a/.git\n"),
    "touch head": lambda path: put(path / ".git" / "HEAD", "ref: refs/heads/other\n"),
    "branch": lambda path: put(path / ".git" / "refs" / "heads" / "deep" / "b", "0" * 40),
    "pack": lambda path: put(path / ".git" / "packed-refs", "# pack-refs\n"),
    "configure": lambda path: put(path / ".git" / "config", "[remote]\n"),
    "drop git": lambda path: shutil.rmtree(path / ".git", ignore_errors=True),
}
PLACES = ("a", "a/b", "a/b/c", "d", "d/a", ".", "a/.claude/worktrees/w")


def look(folders: list[str]) -> tuple[list[str], Any]:
    """What the program goes by, and what the door goes by."""
    forget_folders()
    try:
        watched = [path for folder in folders for path in list_git_paths(folder)]
    except BadInput:
        watched = []
    kinds = {path: find_kind(path) for path in lasting.list_ways(folders)}
    return [sign_folder(folder) for folder in folders], (kinds, {path: find_state(path) for path in watched})


@settings(
    max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate], derandomize=True
)
@given(moves=st.lists(st.tuples(st.sampled_from(sorted(MOVES)), st.sampled_from(PLACES)), min_size=1, max_size=8))
def test_the_door_looks_at_all_that_a_repository_is_told_by(moves: list[tuple[str, str]]):
    with tempfile.TemporaryDirectory() as made:
        top = Path(os.path.realpath(made))
        folders = [str(top / place) for place in PLACES]
        signs, (kinds, states) = look(folders)
        for move, place in moves:
            try:
                MOVES[move](top / place)
            except OSError:
                continue
            seen = {path: find_kind(path) for path in kinds}, {path: find_state(path) for path in states}
            before = signs
            signs, found = look(folders)
            if signs != before:
                assert seen != (kinds, states), (move, place)
            kinds, states = found


STEPS: list[Callable[[Person], object]] = [READ[one] for one in list(READ)[:5]]
STEPS += [ANY[one] for one in ("a commit", "a branch", "settings here", "a person named a session", "a variable")]
STEPS += [lambda _: None, lambda _: None, lambda one: say(one, "landed"), lambda one: one.write("two", 6)]


def live_through(stories: int, steps: int) -> None:
    step = st.tuples(st.sampled_from(STEPS), st.lists(st.sampled_from(sorted(COMMANDS)), min_size=1, max_size=2))

    @settings(
        max_examples=stories,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        derandomize=True,
    )
    @given(story=st.lists(step, min_size=steps, max_size=steps))
    def live(story: list[tuple[Callable[[Person], object], list[str]]]) -> None:
        with tempfile.TemporaryDirectory() as made, pytest.MonkeyPatch.context() as patch:
            person = Person(Path(os.path.realpath(made)), patch)
            for change, looks in story:
                try:
                    change(person)
                except OSError:  # what it would change is gone
                    continue
                for name in looks:
                    plain = person.ask_plainly(*COMMANDS[name])
                    assert person.ask(*COMMANDS[name]).out == plain
                    assert person.ask(*COMMANDS[name]).out == person.ask_plainly(*COMMANDS[name])

    live()


def test_through_the_door_everything_is_told_as_the_house_tells_it():
    live_through(2, 4)


@pytest.mark.long
def test_through_the_door_everything_is_told_as_the_house_tells_it_in_many_stories():
    live_through(12, 8)
