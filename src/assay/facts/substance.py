"""The substance floor: did anything happen that is worth judging?"""

from collections.abc import Sequence

from assay.sessions.calls import count_changed_lines, is_mutating, list_calls
from assay.types import Fact, Turn

VERSION = 1

MIN_TURNS = 3
MIN_NET_LINES = 10
MIN_MUTATING_CALLS = 1


class Substance(Fact, frozen=True):
    mutating_calls: int
    substance: bool
    """At least 3 turns, or 10 net lines, or one mutating call."""


def fact(turns: Sequence[Turn]) -> Substance:
    mutating = sum(is_mutating(call) for call in list_calls(turns))
    added, removed = count_changed_lines(turns)
    asked = sum(turn.prompt is not None for turn in turns)
    passes = asked >= MIN_TURNS or added - removed >= MIN_NET_LINES or mutating >= MIN_MUTATING_CALLS
    return Substance(mutating_calls=mutating, substance=passes)
