"""Rework from transcripts alone: what later sessions removed or took back, and what they can't tell."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config import Rework
from assay.sessions.rework.transcripts import SessionWork, find_replaced, find_taken_back
from assay.types import FileLines
from assay.types.lines import hash_lines
from tests.make_sessions import QUICK
from tests.tables import each_row

RULES = Rework()
TODAY = datetime(2026, 12, 1, tzinfo=UTC)
FILE = "/till/sum.py"


def lines(count: int, start: int = 0) -> list[str]:
    return [f"total_{n} = add(total, {n})" for n in range(start, start + count)]


def of(path: str, *text: str) -> tuple[FileLines, ...]:
    return (FileLines(path=path, lines=hash_lines(text)),)


def work(id: str, day: int = 1, **more: Any) -> SessionWork:
    at = f"2026-11-{day:02}T10:00:00Z"
    return SessionWork(**{"id": id, "project": "/till", "began_at": at, "ended_at": at} | more)


EARLY = work("early", written=of(FILE, *lines(10)))


def judged(*works: SessionWork, rules: Rework = RULES) -> dict[str, tuple[Any, ...]]:
    found = find_replaced(works, rules, TODAY) | find_taken_back(works, rules, TODAY)
    return {early: (one.state, one.session, one.share) for early, one in found.items()}


@each_row(
    ("later", "share"),
    [
        ({"removed": of(FILE, *lines(5))}, 0.5),
        ({"removed": of(FILE, *lines(10))}, 1.0),
        ({"removed": of(FILE, *lines(4))}, None),
        ({"removed": of(FILE, *lines(10)), "written": of(FILE, *lines(10))}, None),
        ({"removed": of(FILE, *lines(10)), "written": of("/till/moved.py", *lines(10))}, None),
        ({"removed": of("/till/other.py", *lines(10))}, None),
        ({"removed": of(FILE, *lines(10)), "project": "/loom"}, None),
        ({"removed": of(FILE, *lines(10)), "day": 16}, None),
        ({"removed": of(FILE, *lines(10)), "day": 15}, 1.0),
        ({"removed": of(FILE, *lines(10), *lines(10))}, 1.0),
    ],
    ids=[
        "half", "all", "less than half", "put back", "moved", "another file", "another project", "too late",
        "just in time", "removed twice",
    ],
)  # fmt: skip
def test_a_later_session_that_removes_half_of_the_lines_replaced_them(later: dict[str, Any], share: float | None):
    found = judged(EARLY, work("later", **{"day": 3} | later))
    assert found == ({"early": ("yes", "later", share)} if share else {})


def test_removals_of_several_sessions_add_up_and_who_took_most_is_named():
    some = [work("a", 2, removed=of(FILE, *lines(2))), work("b", 3, removed=of(FILE, *lines(4, 2)))]
    assert judged(EARLY, *some) == {"early": ("yes", "b", 0.6)}


def test_a_line_belongs_to_who_wrote_it_last():
    again = work("again", 2, written=of(FILE, *lines(10)))
    assert judged(EARLY, again, work("later", 3, removed=of(FILE, *lines(10)))) == {"again": ("yes", "later", 1.0)}


def test_few_lines_are_not_judged():
    assert judged(work("early", written=of(FILE, *lines(9))), work("later", 2, removed=of(FILE, *lines(9)))) == {}


def test_what_comes_after_the_present_is_not_known():
    both = [EARLY, work("later", 3, removed=of(FILE, *lines(10)))]
    assert find_replaced(both, RULES, datetime(2026, 11, 2, tzinfo=UTC)) == {}


@each_row(
    ("command", "is_taken_back"),
    [
        ("git revert --no-edit 1a2b3c4", True),
        ("git revert 1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d", True),
        ("git reset --hard 1a2b3c4~1", True),
        ("git reset --hard 1a2b3c4^", True),
        ("git reset --hard 1a2b3c4", False),
        ("git revert 1a2b3c5", False),
        ("git revert HEAD", False),
        ("git reset --hard", False),
        ("git restore sum.py", False),
    ],
)
def test_a_commit_is_taken_back_by_its_id(command: str, is_taken_back: bool):
    early = work("early", written=of(FILE, *lines(2)), commits=("1a2b3c4",))
    found = judged(early, work("later", 2, project="/elsewhere", undone=(command,)))
    assert found == ({"early": ("yes", "later", 1.0)} if is_taken_back else {})


@each_row(
    ("command", "more", "is_thrown_away"),
    [
        ("git restore sum.py", {}, True),
        ("git checkout -- sum.py", {}, True),
        ("git restore .", {}, True),
        ("git reset --hard", {}, True),
        ("git reset --hard HEAD", {}, True),
        ("git reset --hard origin/main", {}, False),
        ("git reset HEAD --hard", {}, True),
        ("git reset origin/main --hard", {}, False),
        ("git restore --staged sum.py", {}, False),
        ("git restore other.py", {}, False),
        ("git restore sum.py", {"written": of(FILE, "mine = another_line")}, False),
        ("git reset --hard", {"day": 20}, False),
        ("git reset --hard", {"project": "/loom"}, False),
    ],
)
def test_lines_that_were_never_committed_can_be_thrown_away(command: str, more: dict[str, Any], is_thrown_away: bool):
    found = judged(EARLY, work("later", **{"day": 2, "undone": (command,)} | more))
    assert found == ({"early": ("yes", "later", 1.0)} if is_thrown_away else {})


@pytest.mark.parametrize(("command", "is_thrown_away"), [("git reset --hard", False), ("git restore sum.py", True)])
def test_a_reset_says_nothing_of_what_came_before_the_last_session(command: str, is_thrown_away: bool):
    between = work("between", 2, written=of("/till/other.py", *lines(10)), commits=("1a2b3c4",))
    assert ("early" in judged(EARLY, between, work("later", 3, undone=(command,)))) is is_thrown_away


def test_a_session_that_takes_back_its_own_work_is_not_replaced():
    own = work("own", written=of(FILE, *lines(10)), commits=("1a2b3c4",), undone=("git revert 1a2b3c4",))
    assert judged(own) == {}


@QUICK
@given(st.permutations([EARLY, *(work(f"w{n}", 2 + n, removed=of(FILE, *lines(3, 3 * n))) for n in range(3))]))
def test_the_order_in_which_sessions_are_given_does_not_matter(works: list[SessionWork]):
    assert judged(*works) == {"early": ("yes", "w0", 0.9)}


@QUICK
@given(st.lists(st.integers(0, 30), max_size=12), st.sampled_from(["/till", "/loom"]))
def test_sessions_that_touch_other_lines_change_nothing(days: list[int], project: str):
    later = work("later", 3, removed=of(FILE, *lines(6)))
    others = [
        work(
            f"o{n}", 1 + day % 28, project=project, written=of(f"/o{n}.py", *lines(12)), removed=of("/x.py", "a = bcde")
        )
        for n, day in enumerate(days)
    ]
    assert judged(EARLY, later, *others)["early"] == ("yes", "later", 0.6)
