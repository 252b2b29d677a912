"""The lines that sources read off edits, in each of the forms in which clients write them."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.reports.json import expand_fields
from assay.sources import codex
from assay.sources.claude_code.records import PatchHunk, ToolOutcome
from assay.sources.claude_code.tools import list_asked_edits, list_made_edits, parse_input
from assay.sources.codex.tools import find_shell_patch, parse_changes, parse_patch
from assay.types import Call, Edit, Result
from assay.types.lines import HASH_SIZE, hash_lines
from tests.make import Record, answer, assistant, calling, echo, patch, stamped, turns, user, written
from tests.tables import each_row

PATH = "/till/price.py"
TWO = "    total = price + tax\n    return total\n"
THREE = f"def total(price):\n{TWO}"


def hunks(*given: list[str]) -> Record:
    return {"filePath": PATH, "structuredPatch": [{"lines": lines} for lines in given]}


def lines(edits: Any) -> list[tuple[bytes, bytes]]:
    return [(edit.new, edit.old) for edit in edits]


def pair(added: str, removed: str) -> tuple[bytes, bytes]:
    return hash_lines(added.split("\n")), hash_lines(removed.split("\n"))


EDIT = calling("t1", "Edit", file_path=PATH, old_string=f"{TWO}# end", new_string=f"{TWO}# the end")
WRITE = calling("t1", "Write", file_path=PATH, content=THREE)
MULTI = calling(
    "t1",
    "MultiEdit",
    file_path=PATH,
    edits=[
        {"old_string": "a_price", "new_string": "b_price"},
        {"old_string": "first\nsecond", "new_string": "first\nthird\nfourth"},
    ],
)
CELL = calling("t1", "NotebookEdit", notebook_path="/till/n.ipynb", new_source=TWO)
PATCHED = patch(PATH, " def total(price):", "-    return price", "+    total = price + tax", "+    return total", "-}")

FORMS: dict[str, tuple[Record, Record, tuple[str, str]]] = {
    "an edit by its patch": (EDIT, answer("t1", "ok", PATCHED), (TWO, "return price")),
    "an edit in two hunks": (
        EDIT,
        answer("t1", "ok", hunks(["+first", "-second"], ["+third"])),
        ("first\nthird", "second"),
    ),
    "lines that begin with signs": (
        EDIT,
        answer("t1", "ok", patch(PATH, "+++count", "---count")),
        ("++count", "--count"),
    ),
    "an edit as asked for": (EDIT, answer("t1", "ok"), ("# the end", "# end")),
    "several edits as asked for": (MULTI, answer("t1", "ok"), ("b_price\nthird\nfourth", "a_price\nsecond")),
    "a new file": (WRITE, answer("t1", "ok", written(PATH, THREE)), (THREE, "")),
    "a new file as the client wrote it": (WRITE, answer("t1", "ok", written(PATH, TWO)), (TWO, "")),
    "a file written over": (
        WRITE,
        answer("t1", "ok", written(PATH, THREE, "-return price", "+return total")),
        ("return total", "return price"),
    ),
    "a file written of which nothing is said": (WRITE, answer("t1", "ok"), (THREE, "")),
    "a cell": (CELL, answer("t1", "ok", {"new_source": TWO}), (TWO, "")),
    "a file with another machine's ends of lines": (
        WRITE,
        answer("t1", "ok", written(PATH, THREE.replace("\n", "\r\n"))),
        (THREE, ""),
    ),
}


@each_row(("call", "result", "expected"), FORMS.values(), ids=[name.replace(" ", "-") for name in FORMS])
def test_claude_code_says_which_lines_were_added_and_removed(
    call: Record, result: Record, expected: tuple[str, str]
) -> None:
    [made] = [one for turn in turns(user("Go"), assistant(call), result) for one in turn.calls]
    assert lines(made.edits) == [pair(*expected)]


def test_an_edit_that_a_parent_echoes_has_its_lines() -> None:
    called, answered = stamped(assistant(EDIT), answer("t1", "ok", PATCHED))
    [made] = [one for turn in turns(user("Go"), echo("a1", called), echo("a1", answered)) for one in turn.calls]
    assert (made.by, lines(made.edits)) == ("a1", [pair(TWO, "return price")])


# --- codex ----------------------------------------------------------------------------------------

PATCH = """*** Begin Patch
*** Update File: till/price.py
@@ def total
 def total(price):
