"""An audit: sessions drawn at random, and what a person says of each, saved the moment they say it."""

from collections.abc import Mapping, Sequence
from secrets import token_hex

from msgspec import Struct

from assay.config import Config
from assay.pipeline.lookup import read_turns
from assay.pipeline.verdicts import TAKEN_BACK
from assay.scores.audit import is_answered, order_sessions, rank_session, select_drawable
from assay.scores.report import ToldSessions
from assay.sessions.endings import find_ending
from assay.stores import Store
from assay.types import AuditDraw, PersonVerdict, Session, Turn, VerdictKind

SEED_BYTES = 8


class AuditQueue(Struct, frozen=True, kw_only=True):
    """What was answered and what is asked next; nothing of what a judge says of those that wait."""

    wanted: int
    answered: Sequence[Session]
    """By when they were."""
    waiting: Sequence[str]
    """Ids, in the order in which they are asked about."""
    chances: Mapping[float, int]
    """The judge's chances of all sessions that may be drawn, and how often each was given."""


def begin_draw(store: Store, wanted: int) -> AuditDraw:
    """Note how many are wanted; the first time, a seed decides for good in which order sessions are asked about."""
    return store.corrections.save_draw(AuditDraw(seed=token_hex(SEED_BYTES), wanted=wanted))


def draw_sessions(sessions: Sequence[Session], draw: AuditDraw) -> tuple[list[Session], list[Session]]:
    """The sessions that are answered, by when they were, and those still to be asked about, in order."""
    ordered = order_sessions(select_drawable(sessions), draw.seed)
    answered = sorted(filter(is_answered, ordered), key=lambda one: one.marked.at if one.marked else "")
    waiting = [one for one in ordered if not is_answered(one)]
    return answered, waiting[: max(0, draw.wanted - len(answered))]


def build_queue(told: ToldSessions, draw: AuditDraw | None) -> AuditQueue:
    """The queue of a draw, from counts: no session that waits is read."""
    answered = sorted(select_drawable(told.answered), key=lambda one: one.marked.at if one.marked else "")
    if draw is None:
        return AuditQueue(wanted=0, answered=answered, waiting=(), chances=told.tally.chances)
    ordered = sorted(told.tally.drawn, key=lambda one: rank_session(draw.seed, one))
    waiting = ordered[: max(0, draw.wanted - len(answered))]
    return AuditQueue(wanted=draw.wanted, answered=answered, waiting=waiting, chances=told.tally.chances)


def read_case(store: Store, config: Config, session: Session) -> tuple[Sequence[Turn], str]:
    """The turns of a session, as they may be seen, and how it ends by these alone."""
    turns = read_turns(store, config, session)
    return turns, find_ending(turns).kind


def save_answer(store: Store, session: Session, verdict: VerdictKind, at: str) -> None:
    """Save what a person says of a session that was drawn."""
    turns = session.facts["turns"]
    store.corrections.save_verdicts(
        [PersonVerdict(turn=session.id, verdict=verdict, at=at, is_sampled=True, turns=turns)]
    )


def withdraw_answer(store: Store, session: Session, at: str) -> None:
    """Take back the answer about a session, which is then asked about again."""
    save_answer(store, session, TAKEN_BACK, at)
