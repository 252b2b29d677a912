"""One truth on one machine: an option changes its own report alone, and commands agree about a session."""

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from assay.cli import options, quality, score, sessions, show
from assay.cli.settings import load_config
from assay.config import Boundaries, Config
from assay.errors import BadInput
from assay.pipeline.inputs import find_files
from assay.pipeline.scan import scan
from assay.pipeline.score import open_run, score_run
from assay.stores import open_store
from assay.testing.claude_code import ClaudeTranscript
from tests.conftest import Ran, is_one_line, run
from tests.pipeline.make_work import worked
from tests.pipeline.rework_repositories import Repository, code


def write_work(folder: Path) -> Path:
    """A conversation of which a commit makes two sessions where it always ends one."""
    folder.mkdir()
    work = ClaudeTranscript("loom")
    work.add_prompt("add a shuttle to loom.py, with a test").add_edit("loom.py", "a = 1", "a = 2")
    work.add_shell("git commit -am shuttle", "1 file changed").add_reply("The shuttle is there.")
    work.wait(minutes=30).add_prompt("now the test for the shuttle in loom.py").add_edit("loom.py", "a = 2", "a = 3")
    work.add_shell("pytest -q", "1 failed", exit_code=1).add_shell("grep -c pedal loom.py", exit_code=1)
    work.add_shell("cat nowhere.py", "No such file", exit_code=1)
    work.add_edit("loom.py", "a = 3", "a = 4").add_shell("pytest -q", "1 passed in 0.1s").add_reply("It passes now.")
    work.write(folder)
    return folder


def assay(top: Path, *words: object, **more: Any) -> Ran:
    return run(words[0], *words[1:], "--store", top / "s.db", **more)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    write_work(tmp_path / "in")
    return tmp_path


def test_a_what_if_changes_its_own_report_and_nothing_else(top: Path):
    plain = assay(top, "score", top / "in", "--json").json
    listed = assay(top, "sessions", top / "in", "--json").json
    one = listed["sessions"][0]["id"]
    before = [assay(top, "show", one, "--json").json, assay(top, "quality", one, "--json").json]
    other = assay(top, "score", top / "in", "--commit", "hard", "--json").json
    assert len(other["sessions"]) > len(plain["sessions"])
    assert other["what_if"] == {"flags": ["--commit hard"], "score": plain["score"]}
    assert assay(top, "sessions", top / "in", "--json").json == listed
    assert [assay(top, "show", one, "--json").json, assay(top, "quality", one, "--json").json] == before
    same = assay(top, "sessions", top / "in", "--commit", "hard", "--json").json
    assert same["sessions"] == other["sessions"]
    assert assay(top, "score", top / "in", "--json").json == plain


def test_a_what_if_is_told_in_the_report_with_what_the_settings_give(top: Path):
    assay(top, "score", top / "in")
    told = " ".join(assay(top, "score", top / "in", "--commit", "hard").out.split())
    assert re.search(r"This is with --commit hard: by your settings alone \d+ \(\d/\d\); other commands go by", told)
    assert "This is with" not in assay(top, "score", top / "in").out


def test_an_option_that_says_what_the_settings_say_is_no_what_if(top: Path):
    assert assay(top, "score", top / "in", "--commit", "confirm", "--json").json["what_if"] is None


def test_a_session_of_a_what_if_is_found_with_the_same_option_and_its_absence_says_so(top: Path):
    every = {one["id"] for one in assay(top, "score", top / "in", "--json").json["sessions"]}
    other = assay(top, "score", top / "in", "--commit", "hard", "--json").json["sessions"]
    late = next(one["id"] for one in other if one["id"] not in every)
    assert assay(top, "show", late, "--commit", "hard", "--json").json["session"]["id"] == late
    ran = assay(top, "show", late)
    assert (ran.code, is_one_line(ran.err)) == (2, True)
    assert "the last report was made with --commit hard: give the same" in ran.err


