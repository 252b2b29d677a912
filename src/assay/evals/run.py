"""Runs a suite with two configurations: arms interleaved, each trial durable when it ends, the same call goes on."""

import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Literal

from msgspec import Struct

from assay.errors import BadInput
from assay.evals import ledger, lock, paths, trials
from assay.evals.configs import Config, passed_on
from assay.evals.launching import Keepers
from assay.evals.packing import pack
from assay.evals.paths import Slot, key_of, trial_folder
from assay.evals.runner import runner
from assay.evals.sandbox import Sandbox, pick
from assay.evals.tasks import CHECKS, Suite
from assay.evals.trials import Failure, Job, Judge, Record, Setting
from assay.evals.types import Arm, Trial, Wanted
from assay.evals.workspace import mirrored, remove
from assay.types.value import Row

Stopped = Literal["", "budget", "unpriced"]
ARMS: tuple[Arm, Arm] = ("baseline", "candidate")
TICK_S = 0.2


class Options(Row, frozen=True):
    """How a suite is run."""

    jobs: int = 1
    max_cost: float | None = None
    """US dollars of all trials of the run; none is started that would probably go beyond."""
    most_attempts: int = 3
    """Attempts that may fail by infrastructure before a trial is given up."""
    wait_s: float = 5.0
    """Before the second attempt; twice as long before the next."""


class Progress(Row, frozen=True):
    """Where a run stands, told whenever a trial begins, fails or ends."""

    slot: Slot
    event: Literal["began", "failed", "ended", "known", "given_up"]
    done: int
    planned: int
    usd: float
    """Of all attempts so far whose price is known."""
    why: str = ""


class Ran(Row, frozen=True):
    """What came of a run."""

    trials: tuple[Trial, ...]
    """Every planned trial that has a result, once, in the order of the plan."""
    planned: int
    usd: float
    sandbox: Sandbox
    stopped: Stopped = ""
    """Why not all planned trials were run."""
    altered: tuple[str, ...] = ()
    """Files of trials that are not what they were when these ended."""
    notes: tuple[str, ...] = ()

    def of(self, arm: Arm) -> list[Trial]:
        """The trials of one arm."""
        return [trial for trial in self.trials if trial.arm == arm]


class Plan(Struct, frozen=True, kw_only=True):
    """All that a run needs, checked before anything is spent."""

    suite: Suite
    arms: Mapping[Arm, Config]
    folder: Path
    setting: Setting
    options: Options = Options()
    more: Mapping[str, str] = {}
    """Pinned in the run's lock beside tasks and configurations."""
    tell: Callable[[Progress], None] = lambda _: None
    sleep: Callable[[float], None] = time.sleep


def main_trials(suite: Suite, repeats: int) -> list[Wanted]:
    """So many trials of every task and arm."""
    return [Wanted(task=task.name, stage="main", repeats=repeats) for task in suite.tasks]


def slots(wanted: Sequence[Wanted]) -> list[Slot]:
    """Trials in the order in which they are run: a repeat of every task after the other, arms A B, B A, A B …"""
    found = []
    for repeat in range(1, max((one.repeats for one in wanted), default=0) + 1):
        for place, one in enumerate(wanted):
            if repeat <= one.repeats:
                order = ARMS if (repeat + place) % 2 else ARMS[::-1]
                found += [Slot(task=one.task, arm=arm, repeat=repeat, stage=one.stage) for arm in order]
    return found


def plan(  # noqa: PLR0913  a choice each, all by name
    suite: Suite, arms: Mapping[Arm, Config], folder: Path, env: Mapping[str, str], *, sandbox: Sandbox | None = None,
    judge: Judge | None = None, options: Options = Options(), tell: Callable[[Progress], None] = lambda _: None,  # noqa: B008
    sleep: Callable[[float], None] = time.sleep, more: Mapping[str, str] | None = None,
) -> Plan:  # fmt: skip
    """Make sure that everything is there: agents, variables, repositories; anything missing is an error here."""
    folder = folder.absolute()
    chosen = sandbox or pick()
    needs = [task.name for task in suite.tasks if task.harbor and chosen.kind != "bubblewrap"]
    if needs:
        raise BadInput(f"{needs[0]}: a Harbor task needs bubblewrap ({chosen.why}); install it (`bwrap`)")
    programs = {}
    for config in arms.values():
        passed_on(config, env)
        programs[config.sha256] = program_of(config, env)
    beside = [task.folder / task.repo for task in suite.tasks if task.repo and (task.folder / task.repo).is_dir()]
    unseen = [
        folder,
        paths.scratch_home(),
        *beside,
        *(task.folder for task in suite.tasks),
        *(config.folder for config in arms.values()),
    ]
    setting = Setting(
        run=folder, sandbox=chosen, keepers=Keepers(), env=env, programs=programs, judge=judge, unseen=unseen,
        hidden={task.name: pack(task.folder / ("tests" if task.harbor else CHECKS)) for task in suite.tasks},
    )  # fmt: skip
    return Plan(
        suite=suite, arms=arms, folder=folder, setting=setting, options=options, tell=tell, sleep=sleep,
        more=more or {},
    )  # fmt: skip


