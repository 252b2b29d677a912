"""Edits, from what agents write of them: a text in place of another, a whole file, a diff, a patch."""

import re
from collections.abc import Sequence
from typing import Literal

from assay.types.events import Edit
from assay.types.lines import find_changed_lines, hash_lines, hash_text_lines, shorten_change, shorten_file

EditHow = Literal["create", "update", "delete"]

_FILE = re.compile(r"\*\*\* (Update|Add|Delete) File: (.+)")
_MOVE = re.compile(r"\*\*\* Move to: (.+)")
PATCH = "*** Begin Patch"
_HOW: dict[str, EditHow] = {"Update": "update", "Add": "create", "Delete": "delete"}
_SEARCH = re.compile(
    r"(?:<{7}|-{7}) SEARCH>?[^\n]*\n(.*?)^={7}\n(.*?)^(?:>{7}|\+{7}) REPLACE", re.DOTALL | re.MULTILINE
)
_HINT = re.compile(r"\A(?:\s*:(?:start|end)_line:[^\n]*\n)*(?:-{7}\n)?")
"""Where Roo Code says at which line a block begins."""


def build_signed_edit(path: str, how: EditHow, changed: Sequence[str]) -> list[Edit]:
    """The edit that these signed lines make; none where no file is named."""
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
            new=hash_lines(added),
            old=hash_lines(removed),
            text=shorten_change(changed, len(added), len(removed)),
        )
    ]


def build_diff_edit(path: str, diff: str, how: EditHow = "update") -> list[Edit]:
    """The edit of one file that a unified diff shows."""
    return build_signed_edit(path, how, list_diff_lines(diff))


def build_text_edit(path: str, pairs: Sequence[tuple[str, str]]) -> list[Edit]:
    """The edit that puts new texts in the place of old ones."""
    changed: list[str] = []
    for old, new in pairs:
        added, removed = find_changed_lines(old, new)
        changed += [f"-{line}" for line in removed] + [f"+{line}" for line in added]
    return build_signed_edit(path, "update", changed)


def build_whole_edit(path: str, content: str, how: EditHow = "update") -> list[Edit]:
    """The edit that writes a whole file."""
    if not path:
        return []
    lines = content.count("\n") + (not content.endswith("\n")) if content else 0
    hashes = hash_text_lines(content.encode("utf-8", "surrogatepass"))
    return [Edit(path=path, added=lines, how=how, new=hashes, text=shorten_file(content, lines))]


def build_block_edit(path: str, diff: str) -> list[Edit]:
    """The edit of blocks that say what to search for and what to put there, as Cline and its kin write them."""
    pairs = [(_HINT.sub("", found[1], count=1), found[2]) for found in _SEARCH.finditer(diff)]
    return build_text_edit(path, pairs)


def parse_patch(text: str) -> tuple[Edit, ...]:
    """Edits of a patch in Codex's own format; a moved file counts under its new name."""
    edits: list[Edit] = []
    path = ""
    how: EditHow = "update"
    changed: list[str] = []
    for line in text[max(text.find(PATCH), 0) :].splitlines():
        if line.startswith("*** "):
            if opened := _FILE.match(line):
                edits += build_signed_edit(path, how, changed)
                path, how, changed = opened[2].strip(), _HOW[opened[1]], []
            elif path and (moved := _MOVE.match(line)):
                path = moved[1].strip()
            elif line.startswith("*** End Patch"):
                edits += build_signed_edit(path, how, changed)
                path = ""
        elif line.startswith(("+", "-")):
            changed.append(line)
    return (*edits, *build_signed_edit(path, how, changed))


def list_diff_lines(diff: str) -> list[str]:
    """The changed lines of a diff, from its first hunk on: above it, `+++` and `---` name files."""
    lines = diff.splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith("@@")), 0)
    return [line for line in lines[first:] if line.startswith(("+", "-"))]
