"""What holds for every session that is rendered, sensible or not."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.sessions.rendering import estimate_tokens, render_prompts, render_session, sanitize_text
from assay.sessions.rendering.budget import TOKEN_WEIGHT, weigh_text
from tests.judges.make_turns import QUICK, any_turns
from tests.judges.make_turns import prompts as any_prompt
from tests.redteam.frame import is_unseen, read
from tests.tables import each_row

BUDGETS = st.integers(500, 6_000)
WILD = st.text(
    alphabet=st.sampled_from(
        "aZ9 \t\n\r\v\f\x00\x1b\x1c\x85\x9b[]<>|｜/=-_:#sINTur1\u2028\u2029"
        "\u200b\u202e\u0301\ud800\ufeff\U000e0041🧾価ж"
    )
    | st.characters(),
    max_size=300,
)
MARKERS = (
    "=== transcript ", "ends ===", "[turn 3]", "<|im_start|>", "Human:", "\n", "\x1b[0m", "| ", "- ", "</s>",
    "END OF TRANSCRIPT", "[INST]", "\u200b", "<", "|", ">", "=", "\r",
)  # fmt: skip
PIECES = st.lists(st.sampled_from(MARKERS), max_size=20).map("".join)


@pytest.mark.long
@QUICK
@given(any_turns(7), st.none() | any_prompt, BUDGETS)
def test_a_session_keeps_its_frame_and_its_budget(turns, after, tokens):
    text = render_session(turns, after, tokens)
    read(text)
    assert estimate_tokens(text) <= tokens
    assert text == render_session(turns, after, tokens)


@pytest.mark.long
@QUICK
@given(any_turns(7), BUDGETS)
def test_prompts_keep_their_frame_and_their_budget(turns, tokens):
    text = render_prompts(turns, tokens)
    read(text)
    assert estimate_tokens(text) <= tokens


# --- defused ----------------------------------------------------------------------------------


@given(WILD | PIECES)
def test_defusing_twice_changes_nothing_more(text):
    assert sanitize_text(sanitize_text(text)) == sanitize_text(text)


@given(WILD | PIECES)
def test_what_is_defused_has_only_newlines_between_lines(text):
    assert sanitize_text(text).splitlines() == sanitize_text(text).removesuffix("\n").split("\n") or not sanitize_text(
        text
    )


def test_no_character_that_a_reader_would_not_see_is_left():
    unseen = [char for char in map(chr, range(sys.maxunicode + 1)) if is_unseen(char)]
    assert len(unseen) > 100_000
    assert not [char for char in set(sanitize_text("".join(unseen))) if is_unseen(char)]


@given(st.text(alphabet="abc .,\n!?(){}'\"é价ж-+*", max_size=200))
def test_plain_text_stays_as_it_is(text):
    assert sanitize_text(text) == text


@each_row(
    ("text", "expected"),
    [
        ("a\r\nb\rc\vd\fe\x1cf\x85g\u2028h\u2029i", "a\nb\nc\nd\ne\nf\ng\nh\ni"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x00\x08", "␀␈"),
        ("\ud800\ue000\x9f", "\ufffd" * 3),
        ("to\u200bken\u202e \U000e0041x", "token x"),
        ("e" + "\u0301" * 90, "e" + "\u0301" * 3),
        ("<|im_start|>", "< |im_start| >"),
        ("<\u200b|im_start|>", "< |im_start| >"),
        ("<｜User｜>", "< ｜User｜ >"),
        ("[INST] x [/INST]", "[ INST] x [ /INST]"),
        ("</transcript>", "< /transcript>"),
        ("Human: hi\n**System:** x", "Human : hi\n**System :** x"),
        ("the system: x, file_system: y", "the system : x, file_system: y"),
        ("END OF TRANSCRIPT", "END·OF TRANSCRIPT"),
        ("=== transcript 1 ends ===", "= transcript 1 ends ==="),
        ("[turn 3] x", "(turn 3] x"),
        ("a <b>bold</b> | piped < 3 > 2", "a <b>bold</b> | piped < 3 > 2"),
        ("===\nTitle\n===", "===\nTitle\n==="),
    ],
)
def test_markers_are_broken_and_the_unseen_is_gone(text: str, expected: str):
    assert sanitize_text(text) == expected


# --- tokens -----------------------------------------------------------------------------------


@given(WILD, WILD)
def test_two_texts_weigh_together_what_they_weigh_apart(one, other):
    assert weigh_text(one + other) == weigh_text(one) + weigh_text(other)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("the quick brown fox", 5), ("0123456789", 10), ("(){}", 4), ("価格", 3), ("🧾", 4)],
)
def test_tokens_are_told_from_characters(text: str, tokens: int):
    assert estimate_tokens(text) == tokens == -(-weigh_text(text) // TOKEN_WEIGHT)
