"""Lines as numbers: equal for lines that differ in white space only, in every file and on every machine.

Two CRCs with different seeds would make 64 bits for less, but not really: CRCs are linear, so the second says
nothing that the first and the length don't.
"""

import sys
from array import array
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

SIZE = 8
"""Bytes of a hash."""
FEWEST = 4
"""Letters and digits of a line that can be told from others: `}`, `end` and `x = 1` stand everywhere."""

MOST_KNOWN, LONG_LINE, LONG_TEXT = 1 << 16, 1_000, 1 << 16
"""What is remembered stays below some tens of megabytes."""

WHITE = b" \t\r\v\f"
SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())


def hash_of(line: str) -> int | None:
    """The number of a line; `None` for one with fewer than 4 letters and digits."""
    return next(iter(unpacked(packed((line,)))), None)


def packed(lines: Iterable[str]) -> bytes:
    """The hashes of these lines in order, 8 bytes each; lines that tell nothing are left out."""
    given = list(lines)
    text = "\n".join(given)
    if text.count("\n") >= len(given):  # never more hashes than lines
        text = "\n".join(line.replace("\n", " ") for line in given)
    return packed_text(text.encode("utf-8", "surrogatepass"))


def packed_text(text: bytes) -> bytes:
    """The same of the lines of a whole text in UTF-8."""
    return _known_text(text) if len(text) <= LONG_TEXT else _text(text)


def unpacked(hashes: bytes) -> "array[int]":
    """The hashes as numbers."""
    found = array("Q")
    found.frombytes(hashes)
    if sys.byteorder == "big":
        found.byteswap()
    return found


def find_changed_lines(old: str, new: str) -> tuple[list[str], list[str]]:
    """Lines added and removed, without those that both texts begin and end with."""
    before, after = old.splitlines(), new.splitlines()
    shared = 0
    shortest = min(len(before), len(after))
    while shared < shortest and before[shared] == after[shared]:
        shared += 1
    tail = 0
    while tail < shortest - shared and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return after[shared : len(after) - tail], before[shared : len(before) - tail]


def _text(text: bytes) -> bytes:
    return b"".join(map(_digest, text.translate(None, WHITE).split(b"\n")))


_known_text = lru_cache(32)(_text)  # what is made is mostly what was just asked for


class _Digests(dict[bytes, bytes]):
    """Hashes of lines without white space, nothing for those that tell nothing.

    Five of six lines are hashed again soon: asked for, made, removed. Over the 0.39 million lines of 480 MB this and
    `_known_text` came to 0.5 µs a line; hashing each anew, to 1.1.
    """

    def __missing__(self, line: bytes) -> bytes:
        if len(self) >= MOST_KNOWN:
            self.clear()
        is_told = len(line) >= FEWEST and _is_telling(line.translate(None, SIGNS))
        found = blake2b(line, digest_size=SIZE).digest() if is_told else b""
        if len(line) <= LONG_LINE:
            self[line] = found
        return found


def _is_telling(letters: bytes) -> bool:
    """Whether a line without its ASCII signs has letters enough; of other scripts' signs it may still have some."""
    if letters.isascii():
        return len(letters) >= FEWEST
    return sum(map(str.isalnum, letters.decode("utf-8", "replace"))) >= FEWEST


_digest = _Digests().__getitem__
