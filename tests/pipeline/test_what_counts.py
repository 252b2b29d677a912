"""What counts and what does not, from transcripts to the report, with the offline judge."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from assay.config import Config
from assay.pipeline.inputs import find_files
from assay.pipeline.scan import scan
from assay.pipeline.score import open_run, score_run
from assay.scores.report import Report
from assay.stores import Store, open_store
from assay.testing.claude_code import build_prompt, build_reply, build_result, build_shell_call, write_lines
from tests.make_report import hold_report

OFFLINE = Config(timezone="UTC")
ANSWER = "A tuple stays as it was made and may be the key of a dict, and a list grows and shrinks as one likes. " * 3
TEMPLATE = """---
name: loom-review
description: Reviews the loom
---

# Review

This is terrible, it still does not work, never mind. Thanks, perfect. Look at every thread and say what you think.
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as opened:
        yield opened


def score(store: Store, folder: Path) -> Report:
    changes = scan(store, find_files([folder]), 1, lambda *_: None)
    with open_run(store, OFFLINE, changes.roots, jobs=1) as run:
        return hold_report(score_run(run, changes.unreadable).report)


def failed(second: int) -> dict[str, Any]:
    """The model's service fails, as Claude Code writes it."""
    text = "API Error: 529 Overloaded"
    message = {"id": f"m{second}", "model": "<synthetic>", "content": [{"type": "text", "text": text}]}
    return build_reply(second) | {"message": message, "isApiErrorMessage": True}


TALKS: dict[str, tuple[list[dict[str, Any]], str, bool | None]] = {
    "a greeting": ([build_prompt(1, "hello, are you there?"), build_reply(2, "Hello! " + ANSWER)], "no_goal", None),
    "a role": (
        [build_prompt(1, "You are a grumpy weaver. Speak like one."), build_reply(2, "Grumble. " + ANSWER)],
        "no_goal",
        None,
    ),
    "a message of the client": (
        [build_prompt(1, "Unknown skill: loom-review"), build_reply(2, "I don't know that skill. " + ANSWER)],
        "no_goal",
        None,
    ),
    "a question answered in one turn": (
        [build_prompt(1, "What is the difference between a tuple and a list?"), build_reply(2, ANSWER)],
        "ok",
        True,
    ),
    "a word for an answer": (
        [build_prompt(1, "What is the difference between a tuple and a list?"), build_reply(2, "Mutability.")],
        "trivial",
        True,
    ),
    "a request that met an API error": ([build_prompt(1, "Weave the blue scarf"), failed(2)], "ok", False),
    "a template": ([build_prompt(1, TEMPLATE), build_reply(2, ANSWER)], "ok", True),
}


@pytest.mark.parametrize(("records", "status", "goal_complete"), TALKS.values(), ids=TALKS)
def test_what_counts(
    tmp_path: Path, store: Store, records: list[dict[str, Any]], status: str, goal_complete: bool | None
) -> None:
    write_lines(tmp_path / "in" / "s1.jsonl", *records)
    [session] = score(store, tmp_path / "in").sessions
    assert (session.judge_status, session.goal_complete) == (status, goal_complete)


def test_a_sub_agents_file_without_its_parent_has_no_goal(tmp_path: Path, store: Store) -> None:
    side = {"isSidechain": True, "agentId": "a1"}
    records = [
        build_prompt(1, "Find where the threads are counted", **side),
        build_shell_call(2, "rm -r old", **side),
        build_result(3, 2) | side,
        build_reply(4, ANSWER, **side),
    ]
    write_lines(tmp_path / "in" / "agent-a1.jsonl", *records)
    assert [one.judge_status for one in score(store, tmp_path / "in").sessions] == ["no_goal"]


def test_no_word_of_a_template_is_a_complaint_thanks_or_giving_up(tmp_path: Path, store: Store) -> None:
    first = [build_prompt(1, "Weave the blue scarf"), build_reply(2, ANSWER)]
    later = [build_prompt(3, TEMPLATE), build_reply(4, ANSWER)]
    write_lines(tmp_path / "in" / "s1.jsonl", *first, *later)
    for session in score(store, tmp_path / "in").sessions:
        assert session.facts["failure_signals"] == []
        assert not [one for one in session.reasons if "terrible" in one.quote or "perfect" in one.quote]


def test_the_report_has_the_score_with_the_small_sessions_beside_it(tmp_path: Path, store: Store) -> None:
    asked = "What is the difference between a tuple and a list?"
    answered = {"a": ANSWER, "b": "Mutability.", "c": "API Error: 529 Overloaded"}
    for n, (stream, answer) in enumerate(answered.items()):
        records = [build_prompt(n * 9_000, asked, stream), build_reply(n * 9_000 + 1, answer, stream)]
        write_lines(tmp_path / "in" / f"{stream}.jsonl", *records)
    found = score(store, tmp_path / "in")
    assert found.small is not None
    assert (found.score.value, found.score.counted) == (50, 2)
    assert (found.small.sessions, found.small.crushed, round(found.small.value or 0)) == (1, 1, 67)
