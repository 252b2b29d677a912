"""Text from a transcript, made harmless for a terminal, as text or inside JSON."""

import json
import re
import unicodedata

import msgspec

KEPT = frozenset("\n\t")
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Controls (escape sequences), format characters (bidi overrides), surrogates, private use, line separators."""
JOINERS = frozenset("\u200c\u200d\ufe0f")
"""Format characters that ordinary writing and emoji need."""
OBEYED = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""What JSON may hold as it is, though a terminal or an editor would act on it."""


def encoded(value: object) -> bytes:
    """JSON whose every control and direction mark is written out (`\\u202e`): the value is the same when it is read."""
    found = msgspec.json.encode(value)
    if found.isascii() and b"\x7f" not in found:
        return found
    return OBEYED.sub(lambda one: json.dumps(one[0])[1:-1].replace("\x7f", r"\u007f"), found.decode()).encode()


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
