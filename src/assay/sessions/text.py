"""Shortening text without losing its two ends."""

import re

GAP = "\n[… {} characters left out …]\n"
WORTH_CUTTING = 39
LONGEST_WORD = 256
SIGN = r"[\w+/=.~%:@-]"
"""What secrets are made of; scripts without spaces have other letters, and may be cut anywhere."""
FIRST_WORD = re.compile(rf"{SIGN}*", re.ASCII)
INSIDE = re.compile(SIGN * 2, re.ASCII)


def clip_text(text: str, head: int, tail: int) -> str:
    """The text, or its first `head` and last `tail` characters and how much lay between.

    Words in which it is cut go too: half a secret is no longer known for one.
    """
    if len(text) - head - tail <= WORTH_CUTTING:
        return text
    first, last = take_beginning(text, head), take_ending(text, tail)
    return first + GAP.format(len(text) - len(first) - len(last)) + last


def take_beginning(text: str, most: int) -> str:
    """The first characters of a text, without the word in which they end."""
    if most < 1 or not INSIDE.match(text, most - 1):
        return text[:most]
    backwards = text[max(0, most - LONGEST_WORD) : most][::-1]
    return text[: most - FIRST_WORD.match(backwards).end()]  # type: ignore[union-attr]  # always


def take_ending(text: str, most: int) -> str:
    """The last characters of a text, without the word in which they begin."""
    start = len(text) - most
    if start < 1 or most < 1 or not INSIDE.match(text, start - 1):
        return text[max(0, start) :]
    return text[FIRST_WORD.match(text, start, start + LONGEST_WORD).end() :]  # type: ignore[union-attr]  # always
