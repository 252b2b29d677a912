"""The topic judge: where a new goal begins inside a conversation, by a scorecard of named signs."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from itertools import accumulate
from math import exp, log, log1p, sqrt

from msgspec import Struct

from assay.resources import load_table
from assay.sessions import speech
from assay.sessions.calls import is_mutating, list_made_edits
from assay.sessions.speech.phrases import UNSPACED, load_frequent_words
from assay.types import Call, Gap, Stream, Turn

MOST_SIGNS = 3
BEFORE, SOON, LATER = 4, 2, 4
"""Turns before a step, and after it, that are compared."""
RECENT, AHEAD = 8, 6
UNLIKE_BELOW, UNKNOWN_LIKENESS = 0.35, 0.2
SHORT, TINY, OPENING = 12, 5, 3
QUICK_S = 15
FEW_TERMS = 6
QUESTION = re.compile(r"[?？]\W*\Z")
REFERENCE = re.compile(r"https?://\S+|#\d{2,6}\b|\b[A-Z]{2,8}-\d{1,6}\b")
UNANSWERING = frozenset({"rejection", "queued", "shell"})
"""Said inside the work, not about new work."""
Paths = frozenset[str]
STEM = 7
"""Inflections differ behind it."""
LONGEST_PROMPT, LONGEST_REPLY, LONGEST_COMMAND, LONGEST_TARGET = 2_000, 1_500, 200, 120
FILE_WEIGHT, COMMAND_WEIGHT = 2.0, 0.25
Terms = dict[str, float]


class TopicSign(Struct, frozen=True):
    weight: float
    says: str


class Scorecard(Struct, frozen=True):
    version: int
    threshold: float
    signs: dict[str, TopicSign]


def topic(stream: Stream) -> tuple[Gap, ...]:
    """A gap for every step from one prompt to the next."""
    card = load_card()
    return tuple(judge_gap(n, signs, card) for n, signs in measure_gaps(stream.turns))


def load_card() -> Scorecard:
    return load_table("assay.judges.offline", "topic.toml", Scorecard)


def judge_gap(turn: int, signs: dict[str, float], card: Scorecard) -> Gap:
    """The signs of one step, added up."""
    added = {name: value * card.signs[name].weight for name, value in signs.items() if value}
    over = sum(added.values()) - card.threshold
    is_shift = over > 0
    leading = sorted(added, key=lambda name: (-added[name] if is_shift else added[name], name))
    told = [card.signs[name].says for name in leading[:MOST_SIGNS] if (added[name] > 0) == is_shift]
    confidence = 1 / (1 + exp(-over))
    return Gap(turn=turn, is_shift=is_shift, confidence=round(confidence, 3), evidence="; ".join(told) or "goes on")


class TopicView(Struct, frozen=True):
    """A turn as the topic judge sees it."""

    turn: Turn
    terms: Terms
    said: speech.Utterance
    """What the prompt asks for."""
    own: speech.Utterance
    """What of it the person typed."""
    content: frozenset[str]
    """Words of the prompt that carry content."""
    touched: Paths
    edited: Paths
    last_reply: str
    named: frozenset[str]
    """Addresses and issue numbers in the prompt."""
    references: frozenset[str]
    """Those, and the last reply's."""
    asks_back: bool
    is_bare: bool
    is_unfinished: bool


def build_topic_view(turn: Turn) -> TopicView:
    prompt = turn.prompt
    text = prompt.text if prompt else ""
    said = speech.parse_request(prompt)
    content = find_content_words(said)
    last = turn.replies[-1].text if turn.replies else ""
    ending = speech.parse_utterance(last[-300:])
    named = frozenset(REFERENCE.findall(text[:3_000]))
    return TopicView(
        turn=turn,
        terms=weigh_terms(turn, said),
        said=said,
        own=speech.parse_own_words(prompt),
        content=content,
        touched=frozenset(path for call in turn.calls for path in list_files(call)),
        edited=frozenset(path for call in turn.calls if is_mutating(call) for path in list_written(call)),
        last_reply=last,
        named=named,
        references=named | frozenset(REFERENCE.findall(last)),
        asks_back=bool(QUESTION.search(last[-300:])) or "agent.asks_back" in ending.heard,
        is_bare=prompt is None or prompt.kind in UNANSWERING or (prompt.kind == "typed" and is_bare(said, content)),
        is_unfinished=is_unfinished(turn, ending),
    )


