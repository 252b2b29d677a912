"""`assay advise`: in the terminal and as JSON."""

import shutil
from pathlib import Path

import pytest

from assay.resources import EXAMPLES
from tests.conftest import is_one_line, run


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("advise")
    shutil.copytree(EXAMPLES / "claude-code", top / ".claude" / "projects")
    return top


def test_few_sessions_are_told_and_what_ended_them_is_counted(home: Path):
    env = {"HOME": str(home), "ASSAY_STORE": str(home / "s.db"), "COLUMNS": "80"}
    ran = run("advise", "--as-of", "2026-12-01", env=env, cwd=home)
    assert (ran.code, ran.err) == (0, "")
    said = " ".join(ran.out.split())
    assert "Of habits nothing can be said: 16 sessions count" in said
    assert "What ended the 4 that did not land" in said
    found = run("advise", "--as-of", "2026-12-01", "--json", env=env, cwd=home).json
    assert (found["kind"], found["counted"], found["habits"]) == ("advice", 16, [])
    mined = run("eval", "mine", found["endings"][0]["sessions"][0]["id"], "--into", home / "tasks", env=env, cwd=home)
    assert is_one_line(mined.err)  # the examples' repository is not here; the session is known
    assert "no session" not in mined.err


def test_nobody_is_no_advice(tmp_path: Path):
    ran = run("advise", env={"HOME": str(tmp_path), "ASSAY_STORE": str(tmp_path / "s.db")}, cwd=tmp_path)
    assert ran.code == 2
    assert "no transcripts found" in ran.err
