"""What follows from a profile: criteria, schema, score configs, the weighted mean."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal

import msgspec

from assay.types.quality import Profile, Scale
from assay.types.value import Row, Value

OVERALL = "overall_quality"
TOP = 3
"""The best category; the worst is 0."""
LEAST_ERROR = 1e-9


class ScoreConfig(Value, frozen=True):
    """A score as Langfuse is told of it: a range, or categories from the worst to the best."""

    name: str
    type: Literal["NUMERIC", "CATEGORICAL"]
    description: str
    min: float | None = None
    max: float | None = None
    categories: tuple[tuple[str, int], ...] = ()
    """Label and value."""


class Overall(Row, frozen=True):
    """The weighted mean, and what it was made of."""

    value: float | None
    computed_from: list[str]
    missing: list[str]


def version(profile: Profile) -> str:
    """A short hash of all that the profile says."""
    return sha256(msgspec.json.encode(profile)).hexdigest()[:12]


# --- scores -----------------------------------------------------------------------------------


def share(scale: Scale, score: float) -> float:
    """A score as a part of 1: categories stand at 0, ⅓, ⅔ and 1."""
    return score / TOP if scale.kind == "categorical" else score


def overall(profile: Profile, scores: Mapping[str, float | None]) -> Overall:
    """The weighted mean of what was scored, by the profile's rule for what was not; not rounded."""
    there = [(one, scores[one.name]) for one in profile.dimensions if scores.get(one.name) is not None]
    weight = sum(scale.weight for scale, _ in there)
    missing = [one.name for one in profile.dimensions if scores.get(one.name) is None]
    is_enough = weight + LEAST_ERROR >= profile.least and weight > 0
    if not is_enough or (missing and profile.missing == "none"):
        return Overall(value=None, computed_from=[], missing=missing)
    total = sum(scale.weight * share(scale, score) for scale, score in there if score is not None)
    value = min(1.0, max(0.0, total / weight))  # weights that sum to 1 in decimals may miss it in bits
    return Overall(value=value, computed_from=[scale.name for scale, _ in there], missing=missing)


# --- the judge --------------------------------------------------------------------------------


def prompt_text(profile: Profile) -> str:
    """The criteria, for a judge that reads."""
    return "\n\n".join(criteria(one) for one in profile.dimensions)


def criteria(scale: Scale) -> str:
    """What is asked of one dimension; weights are left out, for a judge should not reckon with them."""
    kind = "a number from 0 to 1" if scale.kind == "numeric" else "one of the whole numbers 0, 1, 2, 3"
    steps = [f"- {one.value} ({one.label}): {one.means}" for one in scale.categories]
    last = len(scale.bands) - 1
    steps += [
        f"- {one.low:g} to {'' if n == last else 'below '}{one.high:g} ({one.label}): {one.means}"
        for n, one in enumerate(scale.bands)
    ]
    look = ["Look for:", *(f"- {one}" for one in scale.look_for)] if scale.look_for else []
    ask = f"Score: {kind}, or null where the transcript shows nothing of it."
    return "\n".join([f"## {scale.name}", scale.asks, *look, ask, *steps])


def schema(profile: Profile) -> bytes:
    """JSON Schema of the reply: for each dimension evidence, then the rationale, and only then the score.

    The range of a number stands in its description: not every service takes `minimum` and `maximum`.
    """
    return msgspec.json.encode(strict({one.name: reply(one) for one in profile.dimensions}))


def reply(scale: Scale) -> dict[str, Any]:
    citation = strict(
        {
            "turn": {"type": "integer", "description": "Number of the turn"},
            "quote": {"type": "string", "description": "Words that stand there, exactly as they do"},
        }
    )
    graded: dict[str, Any] = (
        {"type": "number", "description": "From 0 to 1"}
        if scale.kind == "numeric"
        else {"type": "integer", "enum": [one.value for one in scale.categories]}
    )
    return strict(
        {
            "evidence": {"type": "array", "items": citation},
            "rationale": {"type": "string", "description": "One or two sentences: why this score and no other"},
            "score": {"anyOf": [graded, {"type": "null"}]},
        }
    )


def strict(properties: dict[str, Any]) -> dict[str, Any]:
    """An object with exactly these properties, in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


# --- Langfuse ---------------------------------------------------------------------------------


def configs(profile: Profile) -> list[ScoreConfig]:
    """The score configs of all dimensions and of the overall quality."""
    whole = ScoreConfig(name=OVERALL, type="NUMERIC", description="Weighted mean of the dimensions", min=0.0, max=1.0)
    return [*(config(one) for one in profile.dimensions), whole]


def config(scale: Scale) -> ScoreConfig:
    if scale.kind == "numeric":
        return ScoreConfig(name=scale.name, type="NUMERIC", description=scale.asks, min=0.0, max=1.0)
    steps = tuple((one.label, one.value) for one in scale.categories)
    return ScoreConfig(name=scale.name, type="CATEGORICAL", description=scale.asks, categories=steps)
