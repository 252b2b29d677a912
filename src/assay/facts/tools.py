"""Tool calls: how many of which kind, how many failed, were rejected, denied or never answered."""

from collections import Counter
from collections.abc import Sequence

from assay.sessions.calls import list_calls
from assay.types import Fact, Turn

VERSION = 1


class Tools(Fact, frozen=True):
    tool_calls: int
    calls_by_kind: dict[str, int]
    tool_errors: int
    rejections: int
    """Calls that the person rejected."""
    denials: int
    """Calls that a rule or setting denied."""
    unanswered_calls: int
    """Calls without a result."""
    agents: int
    """Sub-agents whose calls or tokens are counted here."""


def fact(turns: Sequence[Turn]) -> Tools:
    calls = list(list_calls(turns))
    status = Counter(call.status for call in calls)
    agents = {call.by for call in calls} | {spend.by for turn in turns for spend in turn.spends}
    return Tools(
        tool_calls=len(calls),
        calls_by_kind=dict(sorted(Counter(call.kind for call in calls).items())),
        tool_errors=status["error"],
        rejections=status["rejected"],
        denials=status["denied"],
        unanswered_calls=status["open"],
        agents=len(agents - {""}),
    )
