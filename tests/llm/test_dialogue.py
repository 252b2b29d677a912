"""Dialogues: several are one, and whoever answers holds them all in the same way."""

from collections.abc import Sequence

import pytest

from assay.llm import Answers, Dialogue, Question, QuestionResult, hold_dialogue, join_dialogues
from assay.llm.dialogue import answer_nothing, take_notes
from assay.types import CleanText
from tests.llm.questions import question


def wish(text: str) -> Question:
    return question(task=CleanText(text))


def asking(*rounds: str) -> Dialogue[list[str]]:
    """Asks one thing after the other, and comes to what it was told."""
    told = []
    for text in rounds:
        answers = yield [one := wish(text)]
        told.append(answers[one.key].text if one.key in answers else "?")
    return told


class Clerk:
    """Answers every question with its own words, and keeps the rounds."""

    def __init__(self) -> None:
        self.rounds: list[list[str]] = []

    def answer(self, questions: Sequence[Question]) -> Answers:
        self.rounds.append([one.task for one in questions])
        return {
            one.key: QuestionResult(key=one.key, job=one.job, version=one.version, text=one.task.upper())
            for one in questions
        }


def test_a_dialogue_comes_to_what_its_answers_make_of_it() -> None:
    clerk = Clerk()
    assert hold_dialogue(asking("warp", "weft"), clerk.answer) == ["WARP", "WEFT"]
    assert clerk.rounds == [["warp"], ["weft"]]


def test_several_dialogues_are_asked_together_however_long_each_is() -> None:
    clerk = Clerk()
    joined = join_dialogues([asking("a1", "a2", "a3"), asking(), asking("b1")])
    assert hold_dialogue(joined, clerk.answer) == [["A1", "A2", "A3"], [], ["B1"]]
    assert clerk.rounds == [["a1", "b1"], ["a2"], ["a3"]]


def test_nothing_is_asked_where_nobody_wants_to_know() -> None:
    clerk = Clerk()
    assert hold_dialogue(join_dialogues([asking(), asking()]), clerk.answer) == [[], []]
    assert clerk.rounds == []


def test_a_guess_notes_what_would_be_asked_and_goes_on_without_answers() -> None:
    notes: list[Question] = []
    assert hold_dialogue(asking("warp", "weft"), take_notes(answer_nothing, notes)) == ["?", "?"]
    assert [one.task for one in notes] == ["warp", "weft"]


def test_what_fails_inside_a_dialogue_comes_out() -> None:
    def failing() -> Dialogue[None]:
        yield [wish("warp")]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        hold_dialogue(join_dialogues([asking("a"), failing()]), Clerk().answer)


def test_whom_a_question_is_about_is_no_part_of_its_key() -> None:
    assert wish("warp").key == question(task=CleanText("warp"), about="s1", project="/loom").key
