"""Tokens that nobody told of are not none."""

from assay.facts import tokens
from assay.types import Reply, Turn


def test_a_transcript_without_tokens_has_no_count_and_no_cost() -> None:
    told = tokens.fact([Turn(replies=(Reply(at="", text="done"),))])
    assert (told.tokens, told.cost_usd) == (None, None)


def test_where_nobody_answered_nothing_was_spent() -> None:
    told = tokens.fact([Turn()])
    assert (told.tokens, told.cost_usd) == (tokens.TokenCounts(), 0.0)
