"""Words that judgements cite: whether they stand where a model says, and how its own are made fit to be kept and shown.

A model's quotes come from the frame, so both sides are defused before they are compared.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Protocol
from unicodedata import category

from assay.sessions.rendering import list_own_lines, sanitize_text
from assay.types import Citation, Prompt, Turn

BAR = re.compile(r"^\|[ \t]?", re.MULTILINE)
WORD = re.compile(r"[a-z0-9]", re.IGNORECASE)
REST = re.compile(r"[a-z0-9]*", re.IGNORECASE)
MARKS = "\"'`“”„«»‘’"
QUOTE = 200
MARKER = re.compile(r"\[redacted:[\w-]+\]")
"""Our own words in place of a secret: alone they say nothing."""
TELLING = re.compile(r"\w|[^\x00-\x7f]")
DROPPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


class Quote(Protocol):
    """Words that a model says stand in a turn."""

    @property
    def turn(self) -> int: ...

    @property
    def quote(self) -> str: ...


def select_standing(said: Iterable[Quote], turns: Sequence[Turn], after: Prompt | None) -> list[Citation]:
    """What stands of a model's citations, each once: as it quotes, without our bars, or without marks around it."""
    found: dict[Citation, None] = {}
    own: dict[int, list[str]] = {}
    for one in said:
        readings = (one.quote, BAR.sub("", one.quote), BAR.sub("", one.quote).strip().strip(MARKS))
        cited = (Citation(turn=one.turn, quote=shorten_text(sanitize_reply(text), QUOTE)) for text in readings)
        if there := next((each for each in cited if is_standing(each, turns, after, own)), None):
            found[there] = None
    return list(found)


def is_standing(
    citation: Citation, turns: Sequence[Turn], after: Prompt | None, own: dict[int, list[str]] | None = None
) -> bool:
    """Whether a quote stands in the turn it names, or in what our own lines say of it; `own` keeps those lines."""
    number = citation.turn
    if any(is_in(citation.quote, text) for text in list_texts_at(number, turns, after)):
        return True
    return is_own_line(citation, turns, {} if own is None else own)


def is_own_line(citation: Citation, turns: Sequence[Turn], own: dict[int, list[str]]) -> bool:
    """Whether a quote stands in what our own lines say of a turn, which no transcript can write."""
    number = citation.turn
    if not 1 <= number <= len(turns):
        return False
    if number not in own:
        own[number] = list_own_lines(turns[number - 1], number)
    return any(is_in(citation.quote, line) for line in own[number])


def list_texts_at(number: int, turns: Sequence[Turn], after: Prompt | None) -> Iterator[str]:
    """All texts of a turn, counted from 1."""
    if 1 <= number <= len(turns):
        yield from list_texts(turns[number - 1])
    if after and number in (len(turns), len(turns) + 1):
        yield after.text


def is_in(quote: str, text: str) -> bool:
    """Whether a quote stands in a text as words of their own, white space and dots of shortening apart."""
    words = squeeze_blanks(sanitize_text(quote)).strip("… ")
    return bool(TELLING.search(MARKER.sub("", words))) and has_whole_words(words, normalize_shown(text))


@lru_cache(maxsize=512)
def normalize_shown(text: str) -> str:
    """A text as quotes are looked for in it; a model may cite much of a turn, and a turn may hold much."""
    return squeeze_blanks(sanitize_text(text))


def has_whole_words(quote: str, text: str) -> bool:
    """Whether it stands there without cutting a word: an "ok" is not in "token"."""
    start = text.find(quote)
    while start >= 0:
        if is_inside_word(text, start):  # so is every other place in the rest of this word, which may be long
            rest = REST.match(text, start)
            start = text.find(quote, rest.end() if rest else start + 1)
        elif is_inside_word(text, start + len(quote)):
            start = text.find(quote, start + 1)
        else:
            return True
    return False


def is_inside_word(text: str, place: int) -> bool:
    """Whether a place lies inside a word; scripts without spaces have no such places."""
    return 0 < place < len(text) and bool(WORD.match(text[place - 1]) and WORD.match(text[place]))


def list_texts(turn: Turn) -> Iterator[str]:
    """All that was said in a turn, by people, agents and tools."""
    if turn.prompt:
        yield turn.prompt.text
    for reply in turn.replies:
        yield reply.text
    for call in turn.calls:
        yield from (call.command, call.output, call.target, call.name)
        for edit in call.edits:
            yield from (edit.path, edit.text)
    for mark in turn.marks:
        yield mark.detail


def squeeze_blanks(text: str) -> str:
    """A text with every run of white space as one space."""
    return " ".join(text.split())


def sanitize_reply(text: str) -> str:
    """A model's words as one line, without controls, unseen characters and halves of characters."""
    flat = " ".join(text.split())
    return flat if flat.isascii() and flat.isprintable() else "".join(c for c in flat if category(c) not in DROPPED)


def shorten_text(text: str, most: int) -> str:
    """The text, or whole words of it and an ellipsis."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut[most // 2 :] else cut).rstrip(" ,;:") + "…"
