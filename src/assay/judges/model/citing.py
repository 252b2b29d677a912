"""Whether words stand where a model says they stand; its quotes come from the frame, so both sides are defused."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from assay.judges.model.plain import plain
from assay.judges.model.replies import Quoted
from assay.judges.offline.rubric import shortened
from assay.sessions.rendering import defused
from assay.types import Citation, Prompt, Turn

BAR = re.compile(r"^\|[ \t]?", re.MULTILINE)
WORD = re.compile(r"[a-z0-9]", re.IGNORECASE)
REST = re.compile(r"[a-z0-9]*", re.IGNORECASE)
MARKS = "\"'`“”„«»‘’"
QUOTE = 200
MARKER = re.compile(r"\[redacted:[\w-]+\]")
"""Our own words in place of a secret: alone they say nothing."""
TELLING = re.compile(r"\w|[^\x00-\x7f]")


def standing(said: Iterable[Quoted], turns: Sequence[Turn], after: Prompt | None) -> list[Citation]:
    """What stands of a model's citations, each once: as it quotes, without our bars, or without marks around it."""
    found: dict[Citation, None] = {}
    for one in said:
        readings = (one.quote, BAR.sub("", one.quote), BAR.sub("", one.quote).strip().strip(MARKS))
        cited = (Citation(turn=one.turn, quote=shortened(plain(text), QUOTE)) for text in readings)
        if there := next((each for each in cited if stands(each, turns, after)), None):
            found[there] = None
    return list(found)


def stands(citation: Citation, turns: Sequence[Turn], after: Prompt | None) -> bool:
    """Whether a quote stands in the turn it names; what was said next stands behind the last one."""
    return any(is_in(citation.quote, text) for text in texts_at(citation.turn, turns, after))


def texts_at(number: int, turns: Sequence[Turn], after: Prompt | None) -> Iterator[str]:
    """All texts of a turn, counted from 1."""
    if 1 <= number <= len(turns):
        yield from texts(turns[number - 1])
    if after and number in (len(turns), len(turns) + 1):
        yield after.text


def is_in(quote: str, text: str) -> bool:
    """Whether a quote stands in a text as words of their own, white space and dots of shortening apart."""
    words = squeezed(defused(quote)).strip("… ")
    return bool(TELLING.search(MARKER.sub("", words))) and is_whole(words, as_shown(text))


@lru_cache(maxsize=512)
def as_shown(text: str) -> str:
    """A text as quotes are looked for in it; a model may cite much of a turn, and a turn may hold much."""
    return squeezed(defused(text))


def is_whole(quote: str, text: str) -> bool:
    """Whether it stands there without cutting a word: an "ok" is not in "token"."""
    start = text.find(quote)
    while start >= 0:
        if is_cut(text, start):  # so is every other place in the rest of this word, which may be long
            rest = REST.match(text, start)
            start = text.find(quote, rest.end() if rest else start + 1)
        elif is_cut(text, start + len(quote)):
            start = text.find(quote, start + 1)
        else:
            return True
    return False


def is_cut(text: str, place: int) -> bool:
    """Whether a place lies inside a word; scripts without spaces have no such places."""
    return 0 < place < len(text) and bool(WORD.match(text[place - 1]) and WORD.match(text[place]))


def texts(turn: Turn) -> Iterator[str]:
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


def squeezed(text: str) -> str:
    """A text with every run of white space as one space."""
    return " ".join(text.split())
