"""Replaces what the rules find by markers."""

import re
from bisect import bisect, insort
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, partial
from hashlib import blake2b
from typing import NamedTuple

from msgspec.structs import asdict

from assay.sessions.redaction.checks import CHECKS, Found, is_random
from assay.sessions.redaction.gates import Gate, Hit, Word, gate
from assay.sessions.redaction.rulebook import Rule, rules
from assay.types import Clean, Value

MARKER = re.compile(rb"\[redacted:[a-z][a-z0-9-]{0,60}\]")
ESCAPES = (rb"\n", rb"\r", rb"\t")
"""Their letter is none of the word behind them."""
SHORTEST = 6
"""No secret that can be told from other words is shorter, its name included."""
MOST_ROUNDS = 8
PORTION = 1 << 20
MOST_INSIDE = 3
"""Matches of one rule that begin inside another of its own: `secret: "token=…"`."""
MOST_KNOWN = 200


class Options(Value, frozen=True):
    """What is replaced apart from secrets."""

    email: bool = False
    home: bool = False
    hosts: bool = False


NO_OPTIONS = Options()


class Span(NamedTuple):
    """A secret's place."""

    start: int
    end: int
    kind: str


class Finder:
    """A gate, and the rules behind each of its words."""

    def __init__(self, options: Options, engine: str = "") -> None:
        wanted = [rule for rule in rules() if not rule.option or asdict(options)[rule.option]]
        behind: dict[Word, list[Rule]] = {}
        for rule in wanted:
            for word in rule.words:
                text = word.lower() if rule.caseless else word
                behind.setdefault(Word(text.encode(), rule.caseless, rule.then), []).append(rule)
        self.words = list(behind)
        self.rules = list(behind.values())
        self.sizes = [len(word.text) for word in self.words]
        self.longest = max(self.sizes)
        self.gate: Gate = gate(self.words, engine)

    def spans(self, text: bytes) -> list[Span]:
        """What is to be replaced, in order, without overlaps."""
        if len(text) <= PORTION:
            hits = self.gate(text)
            matches = list(self.matches(text, hits)) if hits else []
        else:
            matches = list(self.matches(text, self.hits(text)))
        return settled(text, matches) if matches else []

    def hits(self, text: bytes) -> Iterator[Hit]:
        """The gate's, portion by portion: a word on every byte must not fill the memory."""
        for at in range(0, len(text), PORTION):
            for end, number in self.gate(text[at : at + PORTION + self.longest]):
                if end - len(self.words[number].text) < PORTION:
                    yield at + end, number

    def matches(self, text: bytes, hits: Iterable[Hit]) -> Iterator[Found]:
        """All that the patterns confirm."""
        done: dict[int, tuple[int, int]] = {}
        for end, number in hits:
            start = end - self.sizes[number]
            for rule in self.rules[number]:
                until, inside = done.get(rule.rank, (0, 0)) if done else (0, 0)
                if start < until and (rule.each or inside >= MOST_INSIDE):
                    continue
                match = (
                    led_to(rule, text, start, end)
                    if rule.before
                    else rule.pattern.match(text, end if rule.follows else start)
                )
                if match:
                    done[rule.rank] = (max(until, match.end()), inside + 1 if start < until else 0)
                    yield from found_in(rule, text, (start, end), match)


def led_to(rule: Rule, text: bytes, start: int, end: int) -> re.Match[bytes] | None:
    """The match of a rule that begins ahead of its word."""
    at = start - rule.before
    if rule.lead:
        ahead = text[max(0, at) : start]
        at = start - len(ahead) + len(ahead.rstrip(rule.characters))
        at += text[max(0, at - 1) : at + 1] in ESCAPES
    match = rule.pattern.match(text, at) if at >= 0 else None
    return match if match and match.end() >= end else None


