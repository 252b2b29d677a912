"""Killed at any moment and started again, a run has every trial exactly once."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from assay.errors import BadInput
from assay.evals.running import lock
from assay.evals.running.run import run_trials
from assay.evals.tasks.config import load_config
from assay.evals.tasks.task import load_suite
from tests.evals.run.make import config, planned, ran, task

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
KILLS = 9


def started(tmp: Path) -> "subprocess.Popen[bytes]":
    (tmp / "tmp").mkdir(exist_ok=True)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp / "tmp")}
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("kill_me.py")), str(tmp)], env=env, stderr=subprocess.DEVNULL
    )


@pytest.fixture
def twelve(tmp_path):
    """Three tasks, two arms, two repeats; every agent writes down that it ended, and takes a little while."""
    for name in ("hem", "knit", "weave"):
        task(tmp_path / "tasks", name)
    log = tmp_path / "log"
    script = f'sleep 0.2; echo blue > scarf.txt; echo "$PWD" >> {log}; sleep 31.{os.getpid()} & '
    config(tmp_path, script, "a")
    config(tmp_path, f"{script} true", "b")
    return tmp_path


def test_killed_again_and_again_every_trial_is_there_once(twelve):
    dice = random.Random(20_261)
    kills = 0
    while kills < KILLS:
        one = started(twelve)
        try:
            one.wait(dice.uniform(0.3, 0.9))
            break
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()
            kills += 1
    known = {file: file.read_bytes() for file in (twelve / "run").rglob("trial.json")}
    last = started(twelve)
    assert last.wait(180) == 0
    trials = json.loads((twelve / "result.json").read_text())
    slots = [(trial["task"], trial["arm"], trial["repeat"]) for trial in trials]
    assert len(slots) == len(set(slots)) == 12
    assert all(check["passed"] for trial in trials for check in trial["checks"])
    assert len(list((twelve / "run").rglob("trial.json"))) == 12
    assert all(file.read_bytes() == before for file, before in known.items()), "what had ended was run again"
    assert not [*(twelve / "run" / "scratch").iterdir()]
    assert {file.name for file in (twelve / "tmp").rglob("*")} <= {f"assay-trials-{os.getuid()}", "tried", "hidden"}
    assert not orphans(f"31.{os.getpid()}")
    assert kills > 1


def orphans(mark: str) -> list[psutil.Process]:
    """What still runs after a while."""
    until = time.monotonic() + 20
    while found := [one for one in psutil.process_iter(["cmdline"]) if mark in " ".join(one.info["cmdline"] or [])]:
        if time.monotonic() > until:
            break
        time.sleep(0.05)
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_stopped_in_the_middle_of_an_agent_nothing_of_it_runs_on(tmp_path, number):
    task(tmp_path / "tasks")
    mark = f"32.{os.getpid()}{number:d}"
    for name in ("a", "b"):
        config(tmp_path, f"touch {tmp_path}/began; setsid sleep {mark}", name)
    one = started(tmp_path)
    until = time.monotonic() + 60
    while not (tmp_path / "began").exists() and time.monotonic() < until:
        time.sleep(0.02)
    one.send_signal(number)
    assert one.wait(60) != 0
    assert (tmp_path / "began").exists()
    assert not orphans(mark)
    assert not [*(tmp_path / "run").rglob("trial.json"), *(tmp_path / "run").rglob("failure.json")]


def test_a_run_that_ended_costs_nothing_more(twelve):
    arms = tuple(config(twelve, f"echo blue > scarf.txt; echo . >> {twelve}/count", name) for name in ("c", "d"))
    first = ran(twelve, arms)
    again = ran(twelve, arms)
    assert again == first
    assert len((twelve / "count").read_text().splitlines()) == 6
    more = ran(twelve, arms, repeats=2)
    assert len((twelve / "count").read_text().splitlines()) == 12
    assert set(first.trials) < set(more.trials)


def test_what_was_decided_before_holds_to_the_end(twelve):
    arms = (config(twelve, "true", "c"), config(twelve, "true ", "d"))
    suite = load_suite(twelve / "tasks")
    run_trials(planned(twelve, suite, arms, pins={"alpha": "0.01"}), [])
    with pytest.raises(BadInput, match="alpha changed"):
        run_trials(planned(twelve, suite, arms, pins={"alpha": "0.05"}), [])


def test_two_processes_do_not_work_on_one_run(twelve):
    arms = (config(twelve, "true", "c"), config(twelve, "true ", "d"))
    with lock.claim_run(twelve / "run"), pytest.raises(BadInput, match="another process"):
        ran(twelve, arms)


CHANGES = {
    "a task": ("tasks/hem/workspace/yarn.txt", r"tasks changed \(hem\)"),
    "a check file": ("tasks/knit/checks/new.sh", r"tasks changed \(knit\)"),
    "a configuration": ("c/files/CLAUDE.md", "the baseline changed"),
    "its agent": ("d/agent.sh", "the candidate changed"),
}


@pytest.mark.parametrize(("path", "why"), CHANGES.values(), ids=CHANGES)
def test_a_run_does_not_go_on_with_something_else(twelve, path, why):
    def arms():
        return tuple(load_config(str(twelve / name), twelve / "keep") for name in ("c", "d"))

    for name in ("c", "d"):
        config(twelve, f"true {name}", name)
    suite = load_suite(twelve / "tasks")
    run_trials(planned(twelve, suite, arms()), [])
    (twelve / path).parent.mkdir(parents=True, exist_ok=True)
    (twelve / path).write_text("#!/bin/sh\necho other\n")
    with pytest.raises(BadInput, match=why):
        run_trials(planned(twelve, load_suite(twelve / "tasks"), arms()), [])
