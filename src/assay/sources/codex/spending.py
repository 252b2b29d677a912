"""Tokens: running totals become what each response spent."""

from msgspec import Struct, field

from assay.sources.codex.records import LARGEST, Counted, Totals
from assay.types import Usage


class Meter(Struct):
    """Remembers the last running total: input, cached, cache writes, output."""

    total: list[int] = field(default_factory=list)

    def spent(self, counted: Counted | None) -> Usage | None:
        """What was spent since the last report; `None` when it is only told again."""
        if counted is None or counted.total_token_usage is None:
            return None
        total = _numbers(counted.total_token_usage)
        if total == self.total:
            return None
        before, self.total = self.total, total
        last = _numbers(counted.last_token_usage) if counted.last_token_usage is not None else total
        # The first total of a fork is inherited, and one that fell was started anew: neither can be subtracted.
        if not before or any(now < then for now, then in zip(total, before, strict=True)):
            return _usage(last)
        return _usage([now - then for now, then in zip(total, before, strict=True)])


def _numbers(totals: Totals) -> list[int]:
    return [
        min(max(number or 0, 0), LARGEST)
        for number in (
            totals.input_tokens,
            totals.cached_input_tokens,
            totals.cache_write_input_tokens,
            totals.output_tokens,
        )
    ]


def _usage(numbers: list[int]) -> Usage:
    asked, cached, written, output = numbers
    return Usage(input=max(asked - cached - written, 0), output=output, cache_read=cached, cache_write=written)
