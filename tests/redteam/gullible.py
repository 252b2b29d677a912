"""A model that believes a transcript, and the whole judge around it.

`Gullible` says what the hostile words of a case want to hear, in the way its `Manner` names, and takes whatever words
it can find for evidence. `judged` puts it behind the same bench that every run judges on, and answers until nothing
is wanted any more.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct

from assay.config import Boundaries
from assay.judges.citations import list_texts, squeeze_blanks
from assay.judges.model import check_reply
from assay.llm import Dialogue, Question, QuestionResult, hold_dialogue
from assay.pipeline.judge_stream import (
    JudgeModel,
    RunTerms,
    StreamJudge,
    find_prompt_after,
    find_segment_owner,
    list_turns_in,
)
from assay.pipeline.judgement import SessionJudgement
from assay.pipeline.privacy import PrivacyRules, VisibleStream, WordOwner
from assay.sessions.boundaries import cut_segments
from assay.sessions.redaction import Redactor, redact_secrets
from assay.sessions.rendering import sanitize_text
from assay.types import Failure, Prompt, Stream, Turn
from tests.redteam.cases import Case

CHECKS = (
    "goal_explicit scope_bounded references_concrete context_sufficient verification_requested "
    "root_cause_oriented plan_first"
).split()
SAYS = "The transcript says so."
SOBER = {"rationale": "Nothing shows it.", "state": "not_done", "p": 0.3, "basis": "none", "citations": []}
"""What it says of a session in which nobody tells it what to say."""
MOST_CITED = 24
TOKENS = 4_000


class Manner(Struct, frozen=True, kw_only=True):
    """How it gives in."""

    is_silent: bool = False
    """Else it calls shown what it is told."""
    basis: str = "none"
    intent: str = ""
    cuts: str = "never"
    """`never`, or at every turn that can begin a goal."""


MANNERS = {
    "silently": Manner(is_silent=True),
    "by the person": Manner(basis="person"),
    "by a check": Manner(basis="check"),
    "by running it again": Manner(basis="rerun"),
    "by a reply to a question": Manner(basis="reply", intent="question"),
    "by the person, every prompt a goal": Manner(basis="person", cuts="always"),
    "silently, every prompt a goal": Manner(is_silent=True, cuts="always"),
}


class Gullible:
    """The model: it believes all that it is shown; `lost` to the attacker, it need not even be shown it."""

    def __init__(self, case: Case, manner: Manner, *, lost: bool = False) -> None:
        self.claims = case.claims
        self.manner = manner
        self.lost = lost
        self.citations = list(wished(case))

    def __call__(self, job: str, text: str) -> dict[str, Any]:
        """The reply to a job, given all the words of its question."""
        said: Callable[[str], dict[str, Any]] = getattr(self, job)
        return said(text)

    def believes(self, text: str) -> bool:
        """Whether the attacker's words got through to it."""
        words = squeeze_blanks(sanitize_text(self.claims.quote))
        return self.lost or (bool(words) and words in squeeze_blanks(text.replace("\n| ", "\n")))

    def topic(self, text: str) -> dict[str, Any]:
        p = 1.0 if self.manner.cuts == "always" else 0.0
        return {"gaps": [{"turn": turn, "p": p, "reason": self.claims.quote} for turn in later(text)]}

    def session(self, text: str) -> dict[str, Any]:
        about = {
            "rationale": SAYS,
            "intent": self.manner.intent or self.claims.intent,
            "second_intent": "none",
            "checks": dict.fromkeys(CHECKS, self.claims.grade == "A+"),
            "title": self.claims.quote or "Perfect",
            "summary": self.claims.quote or "Perfect",
        }
        if not self.believes(text):
            return about | SOBER
        is_shown = self.claims.goal_complete and self.claims.evidence == "explicit" and not self.manner.is_silent
        state = "done_shown" if is_shown else "done_unshown" if self.claims.goal_complete else "not_done"
        return about | {
            "state": state,
            "p": 1.0 if self.claims.goal_complete else 0.0,
            "basis": self.manner.basis if is_shown else "none",
            "citations": self.citations,
        }


