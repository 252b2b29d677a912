"""Turns on a page: everything in them is text, however it looks; quotes are found; nothing is too long to show."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.types import Call, Edit, Mark, Prompt, Reply, Turn
from assay.web.context import PageContext
from assay.web.conversation import LONGEST, TurnShown, build_pattern, mark_quotes, render_turn
from assay.web.html import encode_html, h
from tests.web.test_html import HOSTILE, list_elements

AT = "2026-11-02T09:00:00.000Z"


def build_turn(text: str) -> Turn:
    """A turn with a text in every field that has one."""
    edit = Edit(path=text, added=1, removed=1, text=f"-{text}\n+{text}")
    call = Call(
        id=text, at=AT, name=text, target=text, command=text, output=text, edits=(edit,), status="error", by=text
    )
    return Turn(
        at=AT,
        ended_at=AT,
        prompt=Prompt(at=AT, text=text, key=1),
        replies=(Reply(at=AT, text=text),),
        calls=(call, Call(id="2", at=AT, name=text, target=text)),
        marks=(Mark(kind="compact", at=AT, detail=text),),
    )


def show(text: str, *quotes: str) -> bytes:
    shown = TurnShown(number=1, turn=build_turn(text), quotes=quotes, cited=[text])
    return encode_html(render_turn(shown, "0123456789ab", "/home/ada", PageContext()))


@settings(deadline=None)
@given(st.one_of(st.text(max_size=200), st.sampled_from(HOSTILE)))
def test_whatever_stands_in_a_turn_is_text(text: str):
    found, plain = list_elements(show(text, text)), list_elements(show("x", "x"))
    assert {*found.found} <= {*plain.found, "mark", "span"}
    assert found.attributes <= plain.attributes
    assert "style" not in found.attributes


def test_a_quote_is_marked_however_its_white_space_is():
    pattern = build_pattern(["never  mind,\nI'll come", "(a+)+$"])
    assert str(h.p[mark_quotes("so: never mind, I'll come back (a+)+$", pattern)]) == (
        "<p>so: <mark>never mind, I&#39;ll come</mark> back <mark>(a+)+$</mark></p>"
    )
    assert build_pattern(["", " … "]) is None


def test_a_call_is_folded_unless_evidence_rests_on_it():
    assert b'<details class="call failed">' in show("thread")
    assert b'<details class="call failed" open>' in show("thread", "thread")


@pytest.mark.parametrize("text", ["x" * 5_000_000, "\u202e" * 1_000_000, "a " * 2_000_000])
def test_a_line_of_millions_of_characters_is_cut_and_said_to_be(text: str):
    shown = show(text, text)
    assert len(shown) < 30 * LONGEST
    assert b"more characters" in shown
