"""`assay compare`: two sides in the terminal and as JSON, and what is refused."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.resources import EXAMPLES
from assay.stores import open_store
from tests.conftest import Ran, is_one_line, run
from tests.stores.test_contract_promotions import CAREFUL
from tests.tables import each_row


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("compare")
    shutil.copytree(EXAMPLES / "claude-code", top / ".claude" / "projects")
    return top


def compare(home: Path, *words: str) -> Ran:
    return run("compare", *words, env={"HOME": str(home), "ASSAY_STORE": str(home / "s.db")}, cwd=home)


def test_before_and_after_a_day_are_compared(home: Path):
    ran = compare(home, "--before-after", "2026-11-05", "--as-of", "2026-12-01")
    assert (ran.code, ran.err) == (0, "")
    assert "before 2026-11-05" in ran.out
    assert ": no difference shown" in ran.out
    found = compare(home, "--before-after", "2026-11-05", "--as-of", "2026-12-01", "--json").json
    assert [one["name"] for one in found["sides"]] == ["before 2026-11-05", "from 2026-11-05"]
    assert [one["score"]["counted"] for one in found["sides"]] == [8, 8]


def test_two_models_are_compared_in_the_days_that_are_asked_for(home: Path):
    found = compare(home, "model:sonnet", "opus", "--until", "2026-11-05", "--json").json
    assert [(one["name"], one["sessions"]) for one in found["sides"]] == [("model sonnet", 6), ("model opus", 1)]


def test_paths_stand_behind_the_sides(home: Path):
    elsewhere = {"HOME": str(home / "nowhere"), "ASSAY_STORE": str(home / "other.db")}
    ran = run("compare", "2026-11-02", "2026-11-03", home / ".claude", "--json", env=elsewhere)
    assert [one["sessions"] for one in ran.json["sides"]] == [2, 3]


@each_row(
    ("words", "said"),
    [
        ([], "give two sides"), (["opus"], "give two sides"), (["opus", "spindle"], "'spindle' is no project"),
        (["2019", "2020-01"], "'2019' is no project"), (["2020-01", "2026-11"], "no session began then"),
        (["opus", "sonnet", "--since", "2030-01-01"], "none of 17 sessions fits --since 2030-01-01"),
        (["project:moon", "project:loom"], "there are: ledger, tide-clock"),
        (["--since-promotion"], "nothing was promoted"), (["--since-promotion", "x"], "nothing was promoted"),
        (["--since-promotion", "--before-after", "7d"], "give one"),
        (["--before-after", "soon"], "give a day"), (["opus", "opus"], "are the same sessions"),
    ],
)  # fmt: skip
def test_what_can_not_be_compared_is_refused_in_a_line(home: Path, words: list[str], said: str):
    ran = compare(home, *words)
    assert (ran.code, is_one_line(ran.err), ran.out) == (2, True, "")
    assert said in ran.err


def test_sessions_since_a_promotion_are_compared_with_those_before(home: Path):
    store = home / "promoted.db"
    folders = run("score", home / ".claude", "--json", env={"HOME": str(home), "ASSAY_STORE": str(store)}).json
    project = next(one["project"] for one in folders["sessions"] if one["project"].endswith("tide-clock"))
    with closing(open_store(f"sqlite:///{store}")) as opened:
        opened.promotions.save_promotion(replace(CAREFUL, at="2026-11-04T00:00:00.000Z", project=project))
    words = ["--since-promotion", "careful", "--as-of", "2026-12-01", "--store", str(store)]
    ran = compare(home, *words)
    assert (ran.code, ran.err) == (0, "")
    assert "careful  tide-clock, claude-code: promoted 2026-11-04; proven improved by 0.125 on 6 tasks" in ran.out
    assert "nobody can tell when it was merged" in ran.out
    [found] = compare(home, *words, "--json").json["promotions"]
    assert (found["is_merged"], found["promotion"]["name"]) == (None, "careful")
    assert [one["name"] for one in found["comparison"]["sides"]] == ["before 2026-11-04", "since 2026-11-04"]
    assert found["verdict"] in ("too_early", "nothing_before", "inconclusive")
    assert "there are: careful" in compare(home, "--since-promotion", "slow", "--store", str(store)).err
