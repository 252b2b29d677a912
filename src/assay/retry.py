"""How long to wait before a service is asked again: as long as it says, else longer every time."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds for which a service asks to be left alone, as a number or a date; `None` where it says nothing."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            wait_s = float(headers.get(name, "").strip()) * unit_s
        except ValueError:
            continue
        if isfinite(wait_s):
            return max(0.0, wait_s)
    try:
        at = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def double_wait(tried: int, first_s: float, most_s: float, spread: float) -> float:
    """The wait after the `tried`-th call: twice as long every time, less up to a half by `spread` (0 to 1).

    Callers that were turned away together shall not come back together, so each brings a spread of its own.
    """
    return min(most_s, first_s * 2.0 ** (tried - 1)) * (1 - spread / 2)
