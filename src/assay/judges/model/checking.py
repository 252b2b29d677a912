"""Whether a reply can be used at all, beyond its schema. What is wrong is said in our own words, for it goes back."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from assay.judges.model import quality, trial
from assay.judges.model.replies import SHAPES, Languages, OffSchema, Outcome, Quoted, Rubric, Said, Topics, read
from assay.judges.model.wording import numbered
from assay.llm import Question

EVEN = 0.5
TURNS = re.compile(r"^Only these turns can begin a new goal: (.+)$", re.MULTILINE)
NAME = re.compile(r"[\w#+.*/' -]{1,30}")
MOST_CITED = 50


def check(question: Question, text: str) -> str:
    """What is wrong with a reply, in a line the model can act on; nothing if it can be used."""
    if question.job == quality.JOB:
        return quality.check(question, text)
    if question.job == trial.JOB:
        return trial.check(text)
    try:
        fitting(question, text)
    except OffSchema as error:
        return str(error)
    return ""


def fitting(question: Question, text: str) -> Said:
    """The reply to a question, if it can be used."""
    said = read(text, SHAPES[question.job])
    if why := fault(said, question):
        raise OffSchema(why)
    return said


def fault(said: Said, question: Question) -> str:
    match said:
        case Topics():
            return in_topics(said, turns_of(question))
        case Languages():
            return in_languages(said)
        case Rubric():
            return in_rubric(said)
        case Outcome():
            return in_outcome(said)
    return ""


def turns_of(question: Question) -> frozenset[int]:
    """The turns that a topic question asks about, as its own text names them."""
    found = TURNS.search(question.task)
    return numbered(found[1]) if found else frozenset()


def in_topics(said: Topics, asked: frozenset[int]) -> str:
    named = [shift.turn for shift in said.shifts]
    if not asked.issuperset(named):
        return "`shifts` names a turn that can't begin a new goal; take the numbers that the task lists"
    if len(set(named)) < len(named):
        return "`shifts` names a turn twice"
    return "" if all(is_share(shift.confidence) for shift in said.shifts) else "`confidence` must be from 0 to 1"


def in_languages(said: Languages) -> str:
    if said.natural is not None and said.natural not in codes():
        return "`natural` must be a two-letter ISO 639-1 code in lower case, or null"
    if said.programming is not None and not NAME.fullmatch(said.programming):
        return "`programming` must be the name of one programming language, or null"
    return ""


def in_rubric(said: Rubric) -> str:
    if not said.title.strip() or not said.summary.strip():
        return "`title` and `summary` must not be empty"
    return in_citations(said.citations)


def in_outcome(said: Outcome) -> str:
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
    return in_citations(said.citations)


def in_citations(cited: Iterable[Quoted]) -> str:
    return "there are far too many citations" if len(list(cited)) > MOST_CITED else ""


def is_share(number: float) -> bool:
    return 0 <= number <= 1


@cache
def codes() -> frozenset[str]:
    """The language codes there are."""
    table = tomllib.loads(files("assay.judges.model").joinpath("languages.toml").read_text("utf-8"))
    return frozenset(table["codes"].split())
