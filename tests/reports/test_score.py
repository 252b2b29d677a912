"""The terminal report of a score."""

from datetime import UTC, date

import pytest
from msgspec.structs import replace
from rich.console import Console

from assay.pipeline.verdicts import mark_session
from assay.reports.score import render_bar, render_score
from assay.scores.breakdown import Window
from assay.scores.correction import Corrected
from assay.scores.prism import score_sessions
from assay.scores.report import Report, Skips
from assay.types import PersonVerdict, Session
from tests.make_report import JUDGE, report_of, some_sessions
from tests.make_sessions import failing, missed, session_of
from tests.tables import each_row


def seen(found: Report, width: int = 120, by: str = "") -> str:
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(render_score(found, UTC, width, by.split()))
    return captured.get()


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def test_the_headline_has_number_letter_interval_counts_and_judge():
    found = report_of(some_sessions())
    first, scale, truth, letter, better, judge = lines(seen(found, 200))[:6]
    assert (known := found.score.predicted)
    assert first == "PRISM Score 43 · 3 of 7 counted sessions crushed"
    assert [scale.find("━") - 2, scale.rfind("━") - 2, scale.find("●") - 2] == [
        int(known.low / 2), min(49, int(known.high / 2)), 21
    ]  # fmt: skip
    assert truth == (
        f"The true share lies between {round(known.low)} and {round(known.high)} (95 %), "
        f"likeliest {round(known.value)}: so far off was this judge on "
        f"{known.repositories} repositories of other people ({known.goals} goals)."
    )
    assert letter == f"No letter: {found.no_grade}."
    assert better.startswith("Better: `assay audit 7`, your own word on a random sample; or `--judge claude-cli`")
    assert judge.startswith("judged by the offline judge, right in ")
    assert judge.endswith("(`assay judges`)")


def test_the_published_formula_is_named_and_nothing_measured_is_said_of_it():
    found = report_of(some_sessions(), judge=replace(JUDGE, floors="published"))
    shown = seen(found, 200)
    assert 'by the published formula (floors = "published"), which was never measured against labels' in shown
    assert "right in" not in shown
    assert found.score.predicted is None
    assert "of chance alone" in shown


@pytest.mark.parametrize(
    ("sessions", "why"),
    [
        ([], "there are no sessions"),
        (
            [session_of(judge_status="no_goal"), session_of(facts={"substance": False})],
            "of 2 sessions 1 no goal, 1 trivial",
        ),
        ([session_of(judge_status="ungraded", ungraded_reason="thin")], "of 1 session 1 ungraded: thin"),
    ],
)
def test_nothing_that_counts_is_no_score_and_never_zero(sessions: list[Session], why: str):
    assert lines(seen(report_of(sessions)))[0] == f"PRISM Score: no score, nothing counts: {why}"


def test_the_waterfall_says_what_is_left_and_why_the_rest_is_not():
    drawn = lines(seen(report_of(some_sessions(), streams=4), 200))[7:13]
    assert [line.split("█")[0].split() for line in drawn] == [
        ["sessions", "10"], ["of", "substance", "9"], ["with", "a", "goal", "8"], ["judged", "7"], ["completed", "4"],
        ["crushed", "3"],
    ]  # fmt: skip
    assert [line.count("█") for line in drawn] == [32, 29, 26, 22, 13, 10]
    assert [line.split("█")[-1].strip() for line in drawn] == [
        "in 4 streams",
        "−1 trivial: under 3 turns, no change, no answer",
        "−1 no goal",
        "−1 ungraded: thin evidence",
        "−3: 2 unverified, 1 error unresolved",
        "−1 later replaced",
    ]


def test_of_many_reasons_the_commonest_are_named_and_the_rest_is_counted():
    kinds = ["unresolved_error"] * 3 + ["frustration"] * 2 + ["iteration_loop", "scope_abandoned"]
    shown = seen(report_of([failing(kind) for kind in kinds] + [missed(), missed()]))
    assert "−9: 3 error unresolved, 2 frustration, 2 unverified, 2 more" in shown


