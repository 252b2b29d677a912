"""Tiny suites: tasks, configurations and agents of a few lines, written for one test."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from assay.evals.running.plan import RunOptions, RunPlan, RunRequest, build_plan
from assay.evals.running.run import RunResult, run_trials
from assay.evals.sandbox.bubblewrap import Sandbox, build_plain_sandbox, pick_sandbox
from assay.evals.tasks.config import AgentConfig, load_config
from assay.evals.tasks.task import Suite, load_suite
from assay.types.evals import Arm, Trial, TrialRequest

PLAIN = build_plain_sandbox("this test")
OPEN = Sandbox(kind="plain", why="this test")
"""As on machines where nothing can be hidden."""


def tree(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if name.endswith(".sh"):
            file.chmod(0o755)
    return folder


def task(folder: Path, name: str = "weave", files: dict[str, str] | None = None, **fields: Any) -> Path:
    """A task: weave `blue` into `scarf.txt`."""
    checks = fields.pop("checks", [{"kind": "file_contains", "path": "scarf.txt", "text": "blue"}])
    told = {"prompt": "weave the blue scarf", "timeout_s": 20.0, **fields}
    lines = [f"{key} = {json.dumps(value)}" for key, value in told.items()]
    for check in checks:
        lines += ["[[checks]]", *(f"{key} = {json.dumps(value)}" for key, value in check.items())]
    text = "\n".join(lines) + "\n"
    return tree(folder / name, {"task.toml": text, "workspace/yarn.txt": "red\n", **(files or {})})


def config(folder: Path, script: str, name: str = "config", **files: str) -> AgentConfig:
    """A `command` agent that runs a shell script."""
    told = 'agent = "command"\ncommand = ["./agent.sh"]\n'
    tree(folder / name, {"config.toml": told, "agent.sh": f"#!/bin/sh\n{script}\n", **files})
    return load_config(str(folder / name), folder / "keep")


BUSY = """echo '{"type": "result", "is_error": true, "api_error_status": 529, "result": "the loom is busy"}'; exit 1"""


def served(tmp: Path, first: str, second: str) -> tuple[tuple[AgentConfig, AgentConfig], dict[str, str]]:
    """Two arms of a stand-in for Claude Code, which can say that its service is busy; and the variables it needs."""
    told = 'agent = "claude-code"\n'
    arms = [tree(tmp / name, {"config.toml": told, "files/arm": name}) for name in ("a", "b")]
    program = f"""#!/bin/sh
[ "$1" = --version ] && {{ echo 2.1.0; exit; }}
RESULT="${{HOME%/home}}/result"
case $(cat arm) in a) {first};; b) {second};; esac
"""
    tree(tmp / "bin", {"claude.sh": program})
    (tmp / "bin" / "claude.sh").rename(tmp / "bin" / "claude")
    env = {**os.environ, "PATH": f"{tmp / 'bin'}:{os.environ['PATH']}"}
    return (load_config(str(arms[0]), tmp / "keep"), load_config(str(arms[1]), tmp / "keep")), env


def bubblewrap() -> Sandbox:
    """The real one, fetched where that can be done."""
    if shutil.which("bwrap") is None and shutil.which("apt-get") and os.geteuid() == 0:
        for words in (["update", "-q"], ["install", "-qy", "--no-install-recommends", "bubblewrap"]):
            subprocess.run(["apt-get", *words], capture_output=True, check=False)
        pick_sandbox.cache_clear()
    found = pick_sandbox()
    if found.kind == "plain":
        pytest.skip(found.why)
    return found


def planned(
    tmp: Path, suite: Suite, arms: tuple[AgentConfig, AgentConfig], sandbox: Sandbox = PLAIN, **more: Any
) -> RunPlan:
    env = more.pop("env", None) or os.environ
    return build_plan(
        RunRequest(
            suite=suite, arms=dict(zip(("baseline", "candidate"), arms, strict=True)), folder=tmp / "run", env=env,
            sandbox=sandbox, options=RunOptions(wait_s=0.0, **more.pop("options", {})), **more,
        )
    )  # fmt: skip


def main_trials(suite: Suite, repeats: int) -> list[TrialRequest]:
    """So many trials of every task and arm."""
    return [TrialRequest(task=task.name, stage="main", repeats=repeats) for task in suite.tasks]


def of_arm(found: RunResult, arm: Arm) -> list[Trial]:
    return [trial for trial in found.trials if trial.arm == arm]


def ran(
    tmp: Path, arms: tuple[AgentConfig, AgentConfig], sandbox: Sandbox = PLAIN, repeats: int = 1, **more: Any
) -> RunResult:
    """What comes of the tasks in `tmp/tasks`."""
    suite = load_suite(tmp / "tasks")
    return run_trials(planned(tmp, suite, arms, sandbox, **more), main_trials(suite, repeats))
