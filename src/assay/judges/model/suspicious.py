"""Words in a transcript that speak to the judge: they are no evidence, whatever a model makes of them."""

import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from unicodedata import normalize

from msgspec import Struct

from assay.judges.citations import list_texts
from assay.resources import hash_parts, load_table, read_resource
from assay.sessions.rendering.frame import ESCAPES
from assay.types import Prompt, Turn

UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
MARKS = re.compile("[\u0300-\u036f]+")
MIXED = re.compile(r"[^\W\d_]+")
LATIN = re.compile("[a-z]")
JOINTS = str.maketrans("-_/", "   ")
BASE64 = re.compile(r"[A-Za-z0-9+/]{32,2000}")
MOST_CODED = 50
LONGEST_NAME = 500
"""Characters of a text that may be a file's name, whose words are joined by other signs than blanks."""


class SuspiciousPattern(Struct, frozen=True, forbid_unknown_fields=True):
    near: tuple[str, ...]
    find: str


class SuspiciousTable(Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    patterns: tuple[SuspiciousPattern, ...]
    letters: dict[str, str]


def hash_patterns() -> str:
    """A short hash that changes whenever a pattern does."""
    return hash_parts(read_resource("assay.judges.model", "suspicious.toml"))


@cache
def load_patterns() -> tuple[tuple[tuple[tuple[str, ...], re.Pattern[str]], ...], dict[int, str]]:
    """Words to look for first, each with its pattern; and the look-alike letters."""
    known = load_table("assay.judges.model", "suspicious.toml", SuspiciousTable)
    patterns = [(tuple(map(strip_accents, one.near)), re.compile(strip_accents(one.find))) for one in known.patterns]
    return tuple(patterns), str.maketrans(known.letters)


def is_addressed_to_judge(turns: Sequence[Turn], after: Prompt | None) -> bool:
    """Whether anything in a session speaks to whoever judges it."""
    said = (text for turn in turns for text in list_texts(turn))
    return any(map(is_suspicious, said)) or (after is not None and is_suspicious(after.text))


def is_suspicious(text: str) -> bool:
    """Whether a text speaks to whoever judges it."""
    seen = normalize_text(ESCAPES.sub("", text) if "\x1b" in text or "\x9b" in text else text)
    if has_pattern(seen) or (len(seen) <= LONGEST_NAME and has_pattern(seen.translate(JOINTS))):
        return True
    return any(has_pattern(normalize_text(words)) for words in decode_base64(text))


def decode_base64(text: str) -> Iterator[str]:
    """What stands in a text in Base64, which models read: the first few runs that come out as plain words."""
    for found in islice(BASE64.finditer(text), MOST_CODED):
        whole = found[0][: len(found[0]) // 4 * 4]
        with suppress(ValueError):
            if (words := b64decode(whole).decode("ascii")).isprintable():
                yield words


def has_pattern(seen: str) -> bool:
    patterns, _ = load_patterns()
    return any(any(word in seen for word in near) and find.search(seen) for near, find in patterns)


def normalize_text(text: str) -> str:
    """A text as a reader might take it: nothing unseen, one form for each letter, single blanks."""
    text = " ".join(strip_accents(text).casefold().split())
    return text if text.isascii() else MIXED.sub(unmix_letters, text)


def strip_accents(text: str) -> str:
    """A text without accents and unseen characters, in one form for each letter."""
    return text if text.isascii() else normalize("NFC", MARKS.sub("", normalize("NFKD", UNSEEN.sub("", text))))


def unmix_letters(word: re.Match[str]) -> str:
    """A word that mixes Latin letters with others that look like them, in Latin letters."""
    if word[0].isascii() or not LATIN.search(word[0]):
        return word[0]
    return word[0].translate(load_patterns()[1])
