"""An audit: sessions drawn at random, and what a person says of each, saved the moment they say it."""

from collections.abc import Sequence
from secrets import token_hex

from assay.pipeline.verdicts import TAKEN_BACK
from assay.scores.audit import is_answered, order_sessions, select_drawable
from assay.stores import Store
from assay.types import AuditDraw, PersonVerdict, Session, VerdictKind

SEED_BYTES = 8


def begin_draw(store: Store, wanted: int) -> AuditDraw:
    """Note how many are wanted; the first time, a seed decides for good in which order sessions are asked about."""
    return store.corrections.save_draw(AuditDraw(seed=token_hex(SEED_BYTES), wanted=wanted))


def draw_sessions(sessions: Sequence[Session], draw: AuditDraw) -> tuple[list[Session], list[Session]]:
    """The sessions that are answered, by when they were, and those still to be asked about, in order."""
    ordered = order_sessions(select_drawable(sessions), draw.seed)
    answered = sorted(filter(is_answered, ordered), key=lambda one: one.marked.at if one.marked else "")
    waiting = [one for one in ordered if not is_answered(one)]
    return answered, waiting[: max(0, draw.wanted - len(answered))]


def save_answer(store: Store, session: Session, verdict: VerdictKind, at: str) -> None:
    """Save what a person says of a session that was drawn."""
    turns = session.facts["turns"]
    store.corrections.save_verdicts(
        [PersonVerdict(turn=session.id, verdict=verdict, at=at, is_sampled=True, turns=turns)]
    )


def withdraw_answer(store: Store, session: Session, at: str) -> None:
    """Take back the answer about a session, which is then asked about again."""
    save_answer(store, session, TAKEN_BACK, at)
