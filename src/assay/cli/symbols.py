"""Words for the signs that we draw, for terminals that know no more than ASCII."""

import codecs
import os
import sys
from collections.abc import Mapping
from typing import TextIO

SYMBOLS = {
    "✓": "yes", "✗": "no", "–": "-", "—": "-", "−": "-", "…": "...", "“": '"', "”": '"', "‘": "'", "’": "'", "«": '"',
    "»": '"', "·": "|", "×": "x", "●": "o", "━": "=", "─": "-", "█": "#", "░": ".", "↑": "up", "↓": "down",
    "→": "->", "◆": "*", "⚑": "!", "⊘": "0", "≥": ">=", "≤": "<=", "≈": "about", "±": "+/-", "∞": "any",
    "⅓": "1/3", "⅔": "2/3", "\ufffd": "?", "▁": "1", "▂": "2", "▃": "3", "▄": "4", "▅": "5", "▆": "6", "▇": "7",
}  # fmt: skip
HANDLER = "assay.symbols"
PLAIN = ("C", "POSIX")
FORCED = ("C.UTF-8", "C.utf8", "UTF-8")
"""What Python itself sets where the language of the system is C, whatever the terminal knows."""


def spell_symbols(text: str) -> str:
    """A text with words for our signs."""
    return text if text.isascii() else "".join(SYMBOLS.get(char, char) for char in text)


def spell_unknown(error: UnicodeError) -> tuple[str, int]:
    """What is written for characters that an encoding does not have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(SYMBOLS.get(char, "?") for char in error.object[error.start : error.end]), error.end


def prepare_stream(stream: TextIO, env: Mapping[str, str]) -> None:
    """Have a stream write words for what it does not know; a terminal of the plain language knows ASCII alone."""
    codecs.register_error(HANDLER, spell_unknown)
    encoding = "ascii" if stream.isatty() and is_plain(env) else None
    getattr(stream, "reconfigure", lambda **_: None)(encoding=encoding, errors=HANDLER)


def is_plain(env: Mapping[str, str]) -> bool:
    """Whether the person said that their terminal has no language but C."""
    if everywhere := env.get("LC_ALL"):
        return everywhere in PLAIN
    chosen = env.get("LC_CTYPE", "")
    return env.get("LANG", "") in PLAIN and (not chosen or chosen in FORCED)


def prepare_output() -> None:
    """Have both of our streams write words for what they do not know."""
    for stream in (sys.stdout, sys.stderr):
        prepare_stream(stream, os.environ)
