"""`assay eval` before and after a run: a suite to begin with, what can't be decided, and which run is meant."""

import json
import os
from pathlib import Path

import pytest

from assay.cli import eval_run
from assay.cli.eval_promote import pick_run
from assay.errors import BadInput
from assay.evals.deciding.planner import plan_suite
from assay.evals.running.run_folder import ROOT
from assay.evals.tasks.config import load_config
from assay.evals.tasks.starter import write_starter
from assay.evals.tasks.task import load_suite
from tests.conftest import is_one_line, run


@pytest.mark.parametrize("agent", ["claude-code", "codex", "command"])
def test_a_suite_to_begin_with_is_sound(tmp_path: Path, agent: str):
    ran = run("eval", "init", "--out", tmp_path / "evals", "--agent", agent, "--json")
    assert ran.json["agent"] == agent
    assert {Path(one) for one in ran.json["files"]} == {one for one in tmp_path.rglob("*") if one.is_file()}
    (task,) = load_suite(tmp_path / "evals/tasks").tasks
    assert (task.name, len(task.checks)) == ("hours", 3)
    sides = [load_config(str(tmp_path / f"evals/configs/{name}"), tmp_path) for name in ("baseline", "candidate")]
    assert {one.agent for one in sides} == {agent}
    assert sides[0].files.keys() == sides[1].files.keys()
    assert sides[0].sha256 != sides[1].sha256


def test_its_task_passes_its_own_check(tmp_path: Path):
    write_starter(tmp_path, "command")
    ran = run("eval", "check", tmp_path / "tasks", tmp_path / "configs/baseline", "-o", tmp_path / "c.json")
    assert ran.code == 0
    assert "✓ hours  2 of 3 checks pass untouched, 3 on the solution" in ran.out
    assert json.loads((tmp_path / "c.json").read_text())["kind"] == "checkups"


def test_nothing_that_is_there_is_touched(tmp_path: Path):
    write_starter(tmp_path, "command")
    mine = tmp_path / "tasks/hours/task.toml"
    mine.write_text("mine")
    ran = run("eval", "init", "--out", tmp_path)
    assert (ran.code, is_one_line(ran.err)) == (2, True)
    assert "nothing was written" in ran.err
    assert mine.read_text() == "mine"


@pytest.mark.long
def test_its_script_runs_and_the_candidate_passes(tmp_path: Path):
    write_starter(tmp_path, "command")
    sides = ("--baseline", tmp_path / "configs/baseline", "--candidate", tmp_path / "configs/candidate")
    ran = run("eval", "run", "--tasks", tmp_path / "tasks", *sides, "--rule", "seed", cwd=tmp_path)
    assert (ran.code, "improved" in ran.out) == (0, True)
    assert "hours: +0." in ran.out
    again = run("eval", "gate", "-o", tmp_path / "gate.md", cwd=tmp_path)
    assert again.code == 0
    assert (tmp_path / "gate.md").exists()


# --- what can't be decided ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "remedies"),
    [
        ((3, 3), ["2 more tasks: `assay eval mine", "--rule seed"]),
        ((4, 2), ["1 more task: `assay eval mine", "--repeats 3", "--rule seed"]),
        ((10, 3, 10), ["--repeats 28 with these tasks", "--rule seed"]),
        ((20, 5, 20), []),
        ((20, 5), []),
    ],
)
def test_what_would_decide_it_is_told(plan: tuple[int, ...], remedies: list[str]):
    found = plan_suite(*plan).remedies
    assert len(found) == len(remedies)
    assert all(said.startswith(wanted) for said, wanted in zip(found, remedies, strict=True))


@pytest.mark.parametrize(("answer", "goes_on"), [("y\n", True), ("\n", False), ("", False)])
def test_a_person_is_asked_before_money_goes_into_what_can_not_be_decided(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, goes_on: bool
):
    asked: list[str] = []
    monkeypatch.setattr(eval_run, "ask_person", lambda question: asked.append(question) or answer)
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    if goes_on:
        assert eval_run.promise_gain(plan_suite(3, 3), is_sure=False)
    else:
        with pytest.raises(BadInput, match="nothing spent"):
            eval_run.promise_gain(plan_suite(3, 3), is_sure=False)
    assert len(asked) == 1
    assert "what would decide it: 2 more tasks" in capsys.readouterr().err
    assert eval_run.promise_gain(plan_suite(3, 3), is_sure=True)
    assert eval_run.promise_gain(plan_suite(20, 5), is_sure=False)
    assert len(asked) == 1


def test_in_a_pipe_it_is_said_and_nobody_is_asked(capsys: pytest.CaptureFixture[str]):
    eval_run.promise_gain(plan_suite(3, 3), is_sure=False)
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[2].strip().partition(":")[0] for line in told] == [
        "cannot be decided with this suite",
        "what would decide it",
    ]


# --- which run --------------------------------------------------------------------------------------


def test_the_newest_run_is_meant_where_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="no run has ended"):
        pick_run(None, None)
    for age, name in enumerate(("newest", "older")):
        (ROOT / name).mkdir(parents=True)
        (ROOT / name / "result.json").write_text("{}")
        os.utime(ROOT / name / "result.json", (1_000 - age, 1_000 - age))
    assert pick_run(None, None) == ROOT / "newest"
    assert pick_run(Path("a"), None) == pick_run(None, Path("a")) == Path("a")
    with pytest.raises(BadInput, match="give one run"):
        pick_run(Path("a"), Path("b"))
    with pytest.raises(BadInput, match="which run"):
        pick_run(None, None, may_be_newest=False)
