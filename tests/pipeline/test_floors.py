"""The published formula on what a judge found, where settings ask for it."""

from typing import Any

import pytest

from assay.pipeline.judged_sessions import apply_floors
from tests.make_sessions import reason, session_of

SIGNS = {"failure_signals": [{"kind": "frustration", "turn": 1, "quote": "no"}]}


@pytest.mark.parametrize(
    ("more", "status", "complete"),
    [
        ({"evidence": "explicit", "confidence": 0.2}, "ok", True),
        ({"evidence": "silent", "confidence": 0.74, "intent": "bug_fix"}, "ok", False),
        ({"evidence": "silent", "confidence": 0.75, "intent": "bug_fix"}, "ok", True),
        ({"evidence": "silent", "confidence": 0.55, "judge_status": "unclear", "intent": "question"}, "ok", True),
        ({"evidence": "silent", "confidence": 0.3, "reasons": [reason("check_passed", 0)]}, "ok", True),
        ({"evidence": "silent", "confidence": 0.3, "reasons": [reason("says_done", 1)]}, "ok", False),
        ({"evidence": "explicit", "confidence": 0.9, "facts": SIGNS}, "ok", False),
        ({"judge_status": "ungraded", "confidence": None, "goal_complete": None}, "ungraded", None),
        ({"judge_status": "trivial", "goal_complete": True}, "trivial", True),
    ],
)
def test_the_letter_of_the_formula_decides(more: dict[str, Any], status: str, complete: bool | None) -> None:
    found = apply_floors(session_of(**{"goal_complete": None} | more))
    assert (found.judge_status, found.goal_complete) == (status, complete)