def find_content_words(said: speech.Utterance) -> frozenset[str]:
    """The words that carry content."""
    return collect_words(said.text[:1_500])


def list_written(call: Call) -> Paths:
    """Files it edited, or wrote by shell commands that can be read."""
    by_shell = (path for run in call.runs if run.mutates for path in run.paths)
    return frozenset((*(edit.path for edit in list_made_edits(call)), *by_shell))


def is_bare(said: speech.Utterance, content: frozenset[str]) -> bool:
    """Nothing that could be a goal of its own: an answer, a go-ahead, a thank-you."""
    if not content or (said.words <= TINY and said.first("agrees", "accepts")):
        return True
    return said.words <= OPENING and (said.is_unspaced or len(content) <= 2)


def is_unfinished(turn: Turn, ending: speech.Utterance) -> bool:
    """The agent had more to do when its last words were said."""
    if not turn.replies:
        return True
    if turn.calls and turn.calls[-1].at > turn.replies[-1].at:
        return True
    return ending.text.endswith((":", "：")) or has_early(ending, "agent.more", OPENING)


def has_early(said: speech.Utterance, kind: str, most: int) -> bool:
    """Whether a phrase of this kind stands among the first words of a sentence."""
    return any(heard.word <= most for heard in said.heard.get(kind, ()))


def has_opening_request(said: speech.Utterance) -> bool:
    """A request or question stands at the beginning of one of its sentences, or anywhere where verbs come last."""
    if said.is_unspaced:
        return said.words > OPENING and ("wants" in said.heard or any(kind.startswith("asks.") for kind in said.heard))
    return said.words > TINY and any(kind.startswith("asks.") and has_early(said, kind, OPENING) for kind in said.heard)


class GapContext(Struct, frozen=True):
    """What went before a step, and how alike everything around it is."""

    edited: Paths
    touched: Paths
    terms: frozenset[str]
    references: frozenset[str]
    is_thin: bool
    alike: float | None
    mean: float
    peaks: tuple[float, float]
    """The highest likeness among the steps just before and just after."""


def measure_gaps(turns: Sequence[Turn]) -> list[tuple[int, dict[str, float]]]:
    """The signs at every step, by the index of the turn after it."""
    places = [n for n, turn in enumerate(turns) if turn.prompt]
    views = [build_topic_view(turns[n]) for n in places]
    rare = weigh_rarity([one.terms for one in views])
    alike = [compare_blocks(views, n, rare) for n in range(1, len(views))]
    known = [value for value in alike if value is not None]
    mean = sum(known) / len(known) if known else 0.0
    edited = accumulate_sets([one.edited for one in views])
    touched = accumulate_sets([one.touched for one in views])
    references = accumulate_sets([one.references for one in views])
    found: list[tuple[int, dict[str, float]]] = []
    for n in range(1, len(views)):
        here = alike[n - 1]
        past = GapContext(
            edited=edited[n - 1],
            touched=touched[n - 1],
            terms=frozenset().union(*(one.terms for one in views[max(0, n - RECENT) : n])),
            references=references[n - 1],
            is_thin=sum(len(one.content) for one in views[:n]) < FEW_TERMS and not touched[n - 1],
            alike=here,
            mean=mean,
            peaks=(find_highest(alike[max(0, n - 4) : n - 1], here), find_highest(alike[n : n + 3], here)),
        )
        found.append(
            (
                places[n],
                find_topic_signs(views, n, past) | find_speech_signs(views, n) | find_work_signs(views, n, past),
            )
        )
    return found


def accumulate_sets(sets: list[frozenset[str]]) -> list[frozenset[str]]:
    """After each, all that was there up to it."""
    return list(accumulate(sets, lambda known, more: known | more))


def find_highest(values: Sequence[float | None], least: float | None) -> float:
    return max([value for value in values if value is not None], default=least or 0.0)


