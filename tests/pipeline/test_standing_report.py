"""A report that still stands is not made anew, and stands no longer once anything changed that it depends on."""

import os
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import assay
from assay.config import load
from assay.pipeline import score as street
from assay.stores import open_store
from assay.testing.claude_code import build_prompt, build_reply, write_lines
from assay.types import PersonVerdict

LATER = "2026-03-20"


class World:
    """A folder of transcripts, a repository they were worked in, and a store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository = folder / "loom"
        self.repository.mkdir()
        self.run_git("init", "-q", "-b", "main")
        self.commit("the loom")
        for name in ("one", "two"):
            self.write(name, 3)

    def run_git(self, *words: str) -> None:
        env = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@loom.example")
        subprocess.run(["git", *who, *words], cwd=self.repository, env=env, check=True, capture_output=True)

    def commit(self, words: str) -> None:
        self.run_git("commit", "-q", "--allow-empty", "-m", words)

    def write(self, name: str, prompts: int) -> None:
        lines = []
        for n in range(prompts):
            lines.append(build_prompt(60 * n, f"weave row {n} of {name}", name, cwd=str(self.repository)))
            lines.append(build_reply(60 * n + 30, "woven", name, cwd=str(self.repository)))
        write_lines(self.folder / "in" / f"{name}.jsonl", *lines)

    def score(self, as_of: str = "2026-03-10", store: str = "kept.db") -> bytes:
        found = assay.score([self.folder / "in"], store=self.folder / store, as_of=as_of, timezone="UTC")
        return msgspec.json.encode(found)

    def serve(self, *, keeps: bool = False) -> bytes:
        """The report of a server that reads no files."""
        config = load(os.environ, self.folder, as_of="2026-03-10", timezone="UTC")
        with (
            closing(open_store(f"sqlite:///{self.folder / 'kept.db'}")) as store,
            street.open_run(store, config) as run,
        ):
            found = street.read_kept_report(run, keeps=keeps)
            assert found
            return msgspec.json.encode(replace(found, sessions=list(found.sessions), ledger=list(found.ledger)))

    def mark(self) -> None:
        with closing(open_store(f"sqlite:///{self.folder / 'kept.db'}")) as store:
            turn = store.sessions.list_segments(None)[0].segment.id
            store.corrections.save_verdicts([PersonVerdict(turn=turn, verdict="not", at="2026-03-09T09:00:00Z")])


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often files were looked through, and reports were made."""
    seen: list[str] = []
    scan, build = street.scan, street.build_report
    monkeypatch.setattr(street, "scan", lambda *args, **more: seen.append("scan") or scan(*args, **more))
    monkeypatch.setattr(street, "build_report", lambda *args, **more: seen.append("report") or build(*args, **more))
    return seen


def test_an_unchanged_run_answers_from_what_was_kept(world: World, made: list[str]):
    first = world.score()
    made.clear()
    assert (world.score(), made) == (first, [])


CHANGES: dict[str, Callable[[World], None]] = {
    "a transcript grew": lambda world: world.write("one", 4),
    "a transcript came": lambda world: world.write("three", 2),
    "a transcript vanished": lambda world: (world.folder / "in" / "two.jsonl").unlink(),
    "a transcript is of another time": lambda world: os.utime(world.folder / "in" / "two.jsonl", ns=(1, 1)),
    "a person marked a session": World.mark,
    "somebody committed": lambda world: world.commit("another row"),
    "the repository is gone": lambda world: world.repository.rename(world.folder / "elsewhere"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_it_stands_no_longer_when(change: str, world: World, made: list[str]):
    world.score()
    made.clear()
    CHANGES[change](world)
    found = world.score()
    assert "report" in made
    if change not in ("a transcript vanished", "a person marked a session"):  # a new store knows of neither
        assert found == world.score(store="new.db")


OTHERWISE: list[dict[str, Any]] = [{"timezone": "Asia/Tokyo"}, {"as_of": "2026-03-03"}, {"since": "2026-03-01"}]


@pytest.mark.parametrize("settings", OTHERWISE)
def test_it_does_not_stand_under_other_settings(settings: dict[str, Any], world: World, made: list[str]):
    world.score()
    made.clear()
    given = {"store": world.folder / "kept.db", "as_of": "2026-03-10", "timezone": "UTC"} | settings
    assay.score([world.folder / "in"], **given)
    assert "report" in made


def test_time_alone_makes_it_fall(world: World, made: list[str]):
    world.score("2026-03-02T09:05:00")  # the sessions are still going on
    made.clear()
    assert world.score(LATER) == world.score(LATER, "new.db")
    assert "report" in made


def test_a_servers_report_on_what_is_kept_is_made_once(world: World, made: list[str]):
    world.score()
    made.clear()
    first = world.serve()
    assert (world.serve(keeps=True), made) == (first, ["report"] * 2)  # what the other one keeps is none of a server's
    assert (world.serve(), made) == (first, ["report"] * 2)
    world.mark()
    assert (world.serve() == first, made) == (True, ["report"] * 3)  # it is not told yet
    again = world.score()
    assert world.serve() != first
    made.clear()
    assert (world.score(), made) == (again, [])
