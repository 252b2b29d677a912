"""Many sessions for benchmarks: as many as were asked for, read without a skip, always the same."""

from pathlib import Path
from typing import Any

import pytest

import assay
from assay.scores.report import Report
from benchmarks.many_sessions import make_sessions, shrink_grown, write_addition

ASKED = 130


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    out = tmp_path_factory.mktemp("many")
    return out, make_sessions(out, ASKED, seed=3)


@pytest.fixture(scope="module")
def report(made: tuple[Path, dict[str, Any]]) -> Report:
    return assay.score(made[0], store=made[0] / "store.db", jobs=1, timezone="UTC")


def read_all(out: Path) -> dict[str, bytes]:
    return {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*.jsonl")}


def test_nothing_of_it_is_skipped_and_there_are_about_as_many_sessions_as_asked_for(report: Report):
    assert not report.skipped.lines
    assert not report.skipped.files
    assert len(report.sessions) == pytest.approx(ASKED, rel=0.15)


def test_both_agents_several_projects_weeks_and_models_are_in_it_and_work_is_gone_on_with(report: Report):
    assert {one.agent for one in report.sessions} == {"claude-code", "codex"}
    assert len({one.project for one in report.sessions}) > 2
    assert len({one.started_at[:7] for one in report.sessions if one.started_at}) > 6
    assert len({model for one in report.sessions for model in one.models}) > 3
    assert any(one.merged_from for one in report.sessions)
    assert {one.crushed for one in report.sessions} == {True, False, None}


def test_the_same_seed_makes_the_same_files_and_files_that_are_there_are_used(
    made: tuple[Path, dict[str, Any]], tmp_path: Path
):
    out, told = made
    assert make_sessions(out, ASKED, seed=3) == told
    make_sessions(tmp_path, ASKED, seed=3)
    assert read_all(tmp_path) == read_all(out)
    with pytest.raises(FileExistsError, match="name another folder"):
        make_sessions(out, ASKED, seed=4)


def test_a_file_that_grew_is_as_it_was_once_that_is_taken_back(tmp_path: Path):
    told = make_sessions(tmp_path, 20)
    file = tmp_path / told["grown"]
    before = file.read_bytes(), file.stat().st_mtime_ns
    with file.open("ab") as grown:
        grown.write(write_addition(file, 1))
    assert file.read_bytes().count(b"\n") == before[0].count(b"\n") + 2
    shrink_grown(tmp_path, told)
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
