"""Does a run prove what its comparison says? Everything is made again from the trials; what does not fit is refused."""

from pathlib import Path

import msgspec

from assay.errors import AssayError, BadInput, InvalidRun
from assay.evals.deciding import gate
from assay.evals.deciding.compare import verify_comparison
from assay.evals.running import lock, recorded_run, run_folder
from assay.evals.running.recorded_run import RecordedRun
from assay.evals.running.trial import TrialRecord, load_record
from assay.types.evals import Arm, CheckResult, Comparison, Trial
from assay.types.value import Row

NOTHING = "nothing is promoted"
MOST_NAMED = 5


class PromotionRefused(AssayError):
    """A promotion that the evidence does not carry."""

    def __init__(self, why: str, code: int = gate.INVALID) -> None:
        super().__init__(f"{NOTHING}: {why}")
        self.exit_code = code


class Proof(Row, frozen=True):
    """A comparison that its run proves."""

    comparison: Comparison
    lock: lock.RunLock


def prove_run(run: Path) -> Proof:
    """The comparison of a run, if it may go in and the recorded trials say so too."""
    whole, comparison = load_proven_run(run), load_written_comparison(run)
    wrong = gate.list_objections(comparison)
    if wrong:
        raise PromotionRefused("; ".join(wrong), gate.pick_exit_code(comparison))
    if whole.finished.stopped:
        raise PromotionRefused(f"the run was stopped ({whole.finished.stopped}) before it had said all", gate.BUDGET)
    check_untouched(whole)
    decided = recorded_run.read_decisions(whole.lock)
    if comparison.rule != decided.rule:
        raise PromotionRefused("rule: not the one that was frozen before the first trial")
    try:
        wrong = verify_comparison(
            comparison,
            list_arm_trials(whole, "baseline"),
            list_arm_trials(whole, "candidate"),
            decided.thresholds,
            decided.design,
        )
    except BadInput as error:
        wrong = (str(error),)
    if wrong:
        raise PromotionRefused("; ".join(wrong))
    return Proof(comparison=comparison, lock=whole.lock)


def load_proven_run(run: Path) -> RecordedRun:
    """A run as it lies on disk; one whose list of trials was changed proves nothing."""
    try:
        return recorded_run.load_run(run)
    except InvalidRun as error:
        raise PromotionRefused(str(error)) from None


def load_written_comparison(run: Path) -> Comparison:
    """The comparison that lies in a run's folder."""
    if not (run / recorded_run.COMPARISON).exists():
        raise BadInput(f"{run}: nothing was compared here yet, there is no {recorded_run.COMPARISON}")
    try:
        return recorded_run.load_comparison(run)
    except BadInput as error:
        raise PromotionRefused(str(error)) from None


def list_arm_trials(whole: RecordedRun, arm: Arm) -> list[Trial]:
    return [trial for trial in whole.trials if trial.arm == arm]


def check_untouched(whole: RecordedRun) -> None:
    """Every trial is as it was when it ended, or there is a reason to stop."""
    wrong = [
        *whole.altered,
        *recorded_run.list_misstated(whole),
        *(why for record in whole.records for why in list_record_changes(whole, record)),
    ]
    if wrong:
        more = f" and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
        raise PromotionRefused(f"trials were changed since they ended: {'; '.join(wrong[:MOST_NAMED])}{more}")


def list_record_changes(whole: RecordedRun, record: TrialRecord) -> list[str]:
    """What speaks against a trial's record being the one that was written when it ended."""
    trial = record.trial
    arm, task = whole.lock.arms.get(trial.arm), whole.lock.tasks.get(trial.task)
    slot = run_folder.TrialSlot(task=trial.task, arm=trial.arm, repeat=trial.repeat, stage=trial.stage)
    if arm is None or task is None or record.key != run_folder.hash_slot(slot, task, arm.sha256):
        return [f"{trial.folder}: belongs to another run"]
    home = run_folder.find_trial_folder(whole.folder, slot, record.key)
    if whole.folder / Path(trial.folder).parent != home or load_record(home, record.key) != record:
        return [f"{trial.folder}: lies where another trial belongs"]
    try:
        told = (whole.folder / trial.folder / run_folder.CHECKS).read_bytes()
        is_same = msgspec.json.decode(told, type=tuple[CheckResult, ...]) == trial.checks
    except (OSError, msgspec.DecodeError) as error:
        return [f"{trial.folder}/{run_folder.CHECKS}: {error}"]
    return [] if is_same else [f"{trial.folder}: its checks are not those in {run_folder.CHECKS}"]
