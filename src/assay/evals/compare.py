"""Two arms become a comparison; and a comparison is checked by making it again."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import fields, replace

from assay.errors import BadInput
from assay.evals import seed_rule, sequential, tested_rule, worst
from assay.evals.evidence import digest, is_sealed, sealed
from assay.evals.finding import Finding
from assay.evals.limits import unusual
from assay.evals.pairing import checked, inferred, pairs
from assay.evals.types import Comparison, Design, Evidence, Rule, Thresholds, Trial, Verdict


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
    limits, planned = thresholds or Thresholds(), design or inferred([*baseline, *candidate])
    chosen: Rule = rule or ("seed" if planned.repeats <= 1 else "tested")
    sensible(chosen, planned, limits)
    ours, theirs = checked(baseline, "baseline", planned), checked(candidate, "candidate", planned)
    asked = Asked(rule=chosen, design=planned, limits=limits)
    found = doubted(decide(asked, ours, theirs), asked, ours, theirs)
    label = seed_rule.LABEL if chosen == "seed" else "sequential" if planned.is_sequential else "tested"
    evidence = Evidence(
        thresholds=limits,
        design=planned,
        trials=len(ours) + len(theirs),
        trials_sha256=digest([*ours, *theirs]),
        gaps=found.gaps,
    )
    return sealed(of(found, chosen, label, evidence))


class Asked(Struct, frozen=True, kw_only=True):
    """By what trials are compared."""

    rule: Rule
    design: Design
    limits: Thresholds


def decide(asked: Asked, ours: Sequence[Trial], theirs: Sequence[Trial]) -> Finding:
    """What a rule finds."""
    met = pairs(ours, theirs, asked.design)
    if asked.rule == "seed":
        return seed_rule.decide(met, asked.limits)
    case = tested_rule.Case(pairs=met, baseline=ours, candidate=theirs, design=asked.design, limits=asked.limits)
    return tested_rule.decide(case)


def doubted(found: Finding, asked: Asked, ours: Sequence[Trial], theirs: Sequence[Trial]) -> Finding:
    """An improvement, if it is one however the lost attempts would have ended."""
    every = [*ours, *theirs]
    if found.verdict != "improved" or not any(map(worst.is_doubtful, every)):
        return found
    at_worst = decide(asked, worst.at_worst(ours, every), worst.at_worst(theirs, every))
    taken, unequal = worst.told(ours, theirs), worst.unequal(ours, theirs)
    if at_worst.verdict == "improved" and not unequal:
        return replace(found, reasons=(*found.reasons, f"it holds with {taken}"))
    why = [unequal] if unequal else [f"it is {at_worst.verdict} with {taken}"]
    verdict: Verdict = "invalid" if asked.rule == "seed" else "inconclusive"
    return replace(
        found,
        verdict=verdict,
        reasons=(*why, *found.reasons),
        gaps=(*found.gaps, *(why if asked.rule == "seed" else ())),
        wanted=() if unequal else at_worst.wanted,
    )


def of(found: Finding, rule: Rule, label: str, evidence: Evidence) -> Comparison:
    """A finding as a comparison; it promotes only what is improved, without a regression, a gap or a question left."""
    is_clean = not (found.regressions or found.gaps or found.wanted)
    return Comparison(
        rule=rule,
        label=label,
        verdict=found.verdict,
        promote=found.verdict == "improved" and is_clean,
        net_gain=found.net_gain,
        tasks=found.tasks,
        regressions=found.regressions,
        suspects=found.suspects,
        wanted=found.wanted,
        reasons=(*found.reasons, *unusual(evidence.thresholds)),
        statistics=found.statistics,
        evidence=evidence,
    )


def sensible(rule: Rule, design: Design, limits: Thresholds) -> None:
    """Refuse what no rule knows."""
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


def verify(
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
    if digest([*baseline, *candidate]) != evidence.trials_sha256:
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
