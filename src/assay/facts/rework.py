"""Rework: whether the lines were later replaced, before anybody looks at what came later."""

from collections.abc import Sequence

from assay.sessions.calls import net_lines
from assay.types import Fact, Reworked, Turn

VERSION = 2

FEWEST_LINES = 10


class Rework(Fact, frozen=True):
    rework: Reworked
    """What turns alone tell: `unknown`, or `not_judged` for fewer than 10 added lines; the report knows more."""


def fact(turns: Sequence[Turn]) -> Rework:
    added, _ = net_lines(turns)
    return Rework(rework=Reworked(state="unknown" if added >= FEWEST_LINES else "not_judged"))
