"""What audits say of some sessions: who may be drawn, in which order, how far that is, and the score it corrects.

Every session has a place in one order that only the store's seed decides, and audits ask in that order. So whatever
was answered up to some place is a random sample of all sessions up to now, without anybody drawn twice.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from assay.scores.correction import Corrected, correct_share
from assay.scores.interval import measure_interval
from assay.scores.prediction import Predicted, find_spread, predict_share
from assay.scores.prism import SAID
from assay.types import Row, Session

LEAST = 20
"""Answers from which on the score is corrected; fewer do where they are about all sessions."""
MOST_MISSING = 0.5
"""Sessions of the draw that nobody was asked about, for each that was answered: with more it is no sample."""

MOST_STEPS = 24
"""Answers of many at which it is told how far the interval had shrunk."""


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


def tally_audit(answered: Iterable[Session], others: Iterable[str], seed: str) -> AuditTally | None:
    """How far the audit is, of sessions that may be drawn: those answered, and ids of the others.

    `None` where nothing was ever drawn.
    """
    asked = select_drawable(answered)
    if not seed or not asked:
        return None
    last = max(rank_session(seed, find_drawn_id(one)) for one in asked)
    waiting = [rank_session(seed, one) < last for one in others]
    landed, failed = (sum(find_answer(one) is goal for one in asked) for goal in (True, False))
    sessions, missing = len(asked) + len(waiting), sum(waiting)
    return AuditTally(
        sessions=sessions,
        answered=len(asked),
        landed=landed,
        not_landed=failed,
        unclear=len(asked) - landed - failed,
        marked_since=sum(map(is_marked_since, asked)),
        missing=missing,
        why_not=explain_no_correction(landed + failed, sessions, len(asked), missing),
    )


def explain_no_correction(told: int, sessions: int, answered: int, missing: int) -> str | None:
    """Why an audit does not correct the score; `None` where it does."""
    if missing > MOST_MISSING * answered:
        return f"it has not asked about {missing} sessions that belong to the draw, so it is no sample of these"
    if told < LEAST and answered < sessions:
        needed = f"at least {LEAST}" if sessions > LEAST else f"all {sessions}"
        return f"{told} of {needed} answers that the correction needs"
    return None if told else "no answer says whether a session landed"


def correct_score(
    answered: Sequence[Session], chances: Mapping[float, int], tally: AuditTally | None
) -> Corrected | None:
    """The score by an audit, where it is far enough; `chances` count all sessions that may be drawn."""
    if tally is None or tally.why_not is not None:
        return None
    asked = select_drawable(answered)
    others = Counter(chances)
    others.subtract(map(find_chance, asked))
    said = [(find_chance(one), answer) for one in asked if (answer := find_answer(one)) is not None]
    return correct_share(list_chances(others), sorted(said))


class AuditStep(Row, frozen=True):
    """Where the true share lay by the answers up to one of them."""

    answers: int
    """That say whether a session landed."""
    landed: int
    value: float
    low: float
    high: float
    is_corrected: bool
    """The judge's chances of all other sessions are in it; else it is the answers alone."""


def trace_answers(answered: Sequence[Session], chances: Mapping[float, int]) -> list[AuditStep]:
    """How the interval shrank from answer to answer, in the order in which they were given; at some of many."""
    asked = select_drawable(answered)
    said = [(find_chance(one), answer) for one in asked if (answer := find_answer(one)) is not None]
    unclear = [find_chance(one) for one in asked if find_answer(one) is None]
    sessions = sum(chances.values())
    every = max(1, -(-len(said) // MOST_STEPS))
    return [
        step_answers(said[:n], chances, unclear, is_far=n >= LEAST or (n == len(said) and len(asked) == sessions))
        for n in range(1, len(said) + 1)
        if not (len(said) - n) % every
    ]


def step_answers(
    said: Sequence[tuple[float, bool]], chances: Mapping[float, int], unclear: Sequence[float], *, is_far: bool
) -> AuditStep:
    """The share that landed by some answers; by them alone where they are too few for a correction."""
    others = Counter(chances)
    others.subtract([*unclear, *(chance for chance, _ in said)])
    landed = sum(answer for _, answer in said)
    corrected = correct_share(list_chances(others), sorted(said)) if is_far else None
    if corrected is None:
        low, high = measure_interval(landed, len(said))
        value = 100 * landed / len(said)
    else:
        value, low, high = corrected.value, corrected.low, corrected.high
    return AuditStep(
        answers=len(said), landed=landed, value=value, low=low, high=high, is_corrected=corrected is not None
    )


def predict_score(judges: Iterable[str], chances: Mapping[float, int]) -> Predicted | None:
    """Where the true share lies by how far off the judge was elsewhere; `None` for one that was never measured.

    Of the sessions that may be drawn: who judged them, and how often which chance was given.
    """
    named = set(judges)
    spread = find_spread(named.pop()) if len(named) == 1 else None
    return predict_share(list_chances(chances), spread) if spread else None


def list_chances(counts: Mapping[float, int]) -> list[float]:
    """Every chance that was given, in order."""
    return [chance for chance, times in sorted(counts.items()) for _ in range(times)]
