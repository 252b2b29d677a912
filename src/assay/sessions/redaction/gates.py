"""Finds where the words of the rules stand, with what is installed: hyperscan, else re2, else plain Python.

All give the same places; only how fast they do differs.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from threading import local
from types import ModuleType
from typing import NamedTuple

ENGINES = ("hyperscan", "re2", "re")
Hit = tuple[int, int]
"""Where a word ends, and its number."""
Gate = Callable[[bytes], list[Hit]]


class Word(NamedTuple):
    """What is looked for, with or without regard to case."""

    text: bytes
    caseless: bool


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
    flags = [library.HS_FLAG_CASELESS if word.caseless else 0 for word in words]
    texts = [word.text for word in words]
    try:
        database = library.Database(mode=library.HS_MODE_BLOCK)
        database.compile(expressions=texts, ids=list(range(len(words))), flags=flags, literal=True)
    except library.HyperscanError:
        return None
    own = local()  # a scratch serves one scan at a time

    def hits(text: bytes) -> list[Hit]:
        found: list[Hit] = []

        def note(word: int, _start: int, end: int, _flags: int, _context: object) -> None:
            found.append((end, word))

        if not hasattr(own, "scratch"):
            own.scratch = database.scratch.clone()
        database.scan(text, note, scratch=own.scratch)
        return sorted(found) if found else found

    return hits


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
                if (low if word.caseless else text).startswith(word.text, start):
                    found.append((start + len(word.text), number))
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
    def hits(text: bytes) -> list[Hit]:
        low = text.lower()
        return sorted(
            (start + len(word.text), number)
            for number, word in enumerate(words)
            for start in places(low if word.caseless else text, word.text)
        )

    return hits


def places(text: bytes, word: bytes) -> Iterator[int]:
    """Where a word begins, overlaps too."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)
