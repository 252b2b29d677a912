"""The judge that asks a model: dialogues that yield questions and are sent answers; others do the asking."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from msgspec.structs import replace

from assay.errors import JudgeError
from assay.judges import criteria
from assay.judges.citations import sanitize_reply, shorten_text
from assay.judges.explicit_evidence import build_record
from assay.judges.model import quality, suspicious, trial, verdicts
from assay.judges.model.prompt_files import format_numbers, load_prompt, parse_numbers, render_system, render_task
from assay.judges.model.replies import (
    SHAPES,
    ModelReply,
    SessionReply,
    TopicsReply,
    UnusableReply,
    build_schema,
    find_session_fault,
    find_topics_fault,
    parse_reply,
)
from assay.judges.model.session_facts import list_facts
from assay.judges.model.verdicts import SessionMaterial, Vote, build_rubric, count_votes, judge_vote, load_thresholds
from assay.llm import UNASKED, Answers, Dialogue, Question, Trouble
from assay.resources import hash_parts
from assay.sessions import rendering, speech
from assay.sessions.redaction import Redactor
from assay.types import CleanText, Failure, Gap, OutcomeJudgement, Prompt, RubricJudgement, Stream, Turn

CONTRACT = 2
"""Raised when questions are put in another way: all are asked again. Files count by themselves."""
CHECKING = 3
"""Raised when answers are checked in another way: nothing is asked again."""
REASON = 160
MOST_GAPS = 150
"""Steps that a topic question asks about: those before are left to whoever has no answer."""
GAP_TOKENS = 40
"""What a reply may take for each of them."""
UNUSABLE = "the model's reply can't be used: {}"
TURNS = re.compile(r"^Judge each of these turns: (.+)$", re.MULTILINE)
NO_OUTCOME = OutcomeJudgement(goal_complete=None, confidence=None, evidence=None)


class NoAnswer(JudgeError):
    """A question without an answer that can be used; without a trouble it was not even asked."""

    def __init__(self, why: str = "", trouble: Trouble | None = None) -> None:
        super().__init__(why)
        self.trouble = trouble

    @property
    def is_unasked(self) -> bool:
        """Whether the trouble lies with whoever should be asked: the same question may be answered another time."""
        return self.trouble is None or self.trouble in UNASKED


class ModelJudge:
    """Judges streams and sessions by what a model answers."""

    def __init__(self, model: str, tokens: int, votes: int, redactor: Redactor) -> None:
        self.model, self.tokens, self.votes, self.redactor = model, tokens, votes, redactor

    def judge_topics(self, stream: Stream, about: str = "", project: str = "") -> Dialogue[tuple[Gap, ...]]:
        """A gap for every step from one prompt to the next; nothing is asked where there is no step."""
        later = [n for n, turn in enumerate(stream.turns) if turn.prompt][1:][-MOST_GAPS:]
        if not later:
            return ()
        question = self.build_question(
            "topic",
            self.redactor.text(rendering.render_prompts(stream.turns, self.tokens, stream.about.branch)),
            render_task("topic", turns=format_numbers([n + 1 for n in later])),
        )
        room = question.most_output + GAP_TOKENS * len(later)
        asked = replace(question, most_output=room, is_alone=True, about=about, project=project)
        said = read_answer(asked, (yield [asked]))
        assert isinstance(said, TopicsReply)
        return build_gaps(said)

    def judge_session(
        self,
        turns: Sequence[Turn],
        failures: Sequence[Failure],
        after: Prompt | None,
        about: str = "",
        project: str = "",
    ) -> Dialogue[tuple[RubricJudgement, OutcomeJudgement]]:
        """What the session was after, how well it was asked for, and whether it was reached, by all votes."""
        record = build_record(turns, after)
        facts = list_facts(record, failures)
        question = self.build_question(
            "session",
            self.redactor.text(rendering.render_session(turns, after, self.tokens)),
            render_task("session", facts="\n".join(f"- {line}" for line in facts)),
        )
        asked = [
            replace(question, sample=sample, is_alone=self.votes == 1, about=about, project=project)
            for sample in range(self.votes)
        ]
        answers = yield asked
        votes = [read_vote(one, answers) for one in asked]
        return conclude_session(votes, SessionMaterial(record, failures, facts))

    def build_question(self, job: str, material: CleanText, task: CleanText) -> Question:
        return Question(
            job=job,
            version=hash_version(job, self.model, self.tokens),
            model=self.model,
            system=render_system(),
            material=material,
            task=task,
            schema=build_schema(job),
            most_output=load_prompt(job).head.most_output,
        )


# --- what answers come to -----------------------------------------------------------------------


def read_answer(question: Question, answers: Answers) -> ModelReply:
    """The reply to a question."""
    answer = answers.get(question.key)
    if answer is None:
        raise NoAnswer
    if answer.trouble:
        why = answer.why or answer.trouble
        raise NoAnswer(UNUSABLE.format(why) if answer.trouble == "invalid" else why, answer.trouble)
    try:
        return parse_usable_reply(question, answer.text)
    except UnusableReply as error:
        raise NoAnswer(UNUSABLE.format(error), "invalid") from None


def read_vote(question: Question, answers: Answers) -> SessionReply | NoAnswer:
    """A vote, or why there is none; all must have been asked."""
    try:
        said = read_answer(question, answers)
    except NoAnswer as error:
        if error.is_unasked:
            raise
        return error
    assert isinstance(said, SessionReply)
    return said


def conclude_session(
    votes: Sequence[SessionReply | NoAnswer], material: SessionMaterial
) -> tuple[RubricJudgement, OutcomeJudgement]:
    """The rubric by the first of those votes that agree on the intent most, the outcome by all."""
    said = [one for one in votes if isinstance(one, SessionReply)]
    if not said:
        raise next(one for one in votes if isinstance(one, NoAnswer))
    (intent, _), *_ = Counter(one.intent for one in said).most_common()
    rubric = build_rubric(next(one for one in said if one.intent == intent), material.record.turns)
    if rubric.intent is None:
        return rubric, NO_OUTCOME
    found: list[Vote | str] = []
    for one in votes:
        try:
            found.append(str(one) if isinstance(one, NoAnswer) else judge_vote(one, rubric.intent, material))
        except JudgeError as error:
            found.append(str(error))
    try:
        return rubric, count_votes(found, material.failures)
    except JudgeError as error:
        return rubric, replace(NO_OUTCOME, ungraded=str(error))


def build_gaps(said: TopicsReply) -> tuple[Gap, ...]:
    """A gap for every turn that was asked about."""
    least = load_thresholds().topic
    return tuple(
        Gap(
            turn=one.turn - 1,
            is_shift=one.p >= least,
            confidence=round(one.p, 3),
            evidence=shorten_text(sanitize_reply(one.reason), REASON) or "goes on",
        )
        for one in sorted(said.gaps, key=lambda one: one.turn)
    )


# --- versions -----------------------------------------------------------------------------------


def versions(model: str, tokens: int, votes: int) -> dict[str, str]:
    """A short hash per job, over all that decides its answers: the question, our checks, and how votes are counted."""
    ours = verdicts.hash_thresholds()
    checks = [str(CHECKING), suspicious.hash_patterns(), speech.hash_phrases(), str(votes)]
    return {
        "topic": hash_parts(hash_version("topic", model, tokens), ours),
        "session": hash_parts(hash_version("session", model, tokens), ours, *checks),
    }


@cache
def hash_version(job: str, model: str, tokens: int) -> str:
    """Of a question, by which its answer is kept: a vote more, or a stricter check, asks nothing again."""
    texts = [load_prompt("system").source, load_prompt(job).source, build_schema(job)]
    if job == "session":
        texts.append(criteria.read_criteria())
    return hash_parts(str(CONTRACT), str(rendering.VERSION), model, str(tokens), *texts)


# --- whether a reply can be used ----------------------------------------------------------------


def check_reply(question: Question, text: str) -> str:
    """What is wrong with a reply, in a line the model can act on; nothing if it can be used."""
    if question.job == quality.JOB:
        return quality.check_reply(question, text)
    if question.job == trial.JOB:
        return trial.check_reply(text)
    try:
        parse_usable_reply(question, text)
    except UnusableReply as error:
        return str(error)
    return ""


def parse_usable_reply(question: Question, text: str) -> ModelReply:
    """The reply to a question, if it can be used."""
    said = parse_reply(text, SHAPES[question.job])
    match said:
        case TopicsReply():
            why = find_topics_fault(said, list_asked_turns(question))
        case SessionReply():
            why = find_session_fault(said)
        case _:
            why = ""
    if why:
        raise UnusableReply(why)
    return said


def list_asked_turns(question: Question) -> frozenset[int]:
    """The turns that a topic question asks about, as its own text names them."""
    found = TURNS.search(question.task)
    return parse_numbers(found[1]) if found else frozenset()
