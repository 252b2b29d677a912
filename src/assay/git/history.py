"""Changes of a repository: patches as `git diff-tree -p -U0` writes them, and the order in which commits arrived."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import IO

from msgspec import Struct

from assay.sessions.rework.history import CodeChange, FileChange, Hunk

MARK = b"\0"
"""No line of a patch begins with it, and no message holds it."""
FORMAT = "%x00%H%x00%an%x00%ae%x00%at%x00%ct%x00%B%x00"
FIELDS = FORMAT.count("%x00")
NEAR = 3
"""Changes with so few lines between them stand in one hunk; git itself would take 6."""
MOST_LINES = 300_000
"""Of one commit: an import of a whole code base is not kept in memory."""
LONGEST_MESSAGE = 20_000

HUNK_HEAD = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
ESCAPED = re.compile(rb'\\([0-7]{3}|[abtnvfr"\\])')
ESCAPES = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))

PathFilter = Callable[[str], bool]


class Arrival(Struct, frozen=True):
    """When a commit reached the default branch, and the merge that brought it."""

    arrived: float
    merge: str = ""


class PatchReader:
    """Yields the changes in a pipe, each when the next one begins, so a last one that was cut off is not."""

    def __init__(self, pipe: IO[bytes], wanted: PathFilter) -> None:
        self.pipe = pipe
        self.wanted = wanted
        self.lines_cut = 0
        """Lines that were left out of commits that are too large."""
        self.last: CodeChange | None = None
        """The change that nothing has followed yet."""
        self.room = MOST_LINES

    def __iter__(self) -> Iterator[CodeChange]:
        line = self.pipe.readline()
        while line:
            if line.startswith(MARK):
                if self.last:
                    yield self.last
                self.last = self.read_head(line)
                self.room = MOST_LINES
                line = self.pipe.readline()
            elif line.startswith(b"diff --git ") and self.last:
                line = self.read_file(self.last)
            else:
                line = self.pipe.readline()

    def read_head(self, line: bytes) -> CodeChange:
        """A change without files: author, times and message of the commit."""
        lines, marks = [line], line.count(MARK)
        while marks < FIELDS and (line := self.pipe.readline()):
            lines.append(line)
            marks += line.count(MARK)
        _, commit, author, email, authored, committed, message, *_ = [
            *decode_text(b"".join(lines)).split("\0"),
            *[""] * FIELDS,
        ]
        return CodeChange(
            id=commit,
            author=author,
            email=email,
            authored=parse_seconds(authored),
            committed=parse_seconds(committed),
            arrived=parse_seconds(committed),
            message=message[:LONGEST_MESSAGE],
            files=[],
        )

    def read_file(self, change: CodeChange) -> bytes:
        """Add one file's hunks to a change; returns the line behind them."""
        found = FileChange("", "", [])
        is_wanted: bool | None = None
        ends = (0, 0)
        while line := self.pipe.readline():
            if place := HUNK_HEAD.match(line):
                if is_wanted is None:
                    is_wanted = self.wanted(found.new or found.old)
                ends = self.read_hunk(found, place, ends, is_kept=is_wanted)
            elif line.startswith((b"diff --git ", MARK)):
                break
            elif line.startswith(b"--- "):
                found.old = parse_path(line[4:], b"a/")
            elif line.startswith(b"+++ "):
                found.new = parse_path(line[4:], b"b/")
            elif line.startswith(b"rename from "):
                found.old = parse_path(line[12:])
            elif line.startswith(b"rename to "):
                found.new = parse_path(line[10:])
        if found.hunks or (found.old and found.new and found.old != found.new):
            change.files.append(found)
        return line

    def read_hunk(
        self, file: FileChange, place: re.Match[bytes], ends: tuple[int, int], *, is_kept: bool
    ) -> tuple[int, int]:
        """Read as many lines as the hunk's head says; returns where the hunk ends in the old and the new file."""
        old, new = int(place[1]), int(place[3])
        goes, comes = (int(count) if count else 1 for count in (place[2], place[4]))
        removed = self.read_lines(goes)
        added = self.read_lines(comes)
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

    def read_lines(self, count: int) -> list[bytes]:
        """The next lines of a hunk, without their sign."""
        found: list[bytes] = []
        readline = self.pipe.readline
        while len(found) < count:
            line = readline()
            if not line:
                break
            if line.startswith(b"\\"):  # "\ No newline at end of file"
                continue
            found.append(line[1:-1] if line.isascii() else mend_utf8(line[1:-1]))
        return found


