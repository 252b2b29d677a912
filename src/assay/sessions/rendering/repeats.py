"""Text that stands in a record already: a plan shown again, a turn replayed, a file read twice is told in one line of
ours."""

import re
from collections.abc import Sequence

from assay.sessions.rendering.frame import PREFIX

AS_BEFORE = "... {} lines as in turn {}"
TURN = re.compile(r"\[turns? (\d+)")
SHORTEST_LINE = 12
"""Characters of a line by which a repeat is found; shorter ones stand everywhere."""
LEAST_REPEAT = 240
"""Characters that are worth a line of ours."""


def drop_repeats(lines: Sequence[str]) -> list[str]:
    """The lines, with each longer run of quoted ones that stood before as one line that says where."""
    numbers = number_turns(lines)
    first: dict[str, int] = {}
    kept: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        count = count_repeated(lines, first[line], at) if line in first else 0
        if count:
            kept.append(AS_BEFORE.format(count, numbers[first[line]]))
            at += count
            continue
        if line.startswith(PREFIX) and len(line) >= SHORTEST_LINE:
            first.setdefault(line, at)
        kept.append(line)
        at += 1
    return kept


def number_turns(lines: Sequence[str]) -> list[int]:
    """The turn that each line stands in."""
    found, now = [], 0
    for line in lines:
        if head := TURN.match(line):
            now = int(head[1])
        found.append(now)
    return found


def count_repeated(lines: Sequence[str], earlier: int, at: int) -> int:
    """How many quoted lines from a place on stood before; none where they are too short to be worth it."""
    count = size = 0
    while at + count < len(lines) and earlier + count < at:
        line = lines[at + count]
        if line != lines[earlier + count] or not line.startswith(PREFIX.rstrip()):
            break
        count, size = count + 1, size + len(line)
    return count if size >= LEAST_REPEAT else 0
