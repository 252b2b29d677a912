"""Lines as numbers: equal for lines that differ in white space only, in every file and on every machine.

Two CRCs with different seeds would make 64 bits for less, but not really: CRCs are linear, so the second says
nothing that the first and the length don't.
"""

import re
import sys
from array import array
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

HASH_SIZE = 8
"""Bytes of a hash."""
FEWEST = 4
"""Letters and digits of a line that can be told from others: `}`, `end` and `x = 1` stand everywhere."""

MOST_KNOWN, LONG_LINE, LONG_TEXT = 1 << 16, 1_000, 1 << 16
"""What is remembered stays below some tens of megabytes."""

WHITE = b" \t\r\v\f"
SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())

MOST_LINES, MOST_OLD = 8, 3
"""Where lines were both removed and added, the new ones tell more."""
LONGEST_SHOWN, MOST_SHOWN = 100, 480
"""Characters of a line, and of all."""
FILE_HEAD = 2_000
"""Characters of a whole file that are looked at."""
MORE = "… {} more lines"
LAST_WORD = re.compile(r"[\w+/=.~%:@-]*\Z", re.ASCII)


def hash_line(line: str) -> int | None:
    """The hash of a line; `None` for one with fewer than 4 letters and digits."""
    return next(iter(unpack_hashes(hash_lines((line,)))), None)


def hash_lines(lines: Iterable[str]) -> bytes:
    """The hashes of these lines in order, 8 bytes each; lines that tell nothing are left out."""
    given = list(lines)
    text = "\n".join(given)
    if text.count("\n") >= len(given):  # never more hashes than lines
        text = "\n".join(line.replace("\n", " ") for line in given)
    return hash_text_lines(text.encode("utf-8", "surrogatepass"))


def hash_text_lines(text: bytes) -> bytes:
    """The hashes of the lines of a whole text in UTF-8."""
    return _hash_known_text(text) if len(text) <= LONG_TEXT else _hash_text(text)


def unpack_hashes(hashes: bytes) -> "array[int]":
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


def _hash_text(text: bytes) -> bytes:
    return b"".join(map(_hash_bytes, text.translate(None, WHITE).split(b"\n")))


_hash_known_text = lru_cache(32)(_hash_text)  # what is made is mostly what was just asked for


class _LineHashes(dict[bytes, bytes]):
    """Hashes of lines without white space, nothing for those that tell nothing.

    Five of six lines are hashed again soon: asked for, made, removed. Over the 0.39 million lines of 480 MB this and
    `_known_text` came to 0.5 µs a line; hashing each anew, to 1.1.
    """

    def __missing__(self, line: bytes) -> bytes:
        if len(self) >= MOST_KNOWN:
            self.clear()
        is_told = len(line) >= FEWEST and _is_telling(line.translate(None, SIGNS))
        found = blake2b(line, digest_size=HASH_SIZE).digest() if is_told else b""
        if len(line) <= LONG_LINE:
            self[line] = found
        return found


def _is_telling(letters: bytes) -> bool:
    """Whether a line without its ASCII signs has letters enough; of other scripts' signs it may still have some."""
    if letters.isascii():
        return len(letters) >= FEWEST
    return sum(map(str.isalnum, letters.decode("utf-8", "replace"))) >= FEWEST


_hash_bytes = _LineHashes().__getitem__


# --- a change in short: enough lines of a diff to see what was done, and never many ----------


def shorten_change(changed: Iterable[str], added: int, removed: int) -> str:
    """The first of these lines, which begin with `+` or `-`, and how many more of the `added` and `removed` there are.

    Blank lines are left out; a line that is too long ends before the word in which it is cut, so that no half of a
    secret is kept where the whole would have been found.
    """
    old = min(removed, max(MOST_OLD, MOST_LINES - added))
    room = {"-": old, "+": min(added, MOST_LINES - old)}
    kept: list[str] = []
    size = 0
    for line in changed:
        sign = line[:1]
        if not room.get(sign):
            if not any(room.values()):
                break
            continue
        short = line.rstrip() if len(line) <= LONGEST_SHOWN else LAST_WORD.sub("", line[:LONGEST_SHOWN]) + "…"
        if len(short) == 1:
            continue
        if size + len(short) > MOST_SHOWN:
            break
        room[sign] -= 1
        size += len(short) + 1
        kept.append(short)
    left = added + removed - len(kept)
    return "\n".join([*kept, MORE.format(left)] if left else kept)


def shorten_file(text: str, lines: int) -> str:
    """The head of a file that was written, as a diff in short."""
    head = text[:FILE_HEAD]
    whole = head if len(head) == len(text) else head[: head.rfind("\n") + 1]
    return shorten_change([f"+{line}" for line in whole.splitlines()], lines, 0)
