"""Lines added and removed per file, from patches, and the files that were written."""

from collections.abc import Iterable, Sequence

from assay.sessions.calls import all_calls, is_mutating, made_edits
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
    for call in all_calls(turns):
        for edit in made_edits(call) if call.edits else ():
            added, removed = lines.get(edit.path, (0, 0))
            lines[edit.path] = (added + edit.added, removed + edit.removed)
        if call.runs and is_mutating(call):
            files.update(path for run in call.runs for path in run.paths)
    files = {path for path in files if is_named(path, lines)}
    added = sum(pair[0] for pair in lines.values())
    removed = sum(pair[1] for pair in lines.values())
    return Edits(
        lines_added=added,
        lines_removed=removed,
        net_lines=added - removed,
        files=sorted(files | lines.keys()),
        lines_by_file=dict(sorted(lines.items())),
    )


def is_named(path: str, known: Iterable[str]) -> bool:
    """Whether it is a file of its own: no pattern, no folder, not a known file said in short."""
    if path.strip("./") == "" or any(sign in path for sign in "*?[{"):
        return False
    return path.startswith("/") or not any(one.endswith(f"/{path.removeprefix('./')}") for one in known)
