"""Facts and judgements of some turns, and the evidence behind them checked.

What is judged depends on nothing but the turns, the prompt that came next, and the version of all that judges: a
hash of these, the input, tells whether it must be judged at all.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay import facts
from assay.errors import BadInput, JudgeError
from assay.facts.failures import Failures
from assay.judges import Judge, citations
from assay.pipeline.privacy import NO_WORDS
from assay.pipeline.scan_worker import ENCODE, list_prompt_times
from assay.plugins import list_names, load_module
from assay.scores.prism import is_crushed
from assay.types import (
    Aim,
    Citation,
    EvidenceKind,
    Fact,
    Failure,
    Gap,
    Intent,
    JudgeStatus,
    LanguageJudgement,
    OutcomeJudgement,
    Prompt,
    Reason,
    Row,
    RubricJudgement,
    Turn,
)

NO_CITATION = "no citation stands in the transcript"
NO_GAPS: tuple[Gap, ...] = ()
NO_LANGUAGE = LanguageJudgement(natural=None, programming=None)
NO_RUBRIC = RubricJudgement(intent=None, checks={}, grade=None, title="", summary="")
NO_OUTCOME = OutcomeJudgement(goal_complete=None, confidence=None, evidence=None)

T = TypeVar("T")


@cache
def find_judge(name: str) -> Judge:
    """The judge called `name` that asks no model."""
    if not is_own_judge(name):
        there = ", ".join([*list_own_judges(), *list_model_backends()])
        raise BadInput(f"no judge is called {name!r}; there are: {there}")
    return cast(Judge, load_module("judges", name))


def list_own_judges() -> list[str]:
    """The judges that ask no model."""
    return [name for name in list_names("judges") if is_own_judge(name)]


def is_own_judge(name: str) -> bool:
    """Whether there is a judge of this name that asks no model."""
    return name in list_names("judges") and callable(getattr(load_module("judges", name), "outcome", None))


@cache
def list_model_backends() -> tuple[str, ...]:
    """The judges that ask a model, by the names people give them."""
    return tuple(one.replace("_", "-") for one in list_names("llm") if hasattr(load_module("llm", one), "connect"))


def is_judge(name: str) -> bool:
    """Whether there is a judge of this name."""
    return is_own_judge(name) or name in list_model_backends()


def check_judge(name: str) -> None:
    """Refuse a judge that nobody knows, before anything is read."""
    if not is_judge(name):
        find_judge(name)


def hash_values(*parts: object) -> str:
    return blake2b(msgspec.msgpack.encode(parts), digest_size=16).hexdigest()


def hash_input(version: str, turns: Sequence[Turn], after: Prompt | None) -> str:
    """Hash of all that judging looks at."""
    found = blake2b(version.encode(), digest_size=16)
    for turn in turns:
        found.update(ENCODE(turn))
    found.update(ENCODE(after))
    return found.hexdigest()


# --- one run of turns -------------------------------------------------------------------------


class SessionJudgement(Row, frozen=True):
    """What can be said of some turns wherever they stand: a session without its place."""

    models: list[str]
    prompts_at: list[str]
    facts: dict[str, Any]
    language: str | None
    programming_language: str | None
    intent: Intent | None
    judge_status: JudgeStatus
    ungraded_reason: str | None
    goal_complete: bool | None
    confidence: float | None
    evidence: EvidenceKind | None
    citations: list[Citation]
    reasons: list[Reason]
    intent_reasons: list[Reason]
    crushed: bool | None
    title: str
    summary: str
    grade: str | None
    checks: dict[str, bool | None]
    judge_versions: dict[str, str]
    judge: str = "offline"
    fallback: str | None = None
    """Why another judge than the one that was asked for had to do."""
    tenant: str | None = None
    """Whose words these were, by the folder as it was before redaction."""
    aim: Aim | None = None
    second_intent: Intent | None = None
    intent_chance: float | None = None


class JudgeTroubles:
    """Asks a judge and notes what it could not answer: a judge never breaks a run."""

    def __init__(self) -> None:
        self.troubles: list[str] = []

    def ask(self, question: Callable[[], T], otherwise: T) -> T:
        try:
            return question()
        except JudgeError as error:
            self.troubles.append(str(error))
            return otherwise


class SessionVerdict(Struct, frozen=True, kw_only=True):
    """What a judge says of some turns, and what it could not say."""

    rubric: RubricJudgement = NO_RUBRIC
    outcome: OutcomeJudgement = NO_OUTCOME
    language: LanguageJudgement = NO_LANGUAGE
    versions: dict[str, str]
    trouble: str = ""


def find_failures(established: Mapping[str, Fact]) -> Sequence[Failure]:
    """The failure signals among the facts."""
    return cast(Failures, established["failures"]).failure_signals


def judge_turns(by: Judge, turns: Sequence[Turn], after: Prompt | None, asking: JudgeTroubles) -> SessionJudgement:
    """Facts and judgements of some turns, by a judge that asks no model."""
    established = facts.establish_facts(turns)
    rubric = asking.ask(lambda: by.rubric(turns), NO_RUBRIC)
    outcome = NO_OUTCOME
    if (intent := rubric.intent) is not None:
        outcome = asking.ask(lambda: by.outcome(turns, intent, find_failures(established), after), NO_OUTCOME)
    language = NO_LANGUAGE if rubric is NO_RUBRIC else asking.ask(lambda: by.language(turns), NO_LANGUAGE)
    said = SessionVerdict(
        rubric=rubric,
        outcome=outcome,
        language=language,
        versions=by.versions(),
        trouble=next(iter(asking.troubles), ""),
    )
    return build_judgement(said, turns, after, established)


def build_judgement(
    said: SessionVerdict, turns: Sequence[Turn], after: Prompt | None, established: dict[str, Fact]
) -> SessionJudgement:
    """What a judge says, its evidence checked, beside the facts."""
    flat = facts.flatten_facts(established)
    rubric, outcome = said.rubric, drop_false_citations(said.outcome, turns, after)
    why = said.trouble or outcome.ungraded
    status = decide_status(flat["substance"], rubric, outcome, why)
    return SessionJudgement(
        models=list_models(turns),
        prompts_at=list(list_prompt_times(turns)),
        facts=flat,
        language=said.language.natural,
        programming_language=said.language.programming,
        intent=rubric.intent,
        judge_status=status,
        ungraded_reason=why or "the judge gave no reason" if status == "ungraded" else None,
        goal_complete=outcome.goal_complete,
        confidence=outcome.confidence,
        evidence=outcome.evidence,
        citations=list(outcome.citations),
        reasons=[*outcome.reasons],
        intent_reasons=[*rubric.reasons],
        aim=rubric.aim,
        second_intent=rubric.second_intent,
        intent_chance=rubric.intent_chance,
        crushed=is_crushed(status, flat["substance"], outcome.goal_complete, flat["rework"]["state"]),
        title=rubric.title,
        summary=rubric.summary,
        grade=rubric.grade,
        checks=rubric.checks,
        judge_versions=said.versions,
    )


def leave_unjudged(turns: Sequence[Turn]) -> SessionJudgement:
    """Facts alone, of turns whose words nobody may see."""
    flat = facts.flatten_facts(facts.establish_facts(turns))
    return SessionJudgement(
        models=list_models(turns),
        prompts_at=list(list_prompt_times(turns)),
        facts=flat,
        programming_language=None,
        judge_status="opted_out" if flat["substance"] else "trivial",
        judge_versions={},
        judge="nobody",
        **NO_WORDS,
    )


def decide_status(substance: bool, rubric: RubricJudgement, outcome: OutcomeJudgement, why: str) -> JudgeStatus:
    """Whether the judgement counts, or why not."""
    if rubric.intent is None and not why:
        return "no_goal"
    if not substance:
        return "trivial"
    if rubric.intent is None:
        return "ungraded"
    if outcome.goal_complete is None:
        return "ungraded" if why or outcome.confidence is None else "unclear"
    return "ok"


def list_models(turns: Sequence[Turn]) -> list[str]:
    """The models the main agent ran on, else those of its sub-agents."""
    spent = [(spend.by, spend.model) for turn in turns for spend in turn.spends if spend.model]
    return sorted({model for by, model in spent if not by} or {model for _, model in spent})


# --- evidence ---------------------------------------------------------------------------------


def drop_false_citations(outcome: OutcomeJudgement, turns: Sequence[Turn], after: Prompt | None) -> OutcomeJudgement:
    """The outcome with the citations that stand; without any, failure is silence, and success no verdict."""
    citations = tuple(one for one in outcome.citations if has_quote(one, turns, after))
    is_bare = not citations and not any(one.kind == "fact" for one in outcome.reasons)
    if is_bare and outcome.goal_complete and outcome.evidence != "silent":
        return OutcomeJudgement(
            goal_complete=None, confidence=None, evidence=None, reasons=outcome.reasons, ungraded=NO_CITATION
        )
    evidence = "silent" if is_bare and outcome.evidence == "failure" else outcome.evidence
    return replace(outcome, citations=citations, evidence=evidence)


def has_quote(citation: Citation, turns: Sequence[Turn], after: Prompt | None) -> bool:
    """Whether a quote stands in the turn it names, as it was said or as a model was shown it."""
    return has_quote_as_said(citation, turns, after) or citations.is_standing(citation, turns, after)


def has_quote_as_said(citation: Citation, turns: Sequence[Turn], after: Prompt | None) -> bool:
    """Whether a quote stands in the turn it names, cut in the middle of a word or not."""
    quote = citations.squeeze_blanks(citation.quote).strip("… ")
    said = citations.list_texts_at(citation.turn, turns, after)
    return bool(quote) and any(quote in citations.squeeze_blanks(text) for text in said)
