"""Finds the phrases of a text in its writer's own words."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from math import ceil

from msgspec import Struct

from assay.sessions.speech.ownership import Owner, Piece, split_pasted, split_prompt
from assay.sessions.speech.phrases import (
    GAP,
    KINDS,
    Trie,
    compile_token,
    find_first_nodes,
    find_next_nodes,
    split_words,
)
from assay.sessions.text import take_beginning, take_ending
from assay.types import Prompt

LONGEST_GAP = 3
NEGATABLE = tuple("accepts complains frustrated chores drops asks. about. agent.done agent.concludes".split())
SENTENCE_ENDS = frozenset("?？!！.。\n")
QUESTION_MARKS = frozenset("?？")
HALF = 0.5
FIRST_UNSPACED = "\u3005"
LONGEST_QUOTE = 200
ENDS = 6_000
"""A text is read this far; more is pasted, not said."""
LEFT_OUT = "\0"
"""Stands in for each character of what was pasted."""
OWN: frozenset[Owner] = frozenset({"typed"})
BESIDE: frozenset[Owner] = frozenset({"template", "pasted"})
FEW_WORDS = 4
OPENING = 3
REQUESTS = tuple(f"asks.{one}" for one in ("bug_fix", "feature", "refactor", "small_change", "review", "plan"))
EDGES = f" \t\r\n{LEFT_OUT}"

KANA = re.compile("[\u3040-\u30ff]")
PAUSE = re.compile("[,;:，；：、]")
PATH = re.compile(
    r"(?<![\w/])(?:~|\.{1,2})?/?(?:[\w.-]{1,80}/){1,20}[\w.-]{0,80}\.[a-zA-Z]\w{0,5}\b"
    r"|(?<![\w./])[\w-]{1,80}\.(?:mdx?|txt|rst|py|[jt]sx?|go|rs|java|kt|rb|php|[ch]pp|cs|swift|sh|sql|json|ya?ml|toml|html|css|vue)\b"
)
DOTTED = re.compile(r"\.[a-zA-Z]")
"""Stands in every name of a file, and is found soon."""
NAME = "x"
"""Stands for the name of a file: "plan.md" plans nothing."""
URL = re.compile(r"\bhttps?://\S+|\bwww\.\S+")


class WordPlaces(Struct, frozen=True):
    """Where words stand: few are asked about."""

    matches: list[re.Match[str]]
    """The words in the folded text."""
    at: Sequence[int]
    """Where each character of that stood in the source."""

    def locate(self, first: int, end: int) -> tuple[int, int]:
        """Where words, the last one excluded, begin and end in the source."""
        return self.at[self.matches[first].start()], self.at[self.matches[end - 1].end() - 1] + 1


class HeardPhrase(Struct, frozen=True):
    """A phrase, and where it stands."""

    phrase: str
    start: int
    """Where it begins in the source."""
    word: int
    """How many words stand before it in its sentence; 0 opens it."""
    sentence: int
    """How many sentences stand before its own."""


class Utterance(Struct, frozen=True):
    """What phrases a text holds."""

    source: str
    """What was read."""
    text: str
    """Its writer's own words."""
    words: int
    is_unspaced: bool
    """Mostly in a script without spaces, whose verbs stand at the end."""
    heard: dict[str, tuple[HeardPhrase, ...]]

    def earliest(self, *kinds: str) -> HeardPhrase | None:
        """The first phrase of one of these kinds."""
        all_of = [heard for kind in kinds for heard in self.heard.get(kind, ())]
        return min(all_of, key=lambda heard: heard.start, default=None)

    def first(self, *kinds: str) -> str:
        """The words of the first phrase of one of these kinds, or nothing."""
        heard = self.earliest(*kinds)
        return heard.phrase if heard else ""

    def quote(self, *kinds: str) -> str:
        """The line of the source around the first phrase of these kinds, word for word; nothing where there is none."""
        heard = self.earliest(*kinds)
        if heard is None:
            return ""
        end = self.source.find("\n", heard.start)
        before = self.source[self.source.rfind("\n", 0, heard.start) + 1 : heard.start]
        rest = self.source[heard.start : end if end >= 0 else len(self.source)]
        return take_beginning(f"{take_ending(before, LONGEST_QUOTE // 2)}{rest}".strip(), LONGEST_QUOTE)

    def find_complaint(self) -> str:
        """The words of the first complaint, or nothing: "fix the failing test" asks, "fix it, it fails" complains."""
        asking = [one for kind in REQUESTS for one in self.heard.get(kind, ()) if one.word <= OPENING]
        for heard in sorted(self.heard.get("complains", ()), key=lambda one: one.start):
            is_object = any(
                one.sentence == heard.sentence
                and one.start <= heard.start
                and not PAUSE.search(self.source, one.start, heard.start)
                for one in asking
            )
            if not is_object:
                return heard.phrase
        return self.first("frustrated")

    def count(self, kind: str) -> int:
        return len(self.heard.get(kind, ()))