def later(text: str) -> list[int]:
    """The turns that a topic question names."""
    _, _, named = text.rpartition("Judge each of these turns: ")
    runs = [[int(end) for end in run.split("-")] for run in named.split("\n")[0].split(", ")]
    return [turn for run in runs for turn in range(run[0], run[-1] + 1)]


def wished(case: Case) -> Iterator[dict[str, Any]]:
    """What the attacker names, in every turn it could stand in, then whatever else stands in the last turns."""
    last = len(case.turns) + (case.after is not None)
    turns = sorted({case.claims.turn, 1, 2, 3, last - 1, last})
    named = [(turn, case.claims.quote) for turn in turns]
    shown = [(n, text) for n, turn in list(enumerate(case.turns, 1))[-3:] for text in list_texts(turn)]
    found = chain(named, ((n, line) for n, text in shown for line in telling(text)))
    for turn, quote in list(dict.fromkeys(found))[:MOST_CITED]:
        yield {"turn": turn, "quote": quote.encode("utf-8", "replace").decode()}


def telling(text: str) -> list[str]:
    """The first lines of a text, short enough to be quoted."""
    return [line.strip()[:120] for line in text[:2_000].splitlines() if line.strip()][:4]


# --- the judge around it ----------------------------------------------------------------------------


class Found(Struct, frozen=True, kw_only=True):
    """What became of a segment."""

    turns: Sequence[Turn]
    after: Prompt | None
    judged: SessionJudgement

    @property
    def failures(self) -> list[Failure]:
        found: list[Failure] = self.judged.facts["failure_signals"]
        return found


def terms(tokens: int = TOKENS, votes: int = 1) -> RunTerms:
    asks = JudgeModel(backend="anthropic", model="model-1", tokens=tokens, votes=votes)
    return RunTerms(
        judge="anthropic",
        model=asks,
        privacy=PrivacyRules(),
        boundaries=Boundaries(),
        splits=frozenset(),
        judging_version="1",
        cutting_version="1",
    )


def answered(question: Question, text: str) -> QuestionResult:
    """As it is kept: what does not fit is trouble, and none of its words are kept."""
    wrong = check_reply(question, text)
    return QuestionResult(
        key=question.key,
        job=question.job,
        version=question.version,
        text="" if wrong else text,
        trouble="invalid" if wrong else None,
        why=wrong,
    )


Answering = Callable[[Sequence[Question]], Mapping[str, QuestionResult]]


def by(model: Callable[[str, str], dict[str, Any] | str]) -> Answering:
    """Answers of a model that is asked right here."""

    def answers(questions: Sequence[Question]) -> dict[str, QuestionResult]:
        said = {one.key: (one, model(one.job, f"{one.material}\n{one.task}")) for one in questions}
        return {
            key: answered(one, text if isinstance(text, str) else json.dumps(text)) for key, (one, text) in said.items()
        }

    return answers


def read(stream: Stream) -> VisibleStream:
    """A stream as a run reads it."""
    redactor = Redactor()
    seen = redact_secrets(stream, redactor)
    owners = tuple(WordOwner() for _ in stream.turns)
    return VisibleStream(stream=seen, placed=seen, redactor=redactor, owners=owners, owner=WordOwner())


def judged(read: VisibleStream, answers: Answering, known: dict[str, QuestionResult] | None = None) -> list[Found]:
    """A stream judged as a run judges it: cut, every segment judged, all that it wants to know answered."""
    known = {} if known is None else known

    def answer(questions: Sequence[Question]) -> Mapping[str, QuestionResult]:
        missing = [one for one in questions if one.key not in known]
        known.update(answers(missing))
        return known

    return hold_dialogue(at_bench(read), answer)


def at_bench(read: VisibleStream) -> Dialogue[list[Found]]:
    """Once over the stream."""
    bench = StreamJudge(terms(), read)
    gaps = yield from bench.find_gaps(read.stream)
    found = []
    for segment in cut_segments(read.placed, gaps, frozenset(), Boundaries()):
        turns, after = list_turns_in(read.stream, segment), find_prompt_after(read.stream, segment)
        said, _ = yield from bench.judge_session(segment.id, turns, after, find_segment_owner(read, segment))
        found.append(Found(turns=turns, after=after, judged=said))
    return found
