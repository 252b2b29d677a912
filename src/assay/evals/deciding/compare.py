"""Two arms become a comparison by the rule that was chosen, and a comparison is checked by making it again."""

from collections.abc import Sequence
from math import comb

from msgspec import Struct
from msgspec.structs import fields, replace

from assay.config.settings import Eval
from assay.errors import BadInput
from assay.evals.deciding import seed_rule, sequential, tested_rule
from assay.evals.deciding.composite import METRICS, is_usable
from assay.evals.deciding.pairing import build_pairs, check_trials, infer_design
from assay.evals.deciding.rule_result import RuleResult
from assay.evals.deciding.seal import hash_trials, is_sealed, seal_comparison
from assay.types.evals import Comparison, Cost, Design, Evidence, Rule, Thresholds, Trial, Verdict

LOOSER_ABOVE = (
    "alpha", "most_missing", "quality_margin", "equivalence_margin", "suspect_drop", "regression_composite_drop",
)  # fmt: skip
"""Limits that let more through the higher they are; the others let more through the lower they are."""
ALIKE = 0.05
"""How seldom luck alone may part the arms' lost attempts so far, on either side."""


class ComparisonTerms(Struct, frozen=True, kw_only=True):
    """The rule, design and thresholds by which trials are compared."""

    rule: Rule
    design: Design
    limits: Thresholds


def compare(
    baseline: Sequence[Trial],
    candidate: Sequence[Trial],
    thresholds: Thresholds | None = None,
    design: Design | None = None,
    rule: Rule | None = None,
) -> Comparison:
    """Whether the candidate is better; rule `seed` for a single run per side, else `tested`.

    `design` is what was planned before the first trial. Without it the trials are taken for all that was planned.
    Where `wanted` is not empty, run those trials and compare again with all of them.
    """
    limits, planned = thresholds or Thresholds(), design or infer_design([*baseline, *candidate])
    chosen: Rule = rule or ("seed" if planned.repeats <= 1 else "tested")
    check_terms(chosen, planned, limits)
    ours, theirs = check_trials(baseline, "baseline", planned), check_trials(candidate, "candidate", planned)
    terms = ComparisonTerms(rule=chosen, design=planned, limits=limits)
    result = doubt_improvement(decide_verdict(terms, ours, theirs), terms, ours, theirs)
    label = seed_rule.LABEL if chosen == "seed" else "sequential" if planned.is_sequential else "tested"
    evidence = Evidence(
        thresholds=limits,
        design=planned,
        trials=len(ours) + len(theirs),
        trials_sha256=hash_trials([*ours, *theirs]),
        gaps=result.gaps,
    )
    return seal_comparison(build_comparison(result, chosen, label, evidence))


def decide_verdict(terms: ComparisonTerms, ours: Sequence[Trial], theirs: Sequence[Trial]) -> RuleResult:
    """What the chosen rule says of the trials of both arms."""
    pairs = build_pairs(ours, theirs, terms.design)
    if terms.rule == "seed":
        return seed_rule.decide_verdict(pairs, terms.limits)
    case = tested_rule.Case(pairs=pairs, baseline=ours, candidate=theirs, design=terms.design, limits=terms.limits)
    return tested_rule.decide_verdict(case)


def doubt_improvement(
    result: RuleResult, terms: ComparisonTerms, ours: Sequence[Trial], theirs: Sequence[Trial]
) -> RuleResult:
    """What a rule says, an improvement only if it is one however the lost attempts would have ended."""
    every = [*ours, *theirs]
    if result.verdict != "improved" or not any(map(is_doubtful, every)):
        return result
    at_worst = decide_verdict(terms, assume_worst(ours, every), assume_worst(theirs, every))
    taken, unequal = describe_doubtful(ours, theirs), explain_unequal_losses(ours, theirs)
    if at_worst.verdict == "improved" and not unequal:
        return replace(result, reasons=(*result.reasons, f"it holds with {taken}"))
    why = [unequal] if unequal else [f"it is {at_worst.verdict} with {taken}"]
    verdict: Verdict = "invalid" if terms.rule == "seed" else "inconclusive"
    return replace(
        result,
        verdict=verdict,
        reasons=(*why, *result.reasons),
        gaps=(*result.gaps, *(why if terms.rule == "seed" else ())),
        wanted=() if unequal else at_worst.wanted,
    )


def build_comparison(result: RuleResult, rule: Rule, label: str, evidence: Evidence) -> Comparison:
    """A rule's result as a comparison; it promotes what is improved without a regression, a gap or a question left."""
    is_clean = not (result.regressions or result.gaps or result.wanted)
    return Comparison(
        rule=rule,
        label=label,
        verdict=result.verdict,
        promote=result.verdict == "improved" and is_clean,
        net_gain=result.net_gain,
        tasks=result.tasks,
        regressions=result.regressions,
        suspects=result.suspects,
        wanted=result.wanted,
        reasons=(*result.reasons, *describe_unusual(evidence.thresholds)),
        statistics=result.statistics,
        evidence=evidence,
    )


