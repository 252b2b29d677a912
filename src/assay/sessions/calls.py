"""Questions that several facts and judges ask of tool calls."""

from collections.abc import Iterable, Iterator, Sequence

from assay.types import Call, Edit, Turn

ENDED = frozenset({"ok", "error", "interrupted"})


def all_calls(turns: Iterable[Turn]) -> Iterator[Call]:
    """Every call of these turns, sub-agents' included."""
    for turn in turns:
        yield from turn.calls


def made_edits(call: Call) -> Sequence[Edit]:
    """The edits of a call that succeeded; one that failed, was rejected or has no result made none."""
    return call.edits if call.status == "ok" else ()


def is_mutating(call: Call) -> bool:
    """Whether it changed something: an edit that succeeded, or a shell command with side effects that ran.

    A shell command that failed may have done part of its work, so it counts; one that never ran does not.
    """
    if call.kind == "edit":
        return call.status == "ok" and bool(call.edits)
    return call.status in ENDED and any(run.mutates for run in call.runs)


def net_lines(turns: Iterable[Turn]) -> tuple[int, int]:
    """Lines added and removed by edits."""
    added = removed = 0
    for call in all_calls(turns):
        for edit in made_edits(call):
            added += edit.added
            removed += edit.removed
    return added, removed
