"""The lines a session wrote, and those of others that it removed."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config import Boundaries
from assay.sessions import written_lines
from assay.sessions.boundaries import cut_segments
from assay.sessions.calls import count_changed_lines
from assay.sessions.turns import TurnBuilder
from assay.types import Call, Edit, FileLines, Gap, Part, Prompt, Result, Stream, Turn
from assay.types.lines import hash_line, hash_lines, unpack_hashes
from tests.make import answer, aside, assistant, built, calling, patch, user, written
from tests.tables import each_row

CWD = "/home/ada/till"
PRICE, TAX = f"{CWD}/price.py", f"{CWD}/tax.py"
WORDS = {"one": "one_line()", "two": "two_lines()", "three": "three_lines()", "old": "old_line()", "new": "new_line()"}
NAMES = {hash_line(line): name for name, line in WORDS.items()}


def hashed(names: str) -> bytes:
    return hash_lines(WORDS[name] for name in names.split())


def edited(added: str = "", removed: str = "", path: str = PRICE, **more: Any) -> Call:
    """A call that adds and removes lines, named by their words."""
    edit = Edit(
        path=path,
        added=len(added.split()),
        removed=len(removed.split()),
        new=hashed(added),
        old=hashed(removed),
        how=more.pop("how", "update"),
    )
    return Call(id="", at="", name="Edit", kind="edit", status=more.pop("status", "ok"), edits=(edit,), **more)


def shell(command: str, status: Any = "ok", output: str = "") -> Call:
    """A shell command, read as a transcript's would be."""
    builder = TurnBuilder()
    builder.take(Call(id="c", at="", name="Bash", kind="shell", command=command))
    builder.take(Result(id="c", at="", status=status, output=output, exit_code=0 if status == "ok" else 1))
    [[call]] = [turn.calls for turn in builder.turns()]
    return call


def read(listed: Iterable[FileLines]) -> dict[str, str]:
    return {one.path: " ".join(NAMES.get(line, "?") for line in unpack_hashes(one.lines)) for one in listed}


def told(*calls: Call, cwd: str = CWD) -> tuple[dict[str, str], dict[str, str]]:
    """What the book says was written and removed."""
    made = [Turn(calls=(call,)) for call in calls]
    return read(written_lines.list_written_lines(made, cwd)), read(written_lines.list_removed_lines(made, cwd))


