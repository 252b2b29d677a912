"""From replies about a session to a judgement: every check that is ours and that no model can move.

A quote must stand in its turn, in a line of ours or in our facts, and must not speak to the judge. Explicit evidence
needs a ground that our facts show, else it is silence; a failure without words that stand is silence too. Where the
transcript speaks to the judge, only what our facts and phrases show by themselves completes a goal. A failure signal
of ours is told to the model and shown beside its verdict; it turns none.
"""

from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from assay.errors import JudgeError
from assay.judges import criteria
from assay.judges.citations import is_in, is_own_line, sanitize_reply, select_standing, shorten_text
from assay.judges.explicit_evidence import SessionRecord, confirm_ground, has_next_complaint, is_plainly_shown
from assay.judges.model.prompt_files import find_example
from assay.judges.model.replies import EVEN, SessionReply
from assay.judges.model.suspicious import is_addressed_to_judge, is_suspicious
from assay.resources import hash_parts, load_table, read_resource
from assay.sessions.calls import list_calls, list_made_edits
from assay.types import Citation, EvidenceKind, Failure, Intent, OutcomeJudgement, Reason, RubricJudgement, Turn

MOST_CITATIONS = 6
RATIONALE = 300
COPIED = "the judge repeats the example of its task"
TALKS = "the transcript talks to the judge, and nothing else says that the goal was completed"
SIGNALLED = 0.3
"""How often a goal was completed where a failure signal stands: all that is left where the model is not believed."""
SIGNAL_WEIGHT = -0.85
"""The same as log-odds."""
STATES = {"partial": "Partly done. ", "unknown": "The record does not tell. "}


class VerdictThresholds(Struct, frozen=True, forbid_unknown_fields=True):
    """What `thresholds.toml` says."""

    version: int
    topic: float
    unclear: tuple[float, float]


@cache
def load_thresholds() -> VerdictThresholds:
    """Where probabilities become verdicts."""
    return load_table("assay.judges.model", "thresholds.toml", VerdictThresholds)


def hash_thresholds() -> str:
    """A short hash that changes whenever a threshold does."""
    return hash_parts(read_resource("assay.judges.model", "thresholds.toml"))


class SessionMaterial(Struct, frozen=True):
    """What a reply about a session is held against."""

    record: SessionRecord
    failures: Sequence[Failure]
    facts: Sequence[str]


class Vote(Struct, frozen=True, kw_only=True):
    """What one reply says of the outcome, as far as it stands."""

    p: float
    evidence: EvidenceKind
    is_doubtful: bool
    """Nothing is claimed: the model does not know, or our facts speak against it."""
    citations: tuple[Citation, ...]
    facts: tuple[str, ...]
    rationale: str


def judge_vote(said: SessionReply, intent: Intent, material: SessionMaterial) -> Vote:
    """The outcome by one reply."""
    record = material.record
    standing, own = select_standing(said.citations, record.turns, record.after), dict[int, list[str]]()
    cited = [one for one in standing if not is_suspicious(one.quote) or is_own_line(one, record.turns, own)]
    facts = [line for line in material.facts for one in said.citations if not one.turn and is_in(one.quote, line)]
    shown = confirm_ground(record, intent, said.basis, cited) if said.state == "done_shown" else []
    evidence: EvidenceKind = "explicit" if shown else "silent"
    p, is_complete = said.p, said.p >= EVEN
    is_plain = bool(shown) and is_plainly_shown(record, intent, said.basis, shown)
    if is_complete and not is_plain and is_addressed_to_judge(record.turns, record.after):
        if not material.failures:
            raise JudgeError(TALKS)
        p, is_complete, shown = SIGNALLED, False, [Citation(turn=n.turn, quote=n.quote) for n in material.failures]
    if not is_complete and (cited or facts or shown) and said.state != "unknown":
        evidence = "failure"
    return Vote(
        p=p,
        evidence=evidence,
        is_doubtful=said.state == "unknown"
        or (is_complete and evidence == "silent" and is_opposed(material, intent, cited)),
        citations=tuple(dict.fromkeys([*shown, *cited]))[:MOST_CITATIONS],
        facts=tuple(dict.fromkeys(facts)),
        rationale=shorten_text(STATES.get(said.state, "") + sanitize_reply(said.rationale), RATIONALE),
    )


