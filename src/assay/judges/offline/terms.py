"""The words of a turn: what was asked, the last reply, file names, commands; and how alike two runs of turns are."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from math import log, sqrt

from assay.sessions.speech.phrases import UNSPACED, load_frequent_words
from assay.types import Call, Turn

PIECE = re.compile(rf"[{UNSPACED}]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z{UNSPACED}]+")
"""A run of unspaced script, a word, or a part of an identifier."""
STEM = 7
"""Inflections differ behind it."""
PROMPT, REPLY, COMMAND, TARGET = 2_000, 1_500, 200, 120
FILE_WEIGHT, COMMAND_WEIGHT = 2.0, 0.5

Terms = dict[str, float]


@cache
def empty_words() -> frozenset[str]:
    """Words that any conversation about code is full of."""
    work = (
        "all also any one use using used like just get got make sure need see check out into then than them they their "
        "which these those some more most other only after before about now will has had been did does doing done file "
        "files code line lines change changes changed run running add added update updated look want test tests new "
        "command output current currently following first next here still way work works working issue error"
    )
    return frozenset(work.split()) | {word for words in load_frequent_words().values() for word in words}


def words(text: str) -> list[str]:
    """Stems of words, parts of identifiers, pairs of characters of unspaced script."""
    found: list[str] = []
    dull = empty_words()
    for piece in PIECE.findall(text):
        if piece[0] >= "\u3005":
            found += [piece[n : n + 2] for n in range(len(piece) - 1)] or [piece]
        elif len(piece) > 2 and (low := piece.lower()) not in dull:
            found.append(low[:STEM])
    return found


def base_name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def files_of(call: Call) -> set[str]:
    """Files a call edited, wrote or read."""
    named = {edit.path for edit in call.edits} | {path for run in call.runs for path in run.paths}
    return named | {call.target} if call.kind in ("read", "edit") and call.target else named


def terms(turn: Turn) -> Terms:
    """The turn's words, weighted."""
    found: Counter[str] = Counter()
    if turn.prompt:
        found.update(words(turn.prompt.text[:PROMPT]))
    if turn.replies:
        found.update(words(turn.replies[-1].text[:REPLY]))
    weighted: Terms = dict(found)
    for path in {path for call in turn.calls for path in files_of(call)}:
        name = base_name(path)
        for term in (f"/{name}", *words(name)):
            weighted[term] = weighted.get(term, 0) + FILE_WEIGHT
    for call in turn.calls:
        said = call.command[:COMMAND] or (call.target[:TARGET] if call.kind == "search" else "")
        for term in set(words(said)):
            weighted[term] = weighted.get(term, 0) + COMMAND_WEIGHT
    return weighted


def rarity(turns: list[Terms]) -> dict[str, float]:
    """How much a term tells inside its stream: one that is in every turn tells little."""
    seen: Counter[str] = Counter()
    for one in turns:
        seen.update(one.keys())
    return {term: sqrt(log((len(turns) + 3) / (times + 0.5))) for term, times in seen.items()}


def together(turns: Iterable[Terms]) -> Terms:
    """The terms of several turns."""
    whole: Terms = {}
    for one in turns:
        for term, weight in one.items():
            whole[term] = whole.get(term, 0) + weight
    return whole


def likeness(one: Terms, other: Terms, rare: Mapping[str, float]) -> float | None:
    """Cosine of two runs of turns; `None` where one of them says nothing."""
    if not one or not other:
        return None
    first = {term: (1 + log(weight) if weight >= 1 else weight) * rare[term] for term, weight in one.items()}
    shared = length = 0.0
    for term, weight in other.items():
        value = (1 + log(weight) if weight >= 1 else weight) * rare[term]
        length += value * value
        if term in first:
            shared += first[term] * value
    return shared / sqrt(length * sum(value * value for value in first.values()))
