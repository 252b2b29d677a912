"""What audits say of some sessions: who may be drawn, in which order, how far that is, and the score it corrects.

Every session has a place in one order that only the store's seed decides, and audits ask in that order. So whatever
was answered up to some place is a random sample of all sessions up to now, without anybody drawn twice.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from assay.scores.correction import Corrected, correct_share
from assay.scores.prediction import Predicted, find_spread, predict_share
from assay.scores.prism import SAID
from assay.types import Row, Session

LEAST = 20
"""Answers from which on the score is corrected; fewer do where they are about all sessions."""
MOST_MISSING = 0.5
"""Sessions of the draw that nobody was asked about, for each that was answered: with more it is no sample."""


class AuditTally(Row, frozen=True):
    """How far the audit of some sessions is."""

    sessions: int
    """Sessions that may be drawn: those that count and those that are unclear."""
    answered: int
    landed: int
    not_landed: int
    unclear: int
    """Answered, and there was no telling: in no share."""
    marked_since: int
    """Answered, and marked otherwise later: the mark is your word on the session, the answer corrects the score."""
    missing: int
    """Stand in the draw before the last that was answered, and nobody was asked: they came since, or from elsewhere."""
    why_not: str | None
    """Why the score is not corrected by it; `None` where it is."""


def rank_session(seed: str, id: str) -> bytes:
    """The place of a session in the order in which audits ask."""
    return blake2b(f"{seed} {id}".encode(), digest_size=16).digest()


def select_drawable(sessions: Iterable[Session]) -> list[Session]:
    """The sessions that may be drawn: all that count, and those that are unclear."""
    return [one for one in sessions if is_drawable(one)]


def is_drawable(session: Session) -> bool:
    """Whether a session may be drawn, by the judge's word: a mark, chosen by hand, adds none.

    It takes one away that it excludes, but not after the answer: else whoever marks could choose the sample.
    """
    mark = session.marked
    if mark and mark.verdict == "exclude" and not mark.sampled:
        return False
    status = mark.judge_status if mark else session.judge_status
    return status in ("ok", "unclear") and session.facts["substance"] is True


def order_sessions(sessions: Iterable[Session], seed: str) -> list[Session]:
    """Sessions in the order in which audits ask."""
    return sorted(sessions, key=lambda one: rank_session(seed, find_drawn_id(one)))


def find_drawn_id(session: Session) -> str:
    """The id that decides a session's place: one that was answered keeps its own, however it is cut by now."""
    return session.marked.turn if session.marked and session.marked.sampled else session.id


def is_answered(session: Session) -> bool:
    """Whether an audit asked about a session."""
    return session.marked is not None and session.marked.sampled


def find_answer(session: Session) -> bool | None:
    """Whether a session landed by the answer to an audit; `None` for one unanswered or unclear."""
    return SAID.get(session.marked.answer) if session.marked and session.marked.answer else None


def is_marked_since(session: Session) -> bool:
    """Whether a mark says something else than was answered before it."""
    return is_answered(session) and session.marked is not None and session.marked.verdict != session.marked.answer


def find_chance(session: Session) -> float:
    """The judge's chance that a session landed; where it gave none, what it says of the goal."""
    if session.confidence is not None:
        return session.confidence
    judged = session.marked.judged if session.marked else session.goal_complete
    return 0.5 if judged is None else float(judged)


def tally_audit(sessions: Iterable[Session], seed: str) -> AuditTally | None:
    """How far the audit is; `None` where nothing was ever drawn."""
    if not seed:
        return None
    drawable = select_drawable(sessions)
    found = order_sessions(drawable, seed)
    answered = [one for one in found if is_answered(one)]
    if not answered:
        return None
    missing = found.index(answered[-1]) + 1 - len(answered)
    landed, failed = (sum(find_answer(one) is goal for one in answered) for goal in (True, False))
    return AuditTally(
        sessions=len(found),
        answered=len(answered),
        landed=landed,
        not_landed=failed,
        unclear=len(answered) - landed - failed,
        marked_since=sum(map(is_marked_since, answered)),
        missing=missing,
        why_not=explain_no_correction(landed + failed, len(found), len(answered), missing),
    )


def explain_no_correction(told: int, sessions: int, answered: int, missing: int) -> str | None:
    """Why an audit does not correct the score; `None` where it does."""
    if missing > MOST_MISSING * answered:
        return f"it has not asked about {missing} sessions that belong to the draw, so it is no sample of these"
    if told < LEAST and answered < sessions:
        needed = f"at least {LEAST}" if sessions > LEAST else f"all {sessions}"
        return f"{told} of {needed} answers that the correction needs"
    return None if told else "no answer says whether a session landed"


def correct_score(sessions: Sequence[Session], tally: AuditTally | None) -> Corrected | None:
    """The score by the audit of these sessions, where it is far enough."""
    if tally is None or tally.why_not is not None:
        return None
    drawable = select_drawable(sessions)
    chances = [find_chance(one) for one in drawable if not is_answered(one)]
    said = [(find_chance(one), answer) for one in drawable if (answer := find_answer(one)) is not None]
    return correct_share(sorted(chances), sorted(said))


def predict_score(sessions: Iterable[Session]) -> Predicted | None:
    """Where the true share lies by how far off the judge was elsewhere; `None` for one that was never measured."""
    drawable = select_drawable(sessions)
    judges = {one.judge for one in drawable}
    spread = find_spread(judges.pop()) if len(judges) == 1 else None
    return predict_share(sorted(map(find_chance, drawable)), spread) if spread else None
