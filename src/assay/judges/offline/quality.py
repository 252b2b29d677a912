"""The quality judge: every dimension of a profile from named signals, each with evidence and a reason in words.

A dimension whose signals saw nothing is ungraded: there is no score to begin with where nothing was seen.
"""

from collections.abc import Callable, Iterator, Sequence

from assay.judges.offline import quality_outcome, quality_process
from assay.judges.offline.quality_signals import SessionView, SignalScore, build_session_view, load_weights
from assay.resources import hash_parts, read_resource
from assay.sessions import speech
from assay.types import Citation, OutcomeJudgement, RubricJudgement, Turn
from assay.types.quality import Dimension, Profile, Scale

CODE = 4
"""Raised when the code judges differently; the table and phrases count by themselves."""
MOST_CITATIONS = 5

ScoreSignal = Callable[[SessionView], SignalScore | None]
SIGNALS: dict[str, ScoreSignal] = {
    "outcome": quality_outcome.score_outcome,
    "likelihood": quality_outcome.score_likelihood,
    "complaints": quality_outcome.score_complaints,
    "rejections": quality_outcome.score_rejections,
    "satisfaction": quality_outcome.score_satisfaction,
    "ending": quality_outcome.score_ending,
    "landed": quality_outcome.score_landed,
    "checks": quality_outcome.score_checks,
    "security": quality_outcome.score_security,
    "tool_choice": quality_process.score_tool_choice,
    "retries": quality_process.score_retries,
    "tool_errors": quality_process.score_tool_errors,
    "parallel": quality_process.score_parallel,
    "delegation": quality_process.score_delegation,
    "planning": quality_process.score_planning,
    "read_before_edit": quality_process.score_read_before_edit,
    "verification": quality_process.score_verification,
    "skills": quality_process.score_skills,
    "workflow": quality_process.score_workflow,
    "rereads": quality_process.score_rereads,
    "targeted_reads": quality_process.score_targeted_reads,
    "reads_used": quality_process.score_reads_used,
    "compactions": quality_process.score_compactions,
    "errors": quality_process.score_errors,
    "churn": quality_process.score_churn,
    "file_links": quality_process.score_file_links,
    "emoji": quality_process.score_emoji,
    "cache": quality_process.score_cache,
    "tokens": quality_process.score_tokens,
    "cost": quality_process.score_cost,
}
"""What a profile can name in `signals`."""

NAMELESS = "the profile names no signals for it; a judge with a model can score it"


def hash_version() -> str:
    """A short hash of all that decides the answers, profiles apart."""
    return hash_parts(str(CODE), speech.hash_phrases(), read_resource("assay.judges.offline", "quality.toml"))


def judge_quality(
    turns: Sequence[Turn], profile: Profile, rubric: RubricJudgement | None, outcome: OutcomeJudgement | None
) -> dict[str, Dimension]:
    """Every dimension of the profile, scored or ungraded."""
    seen = build_session_view(turns, rubric, outcome) if turns else None
    read: dict[str, SignalScore | None] = {}
    if seen:
        wanted = {name for scale in profile.dimensions for name in scale.signals}
        read = {name: signal(seen) for name, signal in SIGNALS.items() if name in wanted}
    return {scale.name: score_dimension(scale, read, len(turns)) for scale in profile.dimensions}


def score_dimension(scale: Scale, read: dict[str, SignalScore | None], turns: int) -> Dimension:
    """One dimension of what its signals say."""
    found = [(name, one) for name in scale.signals if (one := read.get(name))]
    evidence = list(pick_citations([one for _, one in found], turns))
    if not evidence or weigh_signals(found) < load_weights().thin:
        why = "the session shows too little of it: " + ", ".join(one.replace("_", " ") for one in scale.signals)
        return Dimension(score=None, label=None, evidence=[], rationale="", ungraded=why if scale.signals else NAMELESS)
    score = score_number(found) if scale.kind == "numeric" else float(score_category(found))
    told = "; ".join(one.words for _, one in sorted(found, key=lambda pair: pair[1].value))
    return Dimension(
        score=score,
        label=scale.label(score),
        evidence=evidence,
        rationale=f"{told[:1].upper()}{told[1:]}.",
    )


def weigh_signals(found: Sequence[tuple[str, SignalScore]]) -> float:
    """The weight of all that was seen."""
    return sum(load_weights().weights[name] * one.strength for name, one in found)


def score_number(found: Sequence[tuple[str, SignalScore]]) -> float:
    """The weighted mean of what was seen, drawn a little towards where a number begins."""
    table = load_weights()
    weights = [table.weights[name] * one.strength for name, one in found]
    total = sum(weight * one.value for weight, (_, one) in zip(weights, found, strict=True))
    return (table.number.start * table.number.pull + total) / (table.number.pull + sum(weights))


def score_category(found: Sequence[tuple[str, SignalScore]]) -> int:
    """The category that the weighted mean falls into."""
    table = load_weights()
    weights = [table.weights[name] * max(one.strength, 0.01) for name, one in found]
    mean = sum(weight * one.value for weight, (_, one) in zip(weights, found, strict=True)) / sum(weights)
    return sum(mean >= step for step in table.category.steps)


def pick_citations(found: Sequence[SignalScore], turns: int) -> Iterator[Citation]:
    """The words that show it, one of each signal before the second of any, the worst signals first."""
    ordered = sorted(found, key=lambda one: one.value)
    deepest = max((len(one.signs) for one in ordered), default=0)
    signs = [one.signs[n] for n in range(deepest) for one in ordered if n < len(one.signs)]
    usable = dict.fromkeys((sign.turn, sign.quote) for sign in signs if sign.quote.strip() and 1 <= sign.turn <= turns)
    for turn, quote in list(usable)[:MOST_CITATIONS]:
        yield Citation(turn=turn, quote=quote)
