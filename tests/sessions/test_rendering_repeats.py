"""No text stands in a record twice: a plan, a replayed turn, a file read again."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.sessions.rendering import estimate_tokens, render_prompts, render_session
from assay.sessions.rendering.repeats import LEAST_REPEAT, drop_repeats
from tests.judges.make_turns import QUICK, any_turns, asked, edit, session, shell, tool
from tests.redteam.frame import read

PLAN = "# The plan\n" + "\n".join(f"{n}. Weave row {n} of the scarf with blue wool" for n in range(1, 30))
FILE = "\n".join(f"def weave_{n}(loom): return loom.rows[{n}]" for n in range(40))
LARGE = 24_000


def count(text: str, line: str) -> int:
    return text.count(line)


def test_a_plan_is_shown_once_however_often_it_is_told() -> None:
    accepted = replace(tool("plan", PLAN), output=f"User has approved your plan:\n{PLAN}")
    turns = session(
        asked("Plan the scarf", PLAN, accepted),
        asked(PLAN, edit("scarf.py"), "Woven.", kind="plan"),
        asked("go on", f"I follow it:\n{PLAN}"),
    )
    text = render_session(turns, None, LARGE)
    read(text)
    assert count(text, "| 17. Weave row 17 of the scarf") == 1
    assert "lines as in turn 1" in text


def test_a_file_read_again_is_shown_once() -> None:
    turns = session(*[asked(f"look {n}", shell("cat loom.py", output=FILE), "Seen.") for n in range(3)])
    text = render_session(turns, None, LARGE)
    assert count(text, "def weave_20") == 1
    assert "... 40 lines as in turn 1" in text


def test_a_prompt_that_is_replayed_is_shown_once_to_the_topic_judge_too() -> None:
    spec = "Please weave the scarf as follows, and mind the edges. " * 6
    text = render_prompts(session(asked(spec, "No."), asked("why?", "So."), asked(spec, "Yes.")), LARGE)
    assert count(text, "mind the edges. Please weave") == 5
    assert "... 1 lines as in turn 1" in text


def test_short_lines_and_lines_of_ours_stay() -> None:
    turns = session(*[asked("go on", edit("a.py"), shell("ls", output="a.py"), "Done.") for _ in range(4)])
    text = render_session(turns, None, LARGE)
    assert "as in turn" not in text
    assert count(text, "| go on") == 4


def test_room_that_is_saved_is_used_for_what_was_left_out() -> None:
    turns = session(*[asked(f"look {n}\n{FILE}", shell("cat loom.py", output=FILE), f"{FILE}\n{n}") for n in range(9)])
    whole = render_session(turns, None, LARGE)
    assert "shortened" not in render_session(turns, None, estimate_tokens(whole) + 200)


@QUICK
@given(turns=any_turns(), tokens=st.integers(500, 4_000))
def test_the_budget_and_the_frame_hold(turns, tokens) -> None:  # type: ignore[no-untyped-def]
    text = render_session(turns * 3, None, tokens)
    read(text)
    assert estimate_tokens(text) <= max(tokens, 500)


@given(st.lists(st.sampled_from(["| " + "a" * 130, "| " + "b" * 130, "| c", "- ours", "[turn 2] x"]), max_size=30))
def test_nothing_is_lost_that_did_not_stand_before(lines: list[str]) -> None:
    kept = drop_repeats(lines)
    assert len("".join(kept)) <= len("".join(lines))
    assert {line for line in lines if len(line) > 12} <= {*kept}
    assert [line for line in lines if not line.startswith("|")] == [
        line for line in kept if not line.startswith(("|", "..."))
    ]
    assert LEAST_REPEAT > 130
