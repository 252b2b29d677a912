"""The outcome judge: collects evidence, adds it up, says explicit, silent or failure, and cites."""

from collections.abc import Iterator, Sequence
from math import exp

from msgspec import Struct

from assay.judges.formula import goal_complete
from assay.judges.offline.evidence import Found, collect
from assay.judges.offline.story import tell
from assay.judges.offline.tables import table
from assay.sessions.ending import BROKEN
from assay.types import Citation, EvidenceKind, Failure, Intent, OutcomeJudgement, Prompt, Reason, Turn

MOST_CITATIONS = 6
QUOTE = 200
EVEN = 0.5


class Weights(Struct, frozen=True):
    version: int
    explicit: list[str]
    thin: float
    prior: dict[Intent, float]
    weights: dict[str, float]


def outcome(
    turns: Sequence[Turn], intent: Intent, failures: Sequence[Failure], after: Prompt | None
) -> OutcomeJudgement:
    """Whether the goal was completed, how sure, and why."""
    rules = table("outcome", Weights)
    reasons = tuple(weighed(turns, intent, failures, after, rules))
    start = Reason(kind="starting_point", turn=0, quote="", weight=rules.prior[intent])
    if why := too_thin(turns, reasons, failures, rules):
        return OutcomeJudgement(goal_complete=None, confidence=None, evidence=None, reasons=reasons, ungraded=why)
    confidence = round(1 / (1 + exp(-sum(reason.weight for reason in (start, *reasons)))), 3)
    evidence = kind_of(reasons, confidence, failures, rules)
    complete = goal_complete(intent, evidence, confidence, failures)
    return OutcomeJudgement(
        goal_complete=complete,
        confidence=confidence,
        evidence=evidence,
        citations=tuple(cite(reasons, failures, complete)),
        reasons=(start, *reasons),
    )


def weighed(
    turns: Sequence[Turn], intent: Intent, failures: Sequence[Failure], after: Prompt | None, rules: Weights
) -> Iterator[Reason]:
    """All evidence with its weight; a failure signal counts once, and not beside the broken ending it was read from."""
    story = tell(turns)
    found = [*collect(story, intent, after)]
    if failures and story.ending.kind not in BROKEN:
        found.append(Found("failure_signal", failures[0].turn, failures[0].quote))
    for one in found:
        weight = round(rules.weights[one.kind] * one.share, 3)
        yield Reason(kind=one.kind, turn=one.turn, quote=one.quote[:QUOTE], weight=weight)


def too_thin(turns: Sequence[Turn], reasons: Sequence[Reason], failures: Sequence[Failure], rules: Weights) -> str:
    """Why nothing should be said of the outcome, or nothing."""
    if not any(turn.replies or turn.calls or turn.marks for turn in turns):
        return "nothing but the prompt is there"
    if not failures and sum(abs(reason.weight) for reason in reasons) < rules.thin:
        return "too little evidence either way"
    return ""


def kind_of(reasons: Sequence[Reason], confidence: float, failures: Sequence[Failure], rules: Weights) -> EvidenceKind:
    """Failure where a signal fired or quoted evidence is against it; explicit where somebody or something said so."""
    if failures or (confidence < EVEN and any(reason.weight < 0 and reason.quote for reason in reasons)):
        return "failure"
    if confidence < EVEN:
        return "silent"
    is_said = any(reason.kind in rules.explicit and reason.weight > 0 and reason.quote for reason in reasons)
    return "explicit" if is_said else "silent"


def cite(reasons: Sequence[Reason], failures: Sequence[Failure], complete: bool) -> Iterator[Citation]:
    """The weightiest words for the conclusion, failure signals first."""
    quoted = [(failure.turn, failure.quote) for failure in failures]
    ordered = sorted(
        (reason for reason in reasons if reason.quote), key=lambda reason: -reason.weight if complete else reason.weight
    )
    quoted += [(reason.turn, reason.quote) for reason in ordered if (reason.weight > 0) == complete]
    for turn, quote in list(dict.fromkeys(pair for pair in quoted if pair[1].strip()))[:MOST_CITATIONS]:
        yield Citation(turn=turn, quote=quote)