def find_own_words(text: str) -> str:
    """A text without code, logs, quotes and addresses: what its writer said."""
    return mask_pasted(text).replace(LEFT_OUT, "").strip()


@lru_cache(4096)
def mask_pasted(text: str) -> str:
    """The text with all that was pasted left out, and everything else in its place."""
    return mask_pieces(split_pasted(text[:ENDS]), OWN)


def mask_pieces(pieces: tuple[Piece, ...], owners: frozenset[Owner]) -> str:
    """The pieces of some owners, all else left out, in its place; addresses too."""
    parts: list[str] = []
    before = "\n"
    for piece in pieces:
        parts.append(piece.text if piece.owner in owners else blank_out(piece.text, before))
        before = piece.text[-1]
    text = URL.sub(lambda match: f" {LEFT_OUT * (len(match[0]) - 1)}", "".join(parts))
    lead = len(text) - len(text.lstrip(EDGES))
    return LEFT_OUT * lead + text.strip(EDGES)


def blank_out(text: str, before: str) -> str:
    """As many characters that say nothing; sentences and words around them stay apart."""
    apart = "" if before == "\n" else " "
    first = "\n" if text.startswith(("```", "~~~")) else apart
    return first + LEFT_OUT * (len(text) - len(first))


def blank_names(text: str) -> str:
    """The text with names of files that say nothing, each character in its place."""
    if not DOTTED.search(text):
        return text
    return PATH.sub(lambda found: NAME + LEFT_OUT * (len(found[0]) - 1), text)


def fold_text(text: str) -> tuple[str, Sequence[int]]:
    """The text as phrases are looked up, and where each character of it stood: folding makes two of some."""
    folded = text.casefold().replace("’", "'")
    if len(folded) == len(text):
        return folded, range(len(text))
    return folded, [n for n, character in enumerate(text) for _ in character.casefold()]


@lru_cache(4096)
def parse_utterance(text: str) -> Utterance:
    """Every phrase in the own words of a text that is no prompt."""
    return parse_masked(text, mask_pasted(text))


@lru_cache(4096)
def parse_own_words(prompt: Prompt | None) -> Utterance:
    """Every phrase in what a person typed: nothing that was pasted, or that a template or the client wrote."""
    if prompt is None:
        return parse_masked("", "")
    return parse_masked(prompt.text, mask_pieces(split_prompt(prompt), OWN))


@lru_cache(4096)
def parse_request(prompt: Prompt | None) -> Utterance:
    """Every phrase in what a prompt asks for: the person's words, else a template's, else what was pasted."""
    if prompt is None:
        return parse_masked("", "")
    askers = pick_askers(prompt)
    if askers == OWN:
        return parse_own_words(prompt)
    return parse_masked(prompt.text, mask_pieces(split_prompt(prompt), askers))


def pick_askers(prompt: Prompt) -> frozenset[Owner]:
    """Whose words say what a prompt is for: the person's where they ask for anything, and what stands beside them."""
    own = parse_own_words(prompt)
    is_asking = own.words >= FEW_WORDS or own.text.endswith(("?", "？")) or any(map(is_request, own.heard))
    there = {piece.owner for piece in split_prompt(prompt)}
    if is_asking or not there & BESIDE:
        return OWN
    return OWN | ({"template"} if "template" in there else {"pasted"})


