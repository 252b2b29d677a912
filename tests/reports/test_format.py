"""What is said to a terminal or a machine holds nothing that either would obey."""

import ast
import json
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from assay.reports.format import fit_names, format_end, format_resume, format_sparkline, format_words, sanitize_text
from assay.reports.json import encode_json
from assay.types import StreamSummary
from tests.tables import each_row

SRC = Path(sanitize_text.__code__.co_filename).parents[1]
CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
DIRECTIONS = list("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
OBEYED = frozenset([*CONTROLS, *DIRECTIONS, "\u2028", "\u2029", "\ufeff", "\u200b", "\U000e0041"])
wild = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(sorted(OBEYED)))
values = st.recursive(
    wild | st.none() | st.integers(-(2**53), 2**53),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(wild, inner, max_size=4),
)


@given(wild, st.integers(10, 60))
@example("00000000000000\n0", 15)
def test_a_text_is_cut_behind_a_word_and_fits(text: str, width: int):
    flat, cut = " ".join(sanitize_text(text).split()), format_words(text, width)
    assert len(cut) <= width
    assert cut == flat or cut.endswith("…")
    kept = cut.removesuffix("…").rstrip()
    assert flat.startswith(kept)
    if cut != flat and cut.endswith(" …"):
        assert flat[len(kept)] == " "


def summary(agent: str, stream: str, file: str, project: str = "") -> StreamSummary:
    times = {"began_at": "", "ended_at": "", "prompts_at": b"[]"}
    place = {"agent": agent, "id": stream, "file": file, "files": 1, "project": project, "branch": "", "title": ""}
    return StreamSummary(**place, **times, turns=1, facts=b"{}", is_gone=False)


@each_row(
    ("one", "says"),
    [
        (summary("claude-code", "s1", "/h/0f.jsonl"), "claude --resume 0f"),
        (summary("claude-code", "s1", "/h/0f.jsonl", "/my work"), "cd '/my work' && claude --resume 0f"),
        (summary("codex", "0f", "/h/rollout-2026-0f.jsonl", "/w"), "codex resume 0f"),
        (summary("codex", "x; rm -rf ~", "/h/r.jsonl"), "codex resume 'x; rm -rf ~'"),
        (summary("langfuse", "0f", "/h/0f.jsonl"), ""),
    ],
)
def test_the_command_that_goes_on_with_a_conversation_is_safe_to_paste(one: StreamSummary, says: str):
    assert format_resume(one) == says


@given(values)
def test_json_holds_no_control_and_says_the_same(value: object):
    found = encode_json(value)
    assert not OBEYED & set(found.decode())
    assert json.loads(found) == value


@each_row("char", sorted(OBEYED))
def test_every_control_is_written_out(char: str):
    assert encode_json({f"k{char}": f"v{char}"}).decode().isprintable()


@given(wild)
def test_text_holds_no_control_but_line_ends_and_tabs(text: str):
    assert not (OBEYED - {"\n", "\t"}) & set(sanitize_text(text))


def test_joiners_and_other_scripts_stay_as_they_are():
    said = "नमस्ते 👩‍👩‍👧 密码 ñ é"
    assert encode_json(said).decode() == f'"{said}"'


def encodes(tree: ast.AST) -> bool:
    calls = [one.func for one in ast.walk(tree) if isinstance(one, ast.Call)]
    names = {f"{one.value.attr}.{one.attr}" for one in calls if isinstance(one, ast.Attribute)
             and isinstance(one.value, ast.Attribute)}  # fmt: skip
    names |= {f"{one.value.id}.{one.attr}" for one in calls if isinstance(one, ast.Attribute)
              and isinstance(one.value, ast.Name)}  # fmt: skip
    return bool(names & {"json.encode", "json.format", "json.dumps", "json.dump"})


def test_who_speaks_encodes_json_in_one_place():
    files = [file for room in ("cli", "reports") for file in sorted((SRC / room).rglob("*.py"))]
    found = [file.relative_to(SRC).as_posix() for file in files if encodes(ast.parse(file.read_text("utf-8")))]
    kept = ["cli/keeping.py", "cli/statusline.py"]  # these write files of the person's own, which nobody is shown
    assert found == [*kept, "reports/json.py"]


@given(st.lists(wild, unique_by=lambda one: " ".join(sanitize_text(one).split())), st.integers(8, 40))
def test_names_that_differ_are_told_apart_however_little_room_there_is(names: list[str], room: int):
    fitted = fit_names(names, room)
    assert fitted.keys() == set(names)
    assert all(len(one) <= room for one in fitted.values())
    assert len(set(fitted.values())) == len(names)


@each_row(
    ("names", "room", "fitted"),
    [
        (["loom", "wheel"], 10, ["loom", "wheel"]),
        (["home/ada/work/loom"], 10, ["…work/loom"]),
        (["aaaa-codex-model", "bbbb-codex-model"], 10, ["…dex-model", "b…ex-model"]),
        (["a" * 30 + "b" * 30, "a" * 31 + "c" + "b" * 30], 8, ["a…bbbbbb", "…bbbbbbb"]),
    ],
)
def test_names_are_cut_from_the_left_unless_they_end_alike(names: list[str], room: int, fitted: list[str]):
    assert [fit_names(names, room)[one] for one in names] == fitted


def test_the_end_of_a_path_is_kept():
    assert [format_end("/home/ada/loom", n) for n in (20, 14, 8, 1, 0)] == [
        "/home/ada/loom", "/home/ada/loom", "…da/loom", "…", "…",
    ]  # fmt: skip


def test_a_sparkline_has_a_gap_where_nothing_counts():
    assert format_sparkline([0.0, None, 50.0, 100.0]) == "▁ ▅█"
    assert format_sparkline([]) == ""
