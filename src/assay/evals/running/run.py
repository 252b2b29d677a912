"""Runs a suite with two configurations: arms interleaved, each trial durable when it ends, the same call goes on."""

import threading
from collections.abc import Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Literal

from assay.errors import BadInput
from assay.evals.running import ledger, lock, run_folder
from assay.evals.running.plan import ProgressEvent, RunPlan, RunProgress, ask_version
from assay.evals.running.run_folder import TrialSlot, find_trial_folder, hash_slot
from assay.evals.running.trial import (
    AttemptFailure,
    TrialJob,
    TrialRecord,
    list_altered_files,
    load_failures,
    load_record,
    run_attempt,
)
from assay.evals.sandbox.bubblewrap import Sandbox
from assay.evals.sandbox.workspace import mirror_repository, remove_tree
from assay.types.evals import ARMS, Trial, TrialRequest
from assay.types.value import Row

StopReason = Literal["", "budget", "unpriced"]
TICK_S = 0.2


class RunResult(Row, frozen=True):
    """The trials of a run, and why there are no more."""

    trials: tuple[Trial, ...]
    """Every planned trial that has a result, once, in the order of the plan."""
    planned: int
    usd: float
    sandbox: Sandbox
    stopped: StopReason = ""
    """Why not all planned trials were run."""
    altered: tuple[str, ...] = ()
    """Files of trials that are not what they were when these ended."""
    notes: tuple[str, ...] = ()


def list_slots(requests: Sequence[TrialRequest]) -> list[TrialSlot]:
    """Trials in the order in which they are run: a repeat of every task after the other, arms A B, B A, A B …"""
    found = []
    for repeat in range(1, max((one.repeats for one in requests), default=0) + 1):
        for place, one in enumerate(requests):
            if repeat <= one.repeats:
                order = ARMS if (repeat + place) % 2 else ARMS[::-1]
                found += [TrialSlot(task=one.task, arm=arm, repeat=repeat, stage=one.stage) for arm in order]
    return found


def run_trials(plan: RunPlan, requests: Sequence[TrialRequest]) -> RunResult:
    """Run the trials that are requested and not there yet; a trial that is there is taken as it is."""
    request, setting = plan.request, plan.setting
    known = {task.name for task in request.suite.tasks}
    if odd := [one.task for one in requests if one.task not in known]:
        raise BadInput(f"no task called {odd[0]}; there are: {', '.join(sorted(known))}")
    with lock.claim_run(setting.run):
        pins = {
            arm: lock.pin_arm(config, ask_version(config, setting.programs[config.sha256], setting.env))
            for arm, config in request.arms.items()
        }
        lock.hold_lock(setting.run, lock.build_lock(request.suite, pins, setting.sandbox, request.pins))
        ledger.check_records(setting.run)
        remove_scratch(setting.run)
        for task in request.suite.tasks:
            if task.repo:
                mirror_repository(task, setting.run / "mirrors")
        return TrialQueue(plan, list_slots(requests)).run()


def remove_scratch(folder: Path) -> None:
    """Remove what a killed run left in temporary folders."""
    notes = folder / run_folder.SCRATCH
    notes.mkdir(exist_ok=True)
    for note in notes.iterdir():
        left = Path(note.read_text("utf-8").strip() or "nothing")
        if left.name.startswith("assay-trial-") and left.name == note.name:
            remove_tree(left)
        note.unlink(missing_ok=True)


