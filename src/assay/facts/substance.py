"""The substance floor: did anything happen that is worth judging?

A question that was answered in one turn passes by its answer, and a request that met an API error by its failure.
"""

from collections.abc import Sequence

from assay.sessions import speech
from assay.sessions.calls import count_changed_lines, is_mutating, list_calls
from assay.sessions.endings import find_ending
from assay.types import Fact, Turn

VERSION = 3

MIN_TURNS = 3
MIN_NET_LINES = 10
MIN_MUTATING_CALLS = 1
MIN_ANSWER_WORDS = 40


class Substance(Fact, frozen=True):
    mutating_calls: int
    substance: bool
    """At least 3 turns, or 10 net lines, or one mutating call, or an answer of 40 words, or an API error at the end."""


def fact(turns: Sequence[Turn]) -> Substance:
    mutating = sum(is_mutating(call) for call in list_calls(turns))
    added, removed = count_changed_lines(turns)
    asked = sum(turn.prompt is not None for turn in turns)
    passes = asked >= MIN_TURNS or added - removed >= MIN_NET_LINES or mutating >= MIN_MUTATING_CALLS
    return Substance(mutating_calls=mutating, substance=passes or (asked > 0 and has_result(turns)))


def has_result(turns: Sequence[Turn]) -> bool:
    """Whether a few turns came to something: an answer of some length, or the failure of the model's service."""
    kind = find_ending(turns).kind
    if kind == "api_error":
        return True
    replies = [reply.text for turn in turns for reply in turn.replies if reply.text.strip()]
    return kind == "answered" and bool(replies) and speech.count_words(replies[-1]) >= MIN_ANSWER_WORDS
