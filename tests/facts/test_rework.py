"""Rework, before anybody looks at later commits."""

from typing import Any

import pytest

from assay.facts import rework
from assay.facts.rework import FEWEST_LINES
from assay.types import ReworkResult
from tests.judges.make_turns import asked, edit, session


@pytest.mark.parametrize(
    ("edits", "state"),
    [
        ([], "not_judged"),
        ([edit("a.py", added=FEWEST_LINES - 1)], "not_judged"),
        ([edit("a.py", added=FEWEST_LINES)], "unknown"),
        ([edit("a.py", added=FEWEST_LINES - 1), edit("b.py", added=1)], "unknown"),
        ([edit("a.py", added=0, removed=FEWEST_LINES)], "not_judged"),
        ([edit("a.py", added=FEWEST_LINES, status="rejected")], "not_judged"),
    ],
)
def test_only_work_of_ten_added_lines_can_be_reworked(edits: list[Any], state: Any) -> None:
    assert rework.fact(session(asked("round the sums", *edits))).rework == ReworkResult(state=state)


def test_no_turns_are_not_judged() -> None:
    assert rework.fact([]).rework == ReworkResult(state="not_judged", by=None, share=None)
