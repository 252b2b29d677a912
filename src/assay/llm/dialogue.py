"""Dialogues: whoever wants to know something yields questions and is sent what became of them, until it is done.

Asking, estimating, listing what would leave, and replaying what was answered before all hold the same dialogue; they
differ in who answers. A question that nobody answers is missing from what is sent.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from assay.llm.contract import Question, QuestionResult

T = TypeVar("T")
Answers = Mapping[str, QuestionResult]
"""What became of questions, by their keys."""
Dialogue: TypeAlias = Generator[Sequence[Question], Answers, T]
Answering = Callable[[Sequence[Question]], Answers]


def join_dialogues(dialogues: Sequence[Dialogue[T]]) -> Dialogue[list[T]]:
    """Several dialogues as one: what all of them want to know next is asked together."""
    ended: dict[int, T] = {}
    wanted: dict[int, Sequence[Question]] = {}

    def go_on(n: int, answers: Answers | None) -> None:
        try:
            wanted[n] = next(dialogues[n]) if answers is None else dialogues[n].send(answers)
        except StopIteration as end:
            wanted.pop(n, None)
            ended[n] = end.value

    for n in range(len(dialogues)):
        go_on(n, None)
    while wanted:
        answers = yield [one for some in wanted.values() for one in some]
        for n in list(wanted):
            go_on(n, answers)
    return [ended[n] for n in range(len(dialogues))]


def hold_dialogue(dialogue: Dialogue[T], answer: Answering) -> T:
    """What a dialogue comes to, by whoever answers."""
    try:
        wanted = next(dialogue)
        while True:
            wanted = dialogue.send(answer(wanted))
    except StopIteration as end:
        found: T = end.value
        return found


def answer_nothing(questions: Sequence[Question]) -> Answers:
    """Nobody is asked: guesses have to do."""
    return {}


def take_notes(answer: Answering, notes: list[Question]) -> Answering:
    """Who answers, with every question noted."""

    def answer_noting(questions: Sequence[Question]) -> Answers:
        notes.extend(questions)
        return answer(questions)

    return answer_noting
