"""The judge of trials: how well a result meets the rubric of its task."""

from hashlib import sha256
from typing import Annotated

import msgspec
from msgspec import Meta

from assay.errors import JudgeError
from assay.judges.model.plain import plain
from assay.judges.model.replies import OffSchema, Said, inlined, read
from assay.judges.model.wording import system, task, wording
from assay.llm import Question, QuestionResult
from assay.types import Clean

JOB = "trial"
CONTRACT = 1
"""Raised when replies are read in another way."""


class Mark(Said, frozen=True):
    """What a model says of a trial."""

    rationale: str
    score: Annotated[float, Meta(description="from 0 to 1")]


SCHEMA = msgspec.json.encode(inlined(whole := msgspec.json.schema(Mark), whole["$defs"]))


def question(model: str, rubric: Clean, material: Clean) -> Question:
    """What is asked of one trial."""
    return Question(
        job=JOB,
        version=version(model),
        model=model,
        system=system(),
        material=material,
        task=task(JOB, rubric=rubric),
        schema=SCHEMA,
        most_output=wording(JOB).head.most_output,
    )


def version(model: str) -> str:
    """A short hash of all that decides the answers."""
    whole = (wording(JOB).source, wording("system").source, SCHEMA, model.encode(), str(CONTRACT).encode())
    return sha256(b"\0".join(whole)).hexdigest()[:12]


def check(text: str) -> str:
    """What is wrong with a reply, in a line the model can act on; nothing if it can be used."""
    try:
        said = read(text, Mark)
    except OffSchema as error:
        return str(error)
    if not said.rationale.strip():
        return "`rationale` must not be empty"
    return "" if 0 <= said.score <= 1 else "`score` must be from 0 to 1"


def mark(asked: QuestionResult) -> Mark:
    """What was answered; raises `JudgeError` where nothing was that can be used."""
    if asked.trouble:
        raise JudgeError(asked.why or asked.trouble)
    if wrong := check(asked.text):
        raise OffSchema(wrong)
    said = read(asked.text, Mark)
    return Mark(rationale=plain(said.rationale), score=said.score)
