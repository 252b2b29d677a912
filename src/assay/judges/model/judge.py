"""The judge that asks a model. It makes questions and reads answers; whoever holds it does the asking in between."""

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256

from assay.errors import JudgeError
from assay.facts import languages
from assay.judges import criteria, offline
from assay.judges.model import rationale, suspicious
from assay.judges.model.checking import EVEN, fitting
from assay.judges.model.citing import standing
from assay.judges.model.grounds import Record, recorded
from assay.judges.model.plain import plain
from assay.judges.model.replies import SHAPES, Languages, OffSchema, Outcome, Rubric, Said, Topics, schema
from assay.judges.model.telling import told
from assay.judges.model.verdicts import COPIED, RATIONALE, Vote, decided, vote
from assay.judges.model.wording import about, example, numbers, system, task, wording
from assay.judges.offline.rubric import SUMMARY, TITLE, shortened
from assay.llm import Question, QuestionResult
from assay.sessions import rendering, speech
from assay.sessions.calls import all_calls, made_edits
from assay.sessions.redaction import Redactor
from assay.types import (
    Clean,
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


class ModelJudge:
    """Answers from `answers`; what is not there yet is in `wanted`.

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
        self.wanted: list[Question] = []
        """What came up and is not answered yet; whoever asks it may empty the list."""
        self._shown: tuple[Sequence[Turn], Prompt | None, Clean] | None = None

    def versions(self) -> dict[str, str]:
        """A short hash per job: another one means that scores may differ."""
        return versions(self.model, self.tokens, self.votes)

    def topic(self, stream: Stream) -> tuple[Gap, ...]:
        """A gap for every step from one prompt to the next; nothing is asked where there is no step."""
        later = [n for n, turn in enumerate(stream.turns) if turn.prompt][1:]
        if not later:
            return ()
        material = self.redactor.text(rendering.prompts(stream.turns, self.tokens))
        said = self.told(self.question("topic", material, task("topic", turns=numbers([n + 1 for n in later]))))
        if not isinstance(said, Topics):
            return offline.topic(stream)
        return gaps(said, later)

    def language(self, turns: Sequence[Turn], after: Prompt | None = None) -> LanguageJudgement:
        """What the person writes in, what the code is written in."""
        if not any(turn.prompt for turn in turns):
            return offline.language(turns)
        said = self.told(self.question("language", self.shown(turns, after), task("language")))
        if not isinstance(said, Languages):
            return offline.language(turns)
        usual = {name.casefold(): name for name in languages.table().values()}
        named = said.programming and usual.get(said.programming.casefold(), said.programming.strip())
        return LanguageJudgement(natural=said.natural, programming=named or None)

    def rubric(self, turns: Sequence[Turn], after: Prompt | None = None) -> RubricJudgement:
        """What the session was after and how well it was asked for; where nobody asked, no model is."""
        if not any(turn.prompt for turn in turns):
            return offline.rubric(turns)
        said = self.told(self.question("rubric", self.shown(turns, after), task("rubric")))
        return graded(said, turns, after) if isinstance(said, Rubric) else offline.rubric(turns)

    def outcome(
        self, turns: Sequence[Turn], intent: Intent, failures: Sequence[Failure], after: Prompt | None
    ) -> OutcomeJudgement:
        """Whether the goal was completed, by most votes."""
        if not any(turn.replies or turn.calls or turn.marks for turn in turns):
            raise JudgeError("nothing but the prompt is there")
        record = recorded(turns, after)
        asked = task("outcome", facts=told(record, failures), **about(intent))
        material = self.shown(turns, after)
        questions = [self.question("outcome", material, asked, sample) for sample in range(self.votes)]
        missing = [question for question in questions if not self.has(question)]
        if missing:
            if self.guess:
                return offline.outcome(turns, intent, failures, after)
            raise JudgeError(NOT_ASKED_YET)
        votes = [self.voted(question, record, intent, failures) for question in questions]
        return decided(votes, failures)

    # --- questions and answers ----------------------------------------------------------------

    def shown(self, turns: Sequence[Turn], after: Prompt | None) -> Clean:
        """The session as a model sees it: rendered once for all jobs, and here, last of all, redacted."""
        if self._shown is None or self._shown[0] is not turns or self._shown[1] is not after:
            self._shown = (turns, after, self.redactor.text(rendering.session(turns, after, self.tokens)))
        return self._shown[2]

    def question(self, job: str, material: Clean, asked: Clean, sample: int = 0) -> Question:
        return Question(
            job=job,
            version=version(job, self.model, self.tokens),
            model=self.model,
            system=system(),
            material=material,
            task=asked,
            schema=schema(job),
            most_output=wording(job).head.most_output,
            sample=sample,
            is_alone=job == "topic",
        )

    def has(self, question: Question) -> bool:
        """Whether it is answered; if not, it is wanted."""
        is_answered = question.key in self.answers
        if not is_answered and question not in self.wanted:
            self.wanted.append(question)
        return is_answered

    def told(self, question: Question) -> Said | None:
        """The reply to a question; `None` where a guess must do."""
        if not self.has(question):
            if self.guess:
                return None
            raise JudgeError(NOT_ASKED_YET)
        answer = self.answers[question.key]
        if answer.trouble == "invalid":
            raise JudgeError(UNUSABLE.format(answer.why))
        if answer.trouble:
            raise JudgeError(answer.why or answer.trouble)
        try:
            return fitting(question, answer.text)
        except OffSchema as error:
            raise JudgeError(UNUSABLE.format(error)) from None

    def voted(self, question: Question, record: Record, intent: Intent, failures: Sequence[Failure]) -> Vote | str:
        """A vote, or why there is none."""
        try:
            said = self.told(question)
            assert isinstance(said, Outcome)
            return vote(said, record, intent, failures)
        except JudgeError as error:
            return str(error)


# --- what replies come to ---------------------------------------------------------------------


def gaps(said: Topics, later: Sequence[int]) -> tuple[Gap, ...]:
    """A gap for every later prompt: those that the model names, and the others, where the goal goes on."""
    named = {shift.turn - 1: shift for shift in said.shifts}
    found = []
    for turn in later:
        shift = named.get(turn)
        confidence = round(shift.confidence, 3) if shift else GOES_ON
        why = shortened(plain(shift.reason), REASON) if shift else ""
        found.append(Gap(turn=turn, is_shift=confidence >= EVEN, confidence=confidence, evidence=why or "goes on"))
    return tuple(found)


def graded(said: Rubric, turns: Sequence[Turn], after: Prompt | None) -> RubricJudgement:
    """The rubric with what is ours: which checks are asked, and the letter."""
    if said.rationale.strip() == example("rubric"):
        raise JudgeError(COPIED)
    title, summary = shortened(plain(said.title), TITLE), shortened(plain(said.summary), SUMMARY)
    why = Reason(kind="rationale", turn=0, quote=shortened(plain(said.rationale), RATIONALE), weight=0.0)
    if said.intent == "none":
        if any(made_edits(call) for call in all_calls(turns)):
            raise JudgeError("the judge sees no goal, though files were changed")
        return RubricJudgement(intent=None, checks={}, grade=None, title=title, summary=summary, reasons=(why,))
    answered = {name: getattr(said.checks, name) for name in criteria.NOT_ASKED}
    checks = criteria.asked_of(said.intent, answered)
    cited = [
        Reason(kind="cited", turn=one.turn, quote=one.quote, weight=1.0)
        for one in standing(said.citations, turns, after)
        if not suspicious.is_suspicious(one.quote)
    ]
    return RubricJudgement(
        intent=said.intent,
        checks=checks,
        grade=criteria.grade(checks),
        title=title,
        summary=summary,
        reasons=(*cited, why),
    )


# --- versions ---------------------------------------------------------------------------------


def versions(model: str, tokens: int, votes: int) -> dict[str, str]:
    """A short hash per job, over all that decides its answers: the question, our checks, and how votes are counted."""
    checks = [str(CHECKING), suspicious.version(), rationale.version(), speech.version()]
    asked = {job: version(job, model, tokens) for job in SHAPES}
    return asked | {
        "rubric": hashed(asked["rubric"], *checks[:2]),
        "outcome": hashed(asked["outcome"], *checks, str(votes)),
    }


@cache
def version(job: str, model: str, tokens: int) -> str:
    """Of a question, by which its answer is kept: a vote more, or a stricter check, asks nothing again."""
    texts = [wording("system").source, wording(job).source, schema(job)]
    if job in ("rubric", "outcome"):
        texts.append(criteria.source())
    return hashed(str(CONTRACT), str(rendering.VERSION), model, str(tokens), *texts)


def hashed(*parts: str | bytes) -> str:
    whole = sha256()
    for part in parts:
        said = part.encode() if isinstance(part, str) else part
        whole.update(len(said).to_bytes(8, "big") + said)
    return whole.hexdigest()[:12]
