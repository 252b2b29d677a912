"""Lines that a patch adds and removes, from its text or from the client's report of what it changed."""

import re
from typing import Any

from assay.sources.codex.records import table, word
from assay.types import Edit

_FILE = re.compile(r"\*\*\* (Update|Add|Delete) File: (.+)")
_MOVE = re.compile(r"\*\*\* Move to: (.+)")
_BEGIN = "*** Begin Patch"
_IN_SHELL = re.compile(r"\bapply_?patch\b")
_HOW = {"Update": "update", "Add": "create", "Delete": "delete"}
_CHANGE = {"update": "update", "add": "create", "delete": "delete"}


def in_patch(text: str) -> tuple[Edit, ...]:
    """Edits of a patch in Codex's own format; a moved file counts under its new name."""
    edits: list[Edit] = []
    path, how, added, removed = "", "", 0, 0
    for line in text[max(text.find(_BEGIN), 0) :].splitlines():
        if line.startswith("*** "):
            if opened := _FILE.match(line):
                edits += _edit(path, how, added, removed)
                path, how, added, removed = opened[2].strip(), _HOW[opened[1]], 0, 0
            elif path and (moved := _MOVE.match(line)):
                path = moved[1].strip()
            elif line.startswith("*** End Patch"):
                edits += _edit(path, how, added, removed)
                path = ""
        elif line.startswith("+"):
            added += 1
        elif line.startswith("-"):
            removed += 1
    return (*edits, *_edit(path, how, added, removed))


def in_shell(command: str) -> tuple[Edit, ...]:
    """Edits of an `apply_patch <<'EOF'` inside a shell command."""
    begin = command.find(_BEGIN)
    return in_patch(command) if begin > 0 and _IN_SHELL.search(command, 0, begin) else ()


def in_changes(changes: Any) -> tuple[Edit, ...]:
    """Edits as the client reports them: a unified diff, or the content of a new or deleted file."""
    edits: list[Edit] = []
    for path, value in table(changes).items():
        change = table(value)
        how = _CHANGE.get(word(change.get("type")), "update")
        path = word(change.get("move_path")) or path
        if diff := word(change.get("unified_diff")):
            edits += _edit(path, how, *_diff_lines(diff))
        else:
            lines = len(word(change.get("content")).splitlines())
            edits += _edit(path, how, 0 if how == "delete" else lines, lines if how == "delete" else 0)
    return tuple(edits)


def same_file(one: str, other: str) -> bool:
    """Whether two names, one perhaps relative, mean the same file."""
    a, b = one.replace("\\", "/"), other.replace("\\", "/")
    return a == b or a.endswith("/" + b.removeprefix("./")) or b.endswith("/" + a.removeprefix("./"))


def _edit(path: str, how: str, added: int, removed: int) -> list[Edit]:
    if not path:
        return []
    if how == "create":
        return [Edit(path=path, added=added, removed=removed, how="create")]
    return [Edit(path=path, added=added, removed=removed, how="delete" if how == "delete" else "update")]


def _diff_lines(diff: str) -> tuple[int, int]:
    """Counted from the first hunk on: above it, `+++` and `---` name files."""
    added = removed = 0
    lines = diff.splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith("@@")), 0)
    for line in lines[first:]:
        added += line.startswith("+")
        removed += line.startswith("-")
    return added, removed
