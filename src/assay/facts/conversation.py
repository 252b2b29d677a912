"""What happened to the conversation: interruptions, compactions, errors of the model's service."""

from collections import Counter
from collections.abc import Sequence

from assay.types import Fact, Turn

VERSION = 1


class Conversation(Fact, frozen=True):
    interruptions: int
    compactions: int
    api_errors: int
    """Requests that failed for good."""
    api_retries: int
    rollbacks: int
    begins_with_clear: bool
    continues: str | None
    """Stream whose accepted plan opened this one."""


def fact(turns: Sequence[Turn]) -> Conversation:
    marks = Counter(mark.kind for turn in turns for mark in turn.marks)
    first = next((turn.prompt for turn in turns if turn.prompt), None)
    return Conversation(
        interruptions=marks["interrupt"],
        compactions=marks["compact"],
        api_errors=marks["api_error"],
        api_retries=marks["retry"],
        rollbacks=marks["rollback"],
        begins_with_clear=bool(turns) and any(mark.kind == "clear" for mark in turns[0].marks),
        continues=(first.previous or None) if first else None,
    )