def compare_blocks(views: list[TopicView], n: int, rare: dict[str, float]) -> float | None:
    """The lower of two likenesses: of what came before with what comes soon, and with what comes later."""
    before = scale_terms(merge_terms(one.terms for one in views[max(0, n - BEFORE) : n]), rare)
    ahead = (merge_terms(one.terms for one in views[n : n + turns]) for turns in (SOON, LATER))
    found = [compare_terms(before, scale_terms(terms, rare)) for terms in ahead]
    return min((value for value in found if value is not None), default=None)


def find_topic_signs(views: list[TopicView], n: int, past: GapContext) -> dict[str, float]:
    """How alike the words before and after are, and how new those of the prompt."""
    here = views[n]
    alike = UNKNOWN_LIKENESS if past.alike is None else past.alike
    new = len(here.content - past.terms)
    novel = new / len(here.content) if len(here.content) >= OPENING else 0.0
    return {
        "unlike": max(0.0, 1 - alike / UNLIKE_BELOW),
        "below_mean": sqrt(max(0.0, past.mean - alike)) if past.alike is not None else 0.0,
        "depth": max(0.0, past.peaks[0] - alike) + max(0.0, past.peaks[1] - alike) if past.alike is not None else 0.0,
        "novel": novel,
        "novel_words": log1p(new) if novel > 0.3 else 0.0,
        "new_reference": float(bool(here.named - past.references)),
        "nothing_before": float(past.is_thin),
    }


def find_speech_signs(views: list[TopicView], n: int) -> dict[str, float]:
    """How the person says it, and how the turn before ended."""
    here, last = views[n], views[n - 1]
    said, own, text = here.said, here.own, here.turn.prompt.text if here.turn.prompt else ""
    before = last.turn.prompt.text if last.turn.prompt else ""
    opens, says_new = has_opening_request(said), has_early(said, "new_topic", SHORT)
    is_question = bool(QUESTION.search(said.text[-200:]))
    gap = parse_seconds(here.turn.at) - parse_seconds(last.turn.ended_at or last.turn.at)
    is_chore = "chores" in said.heard and said.words <= SHORT
    may_begin = gap == gap and not (here.is_bare or is_chore)  # a go-ahead goes on, however long it took
    return {
        "cue": float(has_early(said, "new_topic", TINY) and said.words > OPENING),
        "opens": float(opens),
        "bare": float(here.is_bare),
        "chore": float(is_chore),
        "accepted": float("accepts" in own.heard and not (opens and says_new) and (not opens or said.words <= SHORT)),
        "closed": float(
            opens and ("chores" in last.own.heard or "accepts" in last.own.heard) and last.own.words <= SHORT
        ),
        "short": float(said.words <= SHORT - OPENING and not opens),
        "complains": float(bool(own.find_complaint())),
        "statement": float(not opens and not is_question and said.words > TINY),
        "points_back": float(has_early(said, "goes_on", 0)),
        "refers": float(has_early(said, "refers", 8)),
        "same_again": float(text.strip()[:200] == before.strip()[:200]),
        "asked_back": float(last.asks_back),
        "unfinished": float(last.is_unfinished),
        "quick": float(gap < QUICK_S),
        "hours": min(4.0, log1p(max(0.0, gap) / 3600)) if may_begin else 0.0,
    }


def find_work_signs(views: list[TopicView], n: int, past: GapContext) -> dict[str, float]:
    """What was done: the same files again, or others."""
    here = views[n]
    edits = here.edited | (views[n + 1].edited if n + 1 < len(views) and views[n + 1].is_bare else frozenset())
    later = frozenset().union(*(one.edited for one in views[n : n + AHEAD]))
    later_touched = frozenset().union(*(one.touched for one in views[n : n + AHEAD]))
    return {
        "edits_again": measure_overlap(edits, past.edited),
        "touches_again": measure_overlap(here.touched, past.touched),
        "fresh_files": float(bool(here.touched) and measure_overlap(here.touched, past.touched) < 0.2),
        "later_new": float(bool(later) and bool(past.edited) and not later & past.edited),
        "later_again": measure_overlap(later_touched, past.touched),
        "short_talk": float(here.said.words <= SHORT and not here.turn.calls),
    }


