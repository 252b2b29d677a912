"""The rule all judges share."""

from math import nextafter
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from assay.judges.criteria import FLOORS, is_goal_complete
from assay.types import EvidenceKind, Failure, FailureKind, Intent
from tests.tables import each_row

INTENTS: tuple[Intent, ...] = get_args(Intent)
NO_FAILURES: tuple[Failure, ...] = ()
FAILURES = [Failure(kind=kind, turn=1, quote="no") for kind in get_args(FailureKind)]

SILENT_FLOORS = {
    "question": 0.50,
    "investigation": 0.60,
    "review": 0.60,
    "plan": 0.60,
    "small_change": 0.50,
    "bug_fix": 0.75,
    "feature": 0.75,
    "refactor": 0.75,
}


def test_the_floors_are_those_of_the_design_for_all_eight_intents() -> None:
    assert SILENT_FLOORS == FLOORS
    assert set(FLOORS) == set(INTENTS)


@each_row("intent", INTENTS)
def test_silence_needs_the_floor_of_the_intent(intent: Intent) -> None:
    floor = SILENT_FLOORS[intent]
    found = [
        is_goal_complete(intent, "silent", confidence, NO_FAILURES)
        for confidence in (0.0, nextafter(floor, 0), floor, nextafter(floor, 1), 1.0)
    ]
    assert found == [False, False, True, True, True]


@each_row("intent", INTENTS)
def test_explicit_evidence_needs_no_floor(intent: Intent) -> None:
    assert is_goal_complete(intent, "explicit", SILENT_FLOORS[intent] - 0.01, NO_FAILURES)
    assert is_goal_complete(intent, "explicit", 0.0, NO_FAILURES)


@each_row("intent", INTENTS)
def test_evidence_of_failure_completes_nothing(intent: Intent) -> None:
    assert not is_goal_complete(intent, "failure", 1.0, NO_FAILURES)


@each_row("failure", FAILURES, ids=[failure.kind for failure in FAILURES])
@each_row("evidence", get_args(EvidenceKind))
def test_any_failure_signal_forces_it_to_be_incomplete(evidence: EvidenceKind, failure: Failure) -> None:
    assert not any(is_goal_complete(intent, evidence, 1.0, [failure]) for intent in INTENTS)


@given(
    st.sampled_from(INTENTS),
    st.sampled_from(get_args(EvidenceKind)),
    st.floats(0, 1),
    st.lists(st.sampled_from(FAILURES), max_size=2),
)
def test_it_is_the_formula_and_nothing_else(
    intent: Intent, evidence: EvidenceKind, confidence: float, failures: list[Failure]
) -> None:
    is_enough = evidence == "explicit" or (evidence == "silent" and confidence >= SILENT_FLOORS[intent])
    assert is_goal_complete(intent, evidence, confidence, failures) == (is_enough and not failures)