def check_terms(rule: Rule, design: Design, limits: Thresholds) -> None:
    """Refuse a design or thresholds that no rule can work with."""
    if rule == "seed" and design.repeats > 1:
        raise BadInput(f"rule seed compares one run per side, and {design.repeats} were planned; use rule tested")
    if design.is_sequential and design.repeats != sequential.CAP:
        raise BadInput(f"sequential mode looks after every 2 repeats up to {sequential.CAP}; plan {sequential.CAP}")
    if design.attempt < 1:
        raise BadInput(f"attempt {design.attempt}: the first comparison with a baseline is attempt 1")
    if len(set(design.tasks)) < len(design.tasks):
        raise BadInput("a task was planned twice; each counts once")
    unknown = sorted(set(design.must_pass) - set(design.tasks))
    if unknown:
        raise BadInput(f"must pass, but not planned: {', '.join(unknown)}")
    shares = ("alpha", "guard_alpha", "suspect_drop")
    wrong = [name for name in shares if not 0 < getattr(limits, name) < 1]
    if wrong or limits.relabellings < 1 / limits.alpha or limits.guard_trials < 1:
        raise BadInput(f"thresholds can't be met: {', '.join(wrong) or 'too few relabellings or guard trials'}")


def verify_comparison(
    comparison: Comparison,
    baseline: Sequence[Trial],
    candidate: Sequence[Trial],
    thresholds: Thresholds | None = None,
    design: Design | None = None,
) -> tuple[str, ...]:
    """What in a comparison does not hold, by its seal and by making it again from its trials; nothing, when all does.

    Give the thresholds and the design that were frozen before the first trial: a forger may have changed them too.
    """
    if not is_sealed(comparison):
        return ("seal: the comparison was changed after it was made",)
    evidence = comparison.evidence
    if hash_trials([*baseline, *candidate]) != evidence.trials_sha256:
        return ("trials: these are not the trials that were compared",)
    if thresholds not in (None, evidence.thresholds):
        return ("thresholds: not those that were frozen before the first trial",)
    if design not in (None, evidence.design):
        return ("design: not the one that was frozen before the first trial",)
    again = compare(baseline, candidate, evidence.thresholds, evidence.design, comparison.rule)
    names = [field.name for field in fields(Comparison)]
    return tuple(
        f"{name}: not what the trials say" for name in names if getattr(again, name) != getattr(comparison, name)
    )


def build_thresholds(chosen: Eval) -> Thresholds:
    """The thresholds of an evaluation, as the settings have them."""
    return Thresholds(**{name: getattr(chosen, name) for name in Eval.__struct_fields__})


def describe_unusual(limits: Thresholds) -> tuple[str, ...]:
    """Which thresholds are not the usual ones, in sentences."""
    usual, found = Thresholds(), []
    for name in Thresholds.__struct_fields__:
        now, before = getattr(limits, name), getattr(usual, name)
        if now != before:
            way = "looser" if (now > before) == (name in LOOSER_ABOVE) else "stricter"
            found.append(f"{way} than usual: {name} {now}, not {before}")
    return tuple(found)


# An agent may lose the attempts that it would have failed. So a candidate's trial that is missing, or was tried again,
# counts as failed and a baseline's as passed: what is improved even so is improved whoever lost attempts, and why.


def is_doubtful(trial: Trial) -> bool:
    """Whether it has no result, or had to be tried again for one."""
    return trial.lost > 0 or not is_usable(trial)


def assume_worst(trials: Sequence[Trial], every: Sequence[Trial]) -> list[Trial]:
    """Trials of an arm, with the doubtful ones as bad for the candidate as can be; `every` are those of both arms."""
    return [
        impute_trial(one, [other for other in every if other.task == one.task]) if is_doubtful(one) else one
        for one in trials
    ]


def impute_trial(trial: Trial, beside: Sequence[Trial]) -> Trial:
    """A trial as bad for the candidate as can be; left alone where no other trial of the task has a result."""
    usable = [one for one in beside if is_usable(one)]
    if not usable:
        return trial
    is_passed = trial.arm == "baseline"
    judged = any(one.judge01 is not None for one in usable)
    own = trial if is_usable(trial) else usable[0]
    cost = (
        trial.cost
        if is_usable(trial) and not is_passed
        else pick_extreme_cost([one.cost for one in usable], is_least=is_passed)
    )
    return replace(
        trial,
        state="done",
        checks=tuple(replace(check, passed=is_passed) for check in own.checks),
        judge01=float(is_passed) if judged else None,
        cost=cost,
    )


def pick_extreme_cost(costs: Sequence[Cost], *, is_least: bool) -> Cost:
    """A cost of the least, or the most, that several costs have of each metric."""
    found = {}
    for name in METRICS:
        known = [value for one in costs if (value := getattr(one, name)) is not None]
        found[name] = (min if is_least else max)(known, default=None)
    return Cost(**found)


def count_lost_attempts(trials: Sequence[Trial]) -> int:
    """Attempts of an arm that came to nothing."""
    return sum(one.lost if is_usable(one) else one.attempts for one in trials)


def explain_unequal_losses(baseline: Sequence[Trial], candidate: Sequence[Trial]) -> str:
    """That the arms lost attempts unequally often, where luck hardly does: a binomial test; else empty."""
    ours, theirs = count_lost_attempts(baseline), count_lost_attempts(candidate)
    total, most = ours + theirs, max(ours, theirs)
    chance = sum(comb(total, hits) for hits in range(most, total + 1)) / 2**total
    if chance > ALIKE:
        return ""
    return f"the arms lost attempts unequally often: baseline {ours}, candidate {theirs} (luck: p = {chance:.4f})"


def describe_doubtful(baseline: Sequence[Trial], candidate: Sequence[Trial]) -> str:
    """How many trials of either arm are in doubt, in words."""
    counts = [sum(map(is_doubtful, side)) for side in (baseline, candidate)]
    return f"trials whose attempts were lost at their worst: baseline {counts[0]} passed, candidate {counts[1]} failed"
