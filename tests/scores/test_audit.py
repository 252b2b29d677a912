"""Who is drawn, how far an audit is, and when it corrects the score."""

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.pipeline.verdicts import mark_session
from assay.reports.summary import describe_truth
from assay.scores.audit import (
    LEAST,
    find_chance,
    is_answered,
    order_sessions,
    select_drawable,
)
from assay.scores.report import Report
from assay.types import PersonVerdict, Session, VerdictKind
from tests.make_report import report_of
from tests.make_sessions import QUICK, SESSIONS, missed, session_of
from tests.make_tallies import audit_of, prediction_of

SEED = "wool"


def answer(session: Session, verdict: VerdictKind, *, sampled: bool = True) -> Session:
    return mark_session(session, [PersonVerdict(turn=session.id, verdict=verdict, at="2026", is_sampled=sampled)])


def many(n: int, **more: Any) -> list[Session]:
    """Half of them landed, the judge being mostly right."""
    random = Random(3)
    return [
        session_of(confidence=random.uniform(0.5, 1), **more)
        if k % 2
        else missed(confidence=random.uniform(0, 0.6), **more)
        for k in range(n)
    ]


def audit(sessions: list[Session], n: int, seed: str = SEED) -> list[Session]:
    """The sessions, the first n of the draw answered as the judge says, but every fifth otherwise."""
    drawn = [one.id for one in order_sessions(select_drawable(sessions), seed)[:n]]
    said = {name: k for k, name in enumerate(drawn)}
    return [
        answer(one, "landed" if bool(one.goal_complete) is bool(said[one.id] % 5) else "not") if one.id in said else one
        for one in sessions
    ]


def scored(sessions: list[Session], seed: str = SEED) -> Report:
    return report_of(sessions, seed=seed)


def test_those_that_count_or_are_unclear_may_be_drawn():
    found = [
        session_of(), missed(), session_of(judge_status="unclear", goal_complete=None),
        session_of(judge_status="no_goal"), session_of(judge_status="ungraded"), session_of(judge_status="in_progress"),
        session_of(judge_status="opted_out"), session_of(facts={"substance": False}),
        answer(session_of(), "exclude", sampled=False),
    ]  # fmt: skip
    assert select_drawable(found) == found[:3]


def test_every_session_is_drawn_as_often_as_any_other():
    found = [session_of() for _ in range(30)]
    first = [order_sessions(found, f"seed {n}")[0].id for n in range(3000)]
    counts = [first.count(one.id) for one in found]
    assert (min(counts) > 60, max(counts) < 145) == (True, True)


@QUICK
@given(SESSIONS, st.text(max_size=5))
def test_the_order_is_the_same_in_every_run_and_for_every_part(found: list[Session], seed: str):
    ordered = order_sessions(found, seed)
    assert order_sessions(reversed(found), seed) == ordered
    assert order_sessions(found[::2], seed) == [one for one in ordered if one in found[::2]]


def test_an_audit_that_is_far_enough_corrects_the_score():
    found = scored(audit(many(100), 40))
    assert (known := found.score.corrected)
    assert (known.audited, found.audit and found.audit.missing) == (40, 0)
    assert known.low <= known.value <= known.high
    assert known.judge_weight > 0
    assert found.score.value is not None
    assert found.no_grade is None or "interval" in found.no_grade


def test_fewer_answers_than_it_takes_correct_nothing_unless_they_are_all():
    few = scored(audit(many(100), LEAST - 1))
    assert few.score.corrected is None
    assert few.audit
    assert few.audit.why_not == f"{LEAST - 1} of at least {LEAST} answers that the correction needs"
    assert scored(audit(many(100), LEAST)).score.corrected
    whole = scored(audit(many(8), 8))
    assert whole.score.corrected
    assert whole.score.corrected.audited == 8


def test_what_nobody_can_tell_is_left_out_and_counted():
    sessions = many(100)
    drawn = [one.id for one in order_sessions(sessions, SEED)[:30]]
    found = scored([answer(one, "unclear" if one.id in drawn[:5] else "landed") if one.id in drawn else one
                    for one in sessions])  # fmt: skip
    assert found.audit
    assert (found.audit.answered, found.audit.landed, found.audit.unclear) == (30, 25, 5)
    assert found.score.corrected
    assert found.score.corrected.audited == 25


def test_marks_by_hand_never_correct_the_score():
    found = scored([answer(one, "not", sampled=False) for one in many(100)])
    assert (found.score.crushed, found.score.corrected, found.audit) == (0, None, None)


