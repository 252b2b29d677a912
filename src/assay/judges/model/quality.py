"""The quality judge: all dimensions of a profile in one question, each read with the evidence that stands."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from assay.errors import JudgeError
from assay.judges.citations import sanitize_reply, select_standing
from assay.judges.criteria import load_criteria, read_criteria
from assay.judges.model.prompt_files import load_prompt, render_system, render_task
from assay.judges.model.replies import QuotedTurn, UnusableReply, parse_json_object
from assay.judges.model.suspicious import is_suspicious
from assay.llm import Question, QuestionResult
from assay.resources import hash_parts
from assay.sessions import rendering
from assay.types import CleanText, Intent, Turn
from assay.types.quality import Dimension, Profile, Scale

JOB = "quality"
CONTRACT = 2
"""Raised when replies are read in another way."""
WHOLE = "The record holds the whole session."
PART = "The session is long: this is part {n} of {of}.{told} Do not hold against a part what others may hold."
TOLD = " Turn 1 repeats the request that the session began with; judge the turns after it."
MOST_CITED = 50
UNQUOTED = "none of the words it rests on stand in the transcript"
NOTHING = "the judge found nothing in the record that bears on it"
UNSPENT = "no tokens and no cost are known, so it was not asked"
NOT_ASKED = Dimension(score=None, label=None, evidence=[], rationale="", ungraded=UNSPENT)
GOAL = "Where a dimension speaks of the goal, completed means: {} A commit or the agent's word alone does not show it."


class ProfileQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What a profile comes to in a question: criteria in words, the schema of the reply, and which part is shown."""

    criteria: str
    schema: bytes
    part: str = WHOLE
    goal: str = ""


def build_question(model: str, asks: ProfileQuestion, material: CleanText, signals: str) -> Question:
    """What is asked of one chunk."""
    return Question(
        job=JOB,
        version=hash_version(model, asks),
        model=model,
        system=render_system(),
        material=material,
        task=render_task(JOB, part=asks.part, goal=asks.goal, criteria=asks.criteria, signals=signals),
        schema=asks.schema,
        most_output=load_prompt(JOB).head.most_output,
    )


def describe_part(n: int, of: int, *, is_told: bool) -> str:
    """Which part of a session a model is shown, and whether the first request stands in front of it."""
    return WHOLE if of == 1 else PART.format(n=n, of=of, told=TOLD if is_told else "")


def describe_goal(intent: Intent | None) -> str:
    """What completed means, as everywhere here."""
    if intent is None:
        return GOAL.format("what was asked for is there, and shown or taken without complaint.")
    return GOAL.format(f"(the session's intent is {intent}) {load_criteria().intents[intent].criterion}")


def hash_version(model: str, asks: ProfileQuestion) -> str:
    """A short hash of all that decides the answers."""
    whole = (load_prompt(JOB).source, load_prompt("system").source, asks.criteria, asks.schema, model, read_criteria())
    return hash_parts(*whole, f"{CONTRACT} {rendering.VERSION}")


# --- replies ------------------------------------------------------------------------------------


class DimensionReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model says of one dimension."""

    evidence: list[QuotedTurn]
    rationale: str
    score: float | None


def check_reply(question: Question, text: str) -> str:
    """What is wrong with a reply, in a line the model can act on; nothing if it can be used."""
    try:
        said = parse_reply(text)
    except UnusableReply as error:
        return str(error)
    wanted = msgspec.json.decode(question.schema)["properties"]
    if set(said) != set(wanted):
        return f"the object must have exactly these properties: {', '.join(wanted)}"
    faults = (find_fault(name, said[name], wanted[name]) for name in wanted)
    return next((why for why in faults if why), "")


def find_fault(name: str, said: DimensionReply, wanted: Mapping[str, Any]) -> str:
    """What is wrong with one dimension; categories are those that the schema lists."""
    if len(said.evidence) > MOST_CITED:
        return f"{name} has far too many citations"
    if said.score is None:
        return ""
    if values := list_allowed_scores(wanted):
        told = ", ".join(map(str, values))
        return "" if said.score in values else f"`score` of {name} must be null or one of {told}"
    return "" if 0 <= said.score <= 1 else f"`score` of {name} must be null or a number from 0 to 1"


def list_allowed_scores(wanted: Mapping[str, Any]) -> list[float]:
    """The values that a category may have; none for a number."""
    score = wanted["properties"]["score"]
    return [value for one in (score, *score.get("anyOf", [])) for value in one.get("enum", []) if value is not None]


def parse_reply(text: str) -> dict[str, DimensionReply]:
    """The reply as a whole."""
    try:
        return msgspec.convert(parse_json_object(text), dict[str, DimensionReply])
    except msgspec.ValidationError:
        raise UnusableReply(
            "each dimension must be an object with evidence (a list of turn and quote), rationale (text) and score"
        ) from None


def read_dimensions(
    answer: QuestionResult, profile: Profile, turns: Sequence[Turn], places: Sequence[int]
) -> dict[str, Dimension]:
    """What was said of each dimension; `places` are the session's numbers of the turns that were shown."""
    if answer.trouble:
        raise JudgeError(answer.why or answer.trouble)
    said = parse_reply(answer.text)
    return {
        scale.name: build_dimension(scale, said[scale.name], turns, places) if scale.name in said else NOT_ASKED
        for scale in profile.dimensions
    }


def build_dimension(scale: Scale, said: DimensionReply, turns: Sequence[Turn], places: Sequence[int]) -> Dimension:
    """One dimension; without a quote that stands it is ungraded."""
    rationale = sanitize_reply(said.rationale)
    if said.score is None:
        return Dimension(score=None, label=None, evidence=[], rationale=rationale, ungraded=NOTHING)
    cited = [one for one in select_standing(said.evidence, turns, None) if not is_suspicious(one.quote)]
    if not cited:
        return Dimension(score=None, label=None, evidence=[], rationale=rationale, ungraded=UNQUOTED)
    evidence = [msgspec.structs.replace(one, turn=places[one.turn - 1]) for one in cited]
    return Dimension(score=said.score, label=scale.label(said.score), evidence=evidence, rationale=rationale)
