"""Finds secrets: a gate finds where the words of rules stand, then patterns and checks confirm them.

The gate is what is installed: hyperscan, else re2, else plain Python. All give the same places; only how fast they do
differs.
"""

import re
from bisect import bisect, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from threading import local
from types import ModuleType
from typing import Any, NamedTuple

from msgspec.structs import asdict

from assay.sessions.redaction.checks import CHECKS, Candidate
from assay.sessions.redaction.rulebook import RedactionRule, load_rules
from assay.types import Value

ENGINES = ("hyperscan", "re2", "re")
Hit = tuple[int, int]
"""Where a word ends, and its number."""
IN_NAMES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
Gate = Callable[[bytes], list[Hit]]
MARKER = re.compile(rb"\[redacted:[a-z][a-z0-9-]{0,60}\]")
ESCAPES = (rb"\n", rb"\r", rb"\t")
"""Their letter is none of the word behind them."""
PORTION = 1 << 20
MOST_INSIDE = 3
"""Matches of one rule that begin inside another of its own: `secret: "token=…"`."""


class RedactionOptions(Value, frozen=True):
    """What is replaced apart from secrets."""

    email: bool = False
    home: bool = False
    hosts: bool = False


NO_OPTIONS = RedactionOptions()


class GateWord(NamedTuple):
    """A word that is looked for, with or without regard to case."""

    text: bytes
    caseless: bool
    then: int = 0
    """So many characters of a name stand right behind it; they are none of it."""


class Span(NamedTuple):
    """Where a secret stands, and its kind."""

    start: int
    end: int
    kind: str


class SecretFinder:
    """A gate, and the rules behind each of its words."""

    def __init__(self, options: RedactionOptions, engine: str = "") -> None:
        wanted = [rule for rule in load_rules() if not rule.option or asdict(options)[rule.option]]
        behind: dict[GateWord, list[RedactionRule]] = {}
        for rule in wanted:
            for word in rule.words:
                text = word.lower() if rule.caseless else word
                behind.setdefault(GateWord(text.encode(), rule.caseless, rule.then), []).append(rule)
        self.words = list(behind)
        self.rules = list(behind.values())
        self.sizes = [len(word.text) for word in self.words]
        self.longest = max(self.sizes)
        self.gate: Gate = build_gate(self.words, engine)
        self.clean: set[str] = set()
        """Short texts in which nothing was found: field names, folders and branches come again and again."""

    def find_spans(self, text: bytes) -> list[Span]:
        """What is to be replaced, in order, without overlaps."""
        if len(text) <= PORTION:
            hits = self.gate(text)
            matches = list(self.confirm_hits(text, hits)) if hits else []
        else:
            matches = list(self.confirm_hits(text, self.find_hits(text)))
        return settle_overlaps(text, matches) if matches else []

    def find_hits(self, text: bytes) -> Iterator[Hit]:
        """The gate's hits, portion by portion: a word on every byte must not fill the memory."""
        for at in range(0, len(text), PORTION):
            for end, number in self.gate(text[at : at + PORTION + self.longest]):
                if end - len(self.words[number].text) < PORTION:
                    yield at + end, number

    def confirm_hits(self, text: bytes, hits: Iterable[Hit]) -> Iterator[Candidate]:
        """The candidates that the rules' patterns confirm."""
        done: dict[int, tuple[int, int]] = {}
        for end, number in hits:
            start = end - self.sizes[number]
            for rule in self.rules[number]:
                until, inside = done.get(rule.rank, (0, 0)) if done else (0, 0)
                if start < until and (rule.each or inside >= MOST_INSIDE):
                    continue
                match = (
                    match_lead(rule, text, start, end)
                    if rule.before
                    else rule.pattern.match(text, end if rule.follows else start)
                )
                if match:
                    done[rule.rank] = (max(until, match.end()), inside + 1 if start < until else 0)
                    yield from list_candidates(rule, text, (start, end), match)


def match_lead(rule: RedactionRule, text: bytes, start: int, end: int) -> re.Match[bytes] | None:
    """The match of a rule that begins ahead of its word."""
    at = start - rule.before
    if rule.lead:
        ahead = text[max(0, at) : start]
        at = start - len(ahead) + len(ahead.rstrip(rule.characters))
        at += text[max(0, at - 1) : at + 1] in ESCAPES
    match = rule.pattern.match(text, at) if at >= 0 else None
    return match if match and match.end() >= end else None


def list_candidates(
    rule: RedactionRule, text: bytes, word: tuple[int, int], match: re.Match[bytes]
) -> Iterator[Candidate]:
    """The values in a match that may be secrets."""
    if rule.each:
        for part in rule.parts.finditer(text, *match.span("block")):
            yield Candidate(rule, text, word, part, *part.span("s"))
        return
    groups = match.groupdict()
    name = next((one for one in ("s", "e", "p", "u") if groups.get(one) is not None), None)
    yield Candidate(rule, text, word, match, *(match.span(name) if name else match.span()))


def settle_overlaps(text: bytes, matches: list[Candidate]) -> list[Span]:
    """The spans of those candidates that are secrets; where two overlap, what is left of the lower one."""
    taken = [Span(*marker.span(), "") for marker in MARKER.finditer(text)]
    for found in sorted(matches, key=lambda one: (one.rule.rank, one.start)):
        pieces = list_free_pieces(found.start, found.end, taken)
        value = b"".join(text[start:end] for start, end in pieces)
        if value and CHECKS[found.rule.check](value, found):
            for start, end in pieces:
                insort(taken, Span(start, end, found.rule.kind))
    return [span for span in taken if span.kind]


