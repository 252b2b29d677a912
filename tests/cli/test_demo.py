"""The bundled examples show every intent, every failure, every way a session begins or goes on."""

from collections import Counter
from typing import Any, get_args

import pytest

from assay.types import FailureKind, Intent
from tests.conftest import run


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    return run("demo", "--json").json


def counted(shown: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in shown["sessions"] if one["crushed"] is not None]


def test_every_intent_counts_at_least_once(shown: dict[str, Any]):
    assert {one["intent"] for one in counted(shown)} == set(get_args(Intent))


def test_every_kind_of_failure_holds_a_counted_session_back(shown: dict[str, Any]):
    failed = [one for one in counted(shown) if one["facts"]["failure_signals"]]
    met = {failure["kind"] for one in failed for failure in one["facts"]["failure_signals"]}
    assert met == set(get_args(FailureKind))
    assert not any(one["crushed"] for one in failed)


def test_sessions_begin_and_go_on_in_every_way(shown: dict[str, Any]):
    ways = {(entry["signal"], entry["effect"]) for entry in shown["ledger"]}
    assert ways >= {
        ("conversation", "began"),
        ("clear", "began"),
        ("merge", "joined"),
        ("plan", "joined"),
        ("topic", "began"),
    }


@pytest.mark.parametrize(
    ("title", "intent", "crushed"),
    [
        ("Why do we store amounts", "question", True),
        ("Since last week the tide times", "investigation", True),
        ("Review the diff", "review", True),
        ("Plan how `ledger`", "plan", True),
        ("Rename the flag", "small_change", True),
        ("`ledger balance` crashes", "bug_fix", True),
        ("Add a `ledger export", "feature", True),
        ("store.py has grown", "refactor", True),
        ("Make a plan for showing tide times", "feature", True),
        ("Add OAuth login", "feature", False),
    ],
)
def test_an_example_comes_out_as_it_was_written(shown: dict[str, Any], title: str, intent: str, crushed: bool):
    assert [(one["intent"], one["crushed"]) for one in shown["sessions"] if one["title"].startswith(title)] == [
        (intent, crushed)
    ]


def test_the_rest_is_there_too(shown: dict[str, Any]):
    facts = [one["facts"] for one in shown["sessions"]]
    assert any(one["commits"] for one in facts)
    assert any(one["compactions"] for one in facts)
    assert {one["agent"] for one in shown["sessions"]} == {"claude-code", "codex"}
    assert {one["language"] for one in counted(shown)} >= {"en", "de", "ja"}
    assert Counter(one["judge_status"] for one in shown["sessions"]) == {"ok": 17, "no_goal": 1}
