"""Finds where the words of the rules stand, with what is installed: hyperscan, else re2, else plain Python.

All give the same places; only how fast they do differs.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from threading import local
from types import ModuleType
from typing import Any, NamedTuple

ENGINES = ("hyperscan", "re2", "re")
Hit = tuple[int, int]
"""Where a word ends, and its number."""
IN_NAMES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
Gate = Callable[[bytes], list[Hit]]


class Word(NamedTuple):
    """What is looked for, with or without regard to case."""

    text: bytes
    caseless: bool
    then: int = 0
    """So many characters of a name stand right behind it; they are none of it."""


def engine(name: str) -> ModuleType | None:
    """The library behind an engine, if it is there."""
    try:
        return import_module(name)
    except ImportError:
        return None


def gate(words: Sequence[Word], name: str = "") -> Gate:
    """A gate for these words, by this engine or else the fastest there is."""
    made = {"hyperscan": by_hyperscan, "re2": by_re2}
    for one in (name,) if name else ENGINES:
        if one in made and (library := engine(one)) and (found := made[one](library, words)):
            return found
    return by_find(words)


def by_hyperscan(library: ModuleType, words: Sequence[Word]) -> Gate | None:
    """None where the processor is not one it knows."""
    few = [number for number, word in enumerate(words) if word.then]
    most = [number for number, word in enumerate(words) if not word.then]
    try:
        # Words alone compile and scan several times as fast as patterns.
        scans = [compiled(library, words, numbers, literal=numbers is most) for numbers in (most, few) if numbers]
    except library.HyperscanError:
        return None
    own = local()  # a scratch serves one scan at a time

    def hits(text: bytes) -> list[Hit]:
        found: list[Hit] = []

        def note(word: int, _start: int, end: int, _flags: int, _context: object) -> None:
            found.append((end, word))

        def note_early(word: int, _start: int, end: int, _flags: int, _context: object) -> None:
            found.append((end - words[word].then, word))

        if not hasattr(own, "scratches"):
            own.scratches = [one.scratch.clone() for one in scans]
        for scan, scratch, noted in zip(scans, own.scratches, (note, note_early), strict=False):
            scan.scan(text, noted, scratch=scratch)
        return sorted(found) if found else found

    return hits


def compiled(library: ModuleType, words: Sequence[Word], numbers: Sequence[int], *, literal: bool) -> Any:
    """A database of these words."""
    some = [words[number] for number in numbers]
    flags = [library.HS_FLAG_CASELESS if word.caseless else 0 for word in some]
    texts = [word.text if literal else re.escape(word.text) + b"[A-Za-z0-9_-]{%d}" % word.then for word in some]
    database = library.Database(mode=library.HS_MODE_BLOCK)
    database.compile(expressions=texts, ids=list(numbers), flags=flags, literal=literal)
    return database


def is_followed(text: bytes, end: int, word: Word) -> bool:
    """Whether enough stands behind a word."""
    behind = text[end : end + word.then]
    return len(behind) == word.then and not behind.translate(None, IN_NAMES)


def by_re2(library: ModuleType, words: Sequence[Word]) -> Gate | None:
    """None where another package goes by the name."""
    if not hasattr(library, "Options"):
        return None
    escaped = [(rb"(?i:%s)" if word.caseless else rb"%s") % re.escape(word.text) for word in words]
    options = library.Options()
    options.encoding = library.Options.Encoding.LATIN1
    pattern = library.compile(b"|".join(escaped), options=options)
    starting = by_first_byte(words)

    def hits(text: bytes) -> list[Hit]:
        found: list[Hit] = []
        low = text.lower()
        at = 0
        while match := pattern.search(text, at):
            start = match.start()
            for number, word in starting[low[start]]:
                end = start + len(word.text)
                if (low if word.caseless else text).startswith(word.text, start) and is_followed(text, end, word):
                    found.append((end, number))
            at = start + 1
        return sorted(found)

    return hits


def by_first_byte(words: Sequence[Word]) -> list[list[tuple[int, Word]]]:
    """Words under the lower case of the byte they begin with."""
    found: list[list[tuple[int, Word]]] = [[] for _ in range(256)]
    for number, word in enumerate(words):
        found[word.text.lower()[0]].append((number, word))
    return found


def by_find(words: Sequence[Word]) -> Gate:
    order = sorted(range(len(words)), key=lambda number: len(words[number].text))
    cores = {number: core(words, number, order) for number in order}

    def hits(text: bytes) -> list[Hit]:
        low = text.lower()
        found: list[Hit] = []
        there: set[int | None] = {None}
        for number in order:
            if cores[number] in there:
                word = words[number]
                starts = list(places(low if word.caseless else text, word.text))
                if starts:
                    there.add(number)
                    ends = (start + len(word.text) for start in starts)
                    found += [(end, number) for end in ends if not word.then or is_followed(text, end, word)]
        return sorted(found)

    return hits


def core(words: Sequence[Word], number: int, order: Sequence[int]) -> int | None:
    """The shortest other word without which this one can't be there."""
    word = words[number]
    for other in order[: order.index(number)]:
        one = words[other]
        if one.text in (word.text.lower() if one.caseless else word.text) and (one.caseless or not word.caseless):
            return other
    return None


def places(text: bytes, word: bytes) -> Iterator[int]:
    """Where a word begins, overlaps too."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)
