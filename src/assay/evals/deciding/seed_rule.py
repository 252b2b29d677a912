"""Rule `seed`: one run per side, the published rule to the letter. It is no test, and a comparison by it says so."""

from assay.evals.deciding.composite import composite, list_metrics, score_checks
from assay.evals.deciding.pairing import Pair
from assay.evals.deciding.rule_result import NO_TASKS, RuleResult, build_task_result, is_informative, list_gaps
from assay.types.evals import Regression, Statistics, TaskResult, Thresholds, Verdict

LABEL = "single-run"
SAME = 1e-9
"""0.51 − 0.50 is a little more than 0.01 in floating point, and must not be."""
NOT_A_TEST = (
    "a single run per side is no test: two identical configurations are called regressed in 79 to 100 of 100 "
    "comparisons, and improved in up to 28"
)
NEVER_ZERO = ("tokens", "steps", "wall_s")
"""An agent that ran took some of each; a 0 means that nothing was measured. Calls of tools can be none."""


def decide_verdict(pairs: list[Pair], thresholds: Thresholds) -> RuleResult:
    """The verdict of rule `seed`, the published one."""
    rows = tuple(map(score_pair, pairs))
    regressions = tuple(
        one for pair, row in zip(pairs, rows, strict=True) for one in find_regressions(pair, row, thresholds)
    )
    gain = sum(row.delta for row in rows if row.delta is not None)
    missing = (*list_gaps(pairs), *(() if pairs else (NO_TASKS,)))
    doubts = tuple(find_zero_costs(pairs))
    is_better = gain > thresholds.min_composite_gain + SAME
    verdict: Verdict = "neutral"
    if regressions:
        verdict = "regressed"
    elif missing or (is_better and doubts):
        verdict = "invalid"
    elif is_better:
        verdict = "improved"
    counted = [pair for pair in pairs if pair.counts]
    return RuleResult(
        verdict=verdict,
        net_gain=gain if counted else None,
        tasks=rows,
        regressions=regressions,
        gaps=(*missing, *doubts),
        reasons=(describe_verdict(verdict, gain, thresholds), *missing, *doubts, NOT_A_TEST),
        statistics=Statistics(
            tasks=len(counted),
            repeats=min((len(pair.trials) // 2 for pair in counted), default=0),
            informative=sum(is_informative(pair.trials) for pair in counted),
        ),
    )


def score_pair(pair: Pair) -> TaskResult:
    """A task with its composites; the candidate's holds what it cost beside the baseline."""
    if not pair.counts:
        return build_task_result(pair, None, None)
    ours, theirs = pair.baseline[0], pair.candidate[0]
    return build_task_result(pair, composite(ours), composite(theirs, ours))


def find_regressions(pair: Pair, row: TaskResult, thresholds: Thresholds) -> list[Regression]:
    """The hard regressions of one task."""
    if pair.kind is not None:
        return [Regression(task=pair.task, kind=pair.kind, detail=pair.left_out)]
    if row.delta is None:
        return []
    found = []
    before, after = score_checks(pair.baseline[0]), score_checks(pair.candidate[0])
    if thresholds.objective_drop_is_regression and after < before - SAME:
        detail = f"checks passed: {before:.2f} → {after:.2f}"
        found.append(Regression(task=pair.task, kind="objective_drop", detail=detail))
    if -row.delta > thresholds.regression_composite_drop + SAME:
        detail = f"composite: {row.baseline:.3f} → {row.candidate:.3f}"
        found.append(Regression(task=pair.task, kind="composite_drop", detail=detail))
    return found


def find_zero_costs(pairs: list[Pair]) -> list[str]:
    """Costs of 0 that can't be: their metric is left out of the ratio, and the evidence is not complete."""
    return [
        f"{pair.task}: {trial.arm} cost of 0 {name}"
        for pair in pairs
        for trial in pair.trials
        for name, value in list_metrics(trial.cost).items()
        if name in NEVER_ZERO and value == 0
    ]


def describe_verdict(verdict: Verdict, gain: float, thresholds: Thresholds) -> str:
    """Why rule `seed` comes to a verdict, in one sentence."""
    return {
        "improved": f"net gain {gain:+.3f} is above {thresholds.min_composite_gain}, and there is no hard regression",
        "regressed": "there is at least one hard regression",
        "invalid": "the evidence is not complete",
    }.get(verdict, f"net gain {gain:+.3f} is not above {thresholds.min_composite_gain}")
