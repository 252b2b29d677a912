"""`assay streams`: which conversations are listed."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assay.testing.claude_code import build_conversation, build_prompt, write_folder, write_lines
from tests.conftest import here, is_one_line, run, settled, streams

PLACES = {
    "loom": "/home/ada/loom",
    "Wheel": "/home/ada/Wheel",
    "percent": "/srv/100%_wool",
    "windows": "C:\\code\\Reel",
}


def ago(**more: float) -> str:
    return (datetime.now(UTC) - timedelta(**more)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ids(listed: dict[str, Any]) -> set[str]:
    return {one["id"] for one in listed["streams"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Streams of several ages, in several projects."""
    top = tmp_path_factory.mktemp("streams")
    ages = {"hour": {"hours": 1}, "days": {"days": 3}, "weeks": {"weeks": 3}}
    for name, age in ages.items():
        write_lines(top / "aged" / f"{name}.jsonl", {**build_prompt(1, stream=name), "timestamp": ago(**age)})
    for name, cwd in PLACES.items():
        write_lines(top / "placed" / f"{name}.jsonl", {**build_prompt(1, stream=name), "cwd": cwd})
    return top


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ([], {"hour", "days", "weeks"}),
        (["--since", "7d"], {"hour", "days"}),
        (["--since", "2h"], {"hour"}),
        (["--since", "4w"], {"hour", "days", "weeks"}),
        (["--since", " 7d "], {"hour", "days"}),
        (["--until", "7d"], {"weeks"}),
        (["--since", "7d", "--until", "1d"], {"days"}),
        (["--since", "2020-01-01"], {"hour", "days", "weeks"}),
        (["--until", "2020-01-01T10:00:00Z"], set()),
        (["--since", "2999-01-01T00:00:00+02:00"], set()),
    ],
)
def test_streams_are_chosen_by_time(folder: Path, tmp_path: Path, options: list[str], wanted: set[str]):
    assert ids(streams(folder / "aged", "--store", tmp_path / "s.db", *options)) == wanted


@pytest.mark.parametrize("option", ["--since", "--until"])
@pytest.mark.parametrize("given", ["nonsense", "7y", "-7d", "2026-13-45", "99999999999d", "0001-01-01", "9999-12-31"])
def test_a_time_that_is_none_is_told_in_one_line(tmp_path: Path, option: str, given: str):
    write_lines(tmp_path / "a.jsonl", build_prompt(1))
    env = {"TZ": "Pacific/Kiritimati" if given.startswith("0001") else "Pacific/Pago_Pago"}
    ran = run("streams", tmp_path, "--store", tmp_path / "s.db", "--json", f"{option}={given}", env=env)
    assert "Traceback" not in ran.err
    if given in ("0001-01-01", "9999-12-31"):
        assert ran.code in (0, 2)
    else:
        assert (ran.code, ran.out) == (2, "")
        assert is_one_line(ran.err)
        assert option in ran.err
        assert "7d" in ran.err


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("loom", {"loom"}),
        ("LOOM", {"loom"}),
        ("ada/wheel", {"Wheel"}),
        ("/home/ada", {"loom", "Wheel"}),
        ("%", {"percent"}),
        ("_", {"percent"}),
        ("reel", {"windows"}),
        ("nothing like it", set()),
        ("", set(PLACES)),
    ],
)
def test_streams_are_chosen_by_project(folder: Path, tmp_path: Path, given: str, wanted: set[str]):
    assert ids(streams(folder / "placed", "--store", tmp_path / "s.db", "--project", given)) == wanted


def test_a_dot_is_the_project_one_stands_in(tmp_path: Path):
    here, there = tmp_path / "here", tmp_path / "hereafter"
    here.mkdir()
    write_lines(tmp_path / "in" / "a.jsonl", {**build_prompt(1, stream="a"), "cwd": str(here)})
    write_lines(tmp_path / "in" / "b.jsonl", {**build_prompt(1, stream="b"), "cwd": str(there)})
    write_lines(tmp_path / "in" / "c.jsonl", {**build_prompt(1, stream="c"), "cwd": str(here / "deeper")})
    ran = run("streams", tmp_path / "in", "--store", tmp_path / "s.db", "--json", "--project", ".", cwd=here)
    assert ids(ran.json) == {"a", "c"}


def test_what_was_not_read_is_named_under_the_table(tmp_path: Path):
    write_lines(tmp_path / "a.jsonl", build_prompt(1), b"broken")
    ran = run("streams", tmp_path, "--store", tmp_path / "s.db")
    assert ran.code == 0
    assert "weave the blue scarf" in ran.out
    assert "1 skip" in ran.out
    assert "assay doctor" in ran.out


def test_a_file_that_is_no_transcript_is_named_with_what_it_is(tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.jsonl").write_bytes(b"\x7fELF\x00\x01")
    ran = run("streams", tmp_path / "in", "--store", tmp_path / "s.db")
    assert "x.jsonl is binary data, not a transcript" in " ".join(ran.out.split())


def test_streams_that_were_scored_first_have_the_same_facts(tmp_path):
    files = write_folder(tmp_path / "cc", 5)
    write_lines(files / "copy.jsonl", *build_conversation("0000-loom", 2))
    alone = streams(files, "--store", tmp_path / "a.db")
    here("score", files, "--store", tmp_path / "b.db")
    before = streams(files, "--store", tmp_path / "b.db")
    assert settled(before)["streams"] == settled(alone)["streams"]
    assert before["streams"][0]["facts"]


def test_showing_a_stream_establishes_its_facts(tmp_path):
    files = write_folder(tmp_path / "cc", 2)
    here("score", files, "--store", tmp_path / "b.db")
    shown = json.loads(here("show", "0001-loom", "--store", tmp_path / "b.db", "--json"))
    assert shown["stream"]["facts"]["tool_calls"] > 0


def test_where_no_path_is_given_those_of_the_settings_are_read(folder: Path, tmp_path: Path):
    mine = tmp_path / "assay.toml"
    mine.write_text(f'paths = ["{folder}/aged", "{folder}/placed"]\nstore = "s.db"\n')
    env = {"ASSAY_CONFIG": str(mine)}
    assert ids(run("streams", "--json", env=env).json) == {"hour", "days", "weeks", *PLACES}
    assert ids(run("streams", folder / "aged", "--json", env=env).json) == {"hour", "days", "weeks"}
    ran = run("streams", env={**env, "ASSAY_PATHS": str(tmp_path / "gone")})
    assert (ran.code, is_one_line(ran.err)) == (2, True)
    assert "paths in the settings" in ran.err
    assert "gone" in ran.err
