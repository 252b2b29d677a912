"""Questions as files: written, answered by hand, and taken back through the real path."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.testing.claude_code import write_lines
from tests.llm.judging import agreeable, talk

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]


def run(*args: object) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "benchmarks.questions", *map(str, args)]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)


def answer_all(folder: Path) -> list[str]:
    """Answer every text that has no answer yet; what they were about."""
    open_ = [one for one in sorted(folder.glob("*-*.txt")) if not one.with_suffix(".answer.json").exists()]
    for one in open_:
        said: dict[str, Any] = agreeable(one.name.split("-")[0], one.read_text("utf-8"))
        one.with_suffix(".answer.json").write_text(json.dumps(said), "utf-8")
    return [one.name.split("-")[0] for one in open_]


def test_topics_come_first_then_sessions_and_the_answers_become_a_score(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", *talk("loom"))
    folder = tmp_path / "q"
    assert "1 questions" in run("write", tmp_path / "a.jsonl", "-o", folder).stdout
    text = next(folder.glob("topic-*.txt")).read_text("utf-8")
    assert text.startswith("You judge recorded work sessions")
    assert "| Add a reed counter to loom.py and run the tests" in text
    assert "fits this JSON Schema" in text
    assert answer_all(folder) == ["topic"]
    assert "1 questions" in run("write", folder).stdout
    assert run("answer", folder).returncode != 0
    assert answer_all(folder) == ["session"]
    assert "all is answered" in run("write", folder).stdout
    done = run("answer", folder)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["sessions"]
    assert (found["judge"], found["title"], found["evidence"]) == ("anthropic", "Count reeds", "explicit")


def test_an_answer_that_cannot_be_used_is_told_with_its_file(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", *talk("loom"))
    folder = tmp_path / "q"
    run("write", tmp_path / "a.jsonl", "-o", folder)
    (text,) = folder.glob("topic-*.txt")
    text.with_suffix(".answer.json").write_text('{"gaps": []}', "utf-8")
    assert "`gaps` lacks 1 of the 1 turns" in run("write", folder).stderr
