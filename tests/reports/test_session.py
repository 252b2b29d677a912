"""One session, for a person."""

import json
from datetime import UTC
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from assay import facts
from assay.reports.session import render_session
from assay.scores.prism import has_crushed
from assay.types import Citation, Join, Prompt, Reply, Session, SessionMark, Turn
from tests.make_sessions import checked, facts_of, failing, missed, reason, session_of
from tests.tables import each_row


def said(text: str, second: int = 0) -> Turn:
    at = f"2026-03-02T09:00:{second:02}Z"
    return Turn(at=at, prompt=Prompt(at=at, text=text, key=second), replies=(Reply(at=at, text=f"did {text}"),))


TURNS = [said("warp", 1), said("weft", 2), said("knot", 3)]


def seen(one: Session, turns: list[Turn] | None = None, width: int = 200, *, has_floors: bool = False) -> str:
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        found = replace(one, crushed=has_crushed(one))
        console.print(render_session(found, TURNS if turns is None else turns, UTC, has_floors=has_floors))
    return captured.get()


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def all_facts(**more: Any) -> dict[str, Any]:
    return json.loads(facts.to_json(facts.establish_facts(()))) | facts_of() | more


@each_row(
    ("one", "line"),
    [
        (session_of(), "✓ crushed: explicit"),
        (missed(), "✗ not crushed: unverified"),
        (session_of(judge_status="no_goal"), "– not counted: no goal"),
        (session_of(), "goal completed: shown by the evidence marked ✓; a chance of 0.90 that it was completed"),
        (
            session_of(evidence="silent", confidence=0.8),
            "goal likely completed: nobody confirmed it and no check shows it; a chance of 0.80 that it was completed",
        ),
        (
            missed(confidence=0.7499),
            "goal not completed: nobody confirmed it and no check shows it; a chance of 0.75 that it was completed",
        ),
        (failing("frustration"), "goal not completed: signs of failure; a chance of 0.40 that it was completed"),
        (
            missed(confidence=0.49, evidence="failure", reasons=[reason("check_passed", 0), reason("stopped", -2)]),
            (
                "goal not completed: shown in part (✓), but what speaks against it outweighs it; "
                "a chance of 0.49 that it was completed"
            ),
        ),
        (
            session_of(judge_status="unclear", goal_complete=None, confidence=0.6, reasons=[reason("check_passed", 0)]),
            (
                "unclear: shown in part (✓), but what speaks against it outweighs it; "
                "a chance of 0.60 that it was completed, so nothing is claimed"
            ),
        ),
        (session_of(judge_status="ungraded", ungraded_reason="thin"), "ungraded: thin"),
        (session_of(intent=None, judge_status="no_goal"), "no goal that a judge would commit to"),
    ],
)
def test_how_it_ended_and_why_is_said_in_words(one: Session, line: str):
    assert line in lines(seen(one))


@pytest.mark.parametrize("chance", [0.9, 0.915, 0.925, 0.9299, 0.995, 0.9999])
def test_a_chance_is_rounded_like_the_percentage_beside_it(chance: float):
    shown = seen(session_of(evidence="silent", confidence=chance))
    percent = next(line for line in lines(shown) if line.startswith("✓ crushed: likely, ")).split()[-2]
    assert f"a chance of 0.{percent} that" in shown


def test_a_person_s_word_stands_behind_one_colon_at_most():
    mark = SessionMark(
        verdict="landed", why="", at="2026-03-02", sampled=False, turn="", turns=0, judged=True, judge_status="ok"
    )
    assert "✓ crushed, you: landed" in lines(seen(session_of(marked=mark)))


def test_what_costs_nothing_that_is_known_says_so():
    shown = seen(session_of(facts=all_facts(cost_usd=None, unpriced_models=[])))
    assert "unpriced: no model is named" in shown


def test_the_published_floor_is_named_where_it_decided():
    one = session_of(intent="bug_fix", evidence="silent", confidence=0.8)
    told = "by the published formula: the floor is 0.75 for a bug fix"
    assert told in seen(one, has_floors=True)
    assert told not in seen(one)


def test_what_would_have_made_it_crush_is_said():
    assert "What would have made it crush: Stay until what failed" in seen(failing("unresolved_error"))
    assert "What would have made it crush" not in seen(session_of())


