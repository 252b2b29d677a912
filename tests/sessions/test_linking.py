"""Segments linked into sessions, and the ledger of why."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.config import Boundaries
from assay.sessions.links import LinkedSession, build_ledger, link_segments
from assay.types import Boundary, LedgerLine, PersonCorrection, Segment
from tests.tables import each_row

RULES = Boundaries()
TILL = "/home/ada/till"


def at(minute: float) -> str:
    """So many minutes into the day, to the second."""
    seconds = round(minute * 60)
    return f"2026-03-02T{9 + seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"


def segment(id: str, began: float, ended: float, files: str = "ab", **more: Any) -> Segment:
    """A segment by minutes; each letter of `files` is a file."""
    signal = more.pop("signal", "conversation")
    boundary = Boundary(signal=signal, confidence=1.0, evidence="a new conversation")
    fields = {"agent": "claude-code", "stream": f"s-{id}", "project": TILL, "first": 0, "last": 1} | more
    return Segment(
        id=id,
        began_at=at(began),
        ended_at=at(ended),
        boundary=boundary,
        files=tuple(f"{fields['project']}/{name}.py" for name in sorted(files)),
        **fields,
    )


def linked(
    *segments: Segment, corrections: Iterable[PersonCorrection] = (), rules: Boundaries = RULES
) -> list[LinkedSession]:
    return link_segments(segments, list(corrections), rules)


def ids(sessions: Iterable[LinkedSession]) -> list[str]:
    """Each session as the letters of its segments."""
    return ["".join(one.id for one in session.segments) for session in sessions]


def merge(turn: str, into: str) -> PersonCorrection:
    return PersonCorrection(kind="merge", turn=turn, into=into)


def split(turn: str) -> PersonCorrection:
    return PersonCorrection(kind="split", turn=turn)


# --- soon after, on the same files ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("began", "is_merged"),
    [
        (20 - 1 / 60, False),
        (20, True),
        (29 + 59 / 60, True),
        (30, True),
        (30 + 1 / 60, False),
    ],
    ids=["before the close", "at the close", "9:59 after", "10:00 after", "10:01 after"],
)
def test_two_sessions_merge_within_ten_minutes_of_the_close(began: float, is_merged: bool) -> None:
    found = linked(segment("A", 10, 20), segment("B", began, 40))
    assert ids(found) == (["AB"] if is_merged else ["A", "B"])


@pytest.mark.parametrize("minutes", [0, 2.5, 30])
def test_the_minutes_are_a_setting(minutes: float) -> None:
    rules = Boundaries(merge_minutes=minutes)
    assert ids(linked(segment("A", 1, 2), segment("B", 2 + minutes, 50), rules=rules)) == ["AB"]
    assert ids(linked(segment("A", 1, 2), segment("B", 2 + minutes + 0.05, 50), rules=rules)) == ["A", "B"]


@each_row(
    ("files", "others", "least", "is_merged"),
    [
        ("ab", "bc", 0.5, True),  # 1 of 2
        ("abc", "cde", 0.5, False),  # 1 of 3
        ("abcde", "cdefg", 0.5, True),  # 3 of 5
        ("a", "abcdefgh", 0.5, True),  # the smaller set counts
        ("abcdefgh", "a", 0.5, True),
        ("ab", "cd", 0.5, False),
        ("", "ab", 0.5, False),
        ("ab", "", 0.5, False),
        ("", "", 0.5, False),
        ("abcdefghij", "abcdeklmno", 0.5, True),  # 50 %
        ("abcdefghij", "abcdeklmno", 0.51, False),
        ("abcdefghij", "abcdeklmno", 0.49, True),
        ("ab", "ab", 1.0, True),
        ("abc", "abd", 1.0, False),
        ("ab", "cd", 0.01, False),
    ],
)
def test_two_sessions_merge_when_half_of_the_files_are_the_same(
    files: str, others: str, least: float, is_merged: bool
) -> None:
    found = linked(segment("A", 1, 2, files), segment("B", 3, 4, others), rules=Boundaries(merge_overlap=least))
    assert ids(found) == (["AB"] if is_merged else ["A", "B"])


def test_a_merge_tells_time_share_and_files() -> None:
    (found,) = linked(segment("A", 1, 2, "abcd"), segment("B", 8, 9, "bcdefg"))
    (join,) = found.joins
    assert (join.id, join.signal, join.confidence) == ("B", "merge", 0.75)
    assert join.evidence == "began 6 min after, 3 of 4 files are the same: b.py, c.py, d.py"


@pytest.mark.parametrize(
    ("files", "others", "wait", "evidence"),
    [
        ("a", "ab", 0.5, "began 30 s after, 1 of 1 file is the same: a.py"),
        ("abcde", "abcde", 0, "began 0 s after, 5 of 5 files are the same: a.py, b.py, c.py and 2 more"),
        ("ab", "bc", 9.99, "began 9 min after, 1 of 2 files is the same: b.py"),
    ],
)
def test_evidence_is_a_sentence(files: str, others: str, wait: float, evidence: str) -> None:
    (found,) = linked(segment("A", 1, 2, files), segment("B", 2 + wait, 20, others))
    assert found.joins[0].evidence == evidence


@pytest.mark.parametrize(
    ("more", "is_merged"),
    [
        ({"project": "/home/ada/loom"}, False),
        ({"project": "/home/ada/till/sub"}, False),
        ({"agent": "codex"}, True),
        ({"stream": "s-A", "first": 2, "last": 3, "signal": "topic"}, False),
        ({"stream": "s-A", "first": 2, "last": 3, "signal": "commit"}, True),
        ({"signal": "commit"}, True),
        ({"signal": "clear"}, True),
        ({"signal": "person"}, False),
    ],
)
def test_projects_people_and_a_shift_inside_a_stream_keep_sessions_apart(more: Any, is_merged: bool) -> None:
    first = segment("A", 1, 2)
    other = replace(segment("B", 3, 4, **more), files=first.files)
    assert ids(linked(first, other)) == (["AB"] if is_merged else ["A", "B"])


def test_files_that_were_only_looked_at_count_as_touched() -> None:
    looked, worked = segment("A", 1, 2, ""), segment("B", 3, 4)
    assert ids(linked(looked, worked)) == ["A", "B"]
    assert ids(linked(replace(looked, files=(), read=worked.files), worked)) == ["AB"]


def test_sessions_of_no_known_project_stay_apart() -> None:
    assert ids(linked(segment("A", 1, 2, project=""), segment("B", 3, 4, project=""))) == ["A", "B"]


def test_sessions_that_run_side_by_side_stay_apart() -> None:
    assert ids(linked(segment("A", 1, 30), segment("B", 5, 20), segment("C", 29, 31))) == ["A", "BC"]


def test_a_prompt_typed_while_the_turn_before_it_ran_does_not_run_beside_it() -> None:
    early, late = segment("A", 1, 10), segment("B", 8, 12, stream="s-A", first=2, last=2, signal="commit")
    assert ids(linked(early, late)) == ["AB"]


@pytest.mark.parametrize("stamp", ["", "yesterday", "2026-13-01T00:00:00Z"])
def test_what_has_no_time_is_not_merged(stamp: str) -> None:
    untimed = replace(segment("A", 1, 2), began_at=stamp, ended_at=stamp)
    assert sorted(ids(linked(untimed, segment("B", 3, 4)))) == ["A", "B"]
    assert sorted(ids(linked(segment("B", 3, 4), untimed))) == ["A", "B"]


@pytest.mark.parametrize(
    ("began", "sessions"), [("18:12:00+09:00", ["AB"]), ("18:12:01+09:00", ["A", "B"]), ("09:12", ["AB"])]
)
def test_times_are_compared_whatever_their_offset(began: str, sessions: list[str]) -> None:
    later = replace(segment("B", 3, 400), began_at=f"2026-03-02T{began}")
    assert ids(linked(segment("A", 1, 2), later)) == sessions


def test_a_chain_of_merges_is_one_session_with_the_files_of_all() -> None:
    chain = segment("A", 1, 2, "ab"), segment("B", 10, 11, "bc"), segment("C", 20, 21, "ad"), segment("D", 30, 31, "d")
    (found,) = linked(*chain)
    assert ids([found]) == ["ABCD"]
    assert [(join.id, join.signal) for join in found.joins] == [("B", "merge"), ("C", "merge"), ("D", "merge")]


def test_a_chain_closes_when_its_last_link_does() -> None:
    assert ids(linked(segment("A", 1, 2), segment("B", 10, 30), segment("C", 35, 36))) == ["ABC"]
    assert ids(linked(segment("A", 1, 2), segment("B", 10, 30), segment("C", 29, 36))) == ["AB", "C"]


def test_files_of_the_same_name_are_told_with_their_folders() -> None:
    files = f"{TILL}/a/mod.rs", f"{TILL}/b/mod.rs", f"{TILL}/c.rs"
    (found,) = linked(*(replace(one, files=files) for one in (segment("A", 1, 2), segment("B", 3, 4))))
    assert found.joins[0].evidence.endswith("3 of 3 files are the same: a/mod.rs, b/mod.rs, c.rs")


def test_of_several_candidates_the_one_that_closed_last_goes_on() -> None:
    assert ids(linked(segment("A", 1, 8), segment("B", 2, 7), segment("C", 9, 10))) == ["AC", "B"]
    assert ids(linked(segment("A", 1, 7), segment("B", 2, 8), segment("C", 9, 10))) == ["A", "BC"]
    assert ids(linked(segment("A", 1, 8), segment("B", 2, 8), segment("C", 9, 10))) == ["AC", "B"]


def test_a_candidate_on_other_files_does_not_stand_in_the_way() -> None:
    assert ids(linked(segment("A", 1, 7), segment("B", 2, 8, "xy"), segment("C", 9, 10))) == ["AC", "B"]


# --- /clear -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cleared", "began", "is_merged"),
    [(60, 61, True), (60, 70, True), (60, 70.1, False), (61, 60, False)],
    ids=["soon after /clear", "10:00 after it", "too late", "cleared after it began"],
)
def test_clear_closes_a_session_however_long_it_was_silent(cleared: float, began: float, is_merged: bool) -> None:
    found = linked(segment("A", 1, 2), segment("B", began, 80, signal="clear", cleared_at=at(cleared)))
    assert ids(found) == (["AB"] if is_merged else ["A", "B"])


def test_the_evidence_of_a_merge_over_clear_says_so() -> None:
    (found,) = linked(segment("A", 1, 2), segment("B", 63, 80, signal="clear", cleared_at=at(60)))
    assert found.joins[0].evidence == "began 3 min after /clear, 2 of 2 files are the same: a.py, b.py"


@pytest.mark.parametrize(
    ("other", "sessions"),
    [
        (segment("B", 5, 6, "xy"), ["A", "B", "C"]),
        (segment("B", 5, 62, "xy"), ["AC", "B"]),
        (segment("B", 5, 6, "xy", agent="codex"), ["AC", "B"]),
        (segment("B", 5, 6, "xy", project="/home/ada/loom"), ["AC", "B"]),
        (segment("B", 55, 56, "xy"), ["A", "B", "C"]),
    ],
    ids=["another closed later", "another still runs", "another agent's", "another project's", "another just before"],
)
def test_clear_closes_only_the_last_session_of_its_agent_and_project(other: Segment, sessions: list[str]) -> None:
    assert ids(linked(segment("A", 1, 2), other, segment("C", 61, 70, signal="clear", cleared_at=at(60)))) == sessions


# --- plans ------------------------------------------------------------------------------------------


def test_an_accepted_plan_carries_its_session_into_the_new_conversation() -> None:
    (found,) = linked(segment("A", 1, 2, ""), segment("B", 500, 510, "xy", continues="s-A"))
    assert ids([found]) == ["AB"]
    (join,) = found.joins
    assert (join.id, join.signal, join.confidence) == ("B", "plan", 1.0)
    assert join.evidence == "an accepted plan of s-A opened this conversation"


def test_a_plan_goes_on_with_the_last_segment_before_it() -> None:
    parts = [segment(name, n, n + 1, name, stream="s", first=n, last=n) for name, n in (("A", 1), ("B", 2), ("D", 50))]
    assert ids(linked(*parts, segment("C", 9, 10, "c", continues="s"))) == ["A", "BC", "D"]


def test_a_plan_goes_on_with_the_session_its_stream_was_merged_into() -> None:
    found = linked(segment("A", 1, 2), segment("B", 3, 4), segment("C", 90, 91, "x", continues="s-B"))
    assert ids(found) == ["ABC"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"continues": "s-Z"}, "unknown stream"),
        ({"continues": "s-B"}, "its own stream"),
        ({"continues": "s-A", "agent": "codex"}, "another agent's stream"),
        ({"continues": "s-A", "signal": "person"}, "split by a person"),
    ],
)
def test_a_plan_from_nowhere_joins_nothing(more: Any, why: str) -> None:
    assert ids(linked(segment("A", 1, 2, "a"), segment("B", 3, 4, "b", **more))) == ["A", "B"], why


def test_plans_in_a_circle_are_one_session() -> None:
    found = linked(segment("A", 1, 2, "a", continues="s-B"), segment("B", 3, 4, "b", continues="s-A"))
    assert ids(found) == ["AB"]


# --- people -----------------------------------------------------------------------------------------

SOON = segment("A", 1, 2), segment("B", 3, 4)
FAR = segment("A", 1, 2, "a"), segment("B", 300, 301, "b", project="/home/ada/loom", agent="codex")


@each_row(
    ("segments", "corrections", "sessions"),
    [
        (SOON, [], ["AB"]),
        (SOON, [split("B")], ["A", "B"]),
        (SOON, [split("B"), merge("B", "A")], ["AB"]),
        (SOON, [split("B"), merge("B", "A"), split("B")], ["A", "B"]),
        (SOON, [split("A")], ["AB"]),
        (FAR, [], ["A", "B"]),
        (FAR, [merge("B", "A")], ["AB"]),
        (FAR, [merge("A", "B")], ["AB"]),
        (FAR, [merge("B", "A"), split("B")], ["A", "B"]),
        (FAR, [merge("A", "B"), split("B")], ["A", "B"]),
        (FAR, [merge("A", "B"), split("A")], ["A", "B"]),
        (FAR, [merge("B", "A"), split("A")], ["AB"]),
        (FAR, [merge("B", "A"), merge("A", "B")], ["AB"]),
        (FAR, [merge("B", "Z"), merge("Z", "A"), merge("A", "A"), split("Z")], ["A", "B"]),
        (FAR, [PersonCorrection(kind="rename", turn="A", title="Till")], ["A", "B"]),
    ],
)
def test_a_person_has_the_last_word_and_the_later_word_holds(
    segments: tuple[Segment, ...], corrections: list[PersonCorrection], sessions: list[str]
) -> None:
    assert ids(linked(*segments, corrections=corrections)) == sessions


def test_a_merge_by_a_person_says_so() -> None:
    (found,) = linked(*FAR, corrections=[merge("A", "B")])
    assert [(join.id, join.signal, join.confidence) for join in found.joins] == [("B", "person", 1.0)]


def test_a_split_shows_as_the_boundary() -> None:
    _, second = linked(*SOON, corrections=[split("B")])
    assert (second.segments[0].boundary.signal, second.joins) == ("person", ())


def test_a_split_keeps_a_plan_from_being_carried_over() -> None:
    plan = segment("A", 1, 2, "a"), segment("B", 3, 4, "b", continues="s-A")
    assert ids(linked(*plan)) == ["AB"]
    assert ids(linked(*plan, corrections=[split("B")])) == ["A", "B"]


def test_what_was_split_off_still_gathers_what_comes_after() -> None:
    assert ids(linked(*SOON, segment("C", 5, 6), corrections=[split("B")])) == ["A", "BC"]


def test_what_a_person_moves_takes_its_followers_along_and_nothing_from_before() -> None:
    sessions = segment("Z", 1, 90, "z"), segment("A", 10, 11), segment("B", 15, 16), segment("C", 20, 21)
    assert ids(linked(*sessions)) == ["Z", "ABC"]
    assert ids(linked(*sessions, corrections=[merge("B", "Z")])) == ["ZBC", "A"]


def test_a_later_merge_of_the_same_turn_moves_it() -> None:
    sessions = segment("A", 1, 2, "a"), segment("B", 30, 31, "b"), segment("C", 60, 61, "c")
    assert ids(linked(*sessions, corrections=[merge("C", "A"), merge("C", "B")])) == ["A", "BC"]
    assert ids(linked(*sessions, corrections=[merge("A", "C"), merge("B", "C")])) == ["ABC"]


# --- the ledger -------------------------------------------------------------------------------------


def test_the_ledger_tells_every_beginning_join_and_commit_in_order_of_time() -> None:
    on = LedgerLine(
        at=at(1.5), agent="claude-code", stream="s-B", session="B", signal="commit", effect="went_on",
        confidence=0.9, evidence="commit 1a2b3c4 of a.py; the next turn pushes it",
    )  # fmt: skip
    first, second = segment("A", 1, 2), segment("B", 3, 4, signal="clear")
    late = segment("C", 90, 91)
    found = build_ledger(linked(late, replace(second, went_on=(replace(on, at=at(3.5)),)), first))
    assert [(one.at, one.session, one.effect, one.signal, one.stream) for one in found] == [
        (at(1), "A", "began", "conversation", "s-A"),
        (at(3), "A", "joined", "merge", "s-B"),
        (at(3), "B", "began", "clear", "s-B"),
        (at(3.5), "A", "went_on", "commit", "s-B"),
        (at(90), "C", "began", "conversation", "s-C"),
    ]
    assert found[1].evidence.startswith("began 1 min after")


def test_no_sessions_no_ledger() -> None:
    assert (linked(), build_ledger([])) == ([], [])


def test_a_split_holds_again_where_the_merge_over_it_is_undone() -> None:
    segments = [
        segment("A", 0, 0, "", stream="s-A"),
        segment("E", 1, 1, "", stream="s1", signal="person", continues="s-A", first=0, last=0),
        segment("F", 2, 2, "", stream="s1", first=1, last=1),
    ]
    words = [PersonCorrection(kind="merge", turn="E", into="F"), PersonCorrection(kind="split", turn="F")]
    assert [[one.id for one in found.segments] for found in link_segments(segments, words, Boundaries())] == [
        ["A"],
        ["E"],
        ["F"],
    ]


# --- whatever comes ---------------------------------------------------------------------------------


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Segment], list[PersonCorrection], Boundaries]:
    names = "ABCDEFGH"[: draw(st.integers(0, 8))]
    found = []
    for n, name in enumerate(names):
        began = draw(st.integers(0, 40))
        more = {
            "agent": draw(st.sampled_from(["claude-code", "codex"])),
            "stream": draw(st.sampled_from(["s1", "s2", f"s-{name}"])),
            "project": draw(st.sampled_from([TILL, TILL, "/home/ada/loom", ""])),
            "signal": draw(st.sampled_from(["conversation", "topic", "clear", "commit", "person"])),
            "continues": draw(st.sampled_from(["", "", "s1", "s2", "s-A"])),
            "cleared_at": draw(st.sampled_from(["", at(began), at(max(0, began - 3))])),
            "first": n,
            "last": n,
        }
        files = draw(st.sampled_from(["", "a", "ab", "abc", "cd"]))
        found.append(segment(name, began, began + draw(st.integers(0, 20)), files, **more))
    word = st.builds(
        PersonCorrection,
        kind=st.sampled_from(["split", "merge", "rename"]),
        turn=st.sampled_from("ABCDEFGHZ"),
        into=st.sampled_from("ABCDEFGHZ"),
    )
    rules = Boundaries(merge_minutes=draw(st.sampled_from([0, 5, 10])), merge_overlap=draw(st.sampled_from([0.5, 1.0])))
    return found, draw(st.lists(word, max_size=5)), rules


@given(stories(), st.randoms(use_true_random=False))
def test_the_order_in_which_segments_come_does_not_matter(story: Any, dice: Any) -> None:
    segments, corrections, rules = story
    found = link_segments(segments, corrections, rules)
    shuffled = list(segments)
    dice.shuffle(shuffled)
    assert link_segments(shuffled, corrections, rules) == found
    assert build_ledger(link_segments(shuffled, corrections, rules)) == build_ledger(found)


@given(stories())
def test_every_segment_is_in_one_session_and_every_join_is_told_once(story: Any) -> None:
    segments, corrections, rules = story
    found = link_segments(segments, corrections, rules)
    assert sorted(one.id for session in found for one in session.segments) == sorted(one.id for one in segments)
    for session in found:
        ordered = [(one.began_at, one.agent, one.id) for one in session.segments]
        assert ordered == sorted(ordered)
        assert [join.id for join in session.joins] == [one.id for one in session.segments[1:]]
        by_itself = {"merge", "plan"}
        signals = {one.id: one.boundary.signal for one in session.segments}
        assert not [join for join in session.joins if join.signal in by_itself and signals[join.id] == "person"]
    starts = [(one.segments[0].began_at, one.segments[0].agent, one.segments[0].id) for one in found]
    assert starts == sorted(starts)
