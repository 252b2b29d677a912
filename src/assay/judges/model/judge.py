"""The judge that asks a model. It makes questions and reads answers; whoever holds it does the asking in between."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import cast

from assay.errors import JudgeError
from assay.facts import languages
from assay.judges import Judge, criteria
from assay.judges.citations import sanitize_reply, select_standing, shorten_text
from assay.judges.explicit_evidence import SessionRecord, build_record
from assay.judges.model import quality, suspicious, trial, verdicts
from assay.judges.model.prompt_files import (
    describe_facts,
    describe_intent,
    find_example,
    format_numbers,
    load_prompt,
    parse_numbers,
    render_system,
    render_task,
)
from assay.judges.model.replies import (
    SHAPES,
    LanguagesReply,
    ModelReply,
    OutcomeReply,
    QuotedTurn,
    RubricReply,
    TopicsReply,
    UnusableReply,
    build_schema,
    parse_reply,
)
from assay.judges.model.verdicts import COPIED, RATIONALE, Vote, count_votes, judge_vote
from assay.llm import Question, QuestionResult
from assay.plugins import load_module
from assay.resources import load_table
from assay.sessions import rendering, speech
from assay.sessions.calls import list_calls, list_made_edits
from assay.sessions.redaction import Redactor
from assay.types import (
    CleanText,
    Failure,
    Gap,
    Intent,
    LanguageJudgement,
    OutcomeJudgement,
    Prompt,
    Reason,
    RubricJudgement,
    Stream,
    Turn,
)

CONTRACT = 1
"""Raised when questions are put in another way: all are asked again. Files count by themselves."""
CHECKING = 2
"""Raised when answers are checked in another way: nothing is asked again."""
GOES_ON = 0.05
"""Chance of a new goal where the model names none."""
REASON = 160
NOT_ASKED_YET = "not asked yet"
UNUSABLE = "the model's reply can't be used: {}"
EVEN = 0.5
TURNS = re.compile(r"^Only these turns can begin a new goal: (.+)$", re.MULTILINE)
NAME = re.compile(r"[\w#+.*/' -]{1,30}")
MOST_CITED = 50


class ModelJudge:
    """Judges by the answers it was given; the questions of those that are missing are in `wanted`.

    With `guess`, the offline judge answers in place of what is missing: for an estimate of what will be asked.
    """

    def __init__(
        self,
        model: str,
        answers: Mapping[str, QuestionResult],
        tokens: int,
        votes: int,
        redactor: Redactor,
        guess: bool = False,
    ) -> None:
        self.model, self.answers, self.tokens, self.votes = model, answers, tokens, votes
        self.redactor, self.guess = redactor, guess
        self.offline = cast(Judge, load_module("judges", "offline"))
        """Judges what no model needs to be asked of."""
        self.wanted: list[Question] = []
        """What came up and is not answered yet; whoever asks it may empty the list."""
        self._rendered: tuple[Sequence[Turn], Prompt | None, CleanText] | None = None

    def versions(self) -> dict[str, str]:
        """A short hash per job: another one means that scores may differ."""
        return versions(self.model, self.tokens, self.votes)

    def topic(self, stream: Stream) -> tuple[Gap, ...]:
        """A gap for every step from one prompt to the next; nothing is asked where there is no step."""
        later = [n for n, turn in enumerate(stream.turns) if turn.prompt][1:]
        if not later:
            return ()
        material = self.redactor.text(rendering.render_prompts(stream.turns, self.tokens))
        said = self.read_answer(
            self.build_question("topic", material, render_task("topic", turns=format_numbers([n + 1 for n in later])))
        )
        if not isinstance(said, TopicsReply):
            return self.offline.topic(stream)
        return build_gaps(said, later)

    def language(self, turns: Sequence[Turn], after: Prompt | None = None) -> LanguageJudgement:
        """What the person writes in, what the code is written in."""
        if not any(turn.prompt for turn in turns):
            return self.offline.language(turns)
        said = self.read_answer(
            self.build_question("language", self.render_session(turns, after), render_task("language"))
        )
        if not isinstance(said, LanguagesReply):
            return self.offline.language(turns)
        usual = {name.casefold(): name for name in languages.load_languages().values()}
        named = said.programming and usual.get(said.programming.casefold(), said.programming.strip())
        return LanguageJudgement(natural=said.natural, programming=named or None)

    def rubric(self, turns: Sequence[Turn], after: Prompt | None = None) -> RubricJudgement:
        """What the session was after and how well it was asked for; where nobody asked, no model is."""
        if not any(turn.prompt for turn in turns):
            return self.offline.rubric(turns)
        said = self.read_answer(self.build_question("rubric", self.render_session(turns, after), render_task("rubric")))
        return build_rubric(said, turns, after) if isinstance(said, RubricReply) else self.offline.rubric(turns)

    def outcome(
        self, turns: Sequence[Turn], intent: Intent, failures: Sequence[Failure], after: Prompt | None
    ) -> OutcomeJudgement:
        """Whether the goal was completed, by most votes."""
        if not any(turn.replies or turn.calls or turn.marks for turn in turns):
            raise JudgeError("nothing but the prompt is there")
        record = build_record(turns, after)
        asked = render_task("outcome", facts=describe_facts(record, failures), **describe_intent(intent))
        material = self.render_session(turns, after)
        questions = [self.build_question("outcome", material, asked, sample) for sample in range(self.votes)]
        missing = [question for question in questions if not self.has_answer(question)]
        if missing:
            if self.guess:
                return self.offline.outcome(turns, intent, failures, after)
            raise JudgeError(NOT_ASKED_YET)
        votes = [self.read_vote(question, record, intent, failures) for question in questions]
        return count_votes(votes, failures)

    # --- questions and answers ----------------------------------------------------------------

    def render_session(self, turns: Sequence[Turn], after: Prompt | None) -> CleanText:
        """The session as a model sees it: rendered once for all jobs, and here, last of all, redacted."""
        if self._rendered is None or self._rendered[0] is not turns or self._rendered[1] is not after:
            self._rendered = (turns, after, self.redactor.text(rendering.render_session(turns, after, self.tokens)))
        return self._rendered[2]

    def build_question(self, job: str, material: CleanText, asked: CleanText, sample: int = 0) -> Question:
        return Question(
            job=job,
            version=hash_version(job, self.model, self.tokens),
            model=self.model,
            system=render_system(),
            material=material,
            task=asked,
            schema=build_schema(job),
            most_output=load_prompt(job).head.most_output,
            sample=sample,
            is_alone=job == "topic",
        )

    def has_answer(self, question: Question) -> bool:
        """Whether it is answered; if not, it is wanted."""
        is_answered = question.key in self.answers
        if not is_answered and question not in self.wanted:
            self.wanted.append(question)
        return is_answered

    def read_answer(self, question: Question) -> ModelReply | None:
        """The reply to a question; `None` where a guess must do."""
        if not self.has_answer(question):
            if self.guess:
                return None
            raise JudgeError(NOT_ASKED_YET)
        answer = self.answers[question.key]
        if answer.trouble == "invalid":
            raise JudgeError(UNUSABLE.format(answer.why))
        if answer.trouble:
            raise JudgeError(answer.why or answer.trouble)
        try:
            return parse_usable_reply(question, answer.text)
        except UnusableReply as error:
            raise JudgeError(UNUSABLE.format(error)) from None

    def read_vote(
        self, question: Question, record: SessionRecord, intent: Intent, failures: Sequence[Failure]
    ) -> Vote | str:
        """A vote, or why there is none."""
        try:
            said = self.read_answer(question)
            assert isinstance(said, OutcomeReply)
            return judge_vote(said, record, intent, failures)
        except JudgeError as error:
            return str(error)


# --- what replies come to ---------------------------------------------------------------------


def build_gaps(said: TopicsReply, later: Sequence[int]) -> tuple[Gap, ...]:
    """A gap for every later prompt: those that the model names, and the others, where the goal goes on."""
    named = {shift.turn - 1: shift for shift in said.shifts}
    found = []
    for turn in later:
        shift = named.get(turn)
        confidence = round(shift.confidence, 3) if shift else GOES_ON
        why = shorten_text(sanitize_reply(shift.reason), REASON) if shift else ""
        found.append(Gap(turn=turn, is_shift=confidence >= EVEN, confidence=confidence, evidence=why or "goes on"))
    return tuple(found)


def build_rubric(said: RubricReply, turns: Sequence[Turn], after: Prompt | None) -> RubricJudgement:
    """The rubric with what is ours: which checks are asked, and the letter."""
    if said.rationale.strip() == find_example("rubric"):
        raise JudgeError(COPIED)
    title, summary = (
        shorten_text(sanitize_reply(said.title), criteria.LONGEST_TITLE),
        shorten_text(sanitize_reply(said.summary), criteria.LONGEST_SUMMARY),
    )
    why = Reason(kind="rationale", turn=0, quote=shorten_text(sanitize_reply(said.rationale), RATIONALE), weight=0.0)
    if said.intent == "none":
        if any(list_made_edits(call) for call in list_calls(turns)):
            raise JudgeError("the judge sees no goal, though files were changed")
        return RubricJudgement(intent=None, checks={}, grade=None, title=title, summary=summary, reasons=(why,))
    answered = {name: getattr(said.checks, name) for name in criteria.NOT_ASKED}
    checks = criteria.select_checks(said.intent, answered)
    cited = [
        Reason(kind="cited", turn=one.turn, quote=one.quote, weight=1.0)
        for one in select_standing(said.citations, turns, after)
        if not suspicious.is_suspicious(one.quote)
    ]
    return RubricJudgement(
        intent=said.intent,
        checks=checks,
        grade=criteria.grade_checks(checks),
        title=title,
        summary=summary,
        reasons=(*cited, why),
    )


# --- versions ---------------------------------------------------------------------------------


def versions(model: str, tokens: int, votes: int) -> dict[str, str]:
    """A short hash per job, over all that decides its answers: the question, our checks, and how votes are counted."""
    checks = [str(CHECKING), suspicious.hash_patterns(), verdicts.hash_wordings(), speech.hash_phrases()]
    asked = {job: hash_version(job, model, tokens) for job in SHAPES}
    return asked | {
        "rubric": hash_parts(asked["rubric"], *checks[:2]),
        "outcome": hash_parts(asked["outcome"], *checks, str(votes)),
    }


@cache
def hash_version(job: str, model: str, tokens: int) -> str:
    """Of a question, by which its answer is kept: a vote more, or a stricter check, asks nothing again."""
    texts = [load_prompt("system").source, load_prompt(job).source, build_schema(job)]
    if job in ("rubric", "outcome"):
        texts.append(criteria.read_criteria())
    return hash_parts(str(CONTRACT), str(rendering.VERSION), model, str(tokens), *texts)


def hash_parts(*parts: str | bytes) -> str:
    whole = sha256()
    for part in parts:
        said = part.encode() if isinstance(part, str) else part
        whole.update(len(said).to_bytes(8, "big") + said)
    return whole.hexdigest()[:12]


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
    if why := find_fault(said, question):
        raise UnusableReply(why)
    return said


def find_fault(said: ModelReply, question: Question) -> str:
    match said:
        case TopicsReply():
            return find_topics_fault(said, list_asked_turns(question))
        case LanguagesReply():
            return find_languages_fault(said)
        case RubricReply():
            return find_rubric_fault(said)
        case OutcomeReply():
            return find_outcome_fault(said)
    return ""


def list_asked_turns(question: Question) -> frozenset[int]:
    """The turns that a topic question asks about, as its own text names them."""
    found = TURNS.search(question.task)
    return parse_numbers(found[1]) if found else frozenset()


def find_topics_fault(said: TopicsReply, asked: frozenset[int]) -> str:
    named = [shift.turn for shift in said.shifts]
    if not asked.issuperset(named):
        return "`shifts` names a turn that can't begin a new goal; take the numbers that the task lists"
    if len(set(named)) < len(named):
        return "`shifts` names a turn twice"
    return "" if all(is_share(shift.confidence) for shift in said.shifts) else "`confidence` must be from 0 to 1"


def find_languages_fault(said: LanguagesReply) -> str:
    if said.natural is not None and said.natural not in load_language_codes():
        return "`natural` must be a two-letter ISO 639-1 code in lower case, or null"
    if said.programming is not None and not NAME.fullmatch(said.programming):
        return "`programming` must be the name of one programming language, or null"
    return ""


def find_rubric_fault(said: RubricReply) -> str:
    if not said.title.strip() or not said.summary.strip():
        return "`title` and `summary` must not be empty"
    return find_citations_fault(said.citations)


def find_outcome_fault(said: OutcomeReply) -> str:
    if not is_share(said.confidence):
        return "`confidence` must be from 0 to 1"
    if said.goal_complete != (said.confidence >= EVEN):
        return (
            "`confidence` is how likely it is that the goal was completed: "
            "at least 0.5 when goal_complete is true, below 0.5 when it is false"
        )
    if not said.rationale.strip():
        return "`rationale` must not be empty"
    if said.evidence != "silent" and not said.citations:
        return "explicit and failure need at least one citation: the exact words and the number of their turn"
    return find_citations_fault(said.citations)


def find_citations_fault(cited: Iterable[QuotedTurn]) -> str:
    return "there are far too many citations" if len(list(cited)) > MOST_CITED else ""


def is_share(number: float) -> bool:
    return 0 <= number <= 1


@cache
def load_language_codes() -> frozenset[str]:
    """The language codes there are."""
    table = load_table("assay.judges.model", "languages.toml", dict[str, str])
    return frozenset(table["codes"].split())