BOOKS: dict[str, tuple[list[Call], dict[str, str], dict[str, str]]] = {
    "nothing": ([], {}, {}),
    "lines added": ([edited("one two")], {PRICE: "one two"}, {}),
    "lines of others removed": ([edited("", "old")], {}, {PRICE: "old"}),
    "lines replaced": ([edited("new", "old")], {PRICE: "new"}, {PRICE: "old"}),
    "own lines removed": ([edited("one two"), edited("", "one")], {PRICE: "two"}, {}),
    "own lines rewritten": ([edited("one two"), edited("new", "one")], {PRICE: "two new"}, {}),
    "own lines rewritten to nothing": ([edited("one"), edited("", "one")], {}, {}),
    "the last of equal lines goes first": ([edited("one two one"), edited("", "one")], {PRICE: "one two"}, {}),
    "more equal lines removed than written": (
        [edited("one"), edited("", "one one")],
        {},
        {PRICE: "one"},
    ),
    "written, removed and written again": (
        [edited("one"), edited("", "one"), edited("one")],
        {PRICE: "one"},
        {},
    ),
    "two edits of one file": ([edited("one"), edited("two", "old")], {PRICE: "one two"}, {PRICE: "old"}),
    "two files": ([edited("two", path=TAX), edited("one")], {PRICE: "one", TAX: "two"}, {}),
    "a line is another's in another file": (
        [edited("one"), edited("", "one", path=TAX)],
        {PRICE: "one"},
        {TAX: "one"},
    ),
    "a line of others put elsewhere": ([edited("", "old"), edited("one old")], {PRICE: "one"}, {}),
    "a line of others indented anew": ([edited("old", "old")], {}, {}),
    "a relative path": ([edited("one", path="price.py"), edited("", "one")], {}, {}),
    "a path with turns in it": ([edited("one", path="./lib/../price.py")], {PRICE: "one"}, {}),
    "a file created anew": ([edited("one two"), edited("two", how="create")], {PRICE: "two"}, {}),
    "a file deleted": ([edited("one"), edited("", "one old", how="delete")], {}, {PRICE: "old"}),
    "a deleted file of which nothing is known": ([edited("one"), edited("", "", how="delete")], {}, {}),
    "an edit that failed": ([edited("one", status="error")], {}, {}),
    "an edit without an answer": ([edited("one", status="open")], {}, {}),
    "a sub-agent's edit": ([edited("one"), edited("two", "one", by="a1")], {PRICE: "two"}, {}),
    "a here-document": ([shell("cat > price.py <<'E'\none_line()\n)\ntwo_lines()\nE")], {PRICE: "one two"}, {}),
    "a here-document over own lines": (
        [edited("one two"), shell("cat > price.py <<E\nnew_line()\nE")],
        {PRICE: "new"},
        {},
    ),
    "a here-document behind own lines": (
        [edited("one"), shell("cat >> price.py <<E\nnew_line()\nE")],
        {PRICE: "one new"},
        {},
    ),
    "tee": ([shell("tee price.py <<'E' > /dev/null\none_line()\nE")], {PRICE: "one"}, {}),
    "tee that appends": ([edited("one"), shell("cat <<'E' | tee -a price.py\ntwo_lines()\nE")], {PRICE: "one two"}, {}),
    "echo": ([shell("echo 'one_line()' > price.py && pytest")], {PRICE: "one"}, {}),
    "echo with escapes": ([shell(r"echo -e 'one_line()\ntwo_lines()' >> price.py")], {PRICE: "one two"}, {}),
    "printf": ([shell(r"printf 'one_line()\ntwo_lines()\n' > price.py")], {PRICE: "one two"}, {}),
    "printf of words": ([shell(r"printf '%s\n' 'one_line()' 'two_lines()' > price.py")], {PRICE: "one two"}, {}),
    "a command that failed later": (
        [shell("cat > price.py <<'E'\none_line()\nE\npytest", status="error")],
        {PRICE: "one"},
        {},
    ),
    "a command that was denied": ([shell("echo 'one_line()' > price.py", status="denied")], {}, {}),
    "a command into a scratch file": ([shell("echo 'one_line()' > /tmp/price.py")], {}, {}),
    "a command into a file nobody can name": ([shell('echo "one_line()" > $FILE')], {}, {}),
    "a copy": ([edited("one"), shell("cat tax.py > price.py")], {PRICE: "one"}, {}),
    "a command elsewhere": ([shell("cd lib && echo 'one_line()' > a.py")], {f"{CWD}/lib/a.py": "one"}, {}),
    "a command elsewhere and back": (
        [shell("cd lib\nmake\ncd ../src && cat > a.py <<'E'\none_line()\nE")],
        {f"{CWD}/src/a.py": "one"},
        {},
    ),
    "a command nobody knows where": (
        [shell("cd $HERE && echo 'one_line()' > a.py")],
        {f"{CWD}/$HERE/a.py": "one"},
        {},
    ),
    "a command at home": ([shell("cd && echo 'one_line()' > a.py")], {"~/a.py": "one"}, {}),
    "a file removed elsewhere": ([edited("one"), shell("cd /tmp/copy && rm -rf price.py .")], {PRICE: "one"}, {}),
    "a file removed": ([edited("one"), edited("two", path=TAX), shell("rm price.py")], {TAX: "two"}, {}),
    "a folder removed": (
        [edited("one", path="lib/a.py"), edited("two", path="library.py"), shell("rm -rf lib")],
        {f"{CWD}/library.py": "two"},
        {},
    ),
}


@each_row(("calls", "wrote", "took"), BOOKS.values(), ids=[name.replace(" ", "-") for name in BOOKS])
def test_the_book_says(calls: list[Call], wrote: dict[str, str], took: dict[str, str]) -> None:
    assert told(*calls) == (wrote, took)


def test_a_path_is_seen_from_where_the_session_was() -> None:
    here, there = edited("one", path="price.py"), edited("", "one", path="/srv/till/price.py")
    assert told(here, there, cwd="/srv/till") == ({}, {})
    assert told(here, there) == ({PRICE: "one"}, {"/srv/till/price.py": "one"})


def test_windows_paths_are_made_absolute_too() -> None:
    here, there = edited("one", path="price.py"), edited("", "one", path="C:\\till\\price.py")
    assert told(here, there, cwd="C:\\till") == ({}, {})


def test_claude_code_edits_of_main_and_sub_agent_stand_in_one_book() -> None:
    path = "/home/ada/till/price.py"
    _, main = built(
        user("Go"),
        assistant(calling("t1", "Write", file_path=path, content="one_line()\ntwo_lines()\n")),
        answer("t1", "ok", written(path, "one_line()\ntwo_lines()\n")),
        *aside(
            "a1",
            assistant(calling("t2", "Edit", file_path=path, old_string="x", new_string="y"), id="m2"),
            answer("t2", "ok", patch(path, " two_lines()", "-one_line()", "+three_lines()")),
        ),
    )
    assert read(written_lines.list_written_lines(main, CWD)) == {path: "two three"}
    assert written_lines.list_removed_lines(main, CWD) == ()


# --- several segments -----------------------------------------------------------------------------


def segments(*turns: Turn, shifts: Sequence[int] = ()) -> Any:
    stream = Stream(
        id="s", agent="claude-code", files=(), about=Part(agent="claude-code", stream="s", cwd=CWD), turns=turns
    )
    gaps = [Gap(turn=n, is_shift=True, confidence=0.9, evidence="") for n in shifts]
    return cut_segments(stream, gaps, frozenset(), Boundaries())


