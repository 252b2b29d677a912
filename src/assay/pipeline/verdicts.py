"""A person's word on how sessions ended, put on them: it wins over every judge, and over rework.

A verdict goes with the turn it was given for, the first of its session: whichever session holds that turn has it. So
the beginning of a session that was split keeps it, and of several in one that was merged the last said wins.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from assay.scores.prism import has_crushed
from assay.stores import StoredSegment
from assay.types import JudgeStatus, PersonVerdict, Session, SessionMark, VerdictKind

TAKEN_BACK: VerdictKind = "none"
MEANING: dict[VerdictKind, tuple[JudgeStatus, bool | None]] = {
    "landed": ("ok", True),
    "not": ("ok", False),
    "exclude": ("excluded", None),
    "unclear": ("unclear", None),
}
"""Status and goal of a session of which a person said so."""


def pick_standing(said: Iterable[PersonVerdict]) -> list[PersonVerdict]:
    """The verdicts that hold, in order of time: of each turn the last answer to an audit, and a mark made after it."""
    last: dict[tuple[str, bool], PersonVerdict] = {}
    for one in sorted(said, key=lambda one: one.at):
        last.pop((one.turn, one.is_sampled), None)
        last[one.turn, one.is_sampled] = one
    standing = {key: one for key, one in last.items() if one.verdict != TAKEN_BACK}
    latest = {one.turn: one for one in standing.values()}
    return [one for one in standing.values() if one.is_sampled or latest[one.turn] is one]


def place_verdicts(said: Sequence[PersonVerdict], kept: Sequence[StoredSegment]) -> dict[str, list[PersonVerdict]]:
    """The verdicts that hold, by the segment that holds their turn; those of no segment here are left out."""
    standing = pick_standing(said)
    wanted = {one.turn for one in standing}
    holder = {turn: one.segment.id for one in kept if wanted for turn in one.turns if turn in wanted}
    holder |= {one.segment.id: one.segment.id for one in kept if one.segment.id in wanted}
    placed: dict[str, list[PersonVerdict]] = {}
    for one in standing:
        if one.turn in holder:
            placed.setdefault(holder[one.turn], []).append(one)
    return placed


def mark_session(session: Session, standing: Iterable[PersonVerdict]) -> Session:
    """The session as a person says it ended; as it was judged where nobody said anything."""
    said = sorted(standing, key=lambda one: one.at)
    if not said:
        return session
    found = said[-1]
    drawn = [one for one in said if one.is_sampled]
    status, goal_complete = MEANING[found.verdict]
    mark = SessionMark(
        verdict=found.verdict,
        why=found.why,
        at=found.at,
        sampled=bool(drawn),
        answer=drawn[-1].verdict if drawn else None,
        turn=(drawn or said)[-1].turn,
        turns=found.turns,
        judged=session.goal_complete,
        judge_status=session.judge_status,
    )
    marked = replace(
        session, judge_status=status, goal_complete=goal_complete, ungraded_reason=None, marked=mark, crushed=None
    )
    return replace(marked, crushed=has_crushed(marked))