def mark_after(session: Session, verdict: VerdictKind) -> Session:
    """A session as it is judged, answered or not, with a mark by hand after that."""
    before, said = session.marked, []
    if before and before.answer:
        said = [PersonVerdict(turn=session.id, verdict=before.answer, at="2026", is_sampled=True)]
        session = replace(session, judge_status=before.judge_status, goal_complete=before.judged, marked=None)
    return mark_session(session, [*said, PersonVerdict(turn=session.id, verdict=verdict, at="2027")])


AUDITED = [*audit(many(60), 31), session_of(facts={"substance": False}), session_of(judge_status="no_goal")]
LATER: st.SearchStrategy[VerdictKind] = st.sampled_from(["landed", "not", "exclude"])


@QUICK
@given(st.dictionaries(st.integers(0, len(AUDITED) - 1), LATER))
def test_whatever_is_marked_after_an_audit_its_answers_correct_the_score(marks: dict[int, VerdictKind]):
    """One that nobody answered may be left out for good: that is no word on the others."""
    kept = {n: kind for n, kind in marks.items() if kind != "exclude" or is_answered(AUDITED[n])}
    found = scored([mark_after(one, kept[n]) if n in kept else one for n, one in enumerate(AUDITED)])
    first = scored(AUDITED)
    assert first.score.corrected
    assert found.score.corrected == first.score.corrected
    assert found.audit
    assert first.audit
    changed = sum(kind != one.marked.answer for n, kind in kept.items() if (one := AUDITED[n]).marked and one.marked)
    assert found.audit == replace(first.audit, marked_since=changed)


def test_sessions_that_are_excluded_after_their_answer_stay_in_the_sample():
    """Else to exclude what did not land would make a score of 100."""
    out = [mark_after(one, "exclude") if is_answered(one) and not one.goal_complete else one for one in AUDITED]
    found = scored(out)
    assert found.score.corrected == scored(AUDITED).score.corrected
    assert [one for one in describe_truth(found) if "marked otherwise after your answer, which still corrects" in one]


def test_sessions_that_came_since_are_told_and_too_many_end_the_correction():
    audited = audit(many(100), 40)
    some = scored([*audited, *many(20)])
    assert some.score.corrected
    assert some.audit
    assert 0 < some.audit.missing <= 20
    most = scored([*audited, *many(200)])
    assert most.score.corrected is None
    assert most.audit
    assert "no sample of these" in (most.audit.why_not or "")


def test_going_on_asks_about_those_that_came_since_first():
    """Asked in order, whoever is answered is a sample of all there are now."""
    sessions = [*audit(many(100), 40), *many(20)]
    waiting = [one for one in order_sessions(select_drawable(sessions), SEED) if not is_answered(one)]
    tally = audit_of(sessions, SEED)
    assert tally
    asked = {one.id for one in waiting[: tally.missing]}
    now = audit_of([answer(one, "landed") if one.id in asked else one for one in sessions], SEED)
    assert now
    assert now.missing == 0


def test_answers_keep_their_place_where_sessions_are_cut_otherwise_by_now():
    sessions = audit(many(100), 40)
    moved = [replace(one, id=f"{n:012x}") if is_answered(one) else one for n, one in enumerate(sessions)]
    found = audit_of(moved, SEED)
    assert found
    assert (found.answered, found.missing) == (40, 0)


def test_another_seed_makes_no_sample_of_it():
    found = scored(audit(many(100), 40), seed="silk")
    assert found.score.corrected is None


def test_several_judges_have_no_common_score_but_one_that_an_audit_corrects():
    sessions = [*many(50), *many(50, judge="coin")]
    assert scored(sessions).score.value is None
    assert scored(audit(sessions, 40)).score.corrected


def test_slices_and_windows_are_never_corrected():
    found = scored(audit(many(100), 40))
    parts = [*(one.score for some in found.slices.values() for one in some), *(one.score for one in found.windows)]
    assert {(one.corrected, one.predicted) for one in parts} == {(None, None)}


def test_the_prediction_is_of_one_judge_that_was_measured():
    assert prediction_of(many(10))
    assert prediction_of(many(10, judge="coin")) is None
    assert prediction_of([*many(10), *many(1, judge="coin")]) is None
    assert prediction_of([session_of(judge_status="no_goal")]) is None


def test_the_chance_of_a_session_is_the_judges_whatever_the_person_says():
    one = session_of(confidence=0.8)
    assert find_chance(answer(one, "not")) == find_chance(one) == 0.8
    silent = session_of(confidence=None)
    assert (find_chance(silent), find_chance(answer(silent, "not"))) == (1.0, 1.0)
    assert find_chance(session_of(confidence=None, goal_complete=None, judge_status="unclear")) == 0.5


def test_the_letter_goes_by_what_is_surest():
    found = scored([answer(one, "landed") for one in many(100)])
    assert (found.grade, found.no_grade) == ("A", None)
    assert scored([]).no_grade == "nothing counts"
