"""From a reply about the outcome to a verdict: every check that is ours and that no model can move.

A reply that contradicts itself is no verdict. A quote must stand in its turn and must not speak to the judge. Explicit
evidence needs a ground that our facts show, else it is silence; silence is not believed where nothing was changed or
the last prompt was left alone. Where the transcript speaks to the judge, only what our facts and phrases show by
themselves completes a goal. A failure signal of ours always wins.
"""

from collections.abc import Sequence

from msgspec import Struct

from assay.errors import JudgeError
from assay.judges.formula import goal_complete
from assay.judges.model.citing import standing
from assay.judges.model.grounds import Record, complains_next, confirmed, is_plain
from assay.judges.model.plain import plain
from assay.judges.model.rationale import says_complete
from assay.judges.model.replies import Outcome
from assay.judges.model.suspicious import is_suspicious, talks_to_judge
from assay.judges.model.wording import example
from assay.judges.offline.evidence import VERIFIED
from assay.judges.offline.rubric import shortened
from assay.types import Citation, EvidenceKind, Failure, Intent, OutcomeJudgement, Reason

MOST_CITATIONS = 6
RATIONALE = 300
COPIED = "the judge repeats the example of its task"
TALKS = "the transcript talks to the judge, and nothing else says that the goal was completed"


class Vote(Struct, frozen=True, kw_only=True):
    """One reply that stood all checks."""

    complete: bool
    confidence: float
    evidence: EvidenceKind
    citations: tuple[Citation, ...]
    rationale: str


def vote(said: Outcome, record: Record, intent: Intent, failures: Sequence[Failure]) -> Vote:
    """The verdict of one reply."""
    if why := contradiction(said):
        raise JudgeError(why)
    cited = [one for one in standing(said.citations, record.turns, record.after) if not is_suspicious(one.quote)]
    evidence: EvidenceKind = said.evidence
    shown: list[Citation] = []
    if failures:
        evidence = "failure"
        shown = [Citation(turn=one.turn, quote=one.quote) for one in failures]
    elif evidence == "failure" and not cited:
        raise JudgeError("the judge says that it failed, and cites nothing that stands in the transcript")
    elif evidence == "explicit":
        shown = confirmed(record, intent, said.basis, cited)
        evidence = "explicit" if shown else "silent"
    complete = goal_complete(intent, evidence, said.confidence, failures)
    if complete:
        believe(evidence == "explicit" and is_plain(record, intent, said.basis, shown), evidence, record, intent)
    return Vote(
        complete=complete,
        confidence=said.confidence,
        evidence=evidence,
        citations=tuple(dict.fromkeys([*shown, *cited]))[:MOST_CITATIONS],
        rationale=shortened(plain(said.rationale), RATIONALE),
    )


def contradiction(said: Outcome) -> str:
    """How a reply contradicts itself or the record, or nothing."""
    if said.rationale.strip() == example("outcome"):
        return COPIED
    told = says_complete(said.rationale)
    if told is not None and told != said.goal_complete:
        return "the judge's rationale contradicts its verdict"
    if said.evidence == "failure" and said.goal_complete:
        return "the judge calls the goal completed by evidence of failure"
    if said.evidence == "explicit" and not said.goal_complete:
        return "the judge calls the goal not completed by evidence that it was"
    return ""


def believe(is_shown: bool, evidence: EvidenceKind, record: Record, intent: Intent) -> None:
    """Refuses a completion on a model's word alone, where that word can't be right or may not be its own."""
    if not is_shown and talks_to_judge(record.turns, record.after):
        raise JudgeError(TALKS)
    if evidence != "silent":
        return
    if complains_next(record):
        raise JudgeError("the judge calls the goal completed, but the person complains next")
    if record.story.ending.kind == "unanswered":
        raise JudgeError("the judge calls the goal completed, but the last prompt was left alone")
    if intent in VERIFIED and not any(scene.is_mutating for scene in record.story.scenes):
        raise JudgeError("the judge calls the goal completed, but nothing was changed")


# --- votes ------------------------------------------------------------------------------------


def decided(votes: Sequence[Vote | str], failures: Sequence[Failure]) -> OutcomeJudgement:
    """What most votes say; a text is why there is no vote. Fewer than half, or as many on either side, say nothing."""
    valid = [one for one in votes if isinstance(one, Vote)]
    lost = [one for one in votes if isinstance(one, str)]
    if 2 * len(valid) < len(votes):
        raise JudgeError(lost[0] if len(votes) == 1 else f"{len(lost)} of {len(votes)} votes can't be used: {lost[0]}")
    sides = {side: [one for one in valid if one.complete is side] for side in (True, False)}
    yes, no = len(sides[True]), len(sides[False])
    if yes == no:
        raise JudgeError(f"votes are split {yes} to {no}")
    complete = yes > no
    majority = sides[complete]
    speaker = max(majority, key=lambda one: (one.evidence != "silent", sureness(one)))
    return OutcomeJudgement(
        goal_complete=complete,
        confidence=round(sum(one.confidence for one in majority) / len(majority), 3),
        evidence=speaker.evidence,
        citations=speaker.citations,
        reasons=tuple(reasons(votes, failures)),
    )


def sureness(one: Vote) -> float:
    """How sure a vote is of its own side."""
    return one.confidence if one.complete else 1 - one.confidence


def reasons(votes: Sequence[Vote | str], failures: Sequence[Failure]) -> list[Reason]:
    """Why, in the model's own words: a line for every vote, and our failure signals, which outweigh them."""
    kind = "vote" if len(votes) > 1 else "rationale"
    told = [Reason(kind="failure_signal", turn=one.turn, quote=one.quote, weight=-1.0) for one in failures]
    for one in votes:
        if isinstance(one, str):
            told.append(Reason(kind="no_vote", turn=0, quote=one, weight=0.0))
        else:
            weight = round(sureness(one), 3)
            told.append(Reason(kind=kind, turn=0, quote=one.rationale, weight=weight if one.complete else -weight))
    return told
