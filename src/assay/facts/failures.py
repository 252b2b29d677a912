"""Failure signals in the final three turns."""

from collections.abc import Sequence

from assay.types import Fact, Failure, Turn

VERSION = 1

FINAL_TURNS = 3


class Failures(Fact, frozen=True):
    failure_signals: list[Failure]


def fact(turns: Sequence[Turn]) -> Failures:
    return Failures(failure_signals=[])
