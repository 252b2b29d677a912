"""Lines that live on in the lines that stand in their place: wrapped anew, or edited."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from difflib import SequenceMatcher
from itertools import accumulate

from assay.types.lines import SIGNS, WHITE

ALIKE = 0.6
"""Similarity from which a line is edited, not replaced (DESIGN 3)."""
ALIKE_ANYWHERE = 0.75
"""The same for a line that is out of place: in a large hunk many a line looks like some other."""
IN_PLACE = 3
"""Lines by which an edited line may be off, counted from lines nearby that are known to be the same."""
FEWEST_LETTERS = 8
"""Letters and digits that make a line findable in text that was wrapped anew."""
MOST_COMPARED = 8
"""Lines a line is compared with: those that share most words with it."""
LONGEST = 400
"""Characters of a line that are compared."""
MOST_WORK = 1 << 30
"""Characters searched for lines that were wrapped anew."""
USED = 0xFF
"""No byte of UTF-8."""

WORD = re.compile(rb"[\w\x80-\xff]+")
BOTH = WHITE + SIGNS

Candidates = Callable[[Sequence[tuple[int, bytes]]], dict[int, list[int]]]


def strip_signs(line: bytes) -> bytes:
    """A line without white space and ASCII signs."""
    return line.translate(None, BOTH)


def find_successors(
    gone: Sequence[tuple[int, bytes]], added: Sequence[bytes], free: Set[int], known: Mapping[int, int], count: int
) -> dict[int, int]:
    """For lines that a hunk removes, by number, which of its free added lines each lives on in.

    A line whose letters and digits stand in a row in the added text was wrapped anew, and several may have become
    one. Any other goes on in a line of its own that is like it: very much, or at the same place. `known` are pairs of
    lines that are the same, `count` is how many lines the hunk removes.
    """
    found = find_wrapped(gone, added, free)
    pairs = LinePairs(added, free - set(found.values()), {**known, **found}, count)
    left = [(number, line) for number, line in gone if number not in found]
    pairs.find_pairs(left, pairs.list_word_sharers, ALIKE_ANYWHERE)
    pairs.find_pairs([one for one in left if one[0] not in pairs.found], pairs.list_near_places, ALIKE)
    return found | pairs.found


def find_wrapped(gone: Sequence[tuple[int, bytes]], added: Sequence[bytes], free: Set[int]) -> dict[int, int]:
    """Lines whose letters stand in a row in the added text, and the line in which they begin."""
    places = sorted(free)
    parts = [strip_signs(added[place]) for place in places]
    text = bytearray(b"".join(parts))
    starts = [0, *accumulate(len(part) for part in parts)]
    if not text or len(text) * len(gone) > MOST_WORK:
        return {}
    found: dict[int, int] = {}
    for number, line in gone:
        sought = strip_signs(line)
        at = text.find(sought) if len(sought) >= FEWEST_LETTERS else -1
        if at >= 0:
            text[at : at + len(sought)] = bytes([USED]) * len(sought)
            found[number] = places[bisect_right(starts, at, hi=len(places)) - 1]
    return found


class LinePairs:
    """Removed and added lines of a hunk that are like each other, each line once."""

    def __init__(self, added: Sequence[bytes], free: Set[int], known: Mapping[int, int], count: int) -> None:
        self.added = added
        self.free = set(free)
        self.known = known
        self.count = count
        self.found: dict[int, int] = {}

    def find_pairs(self, gone: Sequence[tuple[int, bytes]], candidates: Candidates, least: float) -> None:
        """Pair lines with candidates, those that are most alike first."""
        if not gone or not self.free:
            return
        pairs = candidates(gone)
        alike = [
            (ratio, number, place)
            for number, line in gone
            for ratio, place in compare_line(line, {place: self.added[place] for place in pairs[number]}, least)
        ]
        for _, number, place in sorted(alike, key=lambda pair: (-pair[0], pair[1], pair[2])):
            if number not in self.found and place in self.free:
                self.found[number] = place
                self.free.remove(place)

    def list_word_sharers(self, gone: Sequence[tuple[int, bytes]]) -> dict[int, list[int]]:
        """Free lines that share most words with each; a word that stands nearly everywhere says nothing."""
        by_word: dict[bytes, list[int]] = {}
        for place in sorted(self.free):
            for word in set(WORD.findall(self.added[place])):
                by_word.setdefault(word, []).append(place)
        found: dict[int, list[int]] = {}
        for number, line in gone:
            shared: Counter[int] = Counter()
            for word in set(WORD.findall(line)):
                if len(places := by_word.get(word, ())) <= MOST_COMPARED * 8:
                    shared.update(places)
            found[number] = sorted(shared, key=lambda place: (-shared[place], abs(place - number)))[:MOST_COMPARED]
        return found

    def list_near_places(self, gone: Sequence[tuple[int, bytes]]) -> dict[int, list[int]]:
        """Free lines that stand where each should be, between the lines that are known to be the same."""
        same = {-1: -1, self.count: len(self.added), **self.known, **self.found}
        ends = sorted(same)
        found: dict[int, list[int]] = {}
        for number, _ in gone:
            at = bisect_right(ends, number)
            low, high = ends[at - 1], ends[min(at, len(ends) - 1)]
            step = (same[high] - same[low]) / max(1, high - low)
            middle = round(same[low] + (number - low) * step)
            near = range(middle - IN_PLACE, middle + IN_PLACE + 1)
            found[number] = [place for place in near if place in self.free]
        return found


def compare_line(line: bytes, others: Mapping[int, bytes], least: float) -> Iterator[tuple[float, int]]:
    """Which of the other lines are enough like this one, and how much."""
    matcher = SequenceMatcher(autojunk=False, b=squeeze_line(line))
    for place, other in others.items():
        matcher.set_seq1(squeeze_line(other))
        if matcher.real_quick_ratio() >= least and matcher.quick_ratio() >= least:
            ratio = matcher.ratio()
            if ratio >= least:
                yield ratio, place


def squeeze_line(line: bytes) -> str:
    """A line with single spaces, no longer than can be compared."""
    return " ".join(line[: LONGEST * 4].decode("utf-8", "replace").split())[:LONGEST]
