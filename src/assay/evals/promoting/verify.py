"""Does a run prove what its comparison says? Everything is made again from the trials; what does not fit is refused."""

from pathlib import Path

from assay.errors import AssayError, BadInput, InvalidRun
from assay.evals.deciding import gate
from assay.evals.deciding.compare import verify_comparison
from assay.evals.running import run_folder
from assay.evals.running.lock import RunLock
from assay.evals.running.recorded_run import (
    COMPARISON,
    RecordedRun,
    list_misstated,
    load_comparison,
    load_run,
    read_decisions,
)
from assay.evals.running.trial import TrialRecord, load_record
from assay.types.evals import Comparison
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
    lock: RunLock


def verify_run(run: RecordedRun, comparison: Comparison) -> tuple[str, ...]:
    """What in a run's comparison its trials and its lock do not bear out; nothing, when all of it holds."""
    decisions = read_decisions(run.lock)
    if comparison.rule != decisions.rule:
        return (f"rule: it was decided to go by {decisions.rule}",)
    arms = [[trial for trial in run.trials if trial.arm == arm] for arm in ("baseline", "candidate")]
    return verify_comparison(comparison, arms[0], arms[1], decisions.thresholds, decisions.design)


def prove_run(folder: Path) -> Proof:
    """The comparison of a run, if its candidate may go in and the recorded trials say so too; else an error."""
    run, comparison = load_proven_run(folder), load_written_comparison(folder)
    wrong = gate.list_objections(comparison)
    if wrong:
        raise PromotionRefused("; ".join(wrong), gate.pick_exit_code(comparison))
    if run.finished.stopped:
        raise PromotionRefused(f"the run was stopped ({run.finished.stopped}) before it had said all", gate.BUDGET)
    check_untouched(run)
    try:
        wrong = verify_run(run, comparison)
    except BadInput as error:
        wrong = (str(error),)
    if wrong:
        raise PromotionRefused("; ".join(wrong))
    return Proof(comparison=comparison, lock=run.lock)


def load_proven_run(folder: Path) -> RecordedRun:
    """A run as it lies on disk; one whose list of trials was changed proves nothing."""
    try:
        return load_run(folder)
    except InvalidRun as error:
        raise PromotionRefused(str(error)) from None


def load_written_comparison(folder: Path) -> Comparison:
    """The comparison that lies in a run's folder; one that can't be read proves nothing."""
    if not (folder / COMPARISON).exists():
        raise BadInput(f"{folder}: nothing was compared here yet, there is no {COMPARISON}")
    try:
        return load_comparison(folder)
    except BadInput as error:
        raise PromotionRefused(str(error)) from None


def check_untouched(run: RecordedRun) -> None:
    """Refuse a run with a trial that is not as it was when it ended, or not its own."""
    wrong = [
        *run.altered,
        *list_misstated(run),
        *(why for record in run.records if (why := explain_misplaced(run, record))),
    ]
    if wrong:
        more = f" and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
        raise PromotionRefused(f"trials were changed since they ended: {'; '.join(wrong[:MOST_NAMED])}{more}")


def explain_misplaced(run: RecordedRun, record: TrialRecord) -> str:
    """Why a record is not that of the trial whose place it takes; empty where it is."""
    trial = record.trial
    arm, task = run.lock.arms.get(trial.arm), run.lock.tasks.get(trial.task)
    slot = run_folder.TrialSlot(task=trial.task, arm=trial.arm, repeat=trial.repeat, stage=trial.stage)
    if arm is None or task is None or record.key != run_folder.hash_slot(slot, task, arm.sha256):
        return f"{trial.folder}: belongs to another run"
    home = run_folder.find_trial_folder(run.folder, slot, record.key)
    if run.folder / Path(trial.folder).parent != home or load_record(home, record.key) != record:
        return f"{trial.folder}: lies where another trial belongs"
    return ""
