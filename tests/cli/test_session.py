"""`assay session`: what a person says of sessions holds, and is told in one line."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import assay
from assay.cli.session import app
from assay.errors import AssayError, BadInput
from assay.testing.claude_code import build_prompt, build_reply, write_lines
from tests.conftest import environment


@pytest.fixture
def top(tmp_path: Path) -> Path:
    for stream in ("s1", "s2"):
        talk = [
            one
            for n in range(0, 40, 10)
            for one in (
                build_prompt(n, f"card the {n} sheep of {stream}", stream),
                build_reply(n + 1, "carded", stream),
            )
        ]
        write_lines(tmp_path / "in" / f"{stream}.jsonl", *talk)
    return tmp_path


def score(top: Path) -> list[Any]:
    return assay.score(top / "in", store=top / "s.db", timezone="UTC").sessions


def session(*args: object, top: Path) -> Result:
    return CliRunner().invoke(app, [*map(str, args), "--store", str(top / "s.db")], env=environment())


def told(done: Result) -> str:
    """The one line that it printed."""
    if done.exception:
        raise done.exception
    assert done.stdout.count("\n") == 1
    return done.stdout


def complaint(done: Result) -> str:
    assert isinstance(done.exception, AssayError), done.exception
    assert done.stdout == ""
    return str(done.exception)


def test_a_session_is_split_merged_and_renamed(top: Path):
    one, two = score(top)
    line = told(session("split", one.id, 3, top=top))
    assert one.id in line
    [new] = [found.id for found in score(top) if found.id not in (one.id, two.id)]
    assert new in line
    assert new in told(session("merge", two.id, new, top=top))
    assert [found.facts["turns"] for found in score(top) if found.id == one.id] == [2]
    line = told(session("rename", one.id, "Two", "  sheep", top=top))
    assert "“Two sheep”" in line
    assert [found.title for found in score(top) if found.id == one.id] == ["Two sheep"]


def test_an_id_may_be_shortened_while_it_is_the_only_one(top: Path):
    one, two = score(top)
    least = next(n for n in range(1, 13) if one.id[:n] != two.id[:n])
    assert one.id in told(session("rename", one.id[:least].upper(), "Sheep", top=top))


def test_an_id_that_several_have_lists_them(top: Path, tmp_path: Path):
    for n in range(40):
        write_lines(tmp_path / "in" / f"more{n}.jsonl", build_prompt(n + 100, f"shear \x1b[31m sheep {n}", f"more{n}"))
    ids = [one.id for one in score(top)]
    prefix = next(one[0] for one in ids if sum(other[0] == one[0] for other in ids) > 1)
    words = complaint(session("rename", prefix, "Sheep", top=top))
    alike = [one for one in ids if one[0] == prefix]
    assert f"{len(alike)} sessions begin with {prefix!r}" in words
    assert not [one for one in alike[:10] if one not in words]
    assert "2026-03-02T09:" in words
    assert "\x1b" not in words


@pytest.mark.parametrize(
    "args", [("split", "zz", "2"), ("merge", "zz", "yy"), ("rename", "zz", "Wool"), ("rename", "", "W")]
)
def test_an_id_that_nobody_has_is_told(top: Path, args: tuple[str, ...]):
    score(top)
    assert "no session begins with" in complaint(session(*args, top=top))


def test_what_cannot_be_done_is_told_and_not_kept(top: Path):
    one, _ = before = score(top)
    table = [
        (("split", one.id, 1), "nothing before it"),
        (("split", one.id, 5), "turns 1 to 4"),
        (("merge", one.id, one.id), "itself"),
        (("rename", one.id, "x" * 61), "61 characters"),
        (("rename", one.id, "  "), "empty"),
    ]
    for args, why in table:
        assert why in complaint(session(*args, top=top)), args
    assert score(top) == before


def test_a_title_may_have_sixty_characters(top: Path):
    told(session("rename", score(top)[0].id, "é" * 60, top=top))
    assert score(top)[0].title == "é" * 60


def test_without_a_store_there_is_nothing_to_correct(tmp_path: Path):
    done = session("split", "a", 2, top=tmp_path)
    assert isinstance(done.exception, BadInput)
    assert "assay score" in str(done.exception)
    assert not (tmp_path / "s.db").exists()


# --- how it ended ---------------------------------------------------------------------------------


def test_a_session_is_marked_listed_and_the_mark_taken_back(top: Path):
    one, two = score(top)
    assert told(session("mark", one.id[:9], "landed", top=top)).startswith(f"marked {one.id} “")
    told(session("mark", two.id, "not", "--why", "the \x1b[31m wool\nis felted", top=top))
    assert [found.crushed for found in score(top)] == [True, False]
    listed = session("marks", top=top).stdout
    assert f"{one.id[:8]}" in listed
    assert "wool is felted" in listed
    assert "\x1b" not in listed
    [first, second] = json.loads(session("marks", "--json", top=top).stdout)["sessions"]
    assert (first["marked"]["verdict"], second["marked"]["verdict"]) == ("landed", "not")
    assert "the judge's word holds again" in told(session("mark", two.id, "--undo", top=top))
    assert [found.marked is None for found in score(top)] == [False, True]


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("fine",), "give one of landed, not, exclude"),
        ((), "either a verdict (landed, not, exclude) or --undo"),
        (("landed", "--undo"), "either a verdict"),
        (("--undo",), "nobody marked"),
        (("not", "--why", "x" * 501), "501 characters"),
        (("unclear",), "give one of"),
    ],
)
def test_a_mark_that_makes_no_sense_is_told_and_not_kept(top: Path, args: tuple[str, ...], why: str):
    one, _ = before = score(top)
    assert why in complaint(session("mark", one.id, *args, top=top))
    assert score(top) == before


def test_a_list_without_marks_says_how_to_make_one(top: Path):
    score(top)
    done = session("marks", top=top)
    assert done.stdout == ""
    assert "assay session mark ID landed" in done.stderr