def is_opposed(material: SessionMaterial, intent: Intent, cited: Sequence[Citation]) -> bool:
    """Whether something of ours speaks against a completion in silence, and no words after it were cited."""
    last = max((failure.turn for failure in material.failures), default=0)
    is_contested = any(one.turn > last for one in cited)
    record = material.record
    return is_impossible(record, intent) or has_next_complaint(record) or (last > 0 and not is_contested)


def is_impossible(record: SessionRecord, intent: Intent) -> bool:
    """Whether our facts speak against it: the last prompt was left alone, or a change was wanted and none made."""
    if record.timeline.ending.kind == "unanswered":
        return True
    return intent in criteria.VERIFIED and not any(reading.is_mutating for reading in record.timeline.readings)


# --- votes ------------------------------------------------------------------------------------


def count_votes(votes: Sequence[Vote | str], failures: Sequence[Failure]) -> OutcomeJudgement:
    """What most votes say; a text is why there is no vote. Split votes and even odds claim nothing."""
    valid = [one for one in votes if isinstance(one, Vote)]
    lost = [one for one in votes if isinstance(one, str)]
    if 2 * len(valid) < len(votes) or not valid:
        raise JudgeError(lost[0] if len(votes) == 1 else f"{len(lost)} of {len(votes)} votes can't be used: {lost[0]}")
    sides = {side: [one for one in valid if (one.p >= EVEN) is side] for side in (True, False)}
    is_complete, is_split = len(sides[True]) >= len(sides[False]), len(sides[True]) == len(sides[False])
    some = valid if is_split else sides[is_complete]
    p = round(sum(one.p for one in some) / len(some), 3)
    speaker = max(some, key=lambda one: (one.evidence != "silent", abs(one.p - EVEN)))
    low, high = load_thresholds().unclear
    is_near = low <= p <= high and speaker.evidence != "explicit"
    is_unclear = is_split or is_near or 2 * sum(one.is_doubtful for one in some) > len(some)
    return OutcomeJudgement(
        goal_complete=None if is_unclear else is_complete,
        confidence=p,
        evidence=speaker.evidence,
        citations=speaker.citations,
        reasons=tuple(list_reasons(votes, speaker, failures)),
    )


def list_reasons(votes: Sequence[Vote | str], speaker: Vote, failures: Sequence[Failure]) -> list[Reason]:
    """Why, in the model's own words: a line for every vote; our failure signals and the facts that it cites."""
    kind = "vote" if len(votes) > 1 else "rationale"
    told = [Reason(kind="failure_signal", turn=one.turn, quote=one.quote, weight=SIGNAL_WEIGHT) for one in failures]
    told += [Reason(kind="fact", turn=0, quote=line, weight=0.0) for line in speaker.facts]
    for one in votes:
        if isinstance(one, str):
            told.append(Reason(kind="no_vote", turn=0, quote=one, weight=0.0))
        else:
            weight = one.p if one.p >= EVEN else one.p - 1
            told.append(Reason(kind=kind, turn=0, quote=one.rationale, weight=round(weight, 3)))
    return told


# --- the rubric -------------------------------------------------------------------------------


def build_rubric(said: SessionReply, turns: Sequence[Turn]) -> RubricJudgement:
    """The rubric with what is ours: which checks are asked, and the letter."""
    if said.rationale.strip() == find_example("session"):
        raise JudgeError(COPIED)
    title, summary = (
        shorten_text(sanitize_reply(said.title), criteria.LONGEST_TITLE),
        shorten_text(sanitize_reply(said.summary), criteria.LONGEST_SUMMARY),
    )
    if said.intent == "none":
        if any(list_made_edits(call) for call in list_calls(turns)):
            raise JudgeError("the judge sees no goal, though files were changed")
        why = Reason(
            kind="rationale", turn=0, quote=shorten_text(sanitize_reply(said.rationale), RATIONALE), weight=0.0
        )
        return RubricJudgement(intent=None, checks={}, grade=None, title=title, summary=summary, reasons=(why,))
    checks = criteria.select_checks(said.intent, {name: getattr(said.checks, name) for name in criteria.NOT_ASKED})
    return RubricJudgement(
        intent=said.intent,
        checks=checks,
        grade=criteria.grade_checks(checks),
        title=title,
        summary=summary,
        aim=criteria.AIMS[said.intent],
        second_intent=None if said.second_intent == "none" or said.second_intent == said.intent else said.second_intent,
    )
