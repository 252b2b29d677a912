"""Text from a transcript, made harmless for a terminal."""

import unicodedata

KEPT = frozenset("\n\t")
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co"})
"""Controls (escape sequences), format characters (bidi overrides), surrogates, private use."""
JOINERS = frozenset("\u200c\u200d\ufe0f")
"""Format characters that ordinary writing and emoji need."""


def safe(text: str) -> str:
    """The text with every character a terminal could obey replaced by a visible one."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(shown(char) for char in text.replace("\r\n", "\n"))


def shown(char: str) -> str:
    if char in KEPT or char in JOINERS or unicodedata.category(char) not in HIDDEN:
        return char
    return "\ufffd"


def one_line(text: str, width: int) -> str:
    """The text on one line, cut to a width."""
    flat = " ".join(safe(text).split())
    return flat if len(flat) <= width else flat[: max(0, width - 1)] + "…"


def many(number: int, thing: str) -> str:
    """1 file, 2 files."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
