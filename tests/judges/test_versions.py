"""A judge's version changes with all that decides its answers, and with nothing else."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import assay
from assay.judges import offline
from assay.resources import hash_parts
from assay.sessions import speech

JOBS = {"topic", "language", "rubric", "outcome"}
SOURCE = Path(assay.__file__).parent
ASK = "import json; from assay.judges.offline import versions; print(json.dumps(versions()))"


def test_every_job_has_a_short_version_of_its_own() -> None:
    found = offline.versions()
    assert set(found) == JOBS
    assert len(set(found.values())) == len(JOBS)
    assert all(len(one) == 12 and int(one, 16) >= 0 for one in found.values())
    assert found == offline.versions()


def test_a_version_tells_code_table_and_phrases_apart() -> None:
    phrases = speech.hash_phrases()
    known = [
        hash_parts("1", phrases, b"table"),
        hash_parts("2", phrases, b"table"),
        hash_parts("1", phrases, b"another"),
        hash_parts("1", phrases[::-1], b"table"),
        hash_parts("1", phrases),
        hash_parts("1", "no table", phrases),
    ]
    assert len(set(known)) == len(known)
    assert hash_parts("1", phrases, b"table") == known[0]


Ask = Callable[[str, str], dict[str, str]]


@pytest.fixture
def versions_with(tmp_path: Path) -> Ask:
    """The versions that a copy of the package tells once something is written behind one of its files."""

    def ask(file: str, more: str) -> dict[str, str]:
        copy = tmp_path / "assay"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "examples"))
        with (copy / file).open("a", encoding="utf-8") as changed:
            changed.write(more)
        env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", ASK], env=env, cwd=tmp_path, capture_output=True, check=True)
        found: dict[str, str] = json.loads(done.stdout)
        return found

    return ask


@pytest.mark.parametrize(
    ("file", "more", "changed"),
    [
        ("judges/offline/topic.toml", "# another weight\n", {"topic"}),
        ("judges/offline/rubric.toml", "# another weight\n", {"rubric"}),
        ("judges/offline/outcome.toml", "# another weight\n", {"outcome"}),
        ("sessions/speech/en.toml", "# another phrase\n", JOBS),
        ("judges/offline/topic.py", "", set()),
    ],
    ids=["topic table", "rubric table", "outcome table", "phrases", "nothing"],
)
def test_a_changed_file_changes_the_versions_of_the_jobs_that_read_it(
    file: str, more: str, changed: set[str], versions_with: Ask
) -> None:
    before, after = offline.versions(), versions_with(file, more)
    assert {job for job in JOBS if before[job] != after[job]} == changed
