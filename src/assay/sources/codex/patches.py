"""Lines that a patch adds and removes, from its text or from the client's report of what it changed."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from assay.sources.codex.records import table, word
from assay.types import Edit
from assay.types.change import in_short
from assay.types.lines import packed

How = Literal["create", "update", "delete"]

_FILE = re.compile(r"\*\*\* (Update|Add|Delete) File: (.+)")
_MOVE = re.compile(r"\*\*\* Move to: (.+)")
_BEGIN = "*** Begin Patch"
_IN_SHELL = re.compile(r"\bapply_?patch\b")
_HOW: dict[str, How] = {"Update": "update", "Add": "create", "Delete": "delete"}
_CHANGE: dict[str, How] = {"update": "update", "add": "create", "delete": "delete"}


def in_patch(text: str) -> tuple[Edit, ...]:
    """Edits of a patch in Codex's own format; a moved file counts under its new name."""
    edits: list[Edit] = []
    path = ""
    how: How = "update"
    changed: list[str] = []
    for line in text[max(text.find(_BEGIN), 0) :].splitlines():
        if line.startswith("*** "):
            if opened := _FILE.match(line):
                edits += _edit(path, how, changed)
                path, how, changed = opened[2].strip(), _HOW[opened[1]], []
            elif path and (moved := _MOVE.match(line)):
                path = moved[1].strip()
            elif line.startswith("*** End Patch"):
                edits += _edit(path, how, changed)
                path = ""
        elif line.startswith(("+", "-")):
            changed.append(line)
    return (*edits, *_edit(path, how, changed))


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
            edits += _edit(path, how, _diff_lines(diff))
        else:
            sign = "-" if how == "delete" else "+"
            edits += _edit(path, how, [sign + line for line in word(change.get("content")).splitlines()])
    return tuple(edits)


def same_file(one: str, other: str) -> bool:
    """Whether two names, one perhaps relative, mean the same file."""
    a, b = one.replace("\\", "/"), other.replace("\\", "/")
    return a == b or a.endswith("/" + b.removeprefix("./")) or b.endswith("/" + a.removeprefix("./"))


def _edit(path: str, how: How, changed: Sequence[str]) -> list[Edit]:
    """The edit of these lines, signed; none where no file is named."""
    if not path:
        return []
    added = [line[1:] for line in changed if line.startswith("+")]
    removed = [line[1:] for line in changed if line.startswith("-")]
    return [
        Edit(
            path=path,
            added=len(added),
            removed=len(removed),
            how=how,
            new=packed(added),
            old=packed(removed),
            text=in_short(changed, len(added), len(removed)),
        )
    ]


def _diff_lines(diff: str) -> list[str]:
    """Those from the first hunk on: above it, `+++` and `---` name files."""
    lines = diff.splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith("@@")), 0)
    return [line for line in lines[first:] if line.startswith(("+", "-"))]
