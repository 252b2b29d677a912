"""What is read without a syntax tree is read as the tree would have it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.sessions.shell import bash
from tests.sessions.shell_commands import BASH
from tests.tables import each_row

PIECES = st.sampled_from(
    r"""git cd x=1 pytest -q a.py 'two+words' "a+b" && | || ; 2>&1 2>/dev/null > out $HOME $(ls) `ls` # if set -e ! * ~
    \ ' " é 2 a'b'c""".split()
).map(lambda piece: piece.replace("+", " "))


def told(command: str) -> tuple[object, object]:
    return bash.parse_plain(command), bash.parse_bash_tree(command)


def test_many_commands_need_no_tree():
    assert sum(bash.parse_plain(row[0]) is not None for row in BASH) > len(BASH) / 3


@each_row("row", BASH, ids=lambda row: row[0][:40])
def test_a_plain_command_is_read_as_the_tree_has_it(row):
    quick, by_tree = told(row[0])
    assert quick is None or quick == by_tree


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=9).map(" ".join))
def test_any_mixture_is_read_as_the_tree_has_it_or_left_to_it(command):
    quick, by_tree = told(command)
    assert quick is None or quick == by_tree


@each_row(
    "command",
    [
        "",
        " ",
        "a=1 make",
        "set -e",
        "if x",
        "echo $?",
        "a; b",
        "a || b",
        "a & b",
        "ls *.py",
        "x > y",
        "! a",
        "2>&1",
        "a |",
        "&& a",
        "a\nb",
    ],
)
def test_what_is_more_than_plain_is_left_to_the_tree(command):
    assert bash.parse_plain(command) is None
