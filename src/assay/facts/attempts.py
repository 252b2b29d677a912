"""Repeated attempts: the same command failing again, the same file edited again after a failure."""

from collections import Counter
from collections.abc import Sequence

from assay.sessions.calls import has_failed, list_calls, list_made_edits
from assay.types import Call, Fact, Turn

VERSION = 1


class Attempts(Fact, frozen=True):
    repeated_failures: int
    """Times a command failed that had failed before with nothing but failures since."""
    longest_loop: int
    """Most failures in a row of one command."""
    edits_after_failure: int
    """Most edits of one file, each followed by another failing run."""


def fact(turns: Sequence[Turn]) -> Attempts:
    in_a_row: Counter[str] = Counter()
    repeated = longest = 0
    edited: set[str] = set()
    tries: Counter[str] = Counter()
    for call in list_calls(turns):
        if call.edits:
            edited.update(edit.path for edit in list_made_edits(call))
        is_failure = has_failed(call)
        if not is_failure and not in_a_row:
            continue
        name = identify_call(call)
        if not name:
            continue
        if is_failure:
            repeated += in_a_row[name] > 0
            in_a_row[name] += 1
            longest = max(longest, in_a_row[name])
            tries.update(edited)
            edited.clear()
        elif call.status == "ok":
            in_a_row.pop(name, None)
    return Attempts(
        repeated_failures=repeated,
        longest_loop=longest,
        edits_after_failure=max(tries.values(), default=0),
    )


def identify_call(call: Call) -> str:
    """What makes two attempts the same: the command, or the tool and its target."""
    if call.kind == "shell":
        return " ".join(call.command.split())
    return f"{call.name} {call.target}" if call.kind in ("edit", "web", "mcp") else ""
