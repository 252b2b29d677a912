"""From a reply about the outcome to a verdict: every check that is ours and that no model can move.

A reply that contradicts itself is no verdict. A quote must stand in its turn and must not speak to the judge. Explicit
evidence needs a ground that our facts show, else it is silence; silence is not believed where nothing was changed or
the last prompt was left alone. Where the transcript speaks to the judge, only what our facts and phrases show by
themselves completes a goal. A failure signal of ours always wins.
"""

import re
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from assay.errors import JudgeError
from assay.judges.citations import sanitize_reply, select_standing, shorten_text
from assay.judges.criteria import VERIFIED, is_goal_complete
from assay.judges.explicit_evidence import SessionRecord, confirm_ground, has_next_complaint, is_plainly_shown
from assay.judges.model.prompt_files import find_example
from assay.judges.model.replies import OutcomeReply
from assay.judges.model.suspicious import is_addressed_to_judge, is_suspicious
from assay.resources import hash_parts, load_table, read_resource
from assay.types import Citation, EvidenceKind, Failure, Intent, OutcomeJudgement, Reason

MOST_CITATIONS = 6
RATIONALE = 300
COPIED = "the judge repeats the example of its task"
TALKS = "the transcript talks to the judge, and nothing else says that the goal was completed"
CLOSING = re.compile(r"therefore,? the goal was (not )?completed[\s.\"'*]*\Z", re.IGNORECASE)


class Vote(Struct, frozen=True, kw_only=True):
    """One reply that stood all checks."""

    complete: bool
    confidence: float
    evidence: EvidenceKind
    citations: tuple[Citation, ...]
    rationale: str


def judge_vote(said: OutcomeReply, record: SessionRecord, intent: Intent, failures: Sequence[Failure]) -> Vote:
    """The verdict of one reply."""
    if why := find_contradiction(said):
        raise JudgeError(why)
    cited = [one for one in select_standing(said.citations, record.turns, record.after) if not is_suspicious(one.quote)]
    evidence: EvidenceKind = said.evidence
    shown: list[Citation] = []
    if failures:
        evidence = "failure"
        shown = [Citation(turn=one.turn, quote=one.quote) for one in failures]
    elif evidence == "failure" and not cited:
        raise JudgeError("the judge says that it failed, and cites nothing that stands in the transcript")
    elif evidence == "explicit":
        shown = confirm_ground(record, intent, said.basis, cited)
        evidence = "explicit" if shown else "silent"
    complete = is_goal_complete(intent, evidence, said.confidence, failures)
    if complete:
        check_belief(
            evidence == "explicit" and is_plainly_shown(record, intent, said.basis, shown), evidence, record, intent
        )
    return Vote(
        complete=complete,
        confidence=said.confidence,
        evidence=evidence,
        citations=tuple(dict.fromkeys([*shown, *cited]))[:MOST_CITATIONS],
        rationale=shorten_text(sanitize_reply(said.rationale), RATIONALE),
    )


def find_contradiction(said: OutcomeReply) -> str:
    """How a reply contradicts itself or the record, or nothing."""
    if said.rationale.strip() == find_example("outcome"):
        return COPIED
    told = find_conclusion(said.rationale)
    if told is not None and told != said.goal_complete:
        return "the judge's rationale contradicts its verdict"
    if said.evidence == "failure" and said.goal_complete:
        return "the judge calls the goal completed by evidence of failure"
    if said.evidence == "explicit" and not said.goal_complete:
        return "the judge calls the goal not completed by evidence that it was"
    return ""


def check_belief(is_shown: bool, evidence: EvidenceKind, record: SessionRecord, intent: Intent) -> None:
    """Refuses a completion on a model's word alone, where that word can't be right or may not be its own."""
    if not is_shown and is_addressed_to_judge(record.turns, record.after):
        raise JudgeError(TALKS)
    if evidence != "silent":
        return
    if has_next_complaint(record):
        raise JudgeError("the judge calls the goal completed, but the person complains next")
    if record.timeline.ending.kind == "unanswered":
        raise JudgeError("the judge calls the goal completed, but the last prompt was left alone")
    if intent in VERIFIED and not any(reading.is_mutating for reading in record.timeline.readings):
        raise JudgeError("the judge calls the goal completed, but nothing was changed")


# --- votes ------------------------------------------------------------------------------------


def count_votes(votes: Sequence[Vote | str], failures: Sequence[Failure]) -> OutcomeJudgement:
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
    speaker = max(majority, key=lambda one: (one.evidence != "silent", measure_sureness(one)))
    return OutcomeJudgement(
        goal_complete=complete,
        confidence=round(sum(one.confidence for one in majority) / len(majority), 3),
        evidence=speaker.evidence,
        citations=speaker.citations,
        reasons=tuple(list_reasons(votes, failures)),
    )


def measure_sureness(one: Vote) -> float:
    """How sure a vote is of its own side."""
    return one.confidence if one.complete else 1 - one.confidence


def list_reasons(votes: Sequence[Vote | str], failures: Sequence[Failure]) -> list[Reason]:
    """Why, in the model's own words: a line for every vote, and our failure signals, which outweigh them."""
    kind = "vote" if len(votes) > 1 else "rationale"
    told = [Reason(kind="failure_signal", turn=one.turn, quote=one.quote, weight=-1.0) for one in failures]
    for one in votes:
        if isinstance(one, str):
            told.append(Reason(kind="no_vote", turn=0, quote=one, weight=0.0))
        else:
            weight = round(measure_sureness(one), 3)
            told.append(Reason(kind=kind, turn=0, quote=one.rationale, weight=weight if one.complete else -weight))
    return told


class RationaleTable(Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    complete: list[str]
    incomplete: list[str]


def hash_wordings() -> str:
    """A short hash that changes whenever a pattern does."""
    return hash_parts(read_resource("assay.judges.model", "rationale.toml"))


@cache
def load_wordings() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Of a completed goal, and of one that is not."""
    known = load_table("assay.judges.model", "rationale.toml", RationaleTable)
    return re.compile("|".join(known.complete)), re.compile("|".join(known.incomplete))


def find_conclusion(rationale: str) -> bool | None:
    """What its last sentence says; without that, what it says in plain words of one kind; else `None`."""
    if closing := CLOSING.search(rationale):
        return closing[1] is None
    complete, incomplete = load_wordings()
    said = " ".join(rationale.lower().split())
    yes, no = bool(complete.search(said)), bool(incomplete.search(said))
    return yes if yes != no else None
