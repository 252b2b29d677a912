"""What a rule says, before it is sealed as a comparison."""

from msgspec import Struct

from assay.evals.deciding.composite import has_passed, score_base, score_checks
from assay.evals.deciding.pairing import Pair
from assay.evals.deciding.permutation import average
from assay.types.evals import Regression, Statistics, Suspect, TaskResult, Trial, TrialRequest, Verdict

NO_CHECKS = "no task has a check: a judge's word or a lower cost alone promotes nothing"
NO_TASKS = "there is no task to compare"


class RuleResult(Struct, frozen=True, kw_only=True):
    """What a rule says: a verdict, its reasons, and what they rest on."""

    verdict: Verdict
    net_gain: float | None
    tasks: tuple[TaskResult, ...]
    statistics: Statistics
    reasons: tuple[str, ...]
    regressions: tuple[Regression, ...] = ()
    gaps: tuple[str, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    wanted: tuple[TrialRequest, ...] = ()


def build_task_result(pair: Pair, baseline: float | None, candidate: float | None) -> TaskResult:
    """A pair of trials as one row of a comparison."""
    both = baseline is not None and candidate is not None and pair.counts
    ours, theirs = pair.baseline, pair.candidate
    return TaskResult(
        task=pair.task,
        baseline=baseline,
        candidate=candidate,
        delta=candidate - baseline if both and candidate is not None and baseline is not None else None,
        baseline_base=average([score_base(trial) for trial in ours]) if ours else None,
        candidate_base=average([score_base(trial) for trial in theirs]) if theirs else None,
        baseline_objective=average([score_checks(trial) for trial in ours]) if ours else None,
        candidate_objective=average([score_checks(trial) for trial in theirs]) if theirs else None,
        baseline_passes=sum(map(has_passed, ours)),
        candidate_passes=sum(map(has_passed, theirs)),
        baseline_trials=len(ours),
        candidate_trials=len(theirs),
        is_judged=pair.is_judged,
        left_out=pair.left_out,
    )


def is_informative(trials: tuple[Trial, ...]) -> bool:
    """Whether a task sometimes passes and sometimes fails; one that never changes tells nothing of quality."""
    return len(set(map(has_passed, trials))) > 1


def list_gaps(pairs: list[Pair]) -> tuple[str, ...]:
    """Why pairs are left out, one sentence for each."""
    return tuple(f"{pair.task}: {pair.left_out}" for pair in pairs if not pair.counts)


def has_checks(pairs: list[Pair]) -> bool:
    """Whether any task that counts is put to a check."""
    return any(trial.checks for pair in pairs for trial in pair.trials)
