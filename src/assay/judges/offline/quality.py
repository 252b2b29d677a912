"""The quality judge: every dimension of a profile from named signals, each with evidence and a reason in words.

A dimension whose signals saw nothing is ungraded: there is no score to begin with where nothing was seen.
"""

from collections.abc import Callable, Iterator, Sequence

from assay.judges.offline import bearing, working
from assay.judges.offline.readings import Reading, View, rules, view
from assay.judges.offline.tables import version as hashed
from assay.sessions import speech
from assay.types import Citation, OutcomeJudgement, RubricJudgement, Turn
from assay.types.quality import Dimension, Profile, Scale

CODE = 1
"""Raised when the code judges differently; the table and phrases count by themselves."""
MOST_CITATIONS = 5

Signal = Callable[[View], Reading | None]
SIGNALS: dict[str, Signal] = {
    "outcome": bearing.outcome,
    "likelihood": bearing.likelihood,
    "complaints": bearing.complaints,
    "rejections": bearing.rejections,
    "satisfaction": bearing.satisfaction,
    "ending": bearing.ending,
    "landed": bearing.landed,
    "checks": bearing.checks,
    "security": bearing.security,
    "tool_choice": working.tool_choice,
    "retries": working.retries,
    "tool_errors": working.tool_errors,
    "parallel": working.parallel,
    "delegation": working.delegation,
    "planning": working.planning,
    "read_before_edit": working.read_before_edit,
    "verification": working.verification,
    "rereads": working.rereads,
    "reads_used": working.reads_used,
    "compactions": working.compactions,
    "errors": working.errors,
    "churn": working.churn,
    "cache": working.cache,
    "tokens": working.tokens_spent,
    "cost": working.cost,
}
"""What a profile can name in `signals`."""

NAMELESS = "the profile names no signals for it; a judge with a model can score it"


def version() -> str:
    """A short hash of all that decides the answers, profiles apart."""
    return hashed(CODE, "quality", speech.version())


def quality(
    turns: Sequence[Turn], profile: Profile, rubric: RubricJudgement | None, outcome: OutcomeJudgement | None
) -> dict[str, Dimension]:
    """Every dimension of the profile, scored or ungraded."""
    seen = view(turns, rubric, outcome) if turns else None
    read: dict[str, Reading | None] = {}
    if seen:
        wanted = {name for scale in profile.dimensions for name in scale.signals}
        read = {name: signal(seen) for name, signal in SIGNALS.items() if name in wanted}
    return {scale.name: dimension(scale, read, len(turns)) for scale in profile.dimensions}


def dimension(scale: Scale, read: dict[str, Reading | None], turns: int) -> Dimension:
    """One dimension of what its signals say."""
    found = [(name, one) for name in scale.signals if (one := read.get(name))]
    evidence = list(cited([one for _, one in found], turns))
    if not evidence or seen_in(found) < rules().thin:
        why = "the session shows too little of it: " + ", ".join(one.replace("_", " ") for one in scale.signals)
        return Dimension(score=None, label=None, evidence=[], rationale="", ungraded=why if scale.signals else NAMELESS)
    score = number(found) if scale.kind == "numeric" else float(category(found))
    told = "; ".join(one.words for _, one in sorted(found, key=lambda pair: pair[1].value))
    return Dimension(
        score=score,
        label=scale.label(score),
        evidence=evidence,
        rationale=f"{told[:1].upper()}{told[1:]}.",
    )


def seen_in(found: Sequence[tuple[str, Reading]]) -> float:
    """The weight of all that was seen."""
    return sum(rules().weights[name] * one.strength for name, one in found)


def number(found: Sequence[tuple[str, Reading]]) -> float:
    """The weighted mean of what was seen, drawn a little towards where a number begins."""
    table = rules()
    weights = [table.weights[name] * one.strength for name, one in found]
    total = sum(weight * one.value for weight, (_, one) in zip(weights, found, strict=True))
    return (table.number.start * table.number.pull + total) / (table.number.pull + sum(weights))


def category(found: Sequence[tuple[str, Reading]]) -> int:
    """The category that the weighted mean falls into."""
    table = rules()
    weights = [table.weights[name] * max(one.strength, 0.01) for name, one in found]
    mean = sum(weight * one.value for weight, (_, one) in zip(weights, found, strict=True)) / sum(weights)
    return sum(mean >= step for step in table.category.steps)


def cited(found: Sequence[Reading], turns: int) -> Iterator[Citation]:
    """The words that show it, one of each signal before the second of any, the worst signals first."""
    ordered = sorted(found, key=lambda one: one.value)
    deepest = max((len(one.signs) for one in ordered), default=0)
    signs = [one.signs[n] for n in range(deepest) for one in ordered if n < len(one.signs)]
    usable = dict.fromkeys((sign.turn, sign.quote) for sign in signs if sign.quote.strip() and 1 <= sign.turn <= turns)
    for turn, quote in list(usable)[:MOST_CITATIONS]:
        yield Citation(turn=turn, quote=quote)
