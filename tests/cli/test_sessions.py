"""`assay sessions`: which are listed, and the ledger."""

from pathlib import Path
from typing import Any

import pytest

from assay.testing.claude_code import build_conversation, build_prompt, write_folder, write_lines
from tests.conftest import Ran, is_one_line, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sessions that count, and a greeting."""
    top = tmp_path_factory.mktemp("sessions") / "in"
    for n in range(3):
        write_lines(top / f"{n}.jsonl", *build_conversation(f"loom-{n}", 3, start=n * 7200))
    write_lines(top / "hi.jsonl", build_prompt(90_000, "hi", "greeting"))
    return top


def sessions(folder: Path, *args: object, **more: Any) -> Ran:
    return run("sessions", folder, "--store", folder.parent / "s.db", *args, **more)


def test_all_are_listed_with_how_they_ended(folder: Path):
    ran = sessions(folder)
    assert (ran.code, ran.err) == (0, "")
    ids = [one["id"] for one in sessions(folder, "--json").json["sessions"]]
    assert len(ids) == 4
    assert not [one for one in ids if one[:8] not in ran.out]
    assert "4 sessions, 3 counted" in ran.out
    assert "– no goal" in ran.out


def test_the_json_has_the_sessions_and_ledger_of_a_score(folder: Path):
    found = sessions(folder, "--json").json
    report = run("score", folder, "--store", folder.parent / "s.db", "--json").json
    assert list(found) == ["kind", "schema_version", "sessions", "ledger"]
    assert (found["sessions"], found["ledger"]) == (report["sessions"], report["ledger"])


@pytest.mark.parametrize(
    "options", [["--crushed"], ["--not-crushed"], ["--intent", "small_change"], ["--crushed", "--intent", "plan"]]
)
def test_only_those_that_are_asked_for_are_listed(folder: Path, options: list[str]):
    everything = sessions(folder, "--json").json["sessions"]
    found = sessions(folder, "--json", *options).json
    crushed = {"--crushed": True, "--not-crushed": False}.get(options[0])
    intent = options[-1] if "--intent" in options else None
    wanted = [
        one["id"]
        for one in everything
        if crushed in (None, one["crushed"]) and intent in (None, one["intent"])
        and (crushed is None or one["crushed"] is not None)
    ]  # fmt: skip
    assert [one["id"] for one in found["sessions"]] == wanted
    assert {entry["session"] for entry in found["ledger"]} == set(wanted)


def test_none_that_is_like_that_is_told(folder: Path):
    ran = sessions(folder, "--crushed", "--intent", "plan", "--until", "2026-03-03T23:00")
    assert (ran.code, ran.out) == (0, "")
    assert is_one_line(ran.err)
    assert "none of 4 sessions is like that" in ran.err


def test_an_intent_that_is_none_is_told(folder: Path):
    ran = sessions(folder, "--intent", "world_peace")
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert "bug_fix" in ran.err


@pytest.mark.parametrize("width", ["80", "140"])
def test_the_ledger_says_where_each_begins_and_why(folder: Path, width: str):
    ran = sessions(folder, "--ledger", env={"COLUMNS": width})
    found = sessions(folder, "--json").json["ledger"]
    assert "evidence" in ran.out.splitlines()[0]
    assert not [entry for entry in found if entry["session"][:8] not in ran.out]
    assert "began: conversation" in ran.out
    assert ("stream" in ran.out.splitlines()[0]) is (width == "140")


def test_a_choice_that_fits_nothing_is_told_once(folder: Path):
    ran = sessions(folder, "--since", "2030-01-01")
    assert (ran.code, ran.out) == (0, "")
    assert is_one_line(ran.err)


def test_the_newest_sessions_are_listed_up_to_a_limit(tmp_path):
    files = write_folder(tmp_path / "cc", 6)
    store = ("--store", tmp_path / "s.db")
    every = run("sessions", files, *store).out.splitlines()
    some = run("sessions", files, "--limit", "2", *store).out.splitlines()
    rows = [line for line in every[1:] if line[:2].isdigit()]
    assert [line.split() for line in some[1:] if line[:2].isdigit()] == [line.split() for line in rows[-2:]]
    assert f"{len(rows) - 2} earlier ones with --limit 0" in some[-1]
    assert run("sessions", files, "--limit", "0", *store).out.splitlines() == every