def measure_overlap(some: Paths, known: Paths) -> float:
    return len(some & known) / len(some) if some else 0.0


def parse_seconds(at: str) -> float:
    """Seconds since 1970; not a number for what is no time, so that no comparison with it holds."""
    try:
        return datetime.fromisoformat(at).timestamp()
    except (ValueError, OverflowError, OSError):
        return float("nan")


@cache
def load_empty_words() -> frozenset[str]:
    """Words that any conversation about code is full of."""
    work = (
        "all also any one use using used like just get got make sure need see check out into then than them they their "
        "which these those some more most other only after before about now will has had been did does doing done file "
        "files code line lines change changes changed run running add added update updated look want test tests new "
        "command output current currently following first next here still way work works working issue error"
    )
    return frozenset(work.split()) | {word for words in load_frequent_words().values() for word in words}


@cache
def compile_piece() -> re.Pattern[str]:
    """A run of unspaced script, a word, or a part of an identifier."""
    return re.compile(rf"[{UNSPACED}]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z{UNSPACED}]+")


@lru_cache(1024)
def collect_words(text: str) -> frozenset[str]:
    """The different words of a text."""
    return frozenset(split_words(text))


@lru_cache(4096)
def split_name(name: str) -> tuple[str, ...]:
    """The words of a file's name."""
    return (*split_words(name),)


def split_words(text: str) -> list[str]:
    """Stems of words, parts of identifiers, pairs of characters of unspaced script."""
    found: list[str] = []
    dull = load_empty_words()
    for piece in compile_piece().findall(text):
        if piece[0] >= "\u3005":
            found += [piece[n : n + 2] for n in range(len(piece) - 1)] or [piece]
        elif len(piece) > 2 and (low := piece.lower()) not in dull:
            found.append(low[:STEM])
    return found


def strip_folders(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def list_files(call: Call) -> set[str]:
    """Files a call edited, wrote or read."""
    named = {edit.path for edit in call.edits} | {path for run in call.runs for path in run.paths}
    return named | {call.target} if call.kind in ("read", "edit") and call.target else named


def weigh_terms(turn: Turn, said: speech.Utterance) -> Terms:
    """The words of a turn that says this, weighted."""
    found: Counter[str] = Counter()
    found.update(split_words(said.text[:LONGEST_PROMPT]))
    if turn.replies:
        found.update(split_words(turn.replies[-1].text[:LONGEST_REPLY]))
    weighted: Terms = dict(found)
    for path in {path for call in turn.calls for path in list_files(call)}:
        name = strip_folders(path)
        for term in (f"/{name}", *split_name(name)):
            weighted[term] = weighted.get(term, 0) + FILE_WEIGHT
    for call in turn.calls:
        told = call.command[:LONGEST_COMMAND] or (call.target[:LONGEST_TARGET] if call.kind == "search" else "")
        for term in set(split_words(told)):
            weighted[term] = weighted.get(term, 0) + COMMAND_WEIGHT
    return weighted


def weigh_rarity(turns: list[Terms]) -> dict[str, float]:
    """How much a term tells inside its stream: one that is in every turn tells little."""
    seen: Counter[str] = Counter()
    for one in turns:
        seen.update(one.keys())
    return {term: sqrt(log((len(turns) + 3) / (times + 0.5))) for term, times in seen.items()}


def merge_terms(turns: Iterable[Terms]) -> Terms:
    """The terms of several turns."""
    whole: Terms = {}
    for one in turns:
        for term, weight in one.items():
            whole[term] = whole.get(term, 0) + weight
    return whole


def scale_terms(terms: Terms, rare: Mapping[str, float]) -> Terms:
    """Terms by how much they tell: a rare one much, the tenth time little more than the first."""
    return {term: (1 + log(weight) if weight >= 1 else weight) * rare[term] for term, weight in terms.items()}


def compare_terms(one: Terms, other: Terms) -> float | None:
    """Cosine of two runs of turns; `None` where one of them says nothing."""
    if not one or not other:
        return None
    shared = length = 0.0
    for term, value in other.items():
        length += value * value
        if term in one:
            shared += one[term] * value
    return shared / sqrt(length * sum(value * value for value in one.values()))
