"""A session as an audit shows it: about twenty lines, harmless, and no word of the judge's."""

import re
from collections.abc import Iterable
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from assay.pipeline.verdicts import mark_session
from assay.reports.audit import ENDINGS, describe_progress, render_case, shorten_reply
from assay.reports.session import render_verdict
from assay.reports.summary import describe_truth, name_losses
from assay.scores.audit import order_sessions
from assay.sessions.endings import EndingKind
from assay.types import PersonVerdict, Session, Turn, VerdictKind
from tests.judges.make_turns import asked, checked, edit, session
from tests.make_report import report_of
from tests.make_sessions import session_of


def seen(turns: tuple[Turn, ...], width: int = 80, **more: Any) -> list[str]:
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(render_case(session_of(**more), turns, "answered", UTC, width))
    return captured.get().splitlines()


def talk(n: int, words: str = "weave a row") -> tuple[Turn, ...]:
    return session(*(asked(f"{words} {k}", edit("loom.py"), checked(), f"row {k} is woven") for k in range(1, n + 1)))


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 300])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_however_long_a_session_is_it_fits_a_screen(n: int, width: int):
    facts = {"files": [f"/loom/src/file{k}.py" for k in range(90)], "lines_added": 9, "lines_removed": 1}
    lines = seen(talk(n, "weave " * 400), width, facts=facts, title="weave " * 90)
    assert len(lines) <= (30 if width >= 80 else 45)
    assert max(map(len, lines)) <= width


def test_of_many_prompts_the_first_and_the_last_are_shown():
    text = "\n".join(seen(talk(20)))
    assert [n for n in range(1, 21) if f" {n}. weave" in text] == [1, 2, 3, 17, 18, 19, 20]
    assert "… 13 more …" in text


def test_a_single_prompt_has_more_room():
    told = "\n".join(seen(session(asked("weave " + "wool " * 50 + "then dye it", "done"))))
    assert "then dye" in told.replace("\n", " ") or told.count("wool") > 30


def test_a_long_reply_is_shown_by_its_beginning_and_its_end():
    text = shorten_reply("begin " + "word " * 500 + "end")
    assert (text.startswith("begin"), text.endswith("end"), " […] " in text, len(text) < 460) == (True,) * 4


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=120, max_size=200))
def test_what_is_cut_out_of_a_reply_begins_and_ends_between_words(words: list[str]):
    begins, _, ends = shorten_reply(" ".join(words)).partition(" […] ")
    assert words[: len(begins.split())] == begins.split()
    assert not ends or words[-len(ends.split()) :] == ends.split()


@pytest.mark.parametrize(
    ("counted", "told"), [(1, "`assay session mark ID landed`"), (4, "mark ID"), (5, "`assay audit 5`")]
)
def test_few_sessions_are_marked_and_not_drawn_at_random(counted: int, told: str):
    better = [line for line in describe_truth(report_of([session_of() for _ in range(counted)])) if "better: " in line]
    assert told in better[0]


def test_a_mere_thank_you_does_not_hide_what_was_said_before():
    turns = session(asked("why wool?", "Because it is warm, and it felts."), asked("thanks", "You are welcome."))
    assert "Because it is warm, and it felts. / You are welcome." in " ".join("\n".join(seen(turns, 200)).split())


def test_nothing_of_it_moves_a_terminal_and_nothing_says_what_the_judge_says():
    hostile = session(asked("weave \x1b[2J \u202e it", "woven \x1b]0;x\x07 \u202e"))
    told = "\n".join(seen(hostile, confidence=0.98, summary="it was completed", reasons=[]))
    assert not {char for char in told if char != "\n" and not char.isprintable()}
    assert not [word for word in ("0.98", "explicit", "completed", "crushed") if word in told]


def test_every_ending_has_its_words():
    assert set(EndingKind.__args__) <= ENDINGS.keys()  # type: ignore[attr-defined]


def test_a_report_without_an_audit_says_how_to_begin():
    assert describe_progress(report_of([session_of()]), 0) == [
        "nothing is audited yet; `assay audit 40` asks you about 40 sessions, drawn at random"
    ]


def read_text(part: Iterable[Text]) -> str:
    return "\n".join(line.plain for line in part)


def say(one: Session, *words: tuple[VerdictKind, bool]) -> Session:
    said = [
        PersonVerdict(turn=one.id, verdict=verdict, at=f"2026-03-0{n}", is_sampled=sampled)
        for n, (verdict, sampled) in enumerate(words, 1)
    ]
    return mark_session(one, said)


def test_where_a_person_cannot_tell_the_judges_doubt_is_not_told_as_theirs():
    one = say(session_of(confidence=0.97), ("unclear", True))
    told = read_text(render_verdict(one))
    assert "you: no telling, asked in an audit 2026-03-01" in told
    assert "so nothing is claimed" not in told
    doubted = session_of(judge_status="unclear", goal_complete=None, confidence=0.5)
    assert "so nothing is claimed" in read_text(render_verdict(doubted))
    assert name_losses(report_of([one, doubted]), "judged") == {"unclear to you": 1, "unclear": 1}


def test_a_mark_after_an_answer_is_told_beside_it():
    told = read_text(render_verdict(say(session_of(), ("not", True), ("landed", False))))
    assert "you: landed, marked 2026-03-02" in told
    assert "asked in an audit you said: did not land; that corrects the score" in told
    alone = read_text(render_verdict(say(session_of(), ("landed", False), ("not", True))))
    assert "you: did not land, asked in an audit 2026-03-02" in alone
    assert "that corrects the score" not in alone


@pytest.mark.parametrize(
    ("sessions", "landed", "unclear", "more"),
    [
        (100, 1, 19, "`assay audit 39` goes on with it"),
        (100, 5, 0, "`assay audit 20` goes on with it"),
        (25, 1, 19, "`assay audit 25` goes on with it"),
        (20, 0, 20, "nothing is left to ask about"),
    ],
)
def test_advice_to_go_on_names_a_number_that_asks_and_is_enough(sessions: int, landed: int, unclear: int, more: str):
    drawn = order_sessions([session_of() for _ in range(sessions)], "wool")
    for n in range(landed + unclear):
        drawn[n] = say(drawn[n], ("landed" if n < landed else "unclear", True))
    found = report_of(drawn, seed="wool")
    told = describe_truth(found)
    assert [line.rpartition("; ")[2] for line in told if "does not correct it yet" in line] == [more]
    assert describe_progress(found, 20)[-1].endswith(more)
    better = [line for line in told if line.startswith("better: ")]
    numbers = {number for line in told for number in re.findall("`assay audit ([0-9]+)`", line)}
    assert (len(numbers), "`assay audit" in "".join(better)) == ((0, False) if sessions == 20 else (1, True))
