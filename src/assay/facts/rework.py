"""Rework: whether the lines were later replaced, before anybody looks at what came later."""

from collections.abc import Sequence

from assay.sessions.calls import count_changed_lines
from assay.types import Fact, ReworkResult, Turn

VERSION = 2

FEWEST_LINES = 10


class ReworkFact(Fact, frozen=True):
    rework: ReworkResult
    """What turns alone tell: `unknown`, or `not_judged` for fewer than 10 added lines; the report knows more."""


def fact(turns: Sequence[Turn]) -> ReworkFact:
    added, _ = count_changed_lines(turns)
    return ReworkFact(rework=ReworkResult(state="unknown" if added >= FEWEST_LINES else "not_judged"))
