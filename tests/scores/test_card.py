"""The judge card: what was measured elsewhere, and what the person's own audit says."""

import pytest

from assay.judges import offline
from assay.pipeline.verdicts import mark_session
from assay.scores.card import build_card, load_measurement, measure_kappa, measure_reliability
from assay.types import PersonVerdict, Session, VerdictKind
from tests.make_sessions import missed, session_of


def answered(session: Session, verdict: VerdictKind, *, sampled: bool = True) -> Session:
    return mark_session(session, [PersonVerdict(turn=session.id, verdict=verdict, at="2026", is_sampled=sampled)])


def test_the_shipped_card_beats_its_baselines() -> None:
    card = build_card("offline", offline.versions())
    assert card.measured
    figures = {figure.name: figure for figure in card.measured.figures}
    landed = figures["landed or not"]
    assert landed.low is not None
    assert landed.low < landed.value
    assert all(landed.value > other for other in landed.baselines.values())
    assert figures["Brier score"].value < figures["Brier score"].baselines["the base rate"]
    assert card.own is None


def test_a_card_says_whether_the_judge_is_still_the_one_that_was_measured() -> None:
    measured = load_measurement("offline")
    assert measured is not None
    assert build_card("offline", measured.versions).is_measured_version
    assert not build_card("offline", measured.versions | {"topic": "another"}).is_measured_version


def test_a_judge_that_nobody_measured_has_no_figures() -> None:
    card = build_card("anthropic", {"session": "1"})
    assert (card.measured, card.is_measured_version, load_measurement("anthropic")) == (None, False, None)


def test_ones_own_audit_says_how_often_the_judge_agrees_and_on_what_it_does_not() -> None:
    sessions = [
        *(answered(session_of(confidence=0.9, intent="feature"), "landed") for _ in range(3)),
        answered(session_of(confidence=0.8, intent="bug_fix"), "not"),
        answered(missed(confidence=0.1, intent="bug_fix"), "not"),
        answered(session_of(judge_status="unclear", goal_complete=None, confidence=0.6), "landed"),
        answered(session_of(confidence=0.9), "unclear"),
        answered(session_of(confidence=0.9), "not", sampled=False),
        session_of(confidence=0.9),
    ]
    own = build_card("offline", {}, sessions).own
    assert own is not None
    assert (own.audited, own.decided, own.agreed) == (6, 5, 4)
    assert own.kappa == pytest.approx((0.8 - 0.56) / (1 - 0.56))
    assert own.brier == pytest.approx((3 * 0.01 + 0.64 + 0.01 + 0.16) / 6)
    assert [(one.intent, one.audited, one.agreed) for one in own.intents] == [("bug_fix", 2, 1), ("feature", 3, 3)]


def test_kappa_is_unknown_where_one_answer_is_all_there_is() -> None:
    assert measure_kappa([]) is None
    assert measure_kappa([(True, True)] * 4) is None
    assert measure_kappa([(True, True), (False, False)]) == 1.0


def test_bands_without_a_session_are_left_out_and_one_lies_in_the_last() -> None:
    found = measure_reliability([(0.1, False), (1.0, True), (0.85, True)])
    assert [(band.low, band.n, band.share) for band in found] == [(0.0, 1, 0.0), (0.8, 2, 1.0)]
