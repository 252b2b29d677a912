"""What is kept of the text of a change."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.sources.codex.tools import parse_changes, parse_patch
from assay.types.lines import LONGEST_SHOWN, MOST_LINES, MOST_SHOWN, shorten_change, shorten_file
from tests.make import Record, answer, assistant, calling, patch, turns, user, written

PATH = "/till/price.py"
MANY = [f"line {n}" for n in range(20)]


def claude(tool: str, result: Record, **given: Any) -> list[str]:
    call = calling("t1", tool, file_path=PATH, **given)
    [made] = [one for turn in turns(user("Go"), assistant(call), result) for one in turn.calls]
    return made.edits[0].text.split("\n")


def test_claude_codes_own_patch_is_kept_in_its_order():
    noted = patch(PATH, " def f():", "-    return 1", "+    return 2", " ", "-x", "+y")
    shown = claude("Edit", answer("t1", "ok", noted), old_string="a", new_string="b")
    assert shown == ["-    return 1", "+    return 2", "-x", "+y"]


def test_without_a_patch_it_is_what_was_asked_for():
    shown = claude("Edit", answer("t1", "ok"), old_string="same\nold\nend", new_string="same\nnew\nnewer\nend")
    assert shown == ["-old", "+new", "+newer"]


def test_of_several_edits_each_is_shown():
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    assert claude("MultiEdit", answer("t1", "ok"), edits=edits) == ["-a", "+b", "-c", "+d"]


def test_of_a_file_that_was_written_it_is_the_head():
    content = "\n".join(MANY) + "\n"
    shown = claude("Write", answer("t1", "ok", written(PATH, content)), content=content)
    assert shown == [*(f"+line {n}" for n in range(8)), "… 12 more lines"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"type": "add", "content": "a\nb\n"}, "+a\n+b"),
        ({"type": "delete", "content": "a\n"}, "-a"),
        ({"type": "update", "unified_diff": "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n"}, "-old\n+new"),
        ({"type": "update"}, ""),
    ],
)
def test_codex_reports_are_kept_in_short(change: Record, expected: str):
    assert [edit.text for edit in parse_changes({PATH: change})] == [expected]


def test_a_codex_patch_is_kept_file_by_file():
    text = "*** Begin Patch\n*** Update File: a\n@@\n x\n-old\n+new\n*** Add File: b\n+first\n*** End Patch"
    assert [edit.text for edit in parse_patch(text)] == ["-old\n+new", "+first"]


# --- how short --------------------------------------------------------------------------------


def test_of_what_was_replaced_less_is_shown_than_of_what_replaces_it():
    changed = [f"-{line}" for line in MANY] + [f"+{line}" for line in MANY]
    assert shorten_change(changed, 20, 20).split("\n") == [
        *(f"-line {n}" for n in range(3)),
        *(f"+line {n}" for n in range(5)),
        "… 32 more lines",
    ]


def test_what_was_only_removed_has_all_the_room():
    assert shorten_change([f"-{line}" for line in MANY], 0, 20).count("\n-line") == 7


def test_a_long_line_ends_before_the_word_in_which_it_is_cut():
    token = "ghp_" + "a1B2" * 9
    line = "+" + "x = 1; " * 12 + f"token = '{token}'"
    assert len(line) > LONGEST_SHOWN
    assert shorten_change([line], 1, 0) == "+" + "x = 1; " * 12 + "token = '…"


def test_blank_lines_are_not_shown():
    assert shorten_change(["+", "+   ", "+a"], 3, 0) == "+a\n… 2 more lines"


LINES = st.lists(st.text(alphabet="+- ab/=\t", max_size=200), max_size=40)


@given(LINES)
def test_it_is_never_long_and_its_lines_are_lines_of_the_change(lines):
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    shown = shorten_change(lines, added, removed).split("\n")
    kept = [line for line in shown if line[:1] in ("+", "-")]
    assert len(kept) <= MOST_LINES
    assert sum(map(len, kept)) <= MOST_SHOWN
    assert all(any(line.startswith(one.removesuffix("…")) for line in lines) for one in kept)
    left = added + removed - len(kept)
    assert shown[len(kept) :] == ([f"… {left} more lines"] if left else [] if kept else [""])


@given(st.text(max_size=5_000))
def test_a_file_of_any_shape_has_a_head(text):
    assert len(shorten_file(text, text.count("\n") + 1)) <= MOST_SHOWN + MOST_LINES + 40
