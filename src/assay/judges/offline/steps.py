"""What can be seen of the step from one prompt to the next: a number for each sign of a new goal or of the old one."""

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate
from math import log1p, sqrt

from msgspec import Struct

from assay.judges.offline.terms import Terms, base_name, files_of, likeness, rarity, terms, together, words
from assay.sessions import speech
from assay.sessions.calls import is_mutating, made_edits
from assay.types import Call, Turn

BEFORE, SOON, LATER = 4, 2, 4
"""Turns before a step, and after it, that are compared."""
RECENT, AHEAD = 8, 6
UNLIKE_BELOW, UNKNOWN_LIKENESS = 0.35, 0.2
SHORT, TINY, OPENING = 12, 5, 3
QUICK_S = 15
FEW_TERMS = 6
TRUNKS = frozenset({"main", "master", "trunk", "develop", "dev"})
QUESTION = re.compile(r"[?？]\W*\Z")
NUMBERED = re.compile(r"\s*(?:\d{1,2}[.):、]|option\s+\d|[a-d][.)])\s*\S?", re.IGNORECASE)
REFERENCE = re.compile(r"https?://\S+|#\d{2,6}\b|\b[A-Z]{2,8}-\d{1,6}\b")
NEW_BRANCH = re.compile(r"\bgit (?:checkout -[bB]|switch -[cC]|worktree add)\b")
UNANSWERING = frozenset({"rejection", "queued", "shell"})
"""Said inside the work, not about new work."""
Paths = frozenset[str]


class View(Struct, frozen=True):
    """A turn as the topic judge sees it."""

    turn: Turn
    terms: Terms
    said: speech.Utterance
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
    makes_branch: bool


def view(turn: Turn) -> View:
    prompt = turn.prompt
    text = prompt.text if prompt else ""
    said = speech.parse_utterance(text)
    content = view_of_words(said)
    last = turn.replies[-1].text if turn.replies else ""
    ending = speech.parse_utterance(last[-300:])
    named = frozenset(REFERENCE.findall(text[:3_000]))
    return View(
        turn=turn,
        terms=terms(turn),
        said=said,
        content=content,
        touched=frozenset(path for call in turn.calls for path in files_of(call)),
        edited=frozenset(path for call in turn.calls if is_mutating(call) for path in written(call)),
        last_reply=last,
        named=named,
        references=named | frozenset(REFERENCE.findall(last)),
        asks_back=bool(QUESTION.search(last[-300:])) or "agent.asks_back" in ending.heard,
        is_bare=prompt is None or prompt.kind in UNANSWERING or (prompt.kind == "typed" and is_bare(said, content)),
        is_unfinished=is_unfinished(turn, ending),
        makes_branch=any(NEW_BRANCH.search(call.command) for call in turn.calls if call.command),
    )


def view_of_words(said: speech.Utterance) -> frozenset[str]:
    """The words that carry content."""
    return frozenset(words(said.text[:1_500]))


def written(call: Call) -> Paths:
    """Files it edited, or wrote by shell commands that can be read."""
    by_shell = (path for run in call.runs if run.mutates for path in run.paths)
    return frozenset((*(edit.path for edit in made_edits(call)), *by_shell))


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
    return ending.text.endswith((":", "：")) or early(ending, "agent.more", OPENING)


def early(said: speech.Utterance, kind: str, most: int) -> bool:
    """Whether a phrase of this kind stands among the first words of a sentence."""
    return any(heard.word <= most for heard in said.heard.get(kind, ()))


def opens_with_request(said: speech.Utterance) -> bool:
    """A request or question stands at the beginning of one of its sentences, or anywhere where verbs come last."""
    if said.is_unspaced:
        return said.words > OPENING and ("wants" in said.heard or any(kind.startswith("asks.") for kind in said.heard))
    return said.words > TINY and any(kind.startswith("asks.") and early(said, kind, OPENING) for kind in said.heard)


class Past(Struct, frozen=True):
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
    is_trunk: bool


def steps(turns: Sequence[Turn], branches: Sequence[str] = ()) -> list[tuple[int, dict[str, float]]]:
    """The signs at every step, by the index of the turn after it."""
    places = [n for n, turn in enumerate(turns) if turn.prompt]
    views = [view(turns[n]) for n in places]
    rare = rarity([one.terms for one in views])
    alike = [blocks(views, n, rare) for n in range(1, len(views))]
    known = [value for value in alike if value is not None]
    mean = sum(known) / len(known) if known else 0.0
    is_trunk = bool(branches) and all(branch in TRUNKS for branch in branches)
    edited = so_far([one.edited for one in views])
    touched = so_far([one.touched for one in views])
    references = so_far([one.references for one in views])
    found: list[tuple[int, dict[str, float]]] = []
    for n in range(1, len(views)):
        here = alike[n - 1]
        past = Past(
            edited=edited[n - 1],
            touched=touched[n - 1],
            terms=frozenset().union(*(one.terms for one in views[max(0, n - RECENT) : n])),
            references=references[n - 1],
            is_thin=sum(len(one.content) for one in views[:n]) < FEW_TERMS and not touched[n - 1],
            alike=here,
            mean=mean,
            peaks=(highest(alike[max(0, n - 4) : n - 1], here), highest(alike[n : n + 3], here)),
            is_trunk=is_trunk,
        )
        found.append((places[n], topic_signs(views, n, past) | words_signs(views, n) | work_signs(views, n, past)))
    return found


