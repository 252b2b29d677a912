"""The topic judge: where a new goal begins inside a conversation, by a scorecard of named signs."""

from math import exp

from msgspec import Struct

from assay.judges.offline.steps import steps
from assay.judges.offline.tables import table
from assay.types import Gap, Stream

MOST_SIGNS = 3
PAUSE = "hours"
"""The sign of time that passed: it makes a new goal surer, never one by itself."""


class Sign(Struct, frozen=True):
    weight: float
    says: str


class Card(Struct, frozen=True):
    version: int
    threshold: float
    signs: dict[str, Sign]


def topic(stream: Stream) -> tuple[Gap, ...]:
    """A gap for every step from one prompt to the next."""
    card = table("topic", Card)
    return tuple(judged(n, signs, card) for n, signs in steps(stream.turns, stream.about.branches))


def judged(turn: int, signs: dict[str, float], card: Card) -> Gap:
    """The signs of one step, added up."""
    added = {name: value * card.signs[name].weight for name, value in signs.items() if value}
    apart = added.pop(PAUSE, 0.0)
    over = sum(added.values()) - card.threshold
    is_shift = over > 0
    if is_shift:
        added[PAUSE] = apart
        over += apart
    leading = sorted(added, key=lambda name: (-added[name] if is_shift else added[name], name))
    told = [card.signs[name].says for name in leading[:MOST_SIGNS] if (added[name] > 0) == is_shift]
    confidence = 1 / (1 + exp(-over))
    return Gap(turn=turn, is_shift=is_shift, confidence=round(confidence, 3), evidence="; ".join(told) or "goes on")