def program_of(config: Config, env: Mapping[str, str]) -> str:
    """What is started for a configuration; no agent, no run."""
    name = runner(config.agent).PROGRAM or config.command[0]
    if name.startswith("./"):
        return name
    found = shutil.which(name, path=env.get("PATH", ""))
    if found is None:
        raise BadInput(
            f"{config.name}: no program called {name} is on the PATH; install the agent, or name another one"
        )
    return found


def version_of(config: Config, program: str, env: Mapping[str, str]) -> str:
    """What an agent's program says of itself."""
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


def run(plan: Plan, wanted: Sequence[Wanted]) -> Ran:
    """Run what is wanted and not there yet; everything that is there is taken as it is."""
    known = {task.name for task in plan.suite.tasks}
    if odd := [one.task for one in wanted if one.task not in known]:
        raise BadInput(f"no task called {odd[0]}; there are: {', '.join(sorted(known))}")
    with lock.alone(plan.folder):
        versions = {arm: version_of(one, plan.setting.programs[one.sha256], plan.setting.env) for arm, one in plan.arms.items()}  # fmt: skip  # noqa: E501
        pins = {arm: lock.pinned(one, versions[arm]) for arm, one in plan.arms.items()}
        lock.held(plan.folder, lock.lock_of(plan.suite, pins, plan.setting.sandbox, plan.more))
        ledger.intact(plan.folder)
        sweep(plan.folder)
        for task in plan.suite.tasks:
            if task.repo:
                mirrored(task, plan.folder / "mirrors")
        return Work(plan, slots(wanted)).run()


def sweep(folder: Path) -> None:
    """Remove what a killed run left in temporary folders."""
    notes = folder / paths.SCRATCH
    notes.mkdir(exist_ok=True)
    for note in notes.iterdir():
        left = Path(note.read_text("utf-8").strip() or "nothing")
        if left.name.startswith("assay-trial-") and left.name == note.name:
            remove(left)
        note.unlink(missing_ok=True)