def found_in(rule: Rule, text: bytes, word: tuple[int, int], match: re.Match[bytes]) -> Iterator[Found]:
    """The secrets of a match."""
    if rule.each:
        for part in rule.parts.finditer(text, *match.span("block")):
            yield Found(rule, text, word, part, *part.span("s"))
        return
    groups = match.groupdict()
    name = next((one for one in ("s", "e", "p", "u") if groups.get(one) is not None), None)
    yield Found(rule, text, word, match, *(match.span(name) if name else match.span()))


def settled(text: bytes, matches: list[Found]) -> list[Span]:
    """Those that are secrets; where two overlap, what is left of the lower one."""
    taken = [Span(*marker.span(), "") for marker in MARKER.finditer(text)]
    for found in sorted(matches, key=lambda one: (one.rule.rank, one.start)):
        pieces = without(found.start, found.end, taken)
        value = b"".join(text[start:end] for start, end in pieces)
        if value and CHECKS[found.rule.check](value, found):
            for start, end in pieces:
                insort(taken, Span(start, end, found.rule.kind))
    return [span for span in taken if span.kind]


def without(start: int, end: int, taken: list[Span]) -> list[tuple[int, int]]:
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
def finder(options: Options, engine: str = "") -> Finder:
    """One for all who want the same."""
    return Finder(options, engine)


def prepare(options: Options) -> None:
    """Read and compile the rules now, so that processes which are forked later share them."""
    finder(options)


class Redactor:
    """Replaces secrets by markers: the same value by the same marker, another of its kind by one with a number."""

    def __init__(self, options: Options = NO_OPTIONS, engine: str = "") -> None:
        self.found: Counter[str] = Counter()
        """How many of each kind were replaced."""
        self.known: dict[bytes, bytes] = {}
        """Values nobody would say by chance, with their markers: they are replaced wherever they stand."""
        self.finder = partial(finder, options, engine)
        self.numbers: dict[str, dict[bytes, int]] = {}

    def text(self, text: str) -> Clean:
        """The text with every secret replaced."""
        if len(text) < SHORTEST:
            return Clean(text)
        raw = given = text.encode("utf-8", "surrogatepass")
        for _ in range(MOST_ROUNDS):  # what was hidden by its neighbour may show without it
            spans = self.finder().spans(raw)
            found = self.without_known(self.replaced(raw, spans) if spans else raw)
            if found is raw:
                break
            raw = found
        return Clean(text if raw is given else raw.decode("utf-8", "surrogatepass"))

    def holds(self, text: str) -> bool:
        """Whether there is anything to replace."""
        raw = text.encode("utf-8", "surrogatepass")
        return any(value in raw for value in self.known) or bool(self.finder().spans(raw))

    def replaced(self, text: bytes, spans: list[Span]) -> bytes:
        """The text with markers for these spans."""
        parts: list[bytes] = []
        at = 0
        for start, end, kind in spans:
            while start > at and is_inside(text[start]):
                start -= 1
            while end < len(text) and is_inside(text[end]):
                end += 1
            parts += [text[at:start], self.marker(kind, text[start:end])]
            at = end
        return b"".join([*parts, text[at:]])

    def marker(self, kind: str, value: bytes) -> bytes:
        """The marker of a value: numbered from the second of its kind on."""
        known = self.numbers.setdefault(kind, {})
        number = known.setdefault(blake2b(value, digest_size=16).digest(), len(known) + 1)
        self.found[kind] += 1
        marker = f"[redacted:{kind}{f'-{number}' if number > 1 else ''}]".encode()
        if len(self.known) < MOST_KNOWN and is_random(value):
            self.known[value] = marker
        return marker

    def without_known(self, text: bytes) -> bytes:
        """The text without values that were given away elsewhere."""
        for value, marker in self.known.items():
            if value in text:
                self.found[marker[10:-1].decode().rstrip("-0123456789")] += text.count(value)
                text = text.replace(value, marker)
        return text


def is_inside(byte: int) -> bool:
    """Whether a character began before this byte: none is ever cut in half."""
    return byte & 0xC0 == 0x80