def is_request(kind: str) -> bool:
    return kind.startswith("asks.") or kind in ("chores", "agrees", "accepts", "complains")


def parse_masked(text: str, left: str) -> Utterance:
    """Every phrase in what is left of a text."""
    own = left.replace(LEFT_OUT, "").strip()
    folded, at = fold_text(blank_names(left))
    spans = WordPlaces([*compile_token().finditer(folded)], at)
    words = [match[0] for match in spans.matches]
    sizes = [1.0 if len(word) > 1 else measure_word(word) for word in words]
    places = list(accumulate(sizes, initial=0.0))
    other = "zh" if KANA.search(own) else "ja"  # they share characters, not meanings
    unspaced = sizes.count(HALF)
    questions = list_questions(words)
    heard: dict[str, list[HeardPhrase]] = {}
    denied: list[tuple[int, int]] = []
    opening, sentence = 0.0, 0
    for n, word in enumerate(words):
        if word in SENTENCE_ENDS:
            opening, sentence, denied = places[n + 1], sentence + 1, []
            continue
        if not (nodes := find_openings(word, other)):
            continue
        for kind, end in find_kinds(nodes, words, n):
            if kind == "not":
                denied.append((n, end))
            elif not (denied and is_negatable(kind, questions[sentence]) and is_denied(left, spans, n, denied)):
                start, close = spans.locate(n, end)
                heard.setdefault(kind, []).append(
                    HeardPhrase(text[start:close], start, int(places[n] - opening), sentence)
                )
    return Utterance(
        source=text,
        text=own,
        words=ceil(places[-1]),
        is_unspaced=unspaced > len(words) / 3,
        heard={kind: tuple(all_of) for kind, all_of in heard.items()},
    )


def list_questions(words: Sequence[str]) -> list[bool]:
    """For each sentence whether it ends with a question mark."""
    return [*(word in QUESTION_MARKS for word in words if word in SENTENCE_ENDS), False]


def is_negatable(kind: str, is_question: bool) -> bool:
    """Whether a denial before a phrase takes it back: "couldn't you add it?" asks for it all the same."""
    return kind.startswith(NEGATABLE) and not (is_question and kind.startswith("asks."))


def is_denied(text: str, spans: WordPlaces, n: int, denied: list[tuple[int, int]]) -> bool:
    """Whether a denial stands up to three words before a word, with no comma between: "no, perfect" denies nothing."""
    near = [close for start, close in denied if start < n <= close + LONGEST_GAP]
    return any(not PAUSE.search(text, spans.locate(close - 1, close)[1], spans.locate(n, n + 1)[0]) for close in near)


def measure_word(word: str) -> float:
    """How many words a token counts for: two characters of an unspaced script are about a word."""
    if len(word) > 1:
        return 1.0
    return 0.0 if word in SENTENCE_ENDS else HALF if word >= FIRST_UNSPACED else 1.0


def count_words(text: str) -> int:
    """How many words a text has, code and quotes too."""
    return ceil(sum(map(measure_word, split_words(text))))


@lru_cache(65_536)
def find_openings(word: str, other: str) -> tuple[Trie, ...]:
    """Where phrases that begin with a word go on; most words begin none."""
    return tuple(find_first_nodes(word, other))


def find_kinds(nodes: tuple[Trie, ...], words: list[str], n: int) -> list[tuple[str, int]]:
    """Kinds of the phrases that begin at a word, and where they end; of each kind the longest."""
    best: dict[str, int] = {}
    waiting = [(node, n + 1) for node in nodes]
    while waiting:
        at, here = waiting.pop()
        for kind in at.get(KINDS, ()):
            best[kind] = max(best.get(kind, 0), here)
        if here < len(words):
            waiting += [(deeper, here + 1) for deeper in find_next_nodes(at, words[here])]
            if (gap := at.get(GAP)) is not None:
                waiting += [(gap, there) for there in list_reachable(words, here)]
    return list(best.items())


def list_reachable(words: list[str], here: int) -> Iterator[int]:
    """Where a phrase may go on behind a gap: after up to three words of the same sentence."""
    yield here
    for there in range(here, min(here + LONGEST_GAP, len(words))):
        if words[there] in SENTENCE_ENDS:
            return
        yield there + 1
