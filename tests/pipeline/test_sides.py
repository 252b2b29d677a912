"""What a person names to be compared: days that tile, names that are found, and nothing that crashes."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadInput
from assay.pipeline.sides import parse_side, parse_span, split_at
from assay.types import Session
from tests.make_sessions import QUICK, session_of
from tests.tables import each_row

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)  # a Wednesday
SPANS = [
    ("today", "2026-11-18", "2026-11-19"),
    ("yesterday", "2026-11-17", "2026-11-18"),
    ("this-week", "2026-11-16", "2026-11-23"),
    ("last-week", "2026-11-09", "2026-11-16"),
    ("this-month", "2026-11-01", "2026-12-01"),
    ("last-month", "2026-10-01", "2026-11-01"),
    ("7d", "2026-11-12", "2026-11-19"),
    ("2w", "2026-11-05", "2026-11-19"),
    ("14d..7d", "2026-11-05", "2026-11-12"),
    ("2026-11-03", "2026-11-03", "2026-11-04"),
    ("2026-12", "2026-12-01", "2027-01-01"),
    ("2026-W01", "2025-12-29", "2026-01-05"),
    ("2026-11-01..2026-11-14", "2026-11-01", "2026-11-15"),
    ("2026-10..2026-11", "2026-10-01", "2026-12-01"),
    ("2026-11-01..", "2026-11-01", "None"),
    ("..2026-11-01", "None", "2026-11-02"),
    ("last-week..today", "2026-11-09", "2026-11-19"),
]


@each_row(("word", "first", "after"), SPANS)
def test_a_time_is_some_whole_days(word: str, first: str, after: str) -> None:
    assert [str(one) for one in parse_span(word, NOW.date()) or ()] == [first, after]


@each_row("word", ["", "..", "loom", "2026-13", "2026-11-31", "2026-W60", "999999d", "7h", "2026-11-03T10:00"])
def test_what_is_no_time_is_no_time(word: str) -> None:
    assert parse_span(word, NOW.date()) is None


def test_the_last_days_and_those_before_them_share_no_session_and_miss_none() -> None:
    some = [session_of(started_at=(NOW - timedelta(hours=n)).isoformat()) for n in range(14 * 24)]
    now, then = (parse_side(word, some, NOW) for word in ("7d", "14d..7d"))
    assert all(now.takes(one) + then.takes(one) == 1 for one in some if one.started_at >= "2026-11-05")


def test_a_day_is_a_day_where_the_person_is() -> None:
    late = session_of(started_at="2026-11-02T23:30:00Z")
    for zone, day in ((UTC, "2026-11-02"), (ZoneInfo("Europe/Berlin"), "2026-11-03")):
        assert parse_side(day, [late], NOW.astimezone(zone)).takes(late)
        before, after = split_at("2026-11-03", NOW.astimezone(zone))
        assert (before.takes(late), after.takes(late)) == (zone is UTC, zone is not UTC)


def test_a_session_without_a_time_is_on_neither_side_of_a_day() -> None:
    assert [one.takes(session_of(started_at="soon")) for one in split_at("2026-11-03", NOW)] == [False, False]


@each_row(
    ("when", "name"), [("2026-11-03", "2026-11-03"), ("2026-11-03T10:30", "2026-11-03 10:30"), ("7d", "2026-11-12")]
)
def test_a_day_or_a_time_or_so_long_ago_parts_sessions(when: str, name: str) -> None:
    assert [one.name for one in split_at(when, NOW)] == [f"before {name}", f"from {name}"]


SOME = [
    session_of(project="/home/ada/loom", branch="main", models=["claude-opus-4-5"], agent="claude-code"),
    session_of(project="/home/ada/loom/shed", repository="/home/ada/loom", branch="x", models=["gpt"], agent="codex"),
    session_of(project="/home/ada/mill", branch="main", models=["claude-opus-4-5", "claude-haiku-4"], intent="review"),
]  # fmt: skip
NAMES: list[tuple[str, str, list[int]]] = [
    ("loom", "project loom", [0, 1]),
    ("project:shed", "project shed", [1]),
    ("main", "branch main", [0, 2]),
    ("model:opus", "model opus", [0, 2]),
    ("haiku", "model haiku", [2]),
    ("claude-opus-4-5", "model claude-opus-4-5", [0, 2]),
    ("CODEX", "agent CODEX", [1]),
    ("review", "intent review", [2]),
    ("language:en", "language en", [0, 1, 2]),
]


@each_row(("word", "name", "taken"), NAMES)
def test_a_word_is_found_among_projects_models_branches_and_agents(word: str, name: str, taken: list[int]) -> None:
    side = parse_side(word, SOME, NOW)
    assert (side.name, [n for n, one in enumerate(SOME) if side.takes(one)]) == (name, taken)


def test_a_whole_name_wins_over_a_part_of_another() -> None:
    some = [session_of(branch="main"), session_of(branch="main-2")]
    assert [parse_side("branch:main", some, NOW).takes(one) for one in some] == [True, False]
    assert [parse_side("branch:mai", some, NOW).takes(one) for one in some] == [True, True]


@each_row(
    ("word", "said"),
    [
        ("spindle", "no project, model, branch or agent"), ("model:spindle", "claude-haiku-4, claude"),
        ("tenant:acme", "none is known"), ("2026-11-14..2026-11-01", "ends before it begins"),
        ("o", "is several things here; say project:o or model:o"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_said_with_what_can(word: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_side(word, SOME, NOW)


@each_row("when", ["", "soon", "2026-13-01", "999999d", "0001-01-01T00:00+05:00"])
def test_a_day_that_is_none_is_refused(when: str) -> None:
    with pytest.raises(BadInput, match="give a day"):
        split_at(when, NOW)


WILD = st.text(max_size=20) | st.text(st.sampled_from("0123456789-.:dwWT"), max_size=24)


@QUICK
@given(WILD, st.sampled_from([[], SOME]))
def test_any_word_is_a_side_or_bad_input(word: str, sessions: list[Session]) -> None:
    for parse in (lambda: parse_side(word, sessions, NOW), lambda: split_at(word, NOW)[0]):
        with suppress(BadInput):
            side = parse()
            assert side.name
            assert {side.takes(one) for one in sessions} <= {True, False}
