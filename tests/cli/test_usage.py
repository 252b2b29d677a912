"""`assay usage`: totals in the terminal and as JSON."""

from pathlib import Path

import pytest

from assay.testing.claude_code import write_folder
from tests.conftest import Ran, is_one_line, run
from tests.tables import each_row


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("usage") / "in", 3)


def usage(folder: Path, *words: str) -> Ran:
    return run("usage", folder, *words, "--store", folder.parent / "s.db", env={"COLUMNS": "80"})


def test_without_a_wish_there_are_models_projects_and_days(folder: Path):
    ran = usage(folder)
    assert (ran.code, ran.err) == (0, "")
    assert [line.split("  ")[0] for line in ran.out.splitlines() if line.startswith("by ")] == [
        "by model", "by project", "by day", "by list prices; a subscription is billed otherwise",
    ]  # fmt: skip
    assert max(map(len, ran.out.splitlines())) <= 80


def test_one_table_is_shown_in_full_and_json_has_all(folder: Path):
    assert "by week" in usage(folder, "--by", "week").out
    found = usage(folder, "--json").json
    assert (found["kind"], list(found["by"])) == ("usage", ["day", "week", "month", "project", "model", "agent"])
    assert found["total"]["streams"] == 3
    assert found["total"]["tokens"]["output"] == sum(one["tokens"]["output"] for one in found["cells"])


def test_nothing_in_a_time_is_said_and_no_error(folder: Path):
    ran = usage(folder, "--since", "2030-01-01")
    assert (ran.code, is_one_line(ran.err)) == (0, True)
    assert ran.out == "– · 0 tokens · 0 streams\n"


@each_row(("words", "said"), [(["--by", "moon"], "give one of day"), (["--since", "soon"], "give a day")])
def test_what_can_not_be_is_refused_in_a_line(folder: Path, words: list[str], said: str):
    ran = usage(folder, *words)
    assert (ran.code, is_one_line(ran.err)) == (2, True)
    assert said in ran.err
