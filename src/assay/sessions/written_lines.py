"""The lines a session wrote, and those of others that it removed: hashes by file, never the text.

The book is kept edit by edit. A line the session removes is the last equal one that it wrote in that file; if it
wrote none, it was somebody else's. A line of somebody else's that it puts back (moved, or indented anew) is neither
written nor removed. What a shell command writes counts where the command holds the text; `rm` takes all lines of the
file that the session had written.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from assay.sessions.calls import ENDED, is_mutating, list_calls, list_made_edits
from assay.sessions.paths import make_absolute
from assay.sessions.shell import list_commands_for
from assay.types import Call, FileLines, Purpose, Turn
from assay.types.lines import HASH_SIZE

HASHES = struct.Struct(f"{HASH_SIZE}s")
UNDOING: frozenset[Purpose] = frozenset({"revert", "restore", "reset"})


class WrittenRecord(Protocol):
    """What a segment keeps of its book."""

    @property
    def written(self) -> tuple[FileLines, ...]: ...
    @property
    def removed(self) -> tuple[FileLines, ...]: ...


class LineStack(Struct):
    """Lines in order; the last equal one is taken first."""

    lines: list[bytes | None] = []
    places: dict[bytes, list[int]] = {}

    def push_line(self, line: bytes) -> None:
        self.places.setdefault(line, []).append(len(self.lines))
        self.lines.append(line)

    def take_line(self, line: bytes) -> bool:
        """Take an equal line away, if there is one."""
        places = self.places.get(line)
        if not places:
            return False
        self.lines[places.pop()] = None
        return True

    def join_hashes(self) -> bytes:
        return b"".join(line for line in self.lines if line is not None)


class LineBook:
    """The lines of one session, by file."""

    def __init__(self) -> None:
        self.own: dict[str, LineStack] = {}
        self.others: dict[str, LineStack] = {}

    def add(self, path: str, lines: bytes) -> None:
        """Lines that are written; those that it took from others are put back."""
        own, others = self.own.setdefault(path, LineStack()), self.others.get(path)
        for line in split_hashes(lines):
            if others is None or not others.take_line(line):
                own.push_line(line)

    def remove(self, path: str, lines: bytes) -> None:
        """Lines that are removed: own ones are forgotten, the others noted."""
        own = self.own.get(path)
        for line in split_hashes(lines):
            if own is None or not own.take_line(line):
                self.others.setdefault(path, LineStack()).push_line(line)

    def forget(self, path: str) -> None:
        """The file is deleted, or written as a whole: nothing in it is left of what was written before."""
        self.own.pop(path, None)

    def forget_below(self, path: str) -> None:
        """Forget a file, or all files in a folder."""
        for known in [one for one in self.own if one == path or one.startswith((f"{path}/", f"{path}\\"))]:
            del self.own[known]

    def list_written(self) -> tuple[FileLines, ...]:
        return list_file_lines(self.own)

    def list_removed(self) -> tuple[FileLines, ...]:
        return list_file_lines(self.others)


def build_book(turns: Iterable[Turn], cwd: str) -> LineBook:
    """The book of some turns, sub-agents included."""
    kept = LineBook()
    for call in list_calls(turns):
        for edit in list_made_edits(call):
            path = make_absolute(edit.path, cwd)
            kept.remove(path, edit.old)
            if edit.how != "update":
                kept.forget(path)
            kept.add(path, edit.new)
        if call.runs and is_mutating(call):
            add_shell_lines(kept, call, cwd)
    return kept


def add_shell_lines(kept: LineBook, call: Call, cwd: str) -> None:
    """Note what a shell command wrote and deleted."""
    for run in call.runs:
        folder = make_absolute(run.folder, cwd) if run.folder else cwd
        if run.new:
            path = make_absolute(run.paths[0], folder)
            if not run.appends:
                kept.forget(path)
            kept.add(path, run.new)
        elif run.program == "rm":
            for path in run.paths:
                kept.forget_below(make_absolute(path, folder))


def list_written_lines(turns: Iterable[Turn], cwd: str) -> tuple[FileLines, ...]:
    """Lines that were added and are left, by file."""
    return build_book(turns, cwd).list_written()


def list_removed_lines(turns: Iterable[Turn], cwd: str) -> tuple[FileLines, ...]:
    """Lines that were removed and had not been added, by file."""
    return build_book(turns, cwd).list_removed()


def merge_books(parts: Iterable[WrittenRecord]) -> LineBook:
    """The book of a session of several segments, given in order of time."""
    kept = LineBook()
    for part in parts:
        for one in part.removed:
            kept.remove(one.path, one.lines)
        for one in part.written:
            kept.add(one.path, one.lines)
    return kept


def list_commits(turns: Iterable[Turn]) -> tuple[str, ...]:
    """Ids of the commits made, in order, each once."""
    return tuple(dict.fromkeys(commit for call in list_calls(turns) for commit in call.commits))


def list_undoing_commands(turns: Iterable[Turn]) -> tuple[str, ...]:
    """The commands that took back commits or changes, as far as they are not known to have failed."""
    return tuple(
        command
        for call in list_calls(turns)
        if call.status in ENDED and any(run.purpose in UNDOING and run.outcome != "failed" for run in call.runs)
        for command in list_commands_for(call.command, call.dialect, UNDOING)
    )


def split_hashes(lines: bytes) -> Sequence[bytes]:
    return [line for (line,) in HASHES.iter_unpack(lines)]


def count_hashes(lines: bytes) -> int:
    return len(lines) // HASH_SIZE


def list_file_lines(piles: dict[str, LineStack]) -> tuple[FileLines, ...]:
    """What is left, by path; files with nothing left are not named."""
    found = ((path, pile.join_hashes()) for path, pile in sorted(piles.items()))
    return tuple(FileLines(path=path, lines=lines) for path, lines in found if lines)
