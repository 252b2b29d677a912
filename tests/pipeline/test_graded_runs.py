"""Graded runs: what benchmarks said of them is kept as labels, and as nobody's word."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from assay.stores import open_store
from benchmarks.graded import measure_graded
from tests.conftest import run
from tests.sources.captures import HERE

FULL, MINI = HERE / "swe_agent" / "full.traj", HERE / "swe_agent" / "mini.traj.json"
ATIF, LOG = HERE / "atif" / "trajectory.json", HERE / "inspect_log" / "archive.eval"


def put(path: Path, content: Path | dict[str, Any] | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, Path):
        shutil.copy(content, path)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))


def imported(tmp_path: Path) -> dict[str, Any]:
    ran = run("import", tmp_path / "runs", "--store", tmp_path / "store.db", "--json")
    assert ran.code == 0, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


def verdicts(found: dict[str, Any]) -> set[tuple[str, str, bool]]:
    return {(one["benchmark"], one["task"], one["passed"]) for one in found["labels"]}


def test_runs_of_swe_bench_are_known_by_their_instances(tmp_path: Path) -> None:
    put(tmp_path / "runs" / "a" / "till__calc-7.traj", FULL)
    put(tmp_path / "runs" / "a" / "till__calc-8.traj.json", MINI)
    put(tmp_path / "runs" / "model.run.json", {"resolved_ids": ["till__calc-7"], "unresolved_ids": ["till__calc-8"]})
    assert verdicts(imported(tmp_path)) == {("swe-bench", "till__calc-7", True), ("swe-bench", "till__calc-8", False)}


def test_of_several_results_the_nearest_counts(tmp_path: Path) -> None:
    for model, passed in (("a", True), ("b", False)):
        whole = FULL.read_text().replace("I'll write the module first.", f"Model {model} writes the module first.")
        put(tmp_path / "runs" / model / "till__calc-7" / "till__calc-7.traj", whole)
        put(tmp_path / "runs" / model / "report.json", {"till__calc-7": {"resolved": passed}})
    assert verdicts(imported(tmp_path)) == {("swe-bench", "till__calc-7", one) for one in (True, False)}


def test_results_that_disagree_give_no_label(tmp_path: Path) -> None:
    put(tmp_path / "runs" / "till__calc-7.traj", FULL)
    put(tmp_path / "runs" / "x.json", {"resolved_ids": ["till__calc-7"]})
    put(tmp_path / "runs" / "y.json", {"resolved_ids": [], "unresolved_ids": ["till__calc-7"]})
    found = imported(tmp_path)
    assert (found["labels"], found["disputed"]) == ([], 1)


@pytest.mark.parametrize(
    ("reward", "passed"), [({"rewards": {"reward": 1.0}}, True), ({"rewards": {"reward": 0.5}}, False)]
)
def test_the_reward_of_a_harbor_trial_is_of_all_below_it(tmp_path: Path, reward: Any, passed: bool) -> None:
    put(tmp_path / "runs" / "job" / "calc__x1" / "agent" / "trajectory.json", ATIF)
    put(tmp_path / "runs" / "job" / "calc__x1" / "result.json", {"task_name": "calc", "verifier_result": reward})
    assert verdicts(imported(tmp_path)) == {("harbor", "calc", passed)}


def test_a_harbor_trial_without_a_result_is_graded_by_its_reward(tmp_path: Path) -> None:
    put(tmp_path / "runs" / "job" / "calc__x1" / "agent" / "trajectory.json", ATIF)
    put(tmp_path / "runs" / "job" / "calc__x1" / "verifier" / "reward.txt", "1\n")
    assert verdicts(imported(tmp_path)) == {("harbor", "calc", True)}


def test_trials_of_terminal_bench_are_known_by_their_folders(tmp_path: Path) -> None:
    put(tmp_path / "runs" / "calc" / "calc.1-of-1.x" / "agent-logs" / "trajectory.json", ATIF)
    trial = {"task_id": "calc", "trial_name": "calc.1-of-1.x", "is_resolved": True}
    put(tmp_path / "runs" / "results.json", {"results": [trial, {"task_id": "other", "is_resolved": False}]})
    assert verdicts(imported(tmp_path)) == {("terminal-bench", "calc", True)}


def test_a_log_of_inspect_says_itself_how_it_was_graded(tmp_path: Path) -> None:
    put(tmp_path / "runs" / "till.eval", LOG)
    assert verdicts(imported(tmp_path)) == {("inspect", "calc-1", True), ("inspect", "calc-2", False)}


def test_a_label_is_nobodys_word(tmp_path: Path) -> None:
    put(tmp_path / "runs" / "till.eval", LOG)
    before = run("score", tmp_path / "runs", "--store", tmp_path / "store.db", "--json").out
    assert imported(tmp_path)["new"] == 2
    with closing(open_store(f"sqlite:///{tmp_path}/store.db")) as store:
        assert store.corrections.load_verdicts() == []
    after = run("score", tmp_path / "runs", "--store", tmp_path / "store.db", "--json").out
    assert json.loads(after)["score"] == json.loads(before)["score"]
    assert imported(tmp_path)["new"] == 0


def test_labels_are_private_and_survive_what_is_no_label(tmp_path: Path) -> None:
    put(tmp_path / "runs" / "till.eval", LOG)
    imported(tmp_path)
    kept = tmp_path / "labels.jsonl"
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_bytes(b'{"half\n' + kept.read_bytes().splitlines()[0] + b"\n")
    assert imported(tmp_path)["new"] == 1
    assert len(kept.read_bytes().splitlines()) == 2


@pytest.mark.parametrize("junk", ["{", "[]", '{"results": [1, null]}', '{"verifier_result": {"rewards": "x"}}', "\x00"])
def test_results_that_are_none_grade_nothing(tmp_path: Path, junk: str) -> None:
    put(tmp_path / "runs" / "calc" / "trajectory.json", ATIF)
    for name in ("result.json", "results.json", "report.json"):
        put(tmp_path / "runs" / "calc" / name, junk)
    put(tmp_path / "runs" / "calc" / "verifier" / "reward.txt", junk)
    found = imported(tmp_path)
    assert (found["labels"], found["ungraded"]) == ([], 1)


def test_a_judge_is_measured_against_labels(tmp_path: Path) -> None:
    put(tmp_path / "runs" / "till.eval", LOG)
    labels = imported(tmp_path)["labels"]
    said = json.loads(run("score", tmp_path / "runs", "--store", tmp_path / "store.db", "--json").out)
    found = measure_graded(labels, said)
    assert (found.all.labelled, found.all.without_session, list(found.by_benchmark)) == (2, 0, ["inspect"])
    assert found.all.methods["always complete"].accuracy == pytest.approx(0.5 if found.all.graded == 2 else 1.0)


def test_without_a_verdict_it_says_what_to_give(tmp_path: Path) -> None:
    put(tmp_path / "runs" / "a.traj", FULL)
    ran = run("import", tmp_path / "runs", "--store", tmp_path / "store.db")
    assert (ran.code, "give the folder that holds results" in ran.out) == (0, True)
    assert run("import", tmp_path / "nowhere").code == 2
