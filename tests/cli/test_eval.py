"""`assay eval`: from folders to a verdict, with the exit code that follows from it."""

import json
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from assay.testing.models import ModelServer
from tests.conftest import Ran, is_one_line, run
from tests.evals.run.make import BUSY, served, task, tree

pytestmark = pytest.mark.long

EXAMPLE = Path(__file__).parents[2] / "examples" / "evaluation"
TASKS, CONFIGS = EXAMPLE / "tasks", EXAMPLE / "configs"
WOVEN = "cat > /dev/null; echo blue > scarf.txt"


def evaluated(
    tmp: Path, baseline: str, candidate: str, *more: object, tasks: Path = TASKS, env: dict[str, str] | None = None
) -> Ran:
    sides = [CONFIGS / name if (CONFIGS / name).is_dir() else tmp / name for name in (baseline, candidate)]
    args = ("--tasks", tasks, "--baseline", sides[0], "--candidate", sides[1], "--out", tmp / "run")
    return run("eval", "run", *args, *more, cwd=tmp, env=env)


def agent(tmp: Path, name: str, script: str) -> str:
    told = 'agent = "command"\ncommand = ["./agent.sh"]\n'
    tree(tmp / name, {"config.toml": told, "agent.sh": f"#!/bin/sh\n{script}\n"})
    return name


def told(ran: Ran) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran.out)
    assert found["exit_code"] == ran.code
    return found


