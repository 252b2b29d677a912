"""`assay report`: files to look at and hand on, two sides compared, and a digest for a mail."""

import json
import shutil
from pathlib import Path

import pytest

from assay.resources import EXAMPLES
from tests.conftest import Ran, is_one_line, run
from tests.tables import each_row


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("report")
    shutil.copytree(EXAMPLES / "claude-code", top / ".claude" / "projects")
    return top


def report(home: Path, *words: str) -> Ran:
    return run("report", *words, env={"HOME": str(home), "ASSAY_STORE": str(home / "s.db")}, cwd=home)


def test_without_a_file_markdown_is_printed(home: Path):
    ran = report(home)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("# PRISM Score\n")


def test_a_report_says_what_score_says(home: Path):
    scored = run("score", "--json", env={"HOME": str(home), "ASSAY_STORE": str(home / "s.db")}, cwd=home).json
    assert report(home, "--json").json == scored


def test_two_sides_stand_in_every_format_that_has_room_for_them(home: Path):
    sides = ("--compare", "2026-11-01..2026-11-05", "2026-11-06..2026-11-14")
    ran = report(home, *sides, "-o", "r.md", "-o", "r.json", "-o", "r.csv")
    assert (ran.code, ran.out) == (0, "")
    assert "## Two sides compared" in (home / "r.md").read_text()
    found = json.loads((home / "r.json").read_text())
    assert [one["name"] for one in found["comparison"]["sides"]] == list(sides[1:])
    assert found["kind"] == "report"


def test_the_sides_are_taken_from_all_sessions_whatever_the_report_is_about(home: Path):
    sides = ("--compare", "2026-11-02", "2026-11-03")
    found = report(home, "--since", "2026-11-06", *sides, "--json").json
    assert [one["sessions"] for one in found["comparison"]["sides"]] == [2, 3]


def test_a_digest_fits_a_message_and_names_what_to_do(home: Path):
    ran = report(home, "--digest", "--as-of", "2026-11-08")
    assert ran.code == 0
    assert ran.out.startswith("Sessions from 2026-11-02 to 2026-11-08: PRISM Score ")
    assert "the truth lies between" in ran.out
    assert "Try: " in ran.out
    assert len(ran.out) < 2_000
    assert ran.out.count("\n") < 20


def test_a_digest_tells_how_the_days_before_went(home: Path):
    said = report(home, "--digest", "--as-of", "2026-11-10").out
    assert "Against 14d..7d: " in said
    assert "no difference shown" in said


def test_a_digest_of_a_week_in_which_nothing_happened_says_so(home: Path):
    ran = report(home, "--digest", "--as-of", "2027-03-01")
    assert ran.code == 0
    assert "no score, nothing counts" in ran.out
    assert "none of 17 sessions fits --since 2027-02-23" in ran.err


def test_a_digest_is_kept_as_text(home: Path):
    ran = report(home, "--digest", "--as-of", "2026-11-08", "-o", "week.txt")
    assert (ran.code, ran.out) == (0, "")
    assert (home / "week.txt").read_text().startswith("Sessions from 2026-11-02")


@each_row(
    ("words", "said"),
    [
        (["-o", "x.pdf"], "give a file that ends in"), (["--digest", "-o", "x.csv"], "give a file that ends in .txt"),
        (["--digest", "--json"], "a digest is text"), (["--compare", "spindle", "opus"], "'spindle' is no project"),
        (["--compare", "2020-01", "2026-11"], "no session began then"), (["nowhere"], "nowhere"),
    ],
)  # fmt: skip
def test_what_can_not_be_reported_is_refused_in_a_line(home: Path, words: list[str], said: str):
    ran = report(home, *words)
    assert (ran.code, is_one_line(ran.err), ran.out) == (2, True, "")
    assert said in ran.err