@pytest.mark.parametrize(("share", "full"), [(0, 0), (0.001, 1), (0.5, 10), (0.999, 19), (1, 20)])
def test_a_bar_is_empty_only_for_nothing_and_full_only_for_all(share: float, full: int):
    assert render_bar(share, 20, "").plain.count("█") == full


@pytest.mark.parametrize("width", [40, 80, 100, 140, 200])
def test_no_line_is_wider_than_the_terminal(width: int):
    long = session_of(title="weave " * 60, project="/very/" + "long" * 20, branch="b" * 90, intent="investigation")
    assert max(map(len, lines(seen(report_of([*some_sessions(), long]), width, by="branch")))) <= width


@pytest.mark.parametrize(
    ("width", "more"),
    [
        (80, ""),
        (99, ""),
        (100, "project intent"),
        (109, "project intent"),
        (110, "project intent turns wording"),
        (140, "project intent turns wording"),
    ],
)
def test_a_narrow_terminal_gets_fewer_columns(width: int, more: str):
    head = next(line for line in lines(seen(report_of(some_sessions()), width)) if line.startswith("began"))
    assert " ".join(head.split()) == " ".join(["began session", *more.split(), "crushed what it was about"])


def test_the_number_never_contradicts_its_letter():
    found = report_of([session_of() for _ in range(9)] + [missed()])
    known = Corrected(value=89.7, low=80.2, high=89.98, audited=80, judge_weight=0.5)
    graded = replace(found, score=replace(found.score, corrected=known), grade="B", no_grade=None)
    assert seen(graded, 200).startswith(
        "PRISM Score 89.7 (B) · corrected by your audit of 80, 95 % interval 80–89.9 · raw 90, 9 of 10 counted"
    )


def test_a_judge_that_was_never_measured_has_no_letter_and_says_so():
    found = lines(seen(report_of([session_of(judge="coin"), missed(judge="coin")]), 200))
    assert found[2] == "95 % interval 9–91, of chance alone: it knows nothing of the judge's errors."
    assert found[3] == "No letter: how far this judge is from the truth was never measured."


def test_an_audit_of_ones_own_says_how_good_the_judge_is():
    answers = [PersonVerdict(turn="", verdict="landed" if n % 4 else "not", is_sampled=True) for n in range(24)]
    sessions = [mark_session(one, [replace(said, turn=one.id)]) for said in answers for one in [session_of()]]
    assert "which agrees with you on 18 of 24 audited sessions" in seen(report_of(sessions, seed="wool"), 200)


def test_slices_are_raw_and_say_so():
    assert "raw: not corrected; intervals of chance alone" in seen(report_of(some_sessions()), by="agent")


def test_of_many_sessions_the_last_thirty_are_shown_and_the_list_is_named():
    many = [session_of(day=n / 24, title=f"row {n}") for n in range(31)]
    shown = seen(report_of(many))
    assert "row 0 " not in shown
    assert shown.count("row ") == 30
    assert "the last 30 of 31; `assay sessions` lists all" in shown


@pytest.mark.parametrize(
    ("direction", "is_one_judge", "words"),
    [
        ("up", True, "↑ better (p = 0.004)"),
        ("down", True, "↓ worse (p = 0.004)"),
        (None, True, "no difference shown"),
        (None, False, "not comparable: judged in different ways"),
    ],
)
def test_an_arrow_stands_only_where_the_numbers_support_one(direction, is_one_judge, words):
    now, then = score_sessions([session_of()] * 6), score_sessions([missed()] * 6)
    window = Window(
        days=7, began=date(2026, 3, 1), ended=date(2026, 3, 7), score=now, before=then, p_value=0.004,
        direction=direction, is_one_judge=is_one_judge,
    )  # fmt: skip
    found = replace(report_of(some_sessions()), windows=[window])
    assert f"7 days to 2026-03-07: 100 (6/6), the 7 before: 0 (0/6) · {words}" in seen(found)


