"""Why a session did not crush, in words, and what would have made it."""

from typing import Any, get_args

import pytest
from hypothesis import given

from assay.judges.criteria import FLOORS
from assay.scores.prism import has_crushed
from assay.scores.reasons import (
    FAILURES,
    HABITS,
    REASONS,
    REMEDIES,
    TELLING,
    advise_session,
    find_obstacle,
)
from assay.sessions.endings import BROKEN_ENDINGS
from assay.types import FailureKind, Intent, Session
from tests.make_sessions import QUICK, SHUFFLED, any_session, checked, failing, missed, reason, session_of
from tests.make_tallies import obstacles_of
from tests.tables import each_row

KINDS: list[tuple[Session, str | None]] = [
    (session_of(), None),
    (missed(judge_status="ungraded"), None),
    (missed(facts={"substance": False}), None),
    (session_of(rework="yes"), "reworked"),
    (missed(rework="yes"), "unverified"),
    *((failing(kind), kind) for kind in FAILURES),
    (failing("scope_abandoned", "unresolved_error"), "unresolved_error"),
    (failing("a kind nobody knows", facts=checked("failed")), "check_failed"),
    (missed(facts=checked("failed")), "check_failed"),
    (missed(facts=checked("failed", is_stale=True)), "check_failed"),
    (missed(facts=checked("failed", purpose="format")), "unverified"),
    (missed(facts=checked("passed", is_stale=True)), "unverified"),
    (missed(facts=checked(None)), "unverified"),
    (missed(facts=checked("passed")), "unconfirmed"),
    (missed(intent="question"), "unconfirmed"),
    (missed(intent="question", evidence="failure"), "incomplete"),
    (missed(intent=None, evidence=None, confidence=None), "unconfirmed"),
    (missed(reasons=[reason("unheard_of", -3.0)]), "unverified"),
]


@each_row(("session", "kind"), KINDS)
def test_each_session_that_did_not_crush_has_one_reason(session: Session, kind: str | None) -> None:
    assert find_obstacle(session) == kind


@each_row("kind", sorted(TELLING))
def test_the_judges_own_word_goes_before_the_facts(kind: str) -> None:
    heard = [reason("unheard_of", -9.0), reason(kind, -1.0)]
    assert find_obstacle(missed(reasons=heard)) == TELLING[kind]
    assert find_obstacle(missed(reasons=[reason(kind, 1.0)])) == "unverified"


def test_every_word_has_a_phrase_and_every_phrase_a_remedy() -> None:
    assert set(FAILURES) == set(get_args(FailureKind))
    assert set(HABITS) == set(get_args(Intent)) == set(FLOORS)
    assert set(TELLING.values()) | set(FAILURES) <= set(REASONS)
    assert set(TELLING) >= BROKEN_ENDINGS
    assert set(REASONS) - set(REMEDIES) == {"unverified", "inconclusive", "unconfirmed", "incomplete"}


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ({}, "failing test"),
        ({"intent": "question", "confidence": 0.49}, "Acknowledge the answer"),
        ({"intent": "refactor"}, "type checker"),
        ({"intent": None}, "whether the goal was reached"),
    ],
)
def test_advice_names_the_habit_of_the_intent(more: dict[str, Any], part: str) -> None:
    said = advise_session(missed(**more))
    assert said is not None
    assert part in said


def test_no_floor_is_named_where_silence_did_not_decide() -> None:
    assert "needed" not in (advise_session(missed(evidence="failure", facts=checked("passed"))) or "")


@QUICK
@given(any_session())
def test_whatever_did_not_crush_gets_one_sentence_and_nothing_else_does(session: Session) -> None:
    said = advise_session(session)
    assert (said is not None) is (has_crushed(session) is False)
    assert said is None or (said.endswith(".") and "\n" not in said)


def test_the_commonest_reasons_come_first_with_the_sessions_they_held_back() -> None:
    loops = [failing("iteration_loop", day=3, id="c"), failing("iteration_loop", day=1, id="b")]
    found = [failing("frustration", id="d"), session_of(rework="yes", id="e"), *loops, session_of(id="a")]
    told = [(one.reason, one.sessions) for one in obstacles_of(found)]
    assert told == [
        (REASONS["iteration_loop"], ["b", "c"]),
        (REASONS["frustration"], ["d"]),
        (REASONS["reworked"], ["e"]),
    ]
    assert len(obstacles_of(found, most=1)) == 1


def test_where_intents_differ_the_commonest_ones_advice_is_given() -> None:
    found = [missed(intent="refactor"), missed(), missed()]
    assert [one.advice for one in obstacles_of(found)] == [HABITS["bug_fix"] + "."]


def test_nothing_failed_is_nothing_in_the_way() -> None:
    assert obstacles_of([session_of()]) == []


@QUICK
@given(SHUFFLED)
def test_the_order_of_sessions_never_matters(pair: tuple[list[Session], list[Session]]) -> None:
    assert obstacles_of(pair[0]) == obstacles_of(pair[1])
