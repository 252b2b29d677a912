"""By what the tenant of the turns is known: the folders they were done in, and hashes of what telemetry said."""

from collections.abc import Sequence
from functools import reduce

from assay.types import Fact, Turn
from assay.types.value import merge_signs

VERSION = 1


class Signs(Fact, frozen=True):
    """See `types.value`."""

    signs: tuple[str, ...]


def fact(turns: Sequence[Turn]) -> Signs:
    """Each sign once, in the order in which they came."""
    return Signs(signs=reduce(merge_signs, (turn.signs for turn in turns), ()))