class TrialQueue:
    """The trials of a run, those that ended and those that wait."""

    def __init__(self, plan: RunPlan, slots: Sequence[TrialSlot]) -> None:
        self.request, self.setting, self.options = plan.request, plan.setting, plan.request.options
        self.tasks = {task.name: task for task in self.request.suite.tasks}
        self.jobs = [self.build_job(slot) for slot in slots]
        self.done: dict[str, Trial] = {}
        self.records: dict[str, TrialRecord] = {}
        self.lost = {
            job.key: sum(failure.cost.usd or 0.0 for failure in load_failures(self.find_folder(job)))
            for job in self.jobs
        }
        """US dollars that went into attempts without a result; a trial that ended tells them itself."""
        self.stopped: StopReason = ""
        self.over = threading.Event()
        self.guard = threading.Lock()

    def build_job(self, slot: TrialSlot) -> TrialJob:
        task, config = self.tasks[slot.task], self.request.arms[slot.arm]
        return TrialJob(slot=slot, task=task, config=config, key=hash_slot(slot, task.sha256, config.sha256))

    def run(self) -> RunResult:
        """Run every trial that has no record yet."""
        waiting = []
        for job in self.jobs:
            found = load_record(self.find_folder(job), job.key)
            if found:
                self.add_record(job, found)
                self.report(job, "known")
            else:
                waiting.append(job)
        self.run_jobs(waiting)
        return self.build_result()

    def run_jobs(self, waiting: list[TrialJob]) -> None:
        """Run jobs in their order, so many at once, as long as there is money."""
        running: dict[Future[None], TrialJob] = {}
        is_whole = False
        with ThreadPoolExecutor(max(1, self.options.jobs), thread_name_prefix="trial") as pool:
            try:
                while waiting or running:
                    while len(running) < self.options.jobs and (job := self.pick_job(waiting, running.values())):
                        waiting.remove(job)
                        running[pool.submit(self.run_trial, job)] = job
                    if not running:
                        break
                    for one in wait(running, return_when=FIRST_COMPLETED, timeout=TICK_S).done:
                        del running[one]
                        one.result()
                is_whole = True
            finally:
                self.over.set()
                if not is_whole:  # somebody pressed Ctrl-C, or it is a bug of ours: agents must not go on
                    self.setting.supervisors.stop_all()

    def pick_job(self, waiting: Sequence[TrialJob], running: Collection[TrialJob]) -> TrialJob | None:
        """The job to start now; in plain directories not two of one task: one could see the other's checks."""
        busy = {job.slot.task for job in running} if self.setting.sandbox.kind == "plain" else set()
        found = next((job for job in waiting if job.slot.task not in busy), None)
        return found if found and self.may_start(len(running)) else None

    def may_start(self, running: int) -> bool:
        """Whether one more attempt fits the budget, going by the mean so far."""
        most = self.options.max_cost
        if most is None:
            return True
        with self.guard:
            prices = [record.trial.cost.usd for record in self.records.values()]
            known = [price for price in prices if price is not None]
            if len(known) < len(prices):
                self.stopped = "unpriced"
            elif self.sum_usd() >= most or self.sum_usd() + (running + 1) * sum(known) / max(1, len(known)) > most:
                self.stopped = "budget"
        return not self.stopped

    def run_trial(self, job: TrialJob) -> None:
        """Run one trial, again where infrastructure failed."""
        failures = len(load_failures(self.find_folder(job)))
        wait_s = self.options.wait_s
        for number in range(failures, max(self.options.most_attempts, failures + 1)):
            if number > failures:
                self.request.sleep(wait_s)
                wait_s *= 2
            if self.over.is_set() or (number > failures and not self.may_start(0)):
                return
            self.report(job, "began")
            found = run_attempt(job, self.setting)
            if not isinstance(found, AttemptFailure):
                self.add_record(job, found)
                self.report(job, "ended")
                return
            if self.setting.supervisors.is_stopped:
                return
            with self.guard:
                self.lost[job.key] += found.cost.usd or 0.0
            self.report(job, "failed", found.why)
        self.give_up(job)

    def give_up(self, job: TrialJob) -> None:
        """Note a trial without a result: nobody's failure; the next run tries it once more."""
        trial = run_folder.build_failed_trial(self.setting.run, self.find_folder(job), job.slot)
        with self.guard:
            self.done[job.key] = trial
        self.report(job, "given_up")

    def add_record(self, job: TrialJob, record: TrialRecord) -> None:
        with self.guard:
            self.done[job.key] = record.trial
            self.records[job.key] = record

    def report(self, job: TrialJob, event: ProgressEvent, why: str = "") -> None:
        with self.guard:
            progress = RunProgress(
                slot=job.slot, event=event, done=len(self.done), planned=len(self.jobs), usd=self.sum_usd(), why=why
            )
            self.request.report(progress)

    def sum_usd(self) -> float:
        lost = sum(usd for key, usd in self.lost.items() if key not in self.records)
        return lost + sum(record.trial.cost.usd or 0.0 for record in self.records.values())

    def find_folder(self, job: TrialJob) -> Path:
        return find_trial_folder(self.setting.run, job.slot, job.key)

    def build_result(self) -> RunResult:
        """All planned trials that have a result; those whose files changed since are named."""
        altered: list[str] = []
        notes: list[str] = []
        for job in self.jobs:
            record = self.records.get(job.key)
            if record is None:
                continue
            again = load_record(self.find_folder(job), job.key)
            changed = list_altered_files(self.setting.run, record) + ([run_folder.TRIAL] if again != record else [])
            altered += [f"{record.trial.folder}/{path}" for path in changed]
            notes += [f"{job.slot.task}, {job.slot.arm}, {job.slot.repeat}: {note}" for note in record.notes]
        return RunResult(
            trials=tuple(self.done[job.key] for job in self.jobs if job.key in self.done), planned=len(self.jobs),
            usd=self.sum_usd(), sandbox=self.setting.sandbox, stopped=self.stopped, altered=tuple(altered),
            notes=tuple(notes),
        )  # fmt: skip