def test_days_with_nothing_to_compare_with_are_not_compared():
    assert "before:" not in seen(report_of([session_of()]))


def over_weeks(*crushed: int) -> list[Session]:
    """Ten sessions a week, so many of them crushed."""
    return [(session_of if m < n else missed)(day=7 * week) for week, n in enumerate(crushed) for m in range(10)]


def test_weeks_are_drawn_with_gaps_and_a_trend():
    sessions = [one for one in over_weeks(0, 5, 0, 10) if not one.started_at.startswith("2026-03-16")]
    told = seen(report_of(sessions), by="week")
    assert "▁▅ █  0–100 by week" in told
    assert "trend: ↑ rising over 3 weeks (p < 0.001)" in told
    assert "each against the rest, corrected for 3 tests: 2 shown to differ (↑ above, ↓ below)" in told
    row = next(line for line in lines(told) if "2026-03-23" in line)
    assert row.split()[:2] == ["2026-03-23", "100"]
    assert row.rstrip().endswith("10/10  ↑ p < 0.001")


def test_few_sessions_are_told_to_be_few():
    told = seen(report_of([session_of(), missed()]), by="month")
    assert "trend: 1 month with counted sessions, too few to tell" in told
    assert "too few sessions to test a slice against the rest" in told


@each_row(
    ("models", "told"),
    [
        ([["claude-opus-4-5-20251101"], ["gpt-5.2-2025-12-11"]], ["claude-opus-4-5 ", "gpt-5.2 "]),
        ([["claude-opus-4-20250101"], ["claude-opus-4-20250202"]], ["opus-4-20250101", "opus-4-20250202"]),
        ([["claude-opus-4-5-20251101", "claude-haiku-4-5-20251001"]], ["haiku-4-5 + opus-4-5"]),
    ],
)
def test_models_are_told_apart(models: list[list[str]], told: list[str]):
    shown = seen(report_of([session_of(models=one) for one in models]), by="model")
    assert [one for one in told if one in shown] == told


def test_slices_are_shown_when_asked_for():
    found = report_of([session_of(branch="feature/warp"), session_of(project="/a/loom"), missed(intent="small_change")])
    assert "By " not in seen(found)
    assert "feature/warp" in seen(found, by="branch")
    assert "small change" in seen(found, by="intent")
    assert "/a/loom" not in seen(found, by="project")


def test_what_held_sessions_back_comes_with_ids_and_advice():
    found = report_of([missed(id=f"{n}" * 12) for n in range(5)])
    shown = seen(found)
    assert "5 × nothing shows that the change works  000000000000, 111111111111, 222222222222, and 2 more" in shown
    assert found.obstacles[0].advice in shown


def test_what_a_reader_should_know_is_noted():
    shown = seen(report_of(some_sessions(), skipped=Skips(files=1, lines=2, reasons={})))
    assert "2 lines and 1 file could not be read: `assay doctor`" in shown
    assert "1 session is ungraded" in shown
    assert "is unknown for 1 of 3 crushed sessions" in shown
    assert "1 of 3 crushed sessions may still be replaced" in shown
    assert "Notes" not in seen(report_of([session_of()]))


def test_what_is_not_known_is_left_out():
    shown = seen(report_of([session_of(facts={"cost_usd": None, "active_s": None}, grade=None)]))
    assert "1 session unpriced" in shown
    assert not [
        word for word in ("None", "USD 0.00", "a crushed session", "prompts worded", "work to crush") if word in shown
    ]


def test_what_has_neither_substance_nor_a_goal_is_told_at_the_step_that_it_misses_first():
    small = session_of(judge_status="no_goal", goal_complete=None, intent=None, facts={"substance": False})
    assert "−1 neither substance nor goal" in seen(report_of([session_of(), small]))


def test_slices_are_shown_by_as_many_things_as_were_asked_for():
    told = seen(report_of(some_sessions()), by="project week project")
    assert (told.count("By project"), told.count("By week")) == (1, 1)
    assert told.index("By project") < told.index("By week")
