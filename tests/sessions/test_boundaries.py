"""Streams cut into segments."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config import Boundaries
from assay.sessions.boundaries import COMMIT_FLOOR, cut_segments, hash_turn
from assay.types import Call, Edit, Gap, Mark, Part, Prompt, Reply, Run, Segment, Spend, Stream, Turn, Usage
from tests.tables import each_row

CWD = "/home/ada/till"
RULES = Boundaries()


def at(minute: float) -> str:
    return f"2026-03-02T{9 + int(minute) // 60:02}:{int(minute) % 60:02}:{round(minute % 1 * 60):02}.000Z"


def edit(path: str, status: Any = "ok") -> Call:
    return Call(id=path, at=at(0), name="Edit", kind="edit", target=path, edits=(Edit(path=path),), status=status)


def look(path: str) -> Call:
    return Call(id=path, at=at(0), name="Read", kind="read", target=path, status="ok")


def ran(*runs: Run, status: Any = "ok", commits: tuple[str, ...] = (), command: str = "") -> Call:
    return Call(
        id="sh", at=at(0), name="Bash", kind="shell", runs=runs, status=status, commits=commits, command=command
    )


def wrote(*paths: str, program: str = "sed") -> Call:
    return ran(Run(program=program, mutates=True, paths=paths))


COMMIT = Run(program="git", purpose="commit", mutates=True, outcome="passed")
PUSH = Run(program="git", purpose="push", mutates=True)
PR = Run(program="gh", purpose="pr", mutates=True)
COMMITTED = ran(COMMIT, commits=("1a2b3c4d5e",))


def turn(n: int, *calls: Call, text: str = "", marks: Iterable[Mark] = (), **prompt: Any) -> Turn:
    """A turn at minute `n`, which lasts a minute; `text=None` is one that nobody began."""
    said = None if text is None else Prompt(at=at(n), text=text or f"thing {n}", key=n, **prompt)
    return Turn(at=at(n), ended_at=at(n + 1), prompt=said, calls=calls, marks=tuple(marks))


def stream(*turns: Turn, cwd: str = CWD) -> Stream:
    return Stream(
        id="s1", agent="claude-code", files=(), about=Part(agent="claude-code", stream="s1", cwd=cwd), turns=turns
    )


def shift(n: int, confidence: float = 0.8) -> Gap:
    return Gap(turn=n, is_shift=True, confidence=confidence, evidence="other words, other files")


def stay(n: int, confidence: float = 0.4) -> Gap:
    return Gap(turn=n, is_shift=False, confidence=confidence, evidence="the same words")


def segments(
    *turns: Turn, gaps: Iterable[Gap] = (), splits: Iterable[int] = (), rules: Boundaries = RULES
) -> list[Segment]:
    """The segments; splits are given by the number of the turn."""
    whole = stream(*turns)
    return list(cut_segments(whole, list(gaps), {id_of(turns[n]) for n in splits}, rules))


def id_of(one: Turn) -> str:
    return hash_turn("claude-code", "s1", one)


def firsts(found: Iterable[Segment]) -> list[int]:
    return [one.first for one in found]


def signals(found: Iterable[Segment]) -> list[str]:
    return [one.boundary.signal for one in found]


# --- beginnings ---------------------------------------------------------------------------------


def test_a_conversation_is_one_segment_with_the_id_of_its_first_turn() -> None:
    (only,) = segments(turn(1), turn(2), turn(3))
    assert (only.first, only.last, only.id) == (0, 2, id_of(turn(1)))
    assert (only.began_at, only.ended_at, only.project) == (at(1), at(4), CWD)
    assert (only.boundary.signal, only.boundary.confidence, only.boundary.evidence) == (
        "conversation",
        1.0,
        "a new conversation",
    )


def test_a_turn_id_is_twelve_hex_digits_and_tells_agent_stream_and_prompt_apart() -> None:
    ids = {hash_turn(*names, turn(n)) for names in (("a", "s"), ("a", "t"), ("b", "s")) for n in (1, 2)}
    assert len(ids) == 6
    assert all(len(one) == 12 and int(one, 16) >= 0 for one in ids)


def test_a_conversation_that_began_with_clear_says_so_and_when() -> None:
    (only,) = segments(turn(2, marks=[Mark(kind="clear", at=at(1))]))
    assert (only.boundary.signal, only.boundary.confidence) == ("clear", 1.0)
    assert (only.boundary.evidence, only.cleared_at) == ("the conversation began with /clear", at(1))


@pytest.mark.parametrize(
    ("given_at", "begins"),
    [(at(4.5), [0, 2]), (at(5), [0, 2]), (at(5.5), [0, 3]), ("", [0, 2])],
    ids=["before the prompt of its turn", "with it", "after it: about the next", "untimed"],
)
def test_a_later_clear_cuts_before_the_next_prompt(given_at: str, begins: list[int]) -> None:
    found = segments(turn(1), turn(3), turn(5, marks=[Mark(kind="clear", at=given_at)]), turn(7))
    assert firsts(found) == begins
    assert (found[1].boundary.signal, found[1].cleared_at) == ("clear", given_at)


def test_a_clear_after_which_nobody_speaks_cuts_nothing() -> None:
    assert firsts(segments(turn(1), turn(3, marks=[Mark(kind="clear", at=at(4))]))) == [0]


@pytest.mark.parametrize("kind", ["compact", "interrupt", "api_error", "retry", "rollback", "pr"])
def test_no_other_mark_cuts(kind: Any) -> None:
    assert firsts(segments(turn(1), turn(2, marks=[Mark(kind=kind, at=at(2))]), turn(3))) == [0]


def test_time_alone_never_cuts() -> None:
    assert firsts(segments(turn(1), turn(700), gaps=[stay(1)])) == [0]


@pytest.mark.parametrize(
    ("prompt", "continues"),
    [({"kind": "plan", "previous": "s0"}, "s0"), ({"kind": "plan"}, ""), ({"previous": "s0"}, "")],
)
def test_only_an_accepted_plan_that_opens_a_conversation_continues_another(prompt: Any, continues: str) -> None:
    opened, later = segments(turn(1, **prompt), turn(2, kind="plan", previous="s9"), gaps=[shift(1)])
    assert (opened.continues, later.continues) == (continues, "")


# --- topics and people --------------------------------------------------------------------------


def test_a_topic_shift_cuts_with_the_confidence_of_the_judge() -> None:
    _, found = segments(turn(1), turn(2), gaps=[shift(1, 0.73)])
    assert (found.first, found.boundary.signal, found.boundary.confidence) == (1, "topic", 0.73)
    assert found.boundary.evidence == "topic shift: other words, other files"


def test_a_person_cuts_where_nothing_else_does() -> None:
    found = segments(turn(1), turn(2), turn(3), gaps=[stay(1, 0.0), stay(2, 0.0)], splits=[2])
    assert (firsts(found), signals(found), found[1].boundary.confidence) == ([0, 2], ["conversation", "person"], 1.0)


@pytest.mark.parametrize("place", [0, 1])
def test_a_person_may_split_off_what_a_conversation_begins_with(place: int) -> None:
    early = Turn(at=at(0), calls=(look("a.py"),))
    assert signals(segments(early, turn(1), turn(2), splits=[place])) == ["person"]


def test_a_split_at_a_turn_that_is_not_there_is_nothing() -> None:
    assert len(cut_segments(stream(turn(1), turn(2)), (), {"0" * 12}, RULES)) == 1


@pytest.mark.parametrize(
    ("splits", "marks", "gaps", "signal"),
    [
        ([1], [Mark(kind="clear", at=at(2))], [shift(1)], "person"),
        ([], [Mark(kind="clear", at=at(2))], [shift(1)], "clear"),
        ([], [], [shift(1)], "topic"),
        ([], [], [stay(1)], "commit"),
    ],
)
def test_of_several_reasons_the_surest_is_told(splits: list[int], marks: Any, gaps: Any, signal: str) -> None:
    turns = turn(1, edit("a.py"), COMMITTED), turn(2, marks=marks)
    assert signals(segments(*turns, gaps=gaps, splits=splits)) == ["conversation", signal]


# --- turns that nobody began ----------------------------------------------------------------------


def test_what_comes_before_the_first_prompt_belongs_to_it() -> None:
    early = Turn(at=at(0), ended_at=at(1), replies=(Reply(at=at(0), text="hello"),))
    (only,) = segments(early, turn(1), turn(2), gaps=[shift(1)])
    assert (only.first, only.last, only.id, only.began_at) == (0, 2, id_of(early), at(0))


def test_a_later_turn_without_a_prompt_belongs_to_what_came_before() -> None:
    silent = Turn(at=at(2), ended_at=at(3), calls=(edit("b.py"),))
    first, second = segments(turn(1), silent, turn(4), gaps=[shift(1), shift(2)])
    assert (first.last, second.first, first.files) == (1, 2, (f"{CWD}/b.py",))


SPENT = Spend(at=at(1), key=1, model="m", usage=Usage(output=5))


@pytest.mark.parametrize(
    ("silent", "count"),
    [
        (Turn(at=at(1), calls=(look("a.py"),)), 1),
        (Turn(at=at(1), replies=(Reply(at=at(1), text="hello"),)), 1),
        (Turn(at=at(1), spends=(SPENT,)), 1),
        (Turn(at=at(1), marks=(Mark(kind="clear", at=at(1)),)), 0),
        (Turn(at=at(1)), 0),
    ],
)
def test_a_stream_in_which_nobody_spoke_is_one_segment_if_anything_happened(silent: Turn, count: int) -> None:
    assert len(segments(silent, Turn(at=at(2)))) == count


def test_an_empty_stream_has_no_segments() -> None:
    assert segments() == []


# --- files ----------------------------------------------------------------------------------------


def test_files_are_those_that_were_modified_each_once_and_absolute() -> None:
    calls = edit("b.py"), edit(f"{CWD}/b.py"), edit("/etc/hosts"), edit("no.py", "rejected"), look("seen.py")
    (only,) = segments(turn(1, *calls), turn(2, wrote("src/../a.py", "~/notes", "*.log")))
    assert only.files == ("/etc/hosts", f"{CWD}/a.py", f"{CWD}/b.py", "~/notes")


def test_a_stream_from_windows_has_its_own_kind_of_path() -> None:
    drive = "C:\\Users\\ada\\till"
    (only,) = cut_segments(stream(turn(1, edit("src/a.py"), edit(f"{drive}\\src\\a.py")), cwd=drive), (), set(), RULES)
    assert only.files == (f"{drive}\\src\\a.py",)


def test_each_segment_has_its_own_files() -> None:
    found = segments(turn(1, edit("a.py")), turn(2, edit("b.py")), gaps=[shift(1)])
    assert [one.files for one in found] == [(f"{CWD}/a.py",), (f"{CWD}/b.py",)]


# --- commits --------------------------------------------------------------------------------------


@each_row(
    ("calls", "closes"),
    [
        ([edit("a.py"), COMMITTED], True),
        ([edit("a.py"), ran(COMMIT)], True),
        ([edit("a.py"), ran(commits=("1a2b3c4",))], True),
        ([edit("a.py"), ran(COMMIT, status="error")], True),
        ([wrote("a.py"), COMMITTED], True),
        ([ran(Run(program="echo", mutates=True, paths=("a.py",)), COMMIT)], True),
        ([edit("a.py"), ran(Run(program="git", purpose="commit", mutates=True, outcome="failed"))], False),
        ([edit("a.py"), ran(COMMIT, status="rejected")], False),
        ([edit("a.py"), ran(COMMIT, status="denied")], False),
        ([edit("a.py"), ran(COMMIT, status="open")], False),
        ([edit("a.py")], False),
        ([COMMITTED], False),
        ([COMMITTED, edit("a.py")], False),
        ([edit("a.py", "rejected"), COMMITTED], False),
        ([wrote("a.py", program="git"), COMMITTED], False),
    ],
    ids=[
        "edit, commit with id", "commit without id", "only an id", "the call failed later", "written by a command",
        "written in the same call", "commit failed", "rejected", "denied", "no result", "no commit",
        "nothing modified", "modified only later", "edit rejected", "only git add",
    ],
)  # fmt: skip
@each_row("mode", ["confirm", "hard", "off"])
def test_a_commit_of_what_the_session_modified_closes_it(calls: list[Call], closes: bool, mode: Any) -> None:
    found = segments(turn(1, *calls), turn(2), gaps=[stay(1)], rules=Boundaries(commit=mode))
    assert signals(found)[1:] == (["commit"] if closes and mode != "off" else [])


def test_only_the_commit_right_before_a_prompt_matters_for_it() -> None:
    turns = turn(1, edit("a.py"), COMMITTED), turn(2, look("a.py")), turn(3)
    (only,) = segments(*turns, gaps=[stay(1), stay(2)])
    assert [entry.effect for entry in only.went_on] == ["went_on"]


def test_a_commit_in_a_turn_that_nobody_began_counts_as_before_the_next_prompt() -> None:
    silent = Turn(at=at(2), ended_at=at(3), calls=(COMMITTED,))
    assert signals(segments(turn(1, edit("a.py")), silent, turn(4), gaps=[stay(2)])) == ["conversation", "commit"]


def test_what_an_earlier_session_modified_does_not_make_a_commit_a_boundary() -> None:
    found = segments(turn(1, edit("a.py")), turn(2, COMMITTED), turn(3), gaps=[shift(1), stay(2)])
    assert firsts(found) == [0, 1]


def test_the_evidence_of_a_commit_names_it_and_its_files() -> None:
    calls = *(edit(f"{name}.py") for name in "dabc"), COMMITTED
    hard = segments(turn(1, *calls), turn(2), rules=Boundaries(commit="hard"))[1].boundary
    confirmed = segments(turn(1, edit("a.py"), ran(COMMIT)), turn(2))[1].boundary
    assert (hard.confidence, hard.evidence) == (1.0, "commit 1a2b3c4 of a.py, b.py, c.py and 1 more")
    assert confirmed.evidence == "a commit of a.py; the next prompt turns to other work"


FOLLOW_UPS = [
    ("push it", (), 0.4, "the next prompt follows up on it"),
    ("Open a PR please", (), 0.4, "the next prompt follows up on it"),
    ("address the review comments", (), 0.4, "the next prompt follows up on it"),
    ("thing", (edit("a.py"),), 0.4, "the next turn is about a.py again"),
    ("thing", (edit(f"{CWD}/a.py", "rejected"),), 0.4, "the next turn is about a.py again"),
    ("thing", (look(f"{CWD}/a.py"),), 0.4, "the next turn is about a.py again"),
    ("thing", (wrote("./a.py"),), 0.4, "the next turn is about a.py again"),
    ("thing", (ran(Run(program="sed"), command="sed -n 1,9p src/../a.py"),), 0.4, "the next turn is about a.py again"),
    ("why does a.py: line 3 sleep?", (), 0.4, "the next turn is about a.py again"),
    ("为什么a.py很慢", (), 0.4, "the next turn is about a.py again"),
    ("look at @src/a.py.", (), 0.4, "the next turn is about a.py again"),
    ("thing", (look("b.py"), ran(COMMIT, PUSH), edit("b.py")), 0.4, "the next turn pushes it"),
    ("thing", (wrote("b.py", program="git"), ran(PR)), 0.4, "the next turn opens a pull request"),
    ("thing", (), COMMIT_FLOOR - 0.01, "the topic goes on (24% likely to be a new one)"),
    ("thing", (), COMMIT_FLOOR, ""),
    ("thing", (edit("b.py"), ran(PUSH)), 0.4, ""),
    ("thing", (wrote("b.py"), ran(PUSH)), 0.4, ""),
    ("thing", (edit("sub/a.py"), look("ba.py")), 0.4, ""),
    ("read data.py and a.python", (), 0.4, ""),
    ("the merge of two sorted lists is slow, " + "so rewrite it " * 20, (), 0.4, ""),
]


@each_row(("text", "calls", "chance", "why"), FOLLOW_UPS)
@each_row("mode", ["confirm", "hard", "off"])
def test_a_commit_closes_a_session_unless_the_next_prompt_goes_on_with_it(
    text: str, calls: tuple[Call, ...], chance: float, why: str, mode: Any
) -> None:
    turns = turn(1, edit("a.py"), COMMITTED), turn(2, *calls, text=text)
    found = segments(*turns, gaps=[stay(1, chance)], rules=Boundaries(commit=mode))
    closes = mode == "hard" or (mode == "confirm" and not why)
    assert signals(found) == ["conversation", "commit"][: 1 + closes]
    told = [entry.evidence for one in found for entry in one.went_on]
    assert told == ([f"commit 1a2b3c4 of a.py; {why}"] if mode == "confirm" and why else [])


def test_a_name_that_could_be_any_word_needs_its_folder() -> None:
    def goes_on(text: str) -> bool:
        return len(segments(turn(1, edit("bin/run"), COMMITTED), turn(2, text=text), gaps=[stay(1)])) == 1

    assert [goes_on(text) for text in ("let it run another thing", "bin/run is slow")] == [False, True]


def test_without_a_word_from_the_topic_judge_a_commit_closes() -> None:
    found = segments(turn(1, edit("a.py"), COMMITTED), turn(2))
    assert (signals(found), found[1].boundary.confidence) == (["conversation", "commit"], 0.5)


def test_work_that_went_on_is_told_with_session_and_confidence() -> None:
    turns = turn(1), turn(2, edit("a.py"), COMMITTED), turn(3, edit("a.py"), COMMITTED), turn(4, text="push")
    _, found = segments(*turns, gaps=[shift(1), stay(2, 0.25), stay(3, 0.1)])
    assert [(one.session, one.signal, one.confidence, one.stream) for one in found.went_on] == [
        (found.id, "commit", 0.75, "s1"),
        (found.id, "commit", 0.9, "s1"),
    ]


# --- whatever comes -------------------------------------------------------------------------------

CALLS = st.lists(
    st.sampled_from([edit("a.py"), edit("b.py"), look("a.py"), COMMITTED, ran(PUSH), wrote("c.py")]), max_size=4
)
MARKS = st.lists(st.builds(Mark, kind=st.sampled_from(["clear", "compact"]), at=st.integers(0, 12).map(at)), max_size=2)

GAPS = st.builds(
    Gap, turn=st.integers(0, 12), is_shift=st.booleans(), confidence=st.floats(0, 1), evidence=st.just("w")
)


@st.composite
def cuttings(draw: st.DrawFn) -> tuple[tuple[Turn, ...], list[Gap], set[str], Boundaries]:
    turns = []
    for n in range(draw(st.integers(0, 10))):
        text = draw(st.sampled_from(["mend it", "push it", "继续", "a.py", None]))
        turns.append(turn(n, *draw(CALLS), text=text, marks=draw(MARKS)))
    gaps = draw(st.lists(GAPS))
    splits = {id_of(one) for one in turns if draw(st.integers(0, 5)) == 0}
    return tuple(turns), gaps, splits, Boundaries(commit=draw(st.sampled_from(["confirm", "hard", "off"])))


@given(cuttings())
def test_every_turn_is_in_exactly_one_segment_in_order(cutting: Any) -> None:
    turns, gaps, splits, rules = cutting
    found = cut_segments(stream(*turns), gaps, splits, rules)
    covered = [n for one in found for n in range(one.first, one.last + 1)]
    assert covered == (list(range(len(turns))) if found else [])
    assert found or not any(one.prompt or one.calls for one in turns)
    assert all(turns[one.first].prompt for one in found[1:])
    assert all(one.id == id_of(turns[one.first]) and one.began_at <= one.ended_at for one in found)
    assert all(before.last + 1 == after.first for before, after in pairwise(found))
    assert found == cut_segments(stream(*turns), gaps, splits, rules)
