"""`assay sessions`: which are listed, and the ledger."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.reports.sessions import list_amounts
from assay.scores.breakdown import name_intent
from assay.testing.claude_code import build_conversation, build_prompt, write_folder, write_lines
from assay.types import Session
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
    ran = sessions(folder, "--all")
    assert (ran.code, ran.err) == (0, "")
    ids = [one["id"] for one in sessions(folder, "--json").json["sessions"]]
    assert len(ids) == 4
    assert not [one for one in ids if one not in ran.out]
    assert "4 sessions, 3 counted" in ran.out
    assert "– no goal" in ran.out


def test_trivial_ones_are_a_line(folder: Path):
    shown = sessions(folder).out
    assert "– no goal" not in shown
    assert "4 sessions, 3 counted, 3 crushed; 1 trivial not listed (--all)" in shown


@pytest.mark.parametrize("width", ["40", "60", "80", "140"])
def test_ids_are_whole_at_any_width(folder: Path, width: str):
    ids = [one["id"] for one in sessions(folder, "--json").json["sessions"]]
    for option in ("--all", "--ledger"):
        shown = sessions(folder, option, env={"COLUMNS": width}).out
        assert not [one for one in ids if one not in shown]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("LOOM-1", ["loom-1"]),
        ("weave loom-2", ["loom-2"]),
        ('"row 10 of loom-0"', ["loom-0"]),
        ('"of loom-0 row"', []),
        ("row", ["loom-0", "loom-1", "loom-2"]),
        ("hi", ["greeting"]),
        ("50% \\'loom", []),
    ],
)
def test_sessions_are_found_by_all_words_that_were_said_in_them(folder: Path, words: str, found: list[str]):
    listed = sessions(folder, "--json", "--search", words).json["sessions"]
    assert [one["streams"] for one in listed] == [[one] for one in found]


@pytest.mark.parametrize("words", ["", "  ", '"loom'])
def test_a_search_for_nothing_is_told(folder: Path, words: str):
    ran = sessions(folder, "--search", words)
    assert (ran.code, ran.out, is_one_line(ran.err)) == (2, "", True)
    assert "--search" in ran.err


def test_what_is_withheld_or_redacted_is_not_found(tmp_path: Path):
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z0K"
    write_lines(tmp_path / "in" / "a.jsonl", build_prompt(1, f"use the token {secret} to weave", "s1"))
    given = ["sessions", tmp_path / "in", "--store", tmp_path / "s.db", "--json", "--search"]
    assert len(run(*given, "weave").json["sessions"]) == 1
    assert run(*given, secret).json["sessions"] == []
    (tmp_path / "assay.toml").write_text('[tenants.ada]\nprojects = ["/home/ada"]\nopt_out = true\n')
    assert run(*given, "weave", cwd=tmp_path).json["sessions"] == []


@pytest.mark.parametrize("by", ["turns", "tokens", "time", "chance", "lines", "cost"])
def test_the_most_stand_first_in_what_is_sorted_by_an_amount(folder: Path, by: str):
    listed = sessions(folder, "--json", "--sort", by).json["sessions"]
    amounts = [list_amounts(msgspec.convert(one, Session))[by] for one in listed]
    known = [one for one in amounts if one is not None]
    assert known == sorted(known, reverse=True)
    assert amounts == [*known, *[None] * (len(amounts) - len(known))]
    assert by in sessions(folder, "--sort", by, env={"COLUMNS": "80"}).out.splitlines()[0].split()
    two = sessions(folder, "--json", "--sort", by, "--limit", "2").json["sessions"]
    assert two == listed[:2]


def test_the_json_has_the_sessions_and_ledger_of_a_score(folder: Path):
    found = sessions(folder, "--json").json
    report = run("score", folder, "--store", folder.parent / "s.db", "--json").json
    assert list(found) == ["kind", "schema_version", "sessions", "ledger"]
    assert (found["sessions"], found["ledger"]) == (report["sessions"], report["ledger"])


@pytest.mark.parametrize(
    "options",
    [["--crushed"], ["--not-crushed"], ["--intent", "change"], ["--intent", "read"], ["--crushed", "--intent", "plan"]],
)
def test_only_those_that_are_asked_for_are_listed(folder: Path, options: list[str]):
    """The intent is the one that is listed."""
    everything = sessions(folder, "--json").json["sessions"]
    found = sessions(folder, "--json", *options).json
    crushed = {"--crushed": True, "--not-crushed": False}.get(options[0])
    intent = options[-1] if "--intent" in options else None
    wanted = [
        one["id"]
        for one in everything
        if crushed in (None, one["crushed"]) and intent in (None, name_intent(msgspec.convert(one, Session)))
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
    assert f"{len(rows) - 2} earlier with --limit 0" in some[-1]
    assert run("sessions", files, "--limit", "0", *store).out.splitlines() == every


def test_a_limit_holds_for_the_ledger_too(folder: Path):
    newest = sessions(folder, "--json").json["sessions"][-1]
    found = sessions(folder, "--json", "--limit", "1").json
    assert {entry["session"] for entry in found["ledger"]} <= {
        newest["id"],
        *(one["id"] for one in newest["merged_from"]),
    }
    told = sessions(folder, "--ledger", "--limit", "1").out
    assert newest["id"] in told
    assert len(told.splitlines()) < len(sessions(folder, "--ledger").out.splitlines())