def list_free_pieces(start: int, end: int, taken: list[Span]) -> list[tuple[int, int]]:
    """The pieces of a stretch that are not taken yet."""
    at = bisect(taken, Span(start, 0, ""))
    if at and taken[at - 1].end > start:
        at -= 1
    pieces: list[tuple[int, int]] = []
    while at < len(taken) and taken[at].start < end:
        if start < taken[at].start:
            pieces.append((start, taken[at].start))
        start = max(start, taken[at].end)
        at += 1
    return [*pieces, (start, end)] if start < end else pieces


@cache
def load_finder(options: RedactionOptions, engine: str = "") -> SecretFinder:
    """The finder for these options, built once."""
    return SecretFinder(options, engine)


def prepare_rules(options: RedactionOptions) -> None:
    """Read and compile the rules now, so that processes which are forked later share them."""
    load_finder(options)


# --- gates ----------------------------------------------------------------------------------


def import_engine(name: str) -> ModuleType | None:
    """The library behind an engine; `None` where it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None


def build_gate(words: Sequence[GateWord], name: str = "") -> Gate:
    """A gate for these words, by this engine or else the fastest there is."""
    made = {"hyperscan": build_hyperscan_gate, "re2": build_re2_gate}
    for one in (name,) if name else ENGINES:
        if one in made and (library := import_engine(one)) and (found := made[one](library, words)):
            return found
    return build_find_gate(words)


def build_hyperscan_gate(library: ModuleType, words: Sequence[GateWord]) -> Gate | None:
    """A gate by hyperscan; `None` where the processor is not one it knows."""
    few = [number for number, word in enumerate(words) if word.then]
    most = [number for number, word in enumerate(words) if not word.then]
    try:
        # Words alone compile and scan several times as fast as patterns.
        scans = [
            compile_database(library, words, numbers, literal=numbers is most) for numbers in (most, few) if numbers
        ]
    except library.HyperscanError:
        return None
    own = local()  # a scratch serves one scan at a time

    def find_hits(text: bytes) -> list[Hit]:
        found: list[Hit] = []

        def note(word: int, _start: int, end: int, _flags: int, _context: object) -> None:
            found.append((end, word))

        def note_early(word: int, _start: int, end: int, _flags: int, _context: object) -> None:
            found.append((end - words[word].then, word))

        if not hasattr(own, "scratches"):
            own.scratches = [one.scratch.clone() for one in scans]
        for scan, scratch, noted in zip(scans, own.scratches, (note, note_early), strict=False):
            scan.scan(text, noted, scratch=scratch)
        return sorted(found) if found else found

    return find_hits


def compile_database(library: ModuleType, words: Sequence[GateWord], numbers: Sequence[int], *, literal: bool) -> Any:
    """A hyperscan database of these words."""
    some = [words[number] for number in numbers]
    flags = [library.HS_FLAG_CASELESS if word.caseless else 0 for word in some]
    texts = [word.text if literal else re.escape(word.text) + b"[A-Za-z0-9_-]{%d}" % word.then for word in some]
    database = library.Database(mode=library.HS_MODE_BLOCK)
    database.compile(expressions=texts, ids=list(numbers), flags=flags, literal=literal)
    return database


def is_followed(text: bytes, end: int, word: GateWord) -> bool:
    """Whether enough characters of a name stand behind a word."""
    behind = text[end : end + word.then]
    return len(behind) == word.then and not behind.translate(None, IN_NAMES)


def build_re2_gate(library: ModuleType, words: Sequence[GateWord]) -> Gate | None:
    """A gate by re2; `None` where another package goes by the name."""
    if not hasattr(library, "Options"):
        return None
    escaped = [(rb"(?i:%s)" if word.caseless else rb"%s") % re.escape(word.text) for word in words]
    options = library.Options()
    options.encoding = library.Options.Encoding.LATIN1
    pattern = library.compile(b"|".join(escaped), options=options)
    starting = group_by_first_byte(words)

    def find_hits(text: bytes) -> list[Hit]:
        found: list[Hit] = []
        low = text.lower()
        at = 0
        while match := pattern.search(text, at):
            start = match.start()
            for number, word in starting[low[start]]:
                end = start + len(word.text)
                if (low if word.caseless else text).startswith(word.text, start) and is_followed(text, end, word):
                    found.append((end, number))
            at = start + 1
        return sorted(found)

    return find_hits


def group_by_first_byte(words: Sequence[GateWord]) -> list[list[tuple[int, GateWord]]]:
    """Words under the lower case of the byte they begin with."""
    found: list[list[tuple[int, GateWord]]] = [[] for _ in range(256)]
    for number, word in enumerate(words):
        found[word.text.lower()[0]].append((number, word))
    return found


def build_find_gate(words: Sequence[GateWord]) -> Gate:
    order = sorted(range(len(words)), key=lambda number: len(words[number].text))
    cores = {number: find_core(words, number, order) for number in order}

    def find_hits(text: bytes) -> list[Hit]:
        low = text.lower()
        found: list[Hit] = []
        there: set[int | None] = {None}
        for number in order:
            if cores[number] in there:
                word = words[number]
                starts = list(find_places(low if word.caseless else text, word.text))
                if starts:
                    there.add(number)
                    ends = (start + len(word.text) for start in starts)
                    found += [(end, number) for end in ends if not word.then or is_followed(text, end, word)]
        return sorted(found)

    return find_hits


def find_core(words: Sequence[GateWord], number: int, order: Sequence[int]) -> int | None:
    """The shortest other word without which this one can't be there."""
    word = words[number]
    for other in order[: order.index(number)]:
        one = words[other]
        if one.text in (word.text.lower() if one.caseless else word.text) and (one.caseless or not word.caseless):
            return other
    return None


def find_places(text: bytes, word: bytes) -> Iterator[int]:
    """Where a word begins in a text, overlaps too."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)
