"""What is drawn: words on a terminal without signs, and a pager for what is long."""

import ast
import os
import pty
import subprocess
import unicodedata
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay import cli
from assay.cli.symbols import SYMBOLS, is_plain, prepare_stream, spell_symbols
from assay.cli.terminal import Console
from assay.reports.format import HIDDEN
from assay.testing.claude_code import build_conversation, write_lines
from tests.cli.test_main import on_terminal
from tests.conftest import command, environment, run


def draw(*parts: object, width: int = 40) -> str:
    """What an ASCII terminal of a width gets."""
    written = BytesIO()
    stream = TextIOWrapper(written, encoding="ascii")
    prepare_stream(stream, {})
    Console(file=stream, width=width, color_system=None).print(*parts)
    stream.flush()
    return written.getvalue().decode("ascii")


def test_signs_become_words_before_columns_are_measured():
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_row(Text.assemble(("✓", "green"), " explicit"), Text("80–97 …", no_wrap=True))
    table.add_row("✗ failed", Padding(Group(Text("“quoted”")), (0, 0, 0, 1)))
    assert draw(table).split("\n")[:2] == ["yes explicit 80-97 ...", 'no failed     "quoted"']


def test_a_line_that_fits_with_words_is_no_longer_than_the_terminal():
    table = Table(box=None, pad_edge=False, expand=True)
    table.add_column("crushed", no_wrap=True)
    table.add_column("title", overflow="ellipsis", no_wrap=True, ratio=1)
    table.add_row("✓ explicit", "a title that is far too long for a line of forty characters")
    assert max(map(len, draw(table).splitlines())) == 40


@given(st.text(max_size=60))
def test_anything_can_be_drawn_without_signs(text: str):
    assert draw(Text(text)).isascii()
    assert spell_symbols(text) == "".join(SYMBOLS.get(char, char) for char in text)


@pytest.mark.parametrize(
    ("env", "plain"),
    [
        ({}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "POSIX"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),  # which Python sets by itself
        ({"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}, False),
        ({"LANG": "C.UTF-8"}, False),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, True),
        ({"LANG": "C", "LC_ALL": "de_DE.UTF-8"}, False),
    ],
)
def test_a_terminal_is_plain_where_the_person_says_so(env: dict[str, str], plain: bool):
    assert is_plain(env) is plain


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("terminal")
    for n in range(3):
        write_lines(top / "in" / f"{n}.jsonl", *build_conversation(f"loom-{n}", 3, start=n * 7200))
    assert run("score", top / "in", "--store", top / "s.db").code == 0
    return top


@pytest.mark.parametrize("name", ["score", "sessions", "streams", "quality", "doctor"])
def test_every_list_is_in_words_where_the_language_is_c(top: Path, name: str):
    seen = on_terminal(name, top / "in", "--store", top / "s.db", LANG="C", LC_ALL="C", COLUMNS="80")
    assert seen.isascii()
    assert "?" not in seen.replace("know?", "")


def test_show_is_in_words_and_json_as_always(top: Path):
    seen = on_terminal("show", "last", "--store", top / "s.db", LANG="C", LC_ALL="C")
    assert seen.isascii()
    assert "yes crushed" in seen.replace("\x1b[0m", "").replace("\x1b[1;32m", "")
    assert run("show", "last", "--store", top / "s.db", "--json", env={"PYTHONIOENCODING": "ascii"}).json


def test_all_of_a_session_goes_through_the_pager_on_a_terminal(top: Path, tmp_path: Path):
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path}/paged\n")
    pager.chmod(0o755)
    ours, theirs = pty.openpty()
    words = command("show", "last", "--full", "--store", top / "s.db")
    env = environment(PAGER=str(pager), TERM="xterm")
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        assert process.wait(60) == 0
    os.close(ours)
    paged = (tmp_path / "paged").read_text("utf-8").splitlines()
    assert any("row 14420 is woven" in line for line in paged)
    assert "claude --resume 2" in paged[-1]
    assert paged[-2].strip() == str(top / "in" / "2.jsonl")


def test_every_command_draws_on_the_terminal_that_knows_words():
    drawn = Path(cli.__file__).parent.glob("*.py")
    users = {file.name for file in drawn if "from rich.console import Console" in file.read_text("utf-8")}
    assert users == {"progress.py"}  # whose bars know what a terminal can draw


def list_drawn(tree: ast.AST) -> set[str]:
    """Characters in texts of a file, what explains its code apart."""
    explained = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in explained)
    return {char for node in texts if isinstance(node.value, str) for char in node.value}


def test_every_sign_that_a_report_draws_has_a_word():
    rooms = ("cli", "reports", "scores", "pipeline", "evals", "langfuse")
    files = [file for room in rooms for file in (Path(cli.__file__).parents[1] / room).rglob("*.py")]
    written = ("spreadsheet.py", "evaluation_files.py")  # to files, which hold anything
    seen = [file for file in files if file.name not in written]
    drawn = {char: file.name for file in seen for char in list_drawn(ast.parse(file.read_text("utf-8")))}
    unspelled = {char: name for char, name in drawn.items() if not char.isascii() and char not in SYMBOLS}
    assert {
        char: name for char, name in unspelled.items() if unicodedata.category(char) not in HIDDEN | {"Mn", "Cn"}
    } == {}
