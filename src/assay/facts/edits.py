"""Lines added and removed per file, from patches, and the files that were written."""

from collections.abc import Sequence

from assay.sessions.calls import list_calls, list_made_edits, list_shell_paths, list_written_files
from assay.types import Fact, Turn

VERSION = 1


class Edits(Fact, frozen=True):
    lines_added: int
    lines_removed: int
    net_lines: int
    files: list[str]
    """Files that edits and readable shell commands wrote, sorted."""
    lines_by_file: dict[str, tuple[int, int]]
    """Added and removed, for files whose lines are known."""


def fact(turns: Sequence[Turn]) -> Edits:
    lines: dict[str, tuple[int, int]] = {}
    files: set[str] = set()
    for call in list_calls(turns):
        for edit in list_made_edits(call) if call.edits else ():
            added, removed = lines.get(edit.path, (0, 0))
            lines[edit.path] = (added + edit.added, removed + edit.removed)
        if call.runs:
            files.update(list_shell_paths(call))
    added = sum(pair[0] for pair in lines.values())
    removed = sum(pair[1] for pair in lines.values())
    return Edits(
        lines_added=added,
        lines_removed=removed,
        net_lines=added - removed,
        files=sorted(list_written_files(lines.keys(), files)),
        lines_by_file=dict(sorted(lines.items())),
    )