def test_evidence_is_listed_by_weight_with_turn_and_quote():
    one = session_of(
        reasons=[reason("commit", 0.4), reason("tests_failed", -1.3), reason("thanks", 2)],
        citations=[Citation(turn=2, quote="well"), Citation(turn=4, quote="no")],
    )
    shown = lines(seen(one, [*TURNS, said("fringe")]))
    first = shown.index("Evidence") + 2
    assert [" ".join(line.split()) for line in shown[first : first + 4]] == [
        "+2.00 turn 4 thanks “no”",
        "−1.30 turn 4 tests failed “no”",
        "+0.40 turn 4 commit “no”",
        "turn 2 cited “well”",
    ]


def test_what_the_person_said_in_the_next_session_is_told_apart():
    assert "said next" in seen(session_of(citations=[Citation(turn=4, quote="thanks")]))


def test_failure_signals_have_their_words():
    shown = seen(failing("iteration_loop"), [*TURNS, said("fringe")])
    assert "✗ iteration loop  turn 4  “no”" in shown


def test_where_it_begins_and_what_was_joined_is_told():
    join = Join(id="0123456789ab", signal="merge", confidence=0.8, evidence="4 minutes later, 2 of 2 files")
    shown = seen(session_of(merged_from=[join], streams=["s1", "s2"]))
    assert "conversation, 1.00: a new conversation" in shown
    assert "joined 0123456789ab by merge, 0.80: 4 minutes later, 2 of 2 files" in shown
    assert "spans s1, s2" in shown


def test_the_checks_stand_by_pillar():
    shown = seen(session_of(checks={"goal_explicit": True, "scope_bounded": False, "plan_first": None}))
    assert "clarity       ✓ goal explicit   ✗ scope bounded" in shown
    assert "workflow      – plan first" in shown
    assert "– does not apply" in shown
    assert "wording graded B: how it was asked, not how it ended" in shown


def test_facts_are_readable_and_zeros_are_left_out():
    more = checked("failed", is_stale=True) | {
        "files": ["a.py"],
        "lines_added": 4,
        "lines_removed": 2,
        "commit_runs": 1,
    }
    shown = [" ".join(line.split()) for line in lines(seen(session_of(facts=all_facts(**more))))]
    wanted = [
        "turns 4", "lines +4 −2", "files a.py", "checks run test 1 × (last failed, edited since)", "git 1 × committed",
        "tokens 10 input, 20 output, 60 cache read, 10 cache write", "cost USD 0.50", "time 10 min of work in 15 min",
        "substance yes", "rework still there",
    ]  # fmt: skip
    assert [line for line in wanted if line not in shown] == []
    assert not [line for line in shown if line.startswith("trouble")]


@each_row(
    ("passed", "unknown", "told"),
    [(2, 3, "test 5 × (last unknown, 2 passed)"), (0, 3, "test 3 × (outcome unknown)")],
)
def test_a_check_whose_last_run_tells_nothing_says_what_the_others_told(passed: int, unknown: int, told: str):
    runs = {"passed": passed, "failed": 0, "unknown": unknown, "last": None, "is_stale": False}
    assert told in seen(session_of(facts=all_facts(checks={"test": runs})))


@each_row(
    ("chance", "told"),
    [(0.9, "intent: bug fix"), (0.6, "intent: change: bug fix or feature")],
)
def test_the_intent_is_named_where_it_is_clear_else_the_two_likeliest(chance: float, told: str):
    one = session_of(intent="bug_fix", aim="change", second_intent="feature", intent_chance=chance)
    assert told in lines(seen(one))


def test_turns_are_counted_from_one_and_cited_ones_are_marked():
    one = session_of(citations=[Citation(turn=1, quote="warp")], facts=facts_of(failure_signals=[
        {"kind": "frustration", "turn": 3, "quote": "knot"}
    ]))  # fmt: skip
    shown = lines(seen(one))
    heads = [n for n, line in enumerate(shown) if line[:2] in ("1 ", "2 ", "3 ")]
    assert [shown[n].split()[-1] for n in heads] == ["warp", "weft", "knot"]
    assert [shown[n + 1] for n in heads] == ["◆ cited: outcome", "did weft", "◆ cited: frustration"]


@pytest.mark.parametrize("width", [40, 80, 140])
def test_no_line_is_wider_than_the_terminal(width: int):
    one = failing("frustration", title="weave " * 60, reasons=[reason("unheard_of" * 3, -2)], facts=all_facts())
    assert max(len(line.rstrip()) for line in seen(one, width=width).splitlines()) <= width
