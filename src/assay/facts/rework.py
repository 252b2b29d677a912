"""Rework: whether a later session reverted or rewrote this one's code."""

from collections.abc import Sequence

from msgspec import Struct

from assay.sessions.calls import net_lines
from assay.types import Fact, ReworkState, Turn

VERSION = 1

FEWEST_LINES = 10


class Reworked(Struct, frozen=True, kw_only=True):
    state: ReworkState
    by: str | None = None
    share: float | None = None


class Rework(Fact, frozen=True):
    rework: Reworked
    """Nobody looks at later commits yet: `unknown`, or `not_judged` for fewer than 10 added lines."""


def fact(turns: Sequence[Turn]) -> Rework:
    added, _ = net_lines(turns)
    return Rework(rework=Reworked(state="unknown" if added >= FEWEST_LINES else "not_judged"))
