"""An evaluation from beginning to end: run, compare, run what the comparison wants, and tell it for reports."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from assay.errors import InvalidRun
from assay.evals.deciding.compare import compare
from assay.evals.deciding.gate import list_objections, pick_exit_code
from assay.evals.deciding.sequential import PER_LOOK
from assay.evals.running import lock, recorded_run, run_folder
from assay.evals.running.judge import RATIONALE, load_rationale
from assay.evals.running.ledger import ANEW
from assay.evals.running.lock import RunLock
from assay.evals.running.plan import RunPlan
from assay.evals.running.recorded_run import Decisions, RecordedRun, RunEnd, read_decisions
from assay.evals.running.run import RunResult, run_trials
from assay.evals.tasks.config import AgentConfig
from assay.evals.tasks.task import Suite
from assay.sessions.redaction import Redactor
from assay.types.evals import (
    Arm,
    ArmLine,
    Comparison,
    Design,
    Evaluation,
    LoadedLine,
    RunLine,
    Stage,
    Trial,
    TrialLine,
    TrialRequest,
)

MOST_ROUNDS = 12
"""Five looks and the guard; a loop that wants more is a mistake of ours."""
SHOWN = 5
SHOWN_FILES = (run_folder.DIFF, run_folder.CHECKS, run_folder.LOADED, run_folder.OUT, run_folder.ERR, RATIONALE)
SHARED = (
    "verdict", "net_gain", "rule", "label", "reasons", "tasks", "regressions", "suspects", "wanted", "statistics",
    "evidence",
)  # fmt: skip
"""What an evaluation says in the words of its comparison."""


class EvaluationResult(Struct, frozen=True, kw_only=True):
    """A run that has ended, and the comparison of its trials."""

    comparison: Comparison
    run: RecordedRun


def count_attempts(folder: Path, suite: Suite, arms: Mapping[Arm, AgentConfig]) -> int:
    """Which attempt on the baseline this is: runs beside this one with the same tasks and baseline came before it."""
    if (folder / run_folder.LOCK).exists():
        return recorded_run.read_decisions(lock.load_lock(folder)).design.attempt
    tasks = {task.name: task.sha256 for task in suite.tasks}
    beside = [lock.load_lock(file.parent) for file in folder.parent.glob(f"*/{run_folder.LOCK}")]
    return 1 + sum(has_same_baseline(one, tasks, arms["baseline"].sha256) for one in beside)


def has_same_baseline(held: RunLock, tasks: Mapping[str, str], baseline: str) -> bool:
    pinned = held.arms.get("baseline")
    return held.tasks == tasks and pinned is not None and pinned.sha256 == baseline


def build_design(suite: Suite, repeats: int, attempt: int, *, is_sequential: bool) -> Design:
    """The design of a comparison: which tasks are run, and how often."""
    return Design(
        tasks=tuple(task.name for task in suite.tasks),
        repeats=repeats,
        attempt=attempt,
        is_sequential=is_sequential,
        must_pass=tuple(task.name for task in suite.tasks if task.must_pass),
    )


def run_evaluation(plan: RunPlan, decided: Decisions, says: tuple[str, ...] = ()) -> EvaluationResult:
    """Run and compare until nothing more is wanted, or the budget is reached; then it is on disk."""
    design = decided.design
    first = PER_LOOK if design.is_sequential else design.repeats
    asked: dict[tuple[str, Stage], int] = {(task, "main"): first for task in design.tasks}
    for _ in range(MOST_ROUNDS):
        ran = run_trials(
            plan, [TrialRequest(task=task, stage=stage, repeats=most) for (task, stage), most in asked.items()]
        )
        check_unaltered(ran.altered)
        found = compare_trials(ran.trials, decided)
        more = {(one.task, one.stage): one.repeats for one in found.wanted}
        if ran.stopped or all(asked.get(key, 0) >= most for key, most in more.items()):
            break
        asked |= more
    recorded_run.write_result(plan.setting.run, build_run_end(ran, says))
    whole = check_run(recorded_run.load_run(plan.setting.run))
    found = compare_trials(whole.trials, decided)
    recorded_run.write_comparison(plan.setting.run, found)
    return EvaluationResult(comparison=found, run=whole)


def build_run_end(ran: RunResult, says: tuple[str, ...]) -> RunEnd:
    return RunEnd(
        planned=ran.planned, usd=ran.usd, stopped=ran.stopped, sandbox=ran.sandbox.says, plan=says, notes=ran.notes
    )


def compare_trials(trials: tuple[Trial, ...], decided: Decisions) -> Comparison:
    """The comparison of a run's trials, as it was decided before the first of them."""
    sides = [[trial for trial in trials if trial.arm == arm] for arm in ("baseline", "candidate")]
    return compare(sides[0], sides[1], decided.thresholds, decided.design, decided.rule)


