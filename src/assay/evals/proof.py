"""Does a run prove what its comparison says? Everything is made again from the trials; what does not fit is refused."""

from pathlib import Path

import msgspec

from assay.errors import AssayError, BadInput, InvalidRun
from assay.evals import gate, kept, lock, paths
from assay.evals.compare import verify
from assay.evals.kept import Kept
from assay.evals.trials import Record, recorded
from assay.evals.types import Arm, CheckResult, Comparison, Trial
from assay.types.value import Row

NOTHING = "nothing is promoted"
MOST_NAMED = 5


class Refused(AssayError):
    """A promotion that the evidence does not carry."""

    def __init__(self, why: str, code: int = gate.INVALID) -> None:
        super().__init__(f"{NOTHING}: {why}")
        self.exit_code = code


class Proof(Row, frozen=True):
    """A comparison that its run proves."""

    comparison: Comparison
    lock: lock.Lock


def proven(run: Path) -> Proof:
    """The comparison of a run, if it may go in and the recorded trials say so too."""
    whole, comparison = there(run), written(run)
    wrong = gate.objections(comparison)
    if wrong:
        raise Refused("; ".join(wrong), gate.exit_code(comparison))
    if whole.finished.stopped:
        raise Refused(f"the run was stopped ({whole.finished.stopped}) before it had said all", gate.BUDGET)
    untouched(whole)
    decided = kept.decided(whole.lock)
    if comparison.rule != decided.rule:
        raise Refused("rule: not the one that was frozen before the first trial")
    try:
        wrong = verify(comparison, of(whole, "baseline"), of(whole, "candidate"), decided.thresholds, decided.design)
    except BadInput as error:
        wrong = (str(error),)
    if wrong:
        raise Refused("; ".join(wrong))
    return Proof(comparison=comparison, lock=whole.lock)


def there(run: Path) -> Kept:
    """A run as it lies on disk; one whose list of trials was changed proves nothing."""
    try:
        return kept.load(run)
    except InvalidRun as error:
        raise Refused(str(error)) from None


def written(run: Path) -> Comparison:
    """The comparison that lies in a run's folder."""
    if not (run / kept.COMPARISON).exists():
        raise BadInput(f"{run}: nothing was compared here yet, there is no {kept.COMPARISON}")
    try:
        return kept.comparison_of(run)
    except BadInput as error:
        raise Refused(str(error)) from None


def of(whole: Kept, arm: Arm) -> list[Trial]:
    return [trial for trial in whole.trials if trial.arm == arm]


def untouched(whole: Kept) -> None:
    """Every trial is as it was when it ended, or there is a reason to stop."""
    wrong = [
        *whole.altered,
        *kept.misstated(whole),
        *(why for record in whole.records for why in touched(whole, record)),
    ]
    if wrong:
        more = f" and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
        raise Refused(f"trials were changed since they ended: {'; '.join(wrong[:MOST_NAMED])}{more}")


def touched(whole: Kept, record: Record) -> list[str]:
    """What speaks against a trial's record being the one that was written when it ended."""
    trial = record.trial
    arm, task = whole.lock.arms.get(trial.arm), whole.lock.tasks.get(trial.task)
    slot = paths.Slot(task=trial.task, arm=trial.arm, repeat=trial.repeat, stage=trial.stage)
    if arm is None or task is None or record.key != paths.key_of(slot, task, arm.sha256):
        return [f"{trial.folder}: belongs to another run"]
    home = paths.trial_folder(whole.folder, slot, record.key)
    if whole.folder / Path(trial.folder).parent != home or recorded(home, record.key) != record:
        return [f"{trial.folder}: lies where another trial belongs"]
    try:
        told = (whole.folder / trial.folder / paths.CHECKS).read_bytes()
        is_same = msgspec.json.decode(told, type=tuple[CheckResult, ...]) == trial.checks
    except (OSError, msgspec.DecodeError) as error:
        return [f"{trial.folder}/{paths.CHECKS}: {error}"]
    return [] if is_same else [f"{trial.folder}: its checks are not those in {paths.CHECKS}"]