def test_show_and_quality_tell_the_same_chance_and_the_same_counts(top: Path):
    one = assay(top, "sessions", top / "in", "--json").json["sessions"][0]["id"]
    shown = " ".join(assay(top, "show", one).out.split())
    told = " ".join(assay(top, "quality", one, "--profile", "revised").out.split())
    chance = re.search(r"a chance of (0\.\d\d)", shown)
    calls, failed = re.search(r"calls (\d+), (\d+) × failed", shown).groups()
    assert chance
    assert f"chance of completion {chance[1]}" in told
    assert f"{failed} of {calls} calls failed" in told


def test_quality_goes_by_its_own_options_whatever_was_scored_before(top: Path):
    assay(top, "score", top / "in", "--judge", "anthropic", "--model", "claude-haiku-4-5")
    assert assay(top, "quality", "--dry-run", "--json", top / "in").json["judge"] == "offline"
    asked = assay(top, "quality", "--dry-run", "--json", top / "in", "--judge", "anthropic").json
    assert asked["model"] == "claude-sonnet-4-5"


def test_show_knows_the_repositories_of_the_last_report_wherever_it_is_run(tmp_path: Path):
    repository, elsewhere = Repository(tmp_path / "till"), tmp_path / "elsewhere"
    worked(tmp_path / "in", repository, "s1", 0, {"src/sum.py": code(20)})
    (tmp_path / "till").rename(tmp_path / "moved")
    elsewhere.mkdir()
    (elsewhere / "assay.toml").write_text('[boundaries]\ncommit = "off"\n')
    known = assay(tmp_path, "score", tmp_path / "in", "--repo", tmp_path / "moved", "--json").json["sessions"][0]
    assert known["facts"]["rework"]["state"] != "unknown"
    shown = assay(tmp_path, "show", known["id"], "--json", cwd=elsewhere).json["session"]
    assert shown["facts"]["rework"] == known["facts"]["rework"]


WRONG = {"model_votes": 99, "model_max_cost": "x", "boundaries_commit": "soft", "timezone": "Mars", "judge": "nobody"}


@pytest.mark.parametrize(
    "request_", [score.ScoreRequest, sessions.SessionsRequest, show.ShowRequest, quality.QualityRequest]
)
def test_a_bad_value_is_named_by_the_option_that_was_typed(request_: type):
    spelled = dict(list_settings(request_))
    for name, value in WRONG.items():
        if name in spelled:
            with pytest.raises(BadInput, match=re.escape(f"{spelled[name]} ")):
                load_config(**{name: value})


def list_settings(request: type) -> list[tuple[str, str]]:
    """Names of settings, and the option that overrides each."""
    found = []
    for hint in get_type_hints(request, include_extras=True).values():
        marks = [one for one in get_args(hint) if isinstance(one, options.Setting)]
        spelled = [one.param_decls[0] for one in get_args(hint) if getattr(one, "param_decls", None)]
        found += [(mark.name, word) for mark in marks for word in spelled]
    return found


def test_the_json_of_a_report_has_the_what_if(top: Path):
    kept = top / "report.json"
    assay(top, "score", top / "in", "--commit", "off", "-o", kept)
    assert json.loads(kept.read_bytes())["what_if"]["flags"] == ["--commit off"]


def test_to_look_at_sessions_otherwise_and_back_judges_nothing_anew(top: Path):
    with closing(open_store(f"sqlite:///{top}/s.db")) as store:
        scan(store, find_files([top / "in"]), 1, lambda *_: None)

        def count_judged(commit: Any) -> int:
            with open_run(store, Config(boundaries=Boundaries(commit=commit)), jobs=1) as run:
                return score_run(run, remembers=False).judged

        assert count_judged("confirm") > 0
        assert count_judged("hard") > 0
        assert [count_judged(commit) for commit in ("confirm", "hard", "confirm")] == [0, 0, 0]
