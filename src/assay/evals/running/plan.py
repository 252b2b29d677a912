"""What a run is asked to do, checked before anything is spent: agents, variables, repositories, sandbox."""

import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from assay.errors import BadInput
from assay.evals.runners import find_runner
from assay.evals.running.run_folder import TrialSlot
from assay.evals.running.trial import Judge, RunSetting
from assay.evals.sandbox.bubblewrap import Sandbox, make_scratch_home, pick_sandbox
from assay.evals.sandbox.launch import Supervisors
from assay.evals.tasks.config import AgentConfig, pick_variables
from assay.evals.tasks.folders import pack_folder
from assay.evals.tasks.task import CHECKS, Suite
from assay.types.evals import Arm
from assay.types.value import Row

ProgressEvent = Literal["began", "failed", "ended", "known", "given_up"]


class RunOptions(Row, frozen=True):
    """How many trials run at once, for how much money, and how often each is tried."""

    jobs: int = 1
    max_cost: float | None = None
    """US dollars of all trials of the run; none is started that would probably go beyond."""
    most_attempts: int = 3
    """Attempts that may fail by infrastructure before a trial is given up."""
    wait_s: float = 5.0
    """Before the second attempt; twice as long before the next."""


class RunProgress(Row, frozen=True):
    """Where a run stands whenever a trial begins, fails or ends."""

    slot: TrialSlot
    event: ProgressEvent
    done: int
    planned: int
    usd: float
    """Of all attempts so far whose price is known."""
    why: str = ""


class RunRequest(Struct, frozen=True, kw_only=True):
    """A suite, two configurations, and how they are to be run."""

    suite: Suite
    arms: Mapping[Arm, AgentConfig]
    folder: Path
    """Where the run is recorded."""
    env: Mapping[str, str]
    sandbox: Sandbox | None = None
    """`None`: the best one of this machine."""
    judge: Judge | None = None
    options: RunOptions = RunOptions()
    pins: Mapping[str, str] = {}
    """Decisions that are pinned in the run's lock beside tasks and configurations."""
    report: Callable[[RunProgress], None] = lambda _: None
    sleep: Callable[[float], None] = time.sleep


class RunPlan(Struct, frozen=True, kw_only=True):
    """A request that can be carried out, and what all its trials share."""

    request: RunRequest
    setting: RunSetting


def build_plan(request: RunRequest) -> RunPlan:
    """A plan for a request; an agent, a variable or a sandbox that is missing is an error here."""
    suite, env, folder = request.suite, request.env, request.folder.absolute()
    sandbox = request.sandbox or pick_sandbox()
    needs = [task.name for task in suite.tasks if task.harbor and sandbox.kind != "bubblewrap"]
    if needs:
        raise BadInput(f"{needs[0]}: a Harbor task needs bubblewrap ({sandbox.why}); install it (`bwrap`)")
    programs = {}
    for config in request.arms.values():
        pick_variables(config, env)
        programs[config.sha256] = find_program(config, env)
    beside = [task.folder / task.repo for task in suite.tasks if task.repo and (task.folder / task.repo).is_dir()]
    unseen = [
        folder,
        make_scratch_home(),
        *beside,
        *(task.folder for task in suite.tasks),
        *(config.folder for config in request.arms.values()),
    ]
    setting = RunSetting(
        run=folder, sandbox=sandbox, supervisors=Supervisors(), env=env, programs=programs, judge=request.judge,
        unseen=unseen,
        hidden={task.name: pack_folder(task.folder / ("tests" if task.harbor else CHECKS)) for task in suite.tasks},
    )  # fmt: skip
    return RunPlan(request=request, setting=setting)


def find_program(config: AgentConfig, env: Mapping[str, str]) -> str:
    """What is started for a configuration; an agent that is not installed is an error."""
    name = find_runner(config.agent).PROGRAM or config.command[0]
    if name.startswith("./"):
        return name
    found = shutil.which(name, path=env.get("PATH", ""))
    if found is None:
        raise BadInput(
            f"{config.name}: no program called {name} is on the PATH; install the agent, or name another one"
        )
    return found


def ask_version(config: AgentConfig, program: str, env: Mapping[str, str]) -> str:
    """What an agent's program says of itself; empty for a `command`."""
    if config.agent == "command":
        return ""
    given = {name: env[name] for name in ("PATH", "HOME") if name in env}
    try:
        said = subprocess.run(  # noqa: S603
            [program, "--version"], capture_output=True, text=True, timeout=60, env=given, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"{program} --version does not work: {error}") from None
    return said.stdout.strip()[:80]
