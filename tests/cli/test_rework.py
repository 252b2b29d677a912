"""Rework on the command line: what `score` lists, what `show` names, and the options that both take."""

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran, is_one_line, run
from tests.pipeline.make_work import as_of, transcript, worked
from tests.pipeline.rework_repositories import Repository, code
from tests.plain_judge import install


@pytest.fixture(autouse=True)
def judge(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    install(monkeypatch, tmp_path_factory.mktemp("plugin"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A session that a later one replaced, one that stayed, one of which nothing is known."""
    repository, found = Repository(tmp_path / "till"), tmp_path / "in"
    worked(found, repository, "s1", 0, {"src/sum.py": code(20)})
    worked(found, repository, "s2", 1, {"src/tax.py": code(20, seed=3)})
    worked(found, repository, "s3", 5, {"src/sum.py": code(20, seed=2)})
    transcript(found, "s4", 6, cwd="/nowhere/till", files={"sum.py": code(20, seed=5)})
    return found


def assay(command: str, folder: Path, day: float, *args: object, **more: Any) -> Ran:
    given = [folder] if command != "show" else []
    judge = ["--judge", "plain"] if command != "show" else []
    store = ["--store", folder.parent / "s.db", "--as-of", as_of(day)]
    return run(command, *given, *args, *judge, *store, **more, env={"ASSAY_JUDGE": "plain"})


def id_of(folder: Path, stream: str, day: float) -> str:
    sessions = assay("sessions", folder, day, "--json").json["sessions"]
    found: str = next(one["id"] for one in sessions if stream in one["streams"])
    return found


def test_score_lists_sessions_that_lost_their_crush_since_the_last_run(folder: Path):
    before = assay("score", folder, 7).out
    assert "Lost their crush" not in before
    assert "3 of 4 crushed sessions may still be replaced: too young to tell" in before
    assert "unknown for 1 of 4 crushed sessions (1 its folder is not on this machine: see --repo)" in before
    assay("sessions", folder, 20)  # which is no report
    later, lost = id_of(folder, "s3", 20), id_of(folder, "s1", 20)
    after = assay("score", folder, 20).out.splitlines()
    told = after[after.index("Lost their crush since the last report") + 1]
    what = f"later replaced by session {later}, 100 % of its lines gone"
    assert told.strip().split("  ") == [lost, "Build s1", what]
    assert "Lost their crush" not in assay("score", folder, 20).out


def test_score_draws_how_long_lines_stay(folder: Path):
    shown = assay("score", folder, 20).out.splitlines()
    drawn = shown[shown.index("How long lines stay") + 1 :][:4]
    assert [line.split()[:2] for line in drawn] == [["1", "day"], ["3", "days"], ["7", "days"], ["14", "days"]]
    assert "100 %  60 lines" in drawn[0]
    assert "67 %" in drawn[2]


def test_show_names_the_later_commit_and_session_the_lines_and_the_share(folder: Path):
    lost, later = (id_of(folder, one, 20) for one in ("s1", "s3"))
    shown = assay("show", folder, 20, lost).out
    assert "✗ not crushed: later replaced" in shown
    assert f"later replaced by session {later}, 100 % of its lines (20 of 20) gone" in shown
    assert f"`assay show {later}`" in shown
    assert "`git show " in shown
    assert "still there, 0 % of its lines (0 of 20) gone" in assay("show", folder, 20, later).out
    assert "wrong" not in shown


def test_the_csv_and_the_markdown_have_it_too(folder: Path, tmp_path: Path):
    assay("score", folder, 7)
    assay("score", folder, 20, "-o", tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(newline="") as file:
        rows = {row["title"]: row for row in csv.DictReader(file)}
    assert [rows[f"Build s{n}"]["rework"] for n in (1, 2, 3, 4)] == ["yes", "no", "no", "unknown"]
    assert [rows["Build s1"][f"rework_{name}"] for name in ("share", "lines", "gone")] == ["1.0", "20", "20"]
    assert rows["Build s4"]["rework_detail"].startswith("its folder")
    assay("score", folder, 7)
    assay("score", folder, 20, "-o", tmp_path / "r.md")
    text = (tmp_path / "r.md").read_text()
    assert "## Lost their crush since the last report" in text
    assert "| after | still there | followed so long |" in text


def test_the_same_day_gives_the_same_bytes(folder: Path):
    ran = [assay("score", folder, 20, "--json").out for _ in range(2)]
    assert ran[0] == ran[1]


@pytest.mark.parametrize("command", ["score", "sessions", "show"])
@pytest.mark.parametrize(("option", "value"), [("--repo", "nowhere/at/all"), ("--as-of", "yesterday-ish")])
def test_what_can_not_be_used_is_told_before_anything_is_read(tmp_path: Path, command: str, option: str, value: str):
    ran = run(command, tmp_path, option, value, "--store", tmp_path / "s.db")
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert option in ran.err
    assert value in ran.err


def test_the_day_can_be_given_by_a_variable(folder: Path):
    args = ["score", folder, "--store", folder.parent / "s.db", "--judge", "plain", "--json"]
    found = run(*args, env={"ASSAY_AS_OF": as_of(7)}).json
    assert found["score"]["rework_open"] == 3


def test_a_repository_that_is_none_is_told(tmp_path: Path):
    (tmp_path / "in").mkdir()
    for given, why in ((tmp_path / "nowhere", "is no folder"), (tmp_path / "in", "is in no git repository")):
        ran = run("score", tmp_path / "in", "--store", tmp_path / "s.db", "--repo", given)
        assert (ran.code, ran.out) == (2, "")
        assert why in ran.err