class Work:
    """A run at work."""

    def __init__(self, plan: Plan, wanted: Sequence[Slot]) -> None:
        self.plan = plan
        self.tasks = {task.name: task for task in plan.suite.tasks}
        self.jobs = [self.job(slot) for slot in wanted]
        self.done: dict[str, Trial] = {}
        self.records: dict[str, Record] = {}
        self.lost = {
            job.key: sum(one.cost.usd or 0.0 for one in trials.failures(self.folder_of(job))) for job in self.jobs
        }
        """US dollars that went into attempts without a result; a trial that ended tells them itself."""
        self.stopped: Stopped = ""
        self.over = threading.Event()
        self.telling = threading.Lock()

    def job(self, slot: Slot) -> Job:
        task, config = self.tasks[slot.task], self.plan.arms[slot.arm]
        return Job(slot=slot, task=task, config=config, key=key_of(slot, task.sha256, config.sha256))

    def run(self) -> Ran:
        waiting = []
        for job in self.jobs:
            found = trials.recorded(self.folder_of(job), job.key)
            if found:
                self.keep(job, found)
                self.tell(job, "known")
            else:
                waiting.append(job)
        self.work(waiting)
        return self.result()

    def work(self, waiting: list[Job]) -> None:
        """Run jobs in their order, so many at once, as long as there is money."""
        running: dict[Future[None], Job] = {}
        is_whole = False
        with ThreadPoolExecutor(max(1, self.plan.options.jobs), thread_name_prefix="trial") as pool:
            try:
                while waiting or running:
                    while len(running) < self.plan.options.jobs and (job := self.next(waiting, running.values())):
                        waiting.remove(job)
                        running[pool.submit(self.trial, job)] = job
                    if not running:
                        break
                    for one in wait(running, return_when=FIRST_COMPLETED, timeout=TICK_S).done:
                        del running[one]
                        one.result()
                is_whole = True
            finally:
                self.over.set()
                if not is_whole:  # somebody pressed Ctrl-C, or it is a bug of ours: agents must not go on
                    self.plan.setting.keepers.stop()

    def next(self, waiting: Sequence[Job], running: Collection[Job]) -> Job | None:
        """The job to start now; in plain directories not two of one task: one could see the other's checks."""
        busy = {job.slot.task for job in running} if self.plan.setting.sandbox.kind == "plain" else set()
        found = next((job for job in waiting if job.slot.task not in busy), None)
        return found if found and self.may_start(len(running)) else None

    def may_start(self, running: int) -> bool:
        """Whether one more attempt fits the budget, going by the mean so far."""
        most = self.plan.options.max_cost
        if most is None:
            return True
        with self.telling:
            prices = [record.trial.cost.usd for record in self.records.values()]
            known = [price for price in prices if price is not None]
            if len(known) < len(prices):
                self.stopped = "unpriced"
            elif self.usd() >= most or self.usd() + (running + 1) * sum(known) / max(1, len(known)) > most:
                self.stopped = "budget"
        return not self.stopped

    def trial(self, job: Job) -> None:
        """One trial, tried again where infrastructure failed."""
        folder = self.folder_of(job)
        failures = trials.failures(folder)
        wait_s = self.plan.options.wait_s
        for number in range(len(failures), max(self.plan.options.most_attempts, len(failures) + 1)):
            if number > len(failures):
                self.plan.sleep(wait_s)
                wait_s *= 2
            if self.over.is_set() or (number > len(failures) and not self.may_start(0)):
                return
            self.tell(job, "began")
            found = trials.attempt(job, self.plan.setting)
            if not isinstance(found, Failure):
                self.keep(job, found)
                self.tell(job, "ended")
                return
            if self.plan.setting.keepers.is_stopped:
                return
            with self.telling:
                self.lost[job.key] += found.cost.usd or 0.0
            self.tell(job, "failed", found.why)
        self.give_up(job)

    def give_up(self, job: Job) -> None:
        """A trial without a result: nobody's failure; the next run tries it once more."""
        slot, made = job.slot, paths.attempts(self.folder_of(job))
        trial = Trial(
            task=slot.task, arm=slot.arm, repeat=slot.repeat, stage=slot.stage, state="failed_infrastructure",
            attempts=len(made), folder=made[-1].relative_to(self.plan.folder).as_posix(),
        )  # fmt: skip
        with self.telling:
            self.done[job.key] = trial
        self.tell(job, "given_up")

    def keep(self, job: Job, found: Record) -> None:
        with self.telling:
            self.done[job.key] = found.trial
            self.records[job.key] = found

    def tell(self, job: Job, event: Literal["began", "failed", "ended", "known", "given_up"], why: str = "") -> None:
        with self.telling:
            progress = Progress(
                slot=job.slot, event=event, done=len(self.done), planned=len(self.jobs), usd=self.usd(), why=why
            )
            self.plan.tell(progress)

    def usd(self) -> float:
        lost = sum(usd for key, usd in self.lost.items() if key not in self.records)
        return lost + sum(record.trial.cost.usd or 0.0 for record in self.records.values())

    def folder_of(self, job: Job) -> Path:
        return trial_folder(self.plan.folder, job.slot, job.key)

    def result(self) -> Ran:
        """All planned trials that have a result; those whose files changed since are named."""
        altered: list[str] = []
        notes: list[str] = []
        for job in self.jobs:
            record = self.records.get(job.key)
            if record is None:
                continue
            again = trials.recorded(self.folder_of(job), job.key)
            changed = trials.altered(self.plan.folder, record) + ([paths.TRIAL] if again != record else [])
            altered += [f"{record.trial.folder}/{path}" for path in changed]
            notes += [f"{job.slot.task}, {job.slot.arm}, {job.slot.repeat}: {note}" for note in record.notes]
        return Ran(
            trials=tuple(self.done[job.key] for job in self.jobs if job.key in self.done), planned=len(self.jobs),
            usd=self.usd(), sandbox=self.plan.setting.sandbox, stopped=self.stopped, altered=tuple(altered),
            notes=tuple(notes),
        )  # fmt: skip