def turn(n: int, *calls: Call) -> Turn:
    return Turn(at=f"2026-03-02T09:{n:02}:00Z", prompt=Prompt(at="", text="on", key=n), calls=calls)


def test_a_segment_has_its_lines_commits_and_what_it_took_back() -> None:
    committed = shell("git commit -m x", output="[main 1a2b3c4] x\n 1 file changed")
    undo = shell("cd lib && git -C .. revert --no-edit 9f8e7d6 && git status")
    failed = shell("git restore price.py", status="error", output="error: pathspec 'price.py' did not match")
    first, second = segments(
        turn(0, edited("one two"), committed, committed), turn(1, edited("new", "two old"), undo, failed), shifts=[1]
    )
    assert (read(first.written), read(first.removed)) == ({PRICE: "one two"}, {})
    assert (first.commits, first.undone) == (("1a2b3c4",), ())
    assert (read(second.written), read(second.removed)) == ({PRICE: "new"}, {PRICE: "two old"})
    assert (second.commits, second.undone) == ((), ("git -C .. revert --no-edit 9f8e7d6",))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("git revert HEAD", ["git revert HEAD"]),
        ("git revert --abort", []),
        ("git reset --hard origin/main; git restore .", ["git reset --hard origin/main", "git restore ."]),
        ("git reset price.py", []),
        ("git checkout -- 'my price.py'", ["git checkout -- 'my price.py'"]),
        ("git checkout main", []),
        ("pytest && git log", []),
    ],
)
def test_only_commands_that_throw_work_away_are_noted(command: str, said: list[str]) -> None:
    assert list(written_lines.list_undoing_commands([Turn(calls=(shell(command),))])) == said


def test_what_one_segment_removes_of_another_is_own_in_the_session_of_both() -> None:
    parts = segments(turn(0, edited("one two", "old")), turn(1, edited("new", "two three")), shifts=[1])
    whole = written_lines.merge_books(parts)
    assert (read(whole.list_written()), read(whole.list_removed())) == ({PRICE: "one new"}, {PRICE: "old three"})


# --- of any shape ---------------------------------------------------------------------------------

SOME = st.lists(st.sampled_from(sorted(WORDS)), max_size=5).map(" ".join)
CALLS = st.builds(
    edited,
    SOME,
    SOME,
    st.sampled_from([PRICE, TAX, "price.py"]),
    status=st.sampled_from(["ok", "ok", "ok", "error", "open"]),
    how=st.sampled_from(["update", "update", "create", "delete"]),
)
UPDATES = st.builds(edited, SOME, SOME)


def count(listed: Iterable[FileLines]) -> int:
    return sum(len(unpack_hashes(one.lines)) for one in listed)


@given(st.lists(CALLS))
def test_no_more_is_written_than_was_added_nor_removed_than_was_taken(calls: list[Call]) -> None:
    made = [Turn(calls=tuple(calls))]
    added, removed = count_changed_lines(made)
    assert count(written_lines.list_written_lines(made, CWD)) <= added
    assert count(written_lines.list_removed_lines(made, CWD)) <= removed


@given(st.lists(UPDATES))
def test_lines_add_up(calls: list[Call]) -> None:
    """What is left of a file's lines is what was added less what was removed."""
    left: Counter[int] = Counter()
    for call in calls:
        left.update(unpack_hashes(call.edits[0].new))
        left.subtract(unpack_hashes(call.edits[0].old))
    [wrote], [took] = [
        [Counter(line for one in listed for line in unpack_hashes(one.lines))]
        for listed in (
            written_lines.list_written_lines([Turn(calls=tuple(calls))], CWD),
            written_lines.list_removed_lines([Turn(calls=tuple(calls))], CWD),
        )
    ]
    assert (wrote, took) == (+left, -left)


@given(st.lists(UPDATES))
def test_lines_stand_in_the_order_in_which_they_were_added(calls: list[Call]) -> None:
    order = iter([line for call in calls for line in unpack_hashes(call.edits[0].new)])
    wrote = [
        line
        for one in written_lines.list_written_lines([Turn(calls=tuple(calls))], CWD)
        for line in unpack_hashes(one.lines)
    ]
    assert all(line in order for line in wrote)


@given(st.lists(UPDATES), st.integers(0, 10))
def test_a_book_may_be_kept_in_parts(calls: list[Call], at: int) -> None:
    whole = written_lines.build_book([Turn(calls=tuple(calls))], CWD)
    parts = segments(turn(0, *calls[:at]), turn(1, *calls[at:]), shifts=[1])
    joined = written_lines.merge_books(parts)
    for one, other in ((whole.list_written(), joined.list_written()), (whole.list_removed(), joined.list_removed())):
        assert [sorted(unpack_hashes(each.lines)) for each in one] == [
            sorted(unpack_hashes(each.lines)) for each in other
        ]
