"""May it go in? Fails closed: what is not clearly allowed is not."""

from assay.evals.deciding.seal import is_sealed
from assay.types.evals import Comparison, Verdict

CODES: dict[Verdict, int] = {
    "improved": 0,
    "regressed": 1,
    "mixed": 1,
    "inconclusive": 3,
    "neutral": 3,
    "invalid": 4,
}
INVALID, BUDGET = 4, 5


def should_promote(comparison: Comparison) -> bool:
    """Only what is improved, with no hard regression, with complete evidence, and as it was when it was made."""
    return not list_objections(comparison)


def list_objections(comparison: Comparison) -> tuple[str, ...]:
    """Everything that stands in the way of a promotion."""
    evidence = comparison.evidence
    claims = {
        f"the verdict is {comparison.verdict}, not improved": comparison.verdict != "improved",
        f"{len(comparison.regressions)} hard regressions": bool(comparison.regressions),
        "the evidence is not complete": bool(evidence.gaps) or not comparison.tasks,
        "trials are still wanted": bool(comparison.wanted),
        "a suspect is neither confirmed nor cleared": any(one.is_confirmed is not False for one in comparison.suspects),
        "the comparison itself says not to": not comparison.promote,
        "the comparison was changed after it was made": not is_sealed(comparison),
    }
    return tuple(claim for claim, holds in claims.items() if holds)


def pick_exit_code(comparison: Comparison, *, is_over_budget: bool = False) -> int:
    """0 promotable, 1 regressed or mixed, 3 inconclusive or neutral, 4 invalid, 5 stopped by the budget.

    Whatever the trials so far say, a run that the budget stopped has not said all.
    """
    if is_over_budget:
        return BUDGET
    code = CODES[comparison.verdict]
    return INVALID if code == 0 and not should_promote(comparison) else code