-    return price
+    total = price + tax
+    return total
*** Add File: till/tax.py
+def tax(price):
+    return price / 5
*** Delete File: till/old.py
*** Update File: till/a.py
*** Move to: till/b.py
@@
-first_line
+other_line
*** End Patch
"""
IN_PATCH = [
    pair(TWO, "return price"),
    pair("def tax(price):\n    return price / 5", ""),
    pair("", ""),
    pair("other_line", "first_line"),
]


def test_a_codex_patch_says_its_lines() -> None:
    assert lines(parse_patch(PATCH)) == IN_PATCH


def test_a_codex_patch_inside_a_shell_command_does_too() -> None:
    assert lines(find_shell_patch(f"apply_patch <<'EOF'\n{PATCH}EOF\n")) == IN_PATCH


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"type": "add", "content": THREE}, (THREE, "")),
        ({"type": "delete", "content": THREE}, ("", THREE)),
        (
            {
                "type": "update",
                "unified_diff": "--- a/price.py\n+++ b/price.py\n@@ -1 +1 @@\n-first_line\n+other_line\n",
            },
            ("other_line", "first_line"),
        ),
        ({"type": "update", "unified_diff": "@@ -1 +1,0 @@\n-first_line\n", "move_path": "/b.py"}, ("", "first_line")),
        ({"type": "update"}, ("", "")),
    ],
)
def test_codex_reports_the_lines_it_changed(change: Record, expected: tuple[str, str]) -> None:
    assert lines(parse_changes({"/till/price.py": change})) == [pair(*expected)]


def test_what_codex_reports_replaces_what_the_patch_said() -> None:
    def record(kind: str, **payload: Any) -> Any:
        return msgspec.convert({"timestamp": "t", "type": kind, "payload": payload}, codex.Record)

    told: list[Any] = []
    reader = codex.Reader()
    for one in (
        record("response_item", type="custom_tool_call", call_id="c1", name="apply_patch", input=PATCH),
        record(
            "event_msg",
            type="patch_apply_end",
            call_id="c1",
            success=True,
            changes={"/till/price.py": {"type": "add", "content": TWO}},
        ),
    ):
        reader.take(one, told.append)
    [asked] = [one for one in told if isinstance(one, Call)]
    [ended] = [one for one in told if isinstance(one, Result)]
    assert lines(asked.edits) == IN_PATCH
    assert lines(ended.edits) == [pair(TWO, "")]


# --- of any shape ---------------------------------------------------------------------------------

TEXTS = st.text(alphabet="ab12é价 \t\n\r\x0b\x0c\x1c\u2028+-*@{}")


def fits(edit: Edit) -> bool:
    """As many hashes as lines at most, each whole."""
    sizes = [(len(edit.new), edit.added), (len(edit.old), edit.removed)]
    return all(size % HASH_SIZE == 0 and size // HASH_SIZE <= count for size, count in sizes)


@given(TEXTS, TEXTS)
def test_there_are_never_more_hashes_than_lines(one: str, other: str) -> None:
    asked = [
        {"file_path": PATH, "old_string": one, "new_string": other},
        {"file_path": PATH, "content": one},
        {"file_path": PATH, "edits": [{"old_string": one, "new_string": other}, {"old_string": other}]},
    ]
    found = [edit for given in asked for edit in list_asked_edits(parse_input(msgspec.Raw(json.dumps(given).encode())))]
    content = msgspec.Raw(json.dumps(one).encode())
    found += list_made_edits(ToolOutcome(type="create", filePath=PATH, content=content, structuredPatch=[])) or ()
    found += (
        list_made_edits(ToolOutcome(filePath=PATH, structuredPatch=[PatchHunk(lines=[f"+{one}", f"-{other}"])])) or ()
    )
    found += parse_patch(f"*** Begin Patch\n*** Add File: a\n{one}\n*** Update File: b\n{other}")
    found += parse_changes({"a": {"type": "add", "content": one}, "b": {"type": "update", "unified_diff": other}})
    assert len(found) >= 8
    assert all(map(fits, found))


# --- as machines read it --------------------------------------------------------------------------


def test_json_does_not_show_the_hashes() -> None:
    [turn] = turns(user("Go"), assistant(EDIT), answer("t1", "ok", PATCHED))
    shown = expand_fields(turn)["calls"][0]["edits"]
    text = "-    return price\n+    total = price + tax\n+    return total\n-}"
    assert shown == [{"path": PATH, "added": 2, "removed": 2, "how": "update", "text": text}]
