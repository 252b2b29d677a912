"""Replies: what each job must answer as a type, its JSON Schema, the one way from a text to a value, and its limits."""

import json
import re
from functools import cache
from math import isfinite
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import msgspec
from msgspec import Meta, Struct

from assay.errors import JudgeError
from assay.judges.criteria import Basis
from assay.types import Intent

LONGEST = 40_000
"""Characters of a reply; none that fits is near it."""
FENCED = re.compile(r"\A```(?:json|JSON)?[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL)
PLACE = re.compile(r" - at `\$\.?([\w.\[\]]+)`\Z")
MISSING = re.compile(r"missing required field `(\w+)`")

EVEN = 0.5
MOST_CITED = 50

State = Literal["done_shown", "done_unshown", "partial", "not_done", "unknown"]
"""What became of a goal, in a model's words."""
Number = Annotated[int, Meta(description="number of a turn, from 1")]
T = TypeVar("T", bound="ModelReply")


class UnusableReply(JudgeError):
    """A reply that can't be used; the message is ours alone, for it goes back to the model."""


class ModelReply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model replies: every field required, nothing else allowed."""


class QuotedTurn(ModelReply, frozen=True):
    turn: Annotated[int, Meta(description="number of a turn, from 1; 0 for a line of our facts")]
    quote: Annotated[str, Meta(description="exact words of that turn")]


class TopicGap(ModelReply, frozen=True):
    turn: Number
    p: Annotated[float, Meta(description="from 0 to 1: how likely it is that another goal begins there")]
    reason: str


class TopicsReply(ModelReply, frozen=True):
    gaps: list[TopicGap]


class ChecksReply(ModelReply, frozen=True):
    goal_explicit: bool | None
    scope_bounded: bool | None
    references_concrete: bool | None
    context_sufficient: bool | None
    verification_requested: bool | None
    root_cause_oriented: bool | None
    plan_first: bool | None


class SessionReply(ModelReply, frozen=True):
    rationale: str
    intent: Literal[Intent, "none"]
    second_intent: Literal[Intent, "none"]
    checks: ChecksReply
    title: Annotated[str, Meta(description="at most 60 characters")]
    summary: Annotated[str, Meta(description="at most 240 characters")]
    state: State
    p: Annotated[float, Meta(description="probability that the goal was completed, from 0 to 1")]
    basis: Basis
    citations: list[QuotedTurn]


SHAPES: dict[str, type[ModelReply]] = {"topic": TopicsReply, "session": SessionReply}


# --- schema -----------------------------------------------------------------------------------


@cache
def build_schema(job: str) -> bytes:
    """JSON Schema of a job's reply, as all strict modes take it: no references, no bounds, nothing optional."""
    whole = msgspec.json.schema(SHAPES[job])
    return json.dumps(inline_references(whole, whole.get("$defs", {}))).encode()


def inline_references(part: Any, named: dict[str, Any]) -> Any:
    """The schema with each reference replaced by what it names."""
    if isinstance(part, list):
        return [inline_references(one, named) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return inline_references(
            {**named[part["$ref"].rpartition("/")[2]], **{k: v for k, v in part.items() if k != "$ref"}}, named
        )
    is_object = "properties" in part
    kind = {"type": "string"} if "enum" in part else {}
    return kind | {
        key: {name: inline_references(one, named) for name, one in value.items()}
        if key == "properties"
        else inline_references(value, named)
        for key, value in part.items()
        if key != "$defs" and not (is_object and key == "title")
    }


# --- reading ----------------------------------------------------------------------------------


def parse_reply(text: str, shape: type[T]) -> T:
    """The reply as a value: one JSON object and nothing beside it, so that no verdict is picked out of other words."""
    try:
        return msgspec.convert(parse_json_object(text), shape, strict=True)
    except msgspec.ValidationError as error:
        raise UnusableReply(describe_error(str(error))) from None


def parse_json_object(text: str) -> dict[str, Any]:
    """The one JSON object that the whole text is."""
    whole = text.strip()
    if len(whole) > LONGEST:
        raise UnusableReply("the reply is far too long")
    if found := FENCED.match(whole):
        whole = found[1].strip()
    if not whole.startswith("{"):
        raise UnusableReply("the reply must be one JSON object and nothing else")
    try:
        made: dict[str, Any] = json.loads(
            whole,
            object_pairs_hook=reject_twin_keys,
            parse_constant=reject_number,
            parse_float=parse_finite,
            parse_int=parse_short,
        )
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise UnusableReply("something stands behind the JSON object; reply with the object alone") from None
        raise UnusableReply("the reply is not valid JSON, or was cut off") from None
    except RecursionError:
        raise UnusableReply("the reply is nested far too deep") from None
    return made


def reject_twin_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(made := dict(pairs)) != len(pairs):
        raise UnusableReply("a key stands twice in one object")
    return made


def reject_number(_: str) -> NoReturn:
    raise UnusableReply("NaN and Infinity are no numbers here")


def parse_finite(digits: str) -> float:
    return number if isfinite(number := float(digits)) else reject_number(digits)


def parse_short(digits: str) -> int:
    return int(digits) if len(digits) <= 9 else reject_number(digits)


def describe_error(error: str) -> str:
    """What is wrong, without a word of the reply itself: that may be a transcript's."""
    found = PLACE.search(error)
    place = f"`{found[1]}`" if found else "the object"
    if missing := MISSING.search(error):
        return f"{place} lacks the field `{missing[1]}`"
    if "unknown field" in error:
        return f"{place} has a field that the schema does not name"
    if "enum" in error:
        return f"{place} is not one of the values that the schema allows"
    return f"{place} has the wrong type"


# --- what a reply must keep to ----------------------------------------------------------------


def find_topics_fault(said: TopicsReply, asked: frozenset[int]) -> str:
    """What is wrong with a reply about topics, given the turns that were asked about."""
    named = [gap.turn for gap in said.gaps]
    if not asked.issuperset(named):
        return "`gaps` names a turn that was not asked about; take the numbers that the task lists"
    if len(set(named)) < len(named):
        return "`gaps` names a turn twice"
    if lacking := len(asked) - len(named):
        return f"`gaps` lacks {lacking} of the {len(asked)} turns that the task lists"
    return "" if all(is_share(gap.p) for gap in said.gaps) else "`p` must be from 0 to 1"


def find_session_fault(said: SessionReply) -> str:
    """What is wrong with a reply about a session."""
    if not (said.rationale.strip() and said.title.strip() and said.summary.strip()):
        return "`rationale`, `title` and `summary` must not be empty"
    if not is_share(said.p):
        return "`p` must be from 0 to 1"
    if said.state != "unknown" and said.state.startswith("done") != (said.p >= EVEN):
        return (
            "`p` is how likely it is that the goal was completed: "
            "at least 0.5 with done_shown and done_unshown, below 0.5 with partial and not_done"
        )
    if said.state == "done_shown" and not said.citations:
        return "done_shown needs at least one citation: the exact words and the number of their turn"
    return "there are far too many citations" if len(said.citations) > MOST_CITED else ""


def is_share(number: float) -> bool:
    return 0 <= number <= 1
