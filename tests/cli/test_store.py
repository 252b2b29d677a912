"""`assay store`, as a person types it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from assay.testing.claude_code import build_prompt, build_reply, write_folder, write_lines
from tests.conftest import run


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    write_folder(tmp_path / "in", files=3, turns=4)
    env = {"HOME": str(tmp_path), "ASSAY_STORE": str(tmp_path / "s.db")}
    assert run("score", tmp_path / "in", env=env).code == 0
    return env


def test_a_store_is_described_and_found_sound(env: dict[str, str], tmp_path: Path):
    told = run("store", "info", "--json", env=env).json
    assert (told["kind"], told["where"], told["holds"]["files"]) == ("store", str(tmp_path / "s.db"), 3)
    assert "3" in run("store", "info", env=env).out
    assert "is sound" in run("store", "check", env=env).out


def test_a_backup_comes_back_as_it_was(env: dict[str, str], tmp_path: Path):
    before = run("score", tmp_path / "in", "--json", env=env).out
    assert run("store", "backup", tmp_path / "b.db", env=env).code == 0
    (tmp_path / "s.db").unlink()
    assert run("store", "restore", tmp_path / "b.db", env=env).code == 0
    assert run("score", tmp_path / "in", "--json", env=env).out == before


def test_a_terminal_obeys_nothing_in_the_name_of_a_store(env: dict[str, str], tmp_path: Path):
    odd = tmp_path / "b\x1b[31m.db"
    for words in (["backup", odd], ["info", "--store", odd], ["check", "--store", odd], ["backup", odd]):
        ran = run("store", *words, env=env)
        assert "\x1b" not in ran.out + ran.err


def test_a_terminal_obeys_nothing_in_the_times_of_a_transcript(tmp_path: Path):
    env = {"HOME": str(tmp_path), "ASSAY_STORE": str(tmp_path / "s.db")}
    lines = [build_prompt(1, "Mend the loom"), build_reply(2, "Mended")]
    write_lines(tmp_path / "in" / "s.jsonl", *(one | {"timestamp": "\x1b[31m[b]2026"} for one in lines))
    assert run("score", tmp_path / "in", env=env).code == 0
    told = run("store", "info", env=env).out
    assert ("\x1b" in told, "[31m[b]" in told) == (False, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["backup", "{top}/s.db"], "there is a store at"),
        (["backup", "postgresql://x/y"], "a backup is a file"),
        (["backup", "{top}/nowhere/b.db"], "nowhere"),
        (["restore", "{top}/none.db"], "there is no store at"),
        (["restore", "{top}/s.db"], "there is a store at"),
        (["move", "nobody://x"], "only a file path or"),
        (["prune", "--older-than", "3"], "say --yes"),
        (["prune", "--older-than", "0"], "--older-than"),
        (["info", "--store", "{top}/none.db"], "there is no store at"),
    ],
)
def test_what_can_not_be_done_is_told_in_a_line_and_nothing_is_touched(
    env: dict[str, str], tmp_path: Path, words: list[str], said: str
):
    before = sorted(path.name for path in tmp_path.iterdir())
    ran = run("store", *(word.format(top=tmp_path) for word in words), env=env)
    assert (ran.code, said in ran.err) == (2, True), ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_old_words_are_deleted_when_that_was_said(env: dict[str, str], tmp_path: Path):
    assert any(b"weave row" in path.read_bytes() for path in tmp_path.glob("s.db*"))
    told = run("store", "prune", "--older-than", "1", "--yes", "--json", env=env).json
    assert (told["kind"], told["forgotten"]) == ("store_action", 3)
    assert not any(b"weave row" in path.read_bytes() for path in tmp_path.glob("s.db*"))


def test_a_damaged_store_is_found_out(env: dict[str, str], tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "s.db")) as held, held:
        held.execute("PRAGMA foreign_keys=OFF")
        held.execute("DELETE FROM files WHERE id = 1")
    ran = run("store", "check", env=env)
    assert (ran.code, "belong to nothing" in ran.out, "restore a backup" in ran.err) == (2, True, True)