def so_far(sets: list[frozenset[str]]) -> list[frozenset[str]]:
    """After each, all that was there up to it."""
    return list(accumulate(sets, lambda known, more: known | more))


def highest(values: Sequence[float | None], least: float | None) -> float:
    return max([value for value in values if value is not None], default=least or 0.0)


def blocks(views: list[View], n: int, rare: dict[str, float]) -> float | None:
    """The lower of two likenesses: of what came before with what comes soon, and with what comes later."""
    before = together(one.terms for one in views[max(0, n - BEFORE) : n])
    found = [likeness(before, together(one.terms for one in views[n : n + ahead]), rare) for ahead in (SOON, LATER)]
    return min((value for value in found if value is not None), default=None)


def topic_signs(views: list[View], n: int, past: Past) -> dict[str, float]:
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


def words_signs(views: list[View], n: int) -> dict[str, float]:
    """How the person says it, and how the turn before ended."""
    here, last = views[n], views[n - 1]
    said, text = here.said, here.turn.prompt.text if here.turn.prompt else ""
    before = last.turn.prompt.text if last.turn.prompt else ""
    opens, says_new = opens_with_request(said), early(said, "new_topic", SHORT)
    is_question = bool(QUESTION.search(said.text[-200:]))
    gap = seconds(here.turn.at) - seconds(last.turn.ended_at or last.turn.at)
    return {
        "cue": float(early(said, "new_topic", TINY) and said.words > OPENING),
        "opens": float(opens),
        "bare": float(here.is_bare),
        "chore": float("chores" in said.heard and said.words <= SHORT),
        "accepted": float("accepts" in said.heard and not (opens and says_new) and (not opens or said.words <= SHORT)),
        "lets_go": float(early(said, "drops", SHORT) and not says_new),
        "closed": float(
            opens and ("chores" in last.said.heard or "accepts" in last.said.heard) and last.said.words <= SHORT
        ),
        "short": float(said.words <= SHORT - OPENING and not opens),
        "numbered": float(bool(NUMBERED.match(text))),
        "pasted": float(len(text) > 200 and len(said.text) < len(text) / 2),
        "complains": float(bool(said.first("complains", "frustrated"))),
        "statement": float(not opens and not is_question and said.words > TINY),
        "points_back": float(early(said, "goes_on", 0)),
        "adds": float(early(said, "adds", TINY)),
        "refers": float(early(said, "refers", 8)),
        "same_again": float(text.strip()[:200] == before.strip()[:200]),
        "asked_back": float(last.asks_back),
        "unfinished": float(last.is_unfinished),
        "quick": float(gap < QUICK_S),
        "hours": min(4.0, log1p(max(0.0, gap) / 3600)) if gap == gap else 0.0,
    }


def work_signs(views: list[View], n: int, past: Past) -> dict[str, float]:
    """What was done: the same files again, or others."""
    here = views[n]
    edits = here.edited | (views[n + 1].edited if n + 1 < len(views) and views[n + 1].is_bare else frozenset())
    later = frozenset().union(*(one.edited for one in views[n : n + AHEAD]))
    later_touched = frozenset().union(*(one.touched for one in views[n : n + AHEAD]))
    return {
        "edits_again": share(edits, past.edited),
        "touches_again": share(here.touched, past.touched),
        "fresh_files": float(bool(here.touched) and share(here.touched, past.touched) < 0.2),
        "later_new": float(bool(later) and bool(past.edited) and not later & past.edited),
        "later_again": share(later_touched, past.touched),
        "short_talk": float(here.said.words <= SHORT and not here.turn.calls),
        "new_branch": float(here.makes_branch and bool(past.edited)),
        "cleared": float(any(mark.kind == "clear" for mark in here.turn.marks)),
        "trunk": float(past.is_trunk),
    }


def share(some: Paths, known: Paths) -> float:
    return len(some & known) / len(some) if some else 0.0


def names(paths: Paths, most: int = 3) -> str:
    """File names for people."""
    shown = sorted({base_name(path) for path in paths})
    return ", ".join(shown[:most]) + (" …" if len(shown) > most else "")


def seconds(at: str) -> float:
    """Seconds since 1970; not a number for what is no time, so that no comparison with it holds."""
    try:
        return datetime.fromisoformat(at).timestamp()
    except (ValueError, OverflowError, OSError):
        return float("nan")
