"""Patches as `git diff-tree -p -U0` writes them, read commit by commit from a pipe."""

import re
from collections.abc import Callable, Iterator
from typing import IO

from msgspec import Struct

from assay.sessions.rework.history import Change, FileChange, Hunk

MARK = b"\0"
"""No line of a patch begins with it, and no message holds it."""
FORMAT = "%x00%H%x00%an%x00%ae%x00%at%x00%ct%x00%B%x00"
FIELDS = FORMAT.count("%x00")
NEAR = 3
"""Changes with so few lines between them stand in one hunk; git itself would take 6."""
MOST_LINES = 300_000
"""Of one commit: an import of a whole code base is not kept in memory."""
LONGEST_MESSAGE = 20_000

PLACES = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
ESCAPED = re.compile(rb'\\([0-7]{3}|[abtnvfr"\\])')
ESCAPES = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))

Wanted = Callable[[str], bool]


class Place(Struct, frozen=True):
    """Where a commit stands."""

    arrived: float
    merge: str = ""


class Patches:
    """The changes in a pipe; each is given when the next one begins, so a last one that was cut off is not."""

    def __init__(self, pipe: IO[bytes], wanted: Wanted) -> None:
        self.pipe = pipe
        self.wanted = wanted
        self.lines_cut = 0
        """Lines that were left out of commits that are too large."""
        self.last: Change | None = None
        """The change that nothing has followed yet."""
        self.room = MOST_LINES

    def __iter__(self) -> Iterator[Change]:
        line = self.pipe.readline()
        while line:
            if line.startswith(MARK):
                if self.last:
                    yield self.last
                self.last = self.head(line)
                self.room = MOST_LINES
                line = self.pipe.readline()
            elif line.startswith(b"diff --git ") and self.last:
                line = self.file(self.last)
            else:
                line = self.pipe.readline()

    def head(self, line: bytes) -> Change:
        """Who made a commit, when, and what they said."""
        lines, marks = [line], line.count(MARK)
        while marks < FIELDS and (line := self.pipe.readline()):
            lines.append(line)
            marks += line.count(MARK)
        _, commit, author, email, authored, committed, message, *_ = [
            *text(b"".join(lines)).split("\0"),
            *[""] * FIELDS,
        ]
        return Change(
            id=commit,
            author=author,
            email=email,
            authored=number(authored),
            committed=number(committed),
            arrived=number(committed),
            message=message[:LONGEST_MESSAGE],
            files=[],
        )

    def file(self, change: Change) -> bytes:
        """Read one file's part and return the line behind it."""
        found = FileChange("", "", [])
        is_wanted: bool | None = None
        ends = (0, 0)
        while line := self.pipe.readline():
            if place := PLACES.match(line):
                if is_wanted is None:
                    is_wanted = self.wanted(found.new or found.old)
                ends = self.hunk(found, place, ends, is_kept=is_wanted)
            elif line.startswith((b"diff --git ", MARK)):
                break
            elif line.startswith(b"--- "):
                found.old = name(line[4:], b"a/")
            elif line.startswith(b"+++ "):
                found.new = name(line[4:], b"b/")
            elif line.startswith(b"rename from "):
                found.old = name(line[12:])
            elif line.startswith(b"rename to "):
                found.new = name(line[10:])
        if found.hunks or (found.old and found.new and found.old != found.new):
            change.files.append(found)
        return line

    def hunk(
        self, file: FileChange, place: re.Match[bytes], ends: tuple[int, int], *, is_kept: bool
    ) -> tuple[int, int]:
        """Read so many lines as its head says, and return where it ends before and after the change."""
        old, new = int(place[1]), int(place[3])
        goes, comes = (int(count) if count else 1 for count in (place[2], place[4]))
        removed = self.take(goes)
        added = self.take(comes)
        self.room -= goes + comes
        if is_kept and self.room >= 0:
            if file.hunks and old - ends[0] <= NEAR and new - ends[1] <= NEAR:
                file.hunks[-1].removed += removed
                file.hunks[-1].added += added
            else:
                file.hunks.append(Hunk(removed, added))
        elif is_kept:
            self.lines_cut += goes + comes
        return old + goes, new + comes

    def take(self, count: int) -> list[bytes]:
        """The next lines of a hunk, without their sign."""
        found: list[bytes] = []
        readline = self.pipe.readline
        while len(found) < count:
            line = readline()
            if not line:
                break
            if line.startswith(b"\\"):  # "\ No newline at end of file"
                continue
            found.append(line[1:-1] if line.isascii() else mended(line[1:-1]))
        return found


def mended(line: bytes) -> bytes:
    """A line as whoever reads it as UTF-8 sees it: a transcript says `\ufffd` for what is none."""
    return line.decode("utf-8", "replace").encode()


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def number(digits: str) -> float:
    """A time in seconds; a commit can hold one that is none."""
    return float(digits) if digits.lstrip("-").isdecimal() else 0.0


def name(said: bytes, prefix: bytes = b"") -> str:
    """A path as a patch names it; empty for /dev/null."""
    said = said.rstrip(b"\n").removesuffix(b"\t")
    if said == b"/dev/null":
        return ""
    if said.startswith(b'"'):
        said = ESCAPED.sub(unescaped, said[1:-1])
    return said.removeprefix(prefix).decode("utf-8", "surrogateescape")


def unescaped(match: re.Match[bytes]) -> bytes:
    sign = match[1]
    return bytes([ESCAPES[sign[0]] if len(sign) == 1 else int(sign, 8) & 255])
