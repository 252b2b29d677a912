"""The judge of trials: how well a result meets the rubric of its task."""

from typing import Annotated

import msgspec
from msgspec import Meta

from assay.errors import JudgeError
from assay.judges.citations import sanitize_reply
from assay.judges.model.prompt_files import load_prompt, render_system, render_task
from assay.judges.model.replies import ModelReply, UnusableReply, inline_references, parse_reply
from assay.llm import Question, QuestionResult
from assay.resources import hash_parts
from assay.types import CleanText

JOB = "trial"
CONTRACT = 1
"""Raised when replies are read in another way."""


class TrialMark(ModelReply, frozen=True):
    """What a model says of a trial."""

    rationale: str
    score: Annotated[float, Meta(description="from 0 to 1")]


SCHEMA = msgspec.json.encode(inline_references(whole := msgspec.json.schema(TrialMark), whole["$defs"]))


def build_question(model: str, rubric: CleanText, material: CleanText) -> Question:
    """What is asked of one trial."""
    return Question(
        job=JOB,
        version=hash_version(model),
        model=model,
        system=render_system(),
        material=material,
        task=render_task(JOB, rubric=rubric),
        schema=SCHEMA,
        most_output=load_prompt(JOB).head.most_output,
    )


def hash_version(model: str) -> str:
    """A short hash of all that decides the answers."""
    whole = (load_prompt(JOB).source, load_prompt("system").source, SCHEMA, model, str(CONTRACT))
    return hash_parts(*whole)


def check_reply(text: str) -> str:
    """What is wrong with a reply, in a line the model can act on; nothing if it can be used."""
    try:
        said = parse_reply(text, TrialMark)
    except UnusableReply as error:
        return str(error)
    if not said.rationale.strip():
        return "`rationale` must not be empty"
    return "" if 0 <= said.score <= 1 else "`score` must be from 0 to 1"


def read_mark(asked: QuestionResult) -> TrialMark:
    """What was answered; raises `JudgeError` where nothing was that can be used."""
    if asked.trouble:
        raise JudgeError(asked.why or asked.trouble)
    if wrong := check_reply(asked.text):
        raise UnusableReply(wrong)
    said = parse_reply(asked.text, TrialMark)
    return TrialMark(rationale=sanitize_reply(said.rationale), score=said.score)