def check_run(whole: RecordedRun) -> RecordedRun:
    """A run whose trials are what they were when they ended, and cost what their files tell; else an error."""
    check_unaltered(whole.altered)
    check_unaltered(recorded_run.list_misstated(whole))
    return whole


def check_unaltered(altered: tuple[str, ...]) -> None:
    """Refuse to say anything about trials that somebody changed."""
    if altered:
        more = f" and {len(altered) - SHOWN} more" if len(altered) > SHOWN else ""
        raise InvalidRun(
            f"files of trials are not what they were when these ended ({', '.join(altered[:SHOWN])}{more}); {ANEW}"
        )


def build_evaluation(comparison: Comparison, run: RecordedRun) -> Evaluation:
    """A run and its comparison as reports tell them."""
    stopped = bool(run.finished.stopped)
    objections = list_objections(comparison)
    shared = {name: getattr(comparison, name) for name in SHARED}
    return Evaluation(
        **shared,
        promote=comparison.promote and not objections and not stopped,
        exit_code=pick_exit_code(comparison, is_over_budget=stopped),
        objections=(*objections, *(("the budget stopped the run",) if stopped else ())),
        run=build_run_line(run),
    )


def build_run_line(run: RecordedRun) -> RunLine:
    """A recorded run as reports tell it."""
    ended, trials = run.finished, run.trials
    return RunLine(
        folder=str(run.folder),
        planned=max(ended.planned, len(trials)),
        done=len(run.records),
        usd=ended.usd,
        unpriced=sum(record.trial.cost.usd is None for record in run.records),
        stopped=ended.stopped,
        sandbox=ended.sandbox,
        judge=read_decisions(run.lock).judge,
        plan=ended.plan,
        notes=tuple(redact_text(note) for note in ended.notes),
        arms={arm: build_arm_line(run, arm) for arm in run.lock.arms},
        trials=list_trial_lines(run),
    )


def build_arm_line(run: RecordedRun, arm: Arm) -> ArmLine:
    """One configuration, with the files that its agents had."""
    counted = Counter(one for record in run.records if record.trial.arm == arm for one in record.loaded)
    loaded = [
        LoadedLine(path=one.path, fingerprint=one.fingerprint, evidence=one.evidence, trials=trials)
        for one, trials in sorted(counted.items(), key=lambda pair: (pair[0].path, pair[0].fingerprint))
    ]
    pinned = run.lock.arms[arm]
    return ArmLine(
        config=pinned.config, sha256=pinned.sha256, agent=pinned.agent, version=pinned.version, model=pinned.model,
        commit=pinned.commit, files=dict(pinned.files), loaded=tuple(loaded),
    )  # fmt: skip


def redact_text(text: str) -> str:
    """What agents and commands said, without secrets."""
    return Redactor().text(text) if text else text


def list_trial_lines(run: RecordedRun) -> tuple[TrialLine, ...]:
    """Every trial, with the files it left."""
    found = [build_trial_line(run.folder, record.trial, "") for record in run.records]
    found += [build_trial_line(run.folder, one.trial, one.why) for one in run.broken]
    return tuple(sorted(found, key=lambda one: (one.task, one.stage, one.repeat, one.arm)))


def build_trial_line(run: Path, trial: Trial, why: str) -> TrialLine:
    folder = run / trial.folder
    transcripts = [
        file.relative_to(run).as_posix() for file in sorted((folder / run_folder.TRANSCRIPTS).glob("*.jsonl"))
    ]
    files = [f"{trial.folder}/{name}" for name in SHOWN_FILES if (folder / name).is_file()]
    shown = [replace(check, name=redact_text(check.name), detail=redact_text(check.detail)) for check in trial.checks]
    fields = asdict(trial) | {
        "transcripts": transcripts, "files": files, "why": redact_text(why),
        "rationale": redact_text(load_rationale(folder)),
        "checks": shown,
    }  # fmt: skip
    return msgspec.convert(fields, TrialLine, from_attributes=True)
