"""`assay doctor`: what was found, what was not understood, and what will soon be deleted."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from assay.testing.claude_code import build_conversation, build_prompt, build_record, write_lines
from tests.conftest import Ran, run

DAY = 86_400


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with two transcripts, one of them untouched for long, and what doctor has to tell of."""
    projects = tmp_path / ".claude" / "projects" / "-home-ada-loom"
    write_lines(
        projects / "young.jsonl", *build_conversation("young"), b"broken", {"type": "knot", "sessionId": "young"}
    )
    odd = build_record("system", 5, "old", subtype="unheard_of")
    old = write_lines(projects / "old.jsonl", {**build_prompt(1, stream="old"), "version": "1.0.88"}, odd)
    os.utime(old, (time.time() - 25 * DAY,) * 2)
    (projects / "empty.jsonl").write_bytes(b"")
    return tmp_path


def doctor(home: Path, *args: object, **env: str) -> Ran:
    return run("doctor", *args, env={"HOME": str(home), "ASSAY_STORE": str(home / "s.db"), **env})


def settle(folder: Path, content: str | None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if content is not None:
        (folder / "settings.json").write_text(content)
    return folder / "settings.json"


def test_all_that_matters_is_in_the_json(home: Path):
    health = doctor(home, "--json").json
    where = {one["path"]: (one["agent"], one["is_there"], one["files"]) for one in health["places"]}
    assert where[str(home / ".claude" / "projects")] == ("claude-code", True, 3)
    assert where[str(home / ".codex" / "sessions")] == ("codex", False, 0)
    assert health["versions"] == {"claude-code": {"1.0.88": 1, "2.1.300": 2}}
    assert health["unknown_records"] == {"claude-code knot": 1, "claude-code system/unheard_of": 1}
    assert [(Path(path).name, line) for path, line, _ in health["skips"]] == [("empty.jsonl", 0), ("young.jsonl", 9)]
    assert (health["lines_read"], health["lines_skipped"]) == (11, 1)
    assert health["store"] == str(home / "s.db")
    assert health["store_bytes"] > 0


def test_all_that_matters_is_shown(home: Path):
    shown = doctor(home, COLUMNS="300").out
    words = [
        str(home / ".claude" / "projects"), str(home / ".codex" / "sessions"), "not there", str(home / "s.db"),
        "1.0.88", "2.1.300", "knot", "system/unheard_of", "young.jsonl:9", "empty file", "cleanupPeriodDays",
        "old.jsonl",
    ]  # fmt: skip
    assert not [word for word in words if word not in shown]


@pytest.mark.parametrize(
    ("settings", "days", "is_default", "is_soon"),
    [
        (None, 30, True, True),
        ("{}", 30, True, True),
        ('{"cleanupPeriodDays": 3650}', 3650, False, False),
        ('{"cleanupPeriodDays": 60}', 60, False, False),
        ('{"cleanupPeriodDays": 28, "theme": "dark"}', 28, False, True),
        ('{"cleanupPeriodDays": 99999999}', 99999999, False, False),
        ('{"cleanupPeriodDays": "soon"}', 30, True, True),
        ('{"cleanupPeriodDays": null}', 30, True, True),
        ("not JSON", 30, True, True),
        ('["a list"]', 30, True, True),
    ],
)
def test_transcripts_that_will_soon_be_deleted_are_named(
    home: Path, settings: str | None, days: int, is_default: bool, is_soon: bool
):
    elsewhere = home / "elsewhere"
    for folder, env in ((home / ".claude", {}), (elsewhere, {"CLAUDE_CONFIG_DIR": str(elsewhere)})):
        if folder == elsewhere:
            (home / ".claude").rename(elsewhere)
        path = settle(folder, settings)
        (cleanup,) = doctor(home, "--json", **env).json["cleanup"]
        assert (cleanup["settings"], cleanup["days"], cleanup["is_default"]) == (str(path), days, is_default)
        assert [Path(one).name for one in cleanup["soon"]] == (["old.jsonl"] if is_soon else [])


def test_the_warning_says_what_to_write_where(home: Path):
    path = settle(home / ".claude", None)
    shown = doctor(home, COLUMNS="300").out
    assert f'"cleanupPeriodDays": 3650 into {path}' in shown
    assert "30 days" in shown


def test_a_folder_given_is_looked_at_instead(home: Path, tmp_path: Path):
    other = write_lines(tmp_path / "other" / "a.jsonl", build_prompt(1)).parent
    health: dict[str, Any] = doctor(home, other, "--json").json
    assert (health["files"], health["streams"]) == (1, 1)
    assert str(other) in [one["path"] for one in health["places"]]


def test_a_usual_folder_that_is_a_link_is_told_once_and_is_not_called_given(home: Path, tmp_path: Path):
    (home / ".claude").rename(tmp_path / "elsewhere")
    (home / ".claude").symlink_to(tmp_path / "elsewhere")
    places = [one for one in doctor(home, "--json").json["places"] if one["files"]]
    assert [(one["agent"], one["path"]) for one in places] == [("claude-code", str(home / ".claude" / "projects"))]


def test_deleted_files_are_counted(home: Path):
    doctor(home, "--json")
    (home / ".claude" / "projects" / "-home-ada-loom" / "old.jsonl").unlink()
    health = doctor(home, "--json").json
    assert (health["files"], health["gone"], health["streams"]) == (2, 1, 2)
    assert [one["soon"] for one in health["cleanup"]] == [[]]
    assert json.dumps(health)


def test_nowhere_to_look_but_folders(tmp_path: Path):
    said = run("doctor", env={"HOME": str(tmp_path)}).out
    assert ".claude/projects" in said
    assert "shipped:" not in said
