"""Finds the phrases of a text, and whose words they are."""

import re
from functools import lru_cache
from itertools import accumulate
from math import ceil

from msgspec import Struct

from assay.sessions.speech.phrases import GAP, KINDS, STEMS, TOKEN, Trie, trie

LONGEST_GAP = 3
NEGATABLE = frozenset({"accepts", "agent.done", "agent.concludes"})
SENTENCE_ENDS = frozenset("?？!！.。\n")
FIRST_UNSPACED = "\u3005"
ENDS = 6_000
"""A text is read this far; more is pasted, not said."""

FENCED = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
TAGGED = re.compile(r"<([a-zA-Z][\w-]{0,40})\b[^<>]{0,200}>[^<]{80,}</\1>|</?[a-zA-Z][\w-]{0,40}\b[^<>]{0,200}/?>")
PASTED_LINE = re.compile(
    r"""^\s*(?:
        >                                    # a quote
      | [+\-]{3}\s | @@\s | diff\s--git      # a diff
      | (?:\d{4}-\d\d-\d\d[T\s]|\[?\d\d:\d\d:\d\d)   # a log
      | at\s+[\w$.<>]+\s?\( | File\s"        # a stack trace
      | (?:\w+\.)*\w*(?:Error|Exception|Warning)\b:?   # what was raised
      | (?:error|warning|info|debug|fatal|FAIL|PASS|ok|---|===)\b[:\s\[]
      | [$%❯➜#]\s\S+ | \w+@[\w.-]+[:\s~%$]   # a shell
      | [|│┃╭╰├└─━═⏺⎿●✓✗✘]                   # what a terminal drew
    )""",
    re.VERBOSE,
)
CODE_LINE = re.compile(
    r"^\s*(?:[{}()\[\];,]+|.*[;{}]|\s*(?:def|class|func|fn|import|from|const|let|var|return|if|for)\b.*[:;{(=].*)\s*$"
)
URL = re.compile(r"\bhttps?://\S+|\bwww\.\S+")


class Heard(Struct, frozen=True):
    """A phrase, and where it stands."""

    phrase: str
    start: int
    word: int
    """How many words stand before it in its sentence; 0 opens it."""
    sentence: int
    """How many sentences stand before its own."""


class Said(Struct, frozen=True):
    """What phrases a text holds."""

    text: str
    """The person's own words."""
    words: int
    heard: dict[str, tuple[Heard, ...]]

    def first(self, *kinds: str) -> str:
        """The first phrase of one of these kinds, or nothing."""
        found = [heard for kind in kinds for heard in self.heard.get(kind, ())]
        return min(found, key=lambda heard: heard.start).phrase if found else ""

    def count(self, kind: str) -> int:
        return len(self.heard.get(kind, ()))


@lru_cache(4096)
def own_words(text: str) -> str:
    """A text without code, logs, quotes and addresses: what its writer said."""
    text = URL.sub(" ", TAGGED.sub(" ", FENCED.sub("\n", text[:ENDS])))
    lines = [line for line in text.splitlines() if not PASTED_LINE.match(line) and not CODE_LINE.match(line)]
    return "\n".join(lines).strip()


@lru_cache(4096)
def read(text: str) -> Said:
    """Every phrase in the text's own words."""
    own = own_words(text)
    folded = own.casefold().replace("’", "'")
    if len(folded) != len(own):
        own = folded
    spans = [(match.group(), match.start(), match.end()) for match in TOKEN.finditer(folded)]
    words = [word for word, _, _ in spans]
    places = list(accumulate((size(word) for word in words), initial=0.0))
    heard: dict[str, list[Heard]] = {}
    negated_at = -9
    opening, sentence = 0.0, 0
    for n, word in enumerate(words):
        if word in SENTENCE_ENDS:
            opening, sentence, negated_at = places[n + 1], sentence + 1, -9
            continue
        for kind, end in found(trie(), words, n):
            if kind == "not":
                negated_at = max(negated_at, end)
            elif not (kind in NEGATABLE and n - negated_at <= LONGEST_GAP):
                start = spans[n][1]
                heard.setdefault(kind, []).append(
                    Heard(own[start : spans[end - 1][2]], start, int(places[n] - opening), sentence)
                )
    return Said(text=own, words=ceil(places[-1]), heard={kind: tuple(all_of) for kind, all_of in heard.items()})


def size(word: str) -> float:
    """Two characters of an unspaced script are about a word."""
    if word in SENTENCE_ENDS:
        return 0.0
    return 0.5 if len(word) == 1 and word >= FIRST_UNSPACED else 1.0


def found(node: Trie, words: list[str], n: int) -> list[tuple[str, int]]:
    """Kinds of the phrases that begin at a word, and where they end; of each kind the longest."""
    best: dict[str, int] = {}
    waiting: list[tuple[Trie, int]] = [(node, n)]
    while waiting:
        at, here = waiting.pop()
        for kind in at.get(KINDS, ()):
            best[kind] = max(best.get(kind, 0), here)
        if here >= len(words):
            continue
        word = words[here]
        if (deeper := at.get(word)) is not None:
            waiting.append((deeper, here + 1))
        if (stems := at.get(STEMS)) is not None:
            waiting += [(stems[word[:k]], here + 1) for k in range(2, len(word) + 1) if word[:k] in stems]
        if (gap := at.get(GAP)) is not None:
            waiting += [(gap, there) for there in range(here, min(here + LONGEST_GAP, len(words)) + 1)]
    return list(best.items())