@pytest.fixture(scope="module")
def better(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A run in which the candidate is better, and what it printed."""
    tmp = tmp_path_factory.mktemp("better")
    return tmp / "run", told(evaluated(tmp, "plain", "better", "--jobs", 2, "--json"))


# --- verdicts and exit codes ------------------------------------------------------------------


def test_the_example_suite_is_a_good_one():
    ran = run("eval", "check", TASKS, CONFIGS / "plain", CONFIGS / "better")
    assert (ran.code, ran.err) == (0, "")
    assert not [one.name for one in TASKS.iterdir() if f"✓ {one.name}" not in ran.out]


def test_a_better_candidate_may_go_in(better):
    folder, found = better
    assert (found["verdict"], found["promote"], found["exit_code"]) == ("improved", True, 0)
    assert {one["task"]: one["candidate_passes"] - one["baseline_passes"] for one in found["tasks"]} == {
        "hem": 3, "knit": 3, "purl": 0, "spin": 3, "weave": 0,
    }  # fmt: skip
    assert found["regressions"] == []
    assert found["statistics"]["p_better"] <= 0.01
    assert json.loads((folder / "comparison.json").read_text())["verdict"] == "improved"


def test_an_agent_that_ended_left_nothing_running(better):
    assert not [note for note in better[1]["run"]["notes"] if "left" in note]


def test_the_guard_runs_again_what_must_pass(better):
    _, found = better
    (suspect,) = found["suspects"]
    assert (suspect["task"], suspect["candidate_trials"], suspect["is_confirmed"]) == ("weave", 16, False)
    assert sum(one["stage"] == "guard" for one in found["run"]["trials"]) == 32


def test_every_arm_names_the_files_it_was_given(better):
    _, found = better
    loaded = {arm: [one["path"] for one in side["loaded"]] for arm, side in found["run"]["arms"].items()}
    assert loaded == {"baseline": ["AGENTS.md"], "candidate": ["AGENTS.md"]}
    marks = {side["loaded"][0]["fingerprint"] for side in found["run"]["arms"].values()}
    assert len(marks) == 2


def test_a_worse_candidate_stays_out_by_either_rule(tmp_path):
    found = told(evaluated(tmp_path, "plain", "worse", "--rule", "seed", "--json"))
    assert (found["verdict"], found["label"], found["exit_code"]) == ("regressed", "single-run", 1)
    assert ("weave", "objective_drop") in {(one["task"], one["kind"]) for one in found["regressions"]}
    other = tmp_path / "other"
    other.mkdir()
    found = told(evaluated(other, "better", "worse", "--jobs", 2, "--json"))
    assert (found["verdict"], found["label"], found["exit_code"]) == ("regressed", "tested", 1)


def test_too_few_tasks_decide_nothing_and_it_is_said_before(tmp_path):
    ran = evaluated(tmp_path, "plain", "plain", "--json", tasks=TASKS / "weave")
    assert told(ran)["verdict"] == "inconclusive"
    assert ran.code == 3
    assert "cannot be decided with this suite" in ran.err


def spending(tokens: int) -> str:
    return f"""echo '{{"tokens": {tokens}, "tool_calls": 2, "steps": 2}}' > "$ASSAY_RESULT_DIR/cost.json" """


def test_a_gain_on_a_suite_without_checks_is_invalid(tmp_path):
    for name in ("hem", "knit", "purl", "spin", "weave"):
        folder = task(tmp_path / "tasks", name, checks=[])
        (folder / "task.toml").write_text('prompt = "weave"\n[rubric]\ntext = "It is woven."\n')
    sides = agent(tmp_path, "dear", spending(64_000)), agent(tmp_path, "cheap", spending(1_000))
    ran = evaluated(tmp_path, *sides, "--json", "--jobs", 2, tasks=tmp_path / "tasks")
    assert (told(ran)["verdict"], ran.code) == ("invalid", 4)


def test_a_budget_stops_a_run_and_more_money_goes_on_with_it(tmp_path):
    short = evaluated(tmp_path, "plain", "worse", "--rule", "seed", "--max-cost", 0.035, "--json")
    found = told(short)
    assert (short.code, found["run"]["stopped"], found["run"]["done"], found["promote"]) == (5, "budget", 3, False)
    assert run("eval", "gate", tmp_path / "run").code == 5
    whole = told(evaluated(tmp_path, "plain", "worse", "--rule", "seed", "--json"))
    assert (whole["run"]["done"], whole["exit_code"]) == (10, 1)
    kept = {one["folder"] for one in found["run"]["trials"]}
    assert kept < {one["folder"] for one in whole["run"]["trials"]}


def test_sequential_mode_stops_when_it_is_decided(tmp_path):
    found = told(evaluated(tmp_path, "worse", "better", "--sequential", "--jobs", 2, "--json"))
    assert (found["label"], found["verdict"]) == ("sequential", "improved")
    assert max(one["repeat"] for one in found["run"]["trials"] if one["stage"] == "main") < 10


def test_infrastructure_that_fails_is_no_verdict_on_the_agent(tmp_path):
    task(tmp_path / "tasks")
    _, env = served(tmp_path, WOVEN, BUSY)
    ran = evaluated(
        tmp_path, "a", "b", "--rule", "seed", "--json", tasks=tmp_path / "tasks", env={"PATH": env["PATH"]},
    )  # fmt: skip
    found = told(ran)
    assert (found["verdict"], found["promote"]) == ("invalid", False)
    assert {one["state"] for one in found["run"]["trials"]} == {"done", "failed_infrastructure"}
    assert told(run("eval", "compare", tmp_path / "run", "--json")) == found


def test_thresholds_are_chosen_before_the_first_trial_and_told(tmp_path):
    (tmp_path / "assay.toml").write_text("[eval]\nregression_composite_drop = 0.5\nmin_composite_gain = 0.5\n")
    found = told(evaluated(tmp_path, "worse", "better", "--rule", "seed", "--eval-min-composite-gain", 9, "--json"))
    assert found["verdict"] == "neutral"
    assert "looser than usual: regression_composite_drop 0.5, not 0.05" in found["reasons"]
    assert "stricter than usual: min_composite_gain 9.0, not 0.01" in found["reasons"]
    held = json.loads((tmp_path / "run" / "lock.json").read_text())["more"]["thresholds"]
    assert json.loads(held)["min_composite_gain"] == 9.0
    again = evaluated(tmp_path, "worse", "better", "--rule", "seed", "--eval-min-composite-gain", 0)
    assert again.code == 2
    assert "thresholds changed" in again.err


@pytest.mark.parametrize(
    ("flag", "value"), [("alpha", 0.5), ("alpha", 0), ("min-gain", -1), ("min-composite-gain", -1)]
)
def test_a_threshold_out_of_its_range_is_refused(tmp_path, flag: str, value: float):
    ran = evaluated(tmp_path, "worse", "better", f"--eval-{flag}", value)
    assert (ran.code, is_one_line(ran.err)) == (2, True)
    assert f"--eval-{flag}" in ran.err


# --- the same command again, and what is kept -------------------------------------------------


def test_the_same_command_again_runs_nothing_twice(tmp_path):
    task(tmp_path / "tasks")
    both = [agent(tmp_path, name, f"{WOVEN}; echo . >> ran.txt") for name in ("a", "b")]
    first = evaluated(tmp_path, *both, "--rule", "seed", "--json", tasks=tmp_path / "tasks")
    again = evaluated(tmp_path, *both, "--rule", "seed", "--json", tasks=tmp_path / "tasks")
    assert told(first) == told(again)


def test_a_run_is_not_prolonged_until_it_wins(tmp_path):
    evaluated(tmp_path, "plain", "worse", "--rule", "seed")
    ran = evaluated(tmp_path, "plain", "worse", "--repeats", 3)
    assert ran.code == 2
    assert "repeats changed" in ran.err


def test_candidates_of_one_baseline_are_counted(tmp_path):
    args = ("--tasks", TASKS / "weave", "--baseline", CONFIGS / "plain", "--rule", "seed", "--json")
    attempts = []
    for name in ("worse", "better", "worse"):
        ran = run("eval", "run", *args, "--candidate", CONFIGS / name, cwd=tmp_path)
        attempts.append(told(ran)["evidence"]["design"]["attempt"])
    assert attempts == [1, 2, 1]
    assert (tmp_path / ".assay/runs/.gitignore").read_text() == "*\n"


@pytest.mark.parametrize("name", ["compare", "gate", "replay"])
def test_a_run_that_ended_is_told_again_alike(better, name: str):
    folder, found = better
    again = told(run("eval", name, folder, "--json"))
    assert (again["verdict"], again["exit_code"]) == ("improved", 0)
    assert again["tasks"] == found["tasks"]


def changed(folder: Path, name: str, tmp: Path) -> Path:
    """A copy of a run with one thing altered by hand."""
    copy = tmp / "copy"
    shutil.copytree(folder, copy)
    if name == "comparison":
        file = copy / "comparison.json"
        file.write_text(file.read_text().replace('"net_gain": 0.', '"net_gain": 0.9'))
    elif name == "trial":
        file = next(copy.glob("trials/hem/main-01-baseline*/trial.json"))
        file.write_text(file.read_text().replace('"passed": false', '"passed": true'))
    elif name == "place":
        here, there = (next(copy.glob(f"trials/{task}/main-01-baseline*/trial.json")) for task in ("hem", "purl"))
        here.write_bytes(there.read_bytes())
    else:
        next(copy.glob("trials/hem/main-01-baseline*/attempt-01/checks.json")).write_text("[]")
    return copy


@pytest.mark.parametrize("what", ["comparison", "trial", "place", "evidence"])
def test_what_was_changed_by_hand_does_not_pass_the_gate(better, tmp_path, what: str):
    copy = changed(better[0], what, tmp_path)
    for name in ("gate",) if what == "comparison" else ("gate", "compare", "replay"):
        ran = run("eval", name, copy)
        assert (ran.code, ran.out) == (4, ""), name
        assert is_one_line(ran.err)


def test_an_edited_trial_is_not_laundered_by_running_the_same_again(tmp_path):
    args = ("plain", "better", "--rule", "seed")
    assert evaluated(tmp_path, *args).code == 0
    for file in (tmp_path / "run").glob("trials/*/*-baseline-*/trial.json"):
        cost = re.compile(r'("(?:tokens|steps|tool_calls)": )(\d+)')
        file.write_text(cost.sub(lambda one: f"{one[1]}{4 * int(one[2])}", file.read_text()))
    repository = tree(tmp_path / "repository", {"x": ""})
    again = [
        evaluated(tmp_path, *args),
        *(run("eval", name, tmp_path / "run") for name in ("gate", "compare", "replay")),
    ]
    for ran in again:
        assert (ran.code, ran.out) == (4, "")
        assert is_one_line(ran.err)
    assert run("eval", "promote", tmp_path / "run", "--repo", repository).code == 4
    assert "trial.json" in evaluated(tmp_path, *args).err


# --- what can't be used is told ---------------------------------------------------------------


MISTAKES: dict[str, tuple[tuple[object, ...], str]] = {
    "no tasks": (("run", "--tasks", "nowhere", "--baseline", CONFIGS / "plain", "--candidate", "x"), "nowhere"),
    "no config": (("run", "--tasks", TASKS, "--baseline", "nowhere", "--candidate", "x"), "nowhere"),
    "a rule nobody knows": (
        ("run", "--tasks", TASKS, "--baseline", CONFIGS / "plain", "--candidate", CONFIGS / "plain", "--rule", "luck"),
        "--rule 'luck'",
    ),
    "seed with repeats": (
        ("run", "--tasks", TASKS, "--baseline", CONFIGS / "plain", "--candidate", CONFIGS / "plain", "--rule", "seed",
         "--repeats", "2"),
        "one run per side",
    ),
    "sequential with repeats": (
        ("run", "--tasks", TASKS, "--baseline", CONFIGS / "plain", "--candidate", CONFIGS / "plain", "--sequential",
         "--repeats", "4"),
        "--sequential",
    ),
    "more than the suite can show": (
        ("run", "--tasks", TASKS, "--baseline", CONFIGS / "plain", "--candidate", CONFIGS / "plain", "--want", "5"),
        "cannot be decided with this suite",
    ),
    "a format nobody knows": (
        ("run", "--tasks", TASKS, "--baseline", CONFIGS / "plain", "--candidate", CONFIGS / "plain", "-o", "x.pdf"),
        ".html",
    ),
    "no run": (("compare", "nowhere"), "no such file or folder"),
    "nothing begun": (("gate", "."), "no run was begun here"),
    "no tasks to check": (("check", "nowhere"), "nowhere"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_cannot_be_used_is_told_in_a_line_and_nothing_is_run(tmp_path, mistake: str):
    args, why = MISTAKES[mistake]
    ran = run("eval", *args, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert why in ran.err
    assert is_one_line(ran.err)
    assert not list(tmp_path.rglob("lock.json"))


def test_a_missing_agent_is_an_error_and_never_a_verdict(tmp_path):
    tree(tmp_path / "codex", {"config.toml": 'agent = "codex"\n'})
    ran = run(
        "eval", "run", "--tasks", TASKS, "--baseline", tmp_path / "codex", "--candidate", tmp_path / "codex",
        "--out", tmp_path / "run", env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert (ran.code, ran.out) == (2, "")
    assert "no program called codex" in ran.err


def test_a_task_that_passes_untouched_is_no_good(tmp_path):
    task(tmp_path / "tasks", files={"workspace/scarf.txt": "blue"})
    ran = run("eval", "check", tmp_path / "tasks", "--json")
    assert ran.code == 2
    assert "an agent that does nothing would pass" in json.loads(ran.out)["tasks"][0]["problems"][0]


def test_the_planner_says_what_can_be_proven(better):
    ran = run("eval", "plan", "--tasks", TASKS, "--repeats", 5)
    assert ran.code == 0
    assert "25 trials per side" in ran.out
    small = run("eval", "plan", "--tasks", TASKS, "--want", 5, "--json")
    assert (small.code, json.loads(small.out)["is_decidable"]) == (3, False)
    known = json.loads(run("eval", "plan", "--tasks", TASKS, "--pilot", better[0], "--json").out)
    assert known["usd"] == pytest.approx(0.3)


# --- files ------------------------------------------------------------------------------------


def test_reports_are_kept_in_as_many_files_as_are_asked_for(better, tmp_path):
    folder, found = better
    names = ("a.json", "a.md", "a.html", "a.junit.xml")
    ran = run("eval", "compare", folder, *(part for name in names for part in ("-o", tmp_path / name)))
    assert ran.code == 0
    assert json.loads((tmp_path / "a.json").read_text())["verdict"] == found["verdict"]
    assert (tmp_path / "a.md").read_text().startswith("<!-- assay:evaluation -->\n")
    assert ET.parse(tmp_path / "a.junit.xml").getroot().attrib["failures"] == "0"
    html = (tmp_path / "a.html").read_text()
    links = [one for one in re.findall(r'href="([^"]+)"', html) if not one.startswith(("#", "data:"))]
    assert len(links) >= len(found["run"]["trials"])
    assert not [one for one in links if not (tmp_path / one).exists()]


# --- rubrics ----------------------------------------------------------------------------------


def rubric_task(tmp: Path) -> Path:
    folder = task(tmp / "tasks")
    file = folder / "task.toml"
    file.write_text(file.read_text() + '[rubric]\ntext = "The scarf is blue all over."\n')
    return tmp / "tasks"


def judged(tmp: Path, service: ModelServer, *more: object) -> Ran:
    sides = agent(tmp, "a", "echo red > scarf.txt"), agent(tmp, "b", WOVEN)
    asked = ("--judge", "openai", "--model", "m", "--model-url", f"{service.url}/v1", "--store", tmp / "s.db")
    return evaluated(tmp, *sides, "--rule", "seed", "--json", *asked, *more, tasks=rubric_task(tmp))


def test_rubrics_are_judged_by_a_model_that_knows_no_arm(tmp_path):
    def reply(_: str, text: str) -> dict[str, Any]:
        return {"rationale": "Looked at it.", "score": 0.75 if "+blue" in text else 0.25}

    with ModelServer(reply) as service:
        ran = judged(tmp_path, service, "--yes")
        again = judged(tmp_path, service, "--yes")
        assert len(service.calls) == 2
    trials = {one["arm"]: (one["judge01"], one["rationale"]) for one in told(ran)["run"]["trials"]}
    assert trials == {"baseline": (0.25, "Looked at it."), "candidate": (0.75, "Looked at it.")}
    assert told(again)["run"]["trials"] == told(ran)["run"]["trials"]
    assert all("The scarf is blue all over." in json.dumps(call.body) for call in service.calls)
    assert not [call for call in service.calls if re.search("baseline|candidate", json.dumps(call.body))]


def test_no_rubric_leaves_the_machine_without_a_yes(tmp_path):
    with ModelServer(lambda *_: {}) as service:
        ran = judged(tmp_path, service)
        assert service.requests == []
    assert (ran.code, ran.out) == (2, "")
    assert "--yes" in ran.err


def test_a_side_that_was_not_judged_never_meets_one_that_was(tmp_path):
    def reply(_: str, text: str) -> Any:
        return {"rationale": "Blue.", "score": 1.0} if "+blue" in text else "no JSON at all"

    with ModelServer(reply) as service:
        found = told(judged(tmp_path, service, "--yes"))
    assert (found["verdict"], found["promote"]) == ("invalid", False)
    assert found["tasks"][0]["left_out"] == "judged on one side only"


def test_rubrics_of_recorded_trials_are_judged_again_and_the_run_stays_as_it_is(tmp_path):
    with ModelServer(lambda *_: {"rationale": "Half.", "score": 0.5}) as service:
        assert told(judged(tmp_path, service, "--yes"))["verdict"] == "improved"
    kept = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}

    def reply(_: str, text: str) -> dict[str, Any]:
        return {"rationale": "Seen anew.", "score": 0.0 if "+blue" in text else 1.0}

    with ModelServer(reply) as service:
        asked = ("--judge", "openai", "--model", "n", "--model-url", f"{service.url}/v1", "--store", tmp_path / "s.db")
        words = ("eval", "replay", "--out", tmp_path / "run", *asked, "--json")
        assert "give their folder with --tasks" in run(*words).err
        words = (*words, "--tasks", tmp_path / "tasks")
        assert (run(*words).code, service.requests) == (2, [])
        ran = run(*words, "--yes")
        assert len(service.calls) == 2
    found = json.loads(ran.out)
    assert {one["arm"]: (one["judge01"], one["rationale"]) for one in found["run"]["trials"]} == {
        "baseline": (1.0, "Seen anew."), "candidate": (0.0, "Seen anew."),
    }  # fmt: skip
    assert found["run"]["judge"].startswith("openai n ")
    assert found["net_gain"] < 0.4 < json.loads((tmp_path / "run/comparison.json").read_text())["net_gain"]
    assert "judged again by openai n" in ran.err
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == kept
    file = tmp_path / "tasks" / "weave" / "task.toml"
    file.write_text(file.read_text().replace("all over", "mostly"))
    assert "is not the task that was run" in run(*words, "--yes").err