def mend_utf8(line: bytes) -> bytes:
    """A line with `\ufffd` for what is no UTF-8, as transcripts have it."""
    return line.decode("utf-8", "replace").encode()


def decode_text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def parse_seconds(digits: str) -> float:
    """A time in seconds; 0 where a commit holds no number."""
    return float(digits) if digits.lstrip("-").isdecimal() else 0.0


def parse_path(said: bytes, prefix: bytes = b"") -> str:
    """The path in a line of a patch; empty for /dev/null."""
    said = said.rstrip(b"\n").removesuffix(b"\t")
    if said == b"/dev/null":
        return ""
    if said.startswith(b'"'):
        said = ESCAPED.sub(unescape_byte, said[1:-1])
    return said.removeprefix(prefix).decode("utf-8", "surrogateescape")


def unescape_byte(match: re.Match[bytes]) -> bytes:
    sign = match[1]
    return bytes([ESCAPES[sign[0]] if len(sign) == 1 else int(sign, 8) & 255])


# --- order of arrival --------------------------------------------------------------------------


class Arrivals:
    """Commits that are no merges, in order of arrival, ancestors first."""

    def __init__(self, order: list[str], by: dict[str, int], chain: tuple[list[str], list[float]]) -> None:
        self.order = order
        self.by = by
        """Number of the commit of the default branch that brought each."""
        self.chain = chain

    def find_arrival(self, id: str) -> Arrival:
        ids, times = self.chain
        at = self.by[id]
        return Arrival(arrived=times[at], merge="" if ids[at] == id else ids[at])


def order_arrivals(rows: Sequence[str], chain: tuple[list[str], list[float]], edge: Collection[str]) -> Arrivals:
    """Commits in order of arrival, from rows of `rev-list --topo-order --parents --timestamp`; the edge is left out."""
    parents: dict[str, list[str]] = {}
    for row in rows:
        _, commit, *others = row.split()
        parents[commit] = others
    by: dict[str, int] = {}
    for number, commit in enumerate(chain[0]):
        waiting = [commit] if commit in parents else []
        while waiting:
            one = waiting.pop()
            if one not in by:
                by[one] = number
                waiting.extend(parent for parent in parents[one] if parent in parents)
    kept = [one for one in reversed(parents) if len(parents[one]) < 2 and one in by and one not in edge]
    kept.sort(key=by.__getitem__)  # stable: what one merge brought stays in the order of its own history
    return Arrivals(kept, by, chain)


def straighten_times(times: Sequence[float]) -> list[float]:
    """Times that never go back: those that fit together stay, any other takes the time of the one before.

    One commit from a machine with a wrong clock, years ahead or behind, must not move all that follow: what is kept
    is the longest run that never goes back.
    """
    ends: list[float] = []
    places: list[int] = []
    before: list[int] = []
    for place, time in enumerate(times):
        at = bisect_right(ends, time)
        before.append(places[at - 1] if at else -1)
        if at == len(ends):
            ends.append(time)
            places.append(place)
        else:
            ends[at], places[at] = time, place
    keep: set[int] = set()
    at = places[-1] if places else -1
    while at >= 0:
        keep.add(at)
        at = before[at]
    last = times[min(keep)] if keep else 0.0
    found: list[float] = []
    for place, time in enumerate(times):
        last = time if place in keep else last
        found.append(last)
    return found
