"""A quality profile: found, loaded, checked with every fault told, and all that follows from it."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from assay.config import format_value, list_config_files
from assay.errors import BadInput
from assay.judges.offline.quality import SIGNALS
from assay.resources import hash_parts, load_table
from assay.types.quality import Band, Category, Profile, Scale
from assay.types.value import Row, Value

SHIPPED = ("enhanced", "revised", "classic")
FOLDER = "profiles"
ENDING = ".toml"
LONGEST_NAME = 35
NAME = re.compile(r"[\w .()-]+")
"""Langfuse takes these signs, and refuses a longer name."""
NEAR = 1e-6
STEPS = [0, 1, 2, 3]
LISTS: dict[str, type[Struct]] = {"dimensions": Scale, "bands": Band, "categories": Category}
WAYS = {"categorical": ("last", "majority"), "numeric": ("mean",)}
"""How several chunks can be put together."""
OVERALL = "overall_quality"
TOP = 3
"""The best category; the worst is 0."""
LEAST_ERROR = 1e-9


class ProfileFile(Struct, frozen=True):
    """A profile that is there: its name, and its file where it is a person's own."""

    name: str
    path: Path | None


def list_folders(env: Mapping[str, str], cwd: Path) -> list[Path]:
    """Where a person's own profiles are looked for: beside every `assay.toml` that holds, the nearest first."""
    return [path.parent / FOLDER for path in list_config_files(env, cwd)][::-1]


def list_profiles(where: Sequence[Path] = ()) -> list[ProfileFile]:
    """All profiles, the shipped ones first; of two with one name the nearer holds."""
    found = {name: ProfileFile(name, None) for name in SHIPPED}
    for folder in where:
        for path in sorted(folder.glob(f"*{ENDING}")) if folder.is_dir() else ():
            found.setdefault(path.stem, ProfileFile(path.stem, path))
    return list(found.values())


def load_profile(name: str, where: Sequence[Path] = ()) -> Profile:
    """The profile of a name, or the one at a path."""
    if name.endswith(ENDING) or "/" in name or os.sep in name:
        return load_profile_file(Path(name).expanduser())
    if name in SHIPPED:
        return load_shipped(name)
    known = {one.name: one.path for one in list_profiles(where)}
    if path := known.get(name):
        return load_profile_file(path)
    close = get_close_matches(name, known, n=1)
    meant = f"did you mean {close[0]}? " if close else ""
    raise BadInput(
        f"no profile is called {format_value(name)}; {meant}there are: {', '.join(known)};"
        f" one of your own is a path, or a file in {FOLDER}/ beside assay.toml"
    )


@cache
def load_shipped(name: str) -> Profile:
    table = load_table("assay.scores.profiles", f"{name}{ENDING}", dict[str, Any])
    return build_profile(name, table, f"{name}{ENDING}")


def load_profile_file(path: Path) -> Profile:
    """A person's own profile; it is called as its file is."""
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    except RecursionError:
        raise BadInput(f"{path}: is nested too deeply to be a profile") from None
    except ValueError as error:
        raise BadInput(f"{path}: is no valid TOML: {error}") from None
    name = path.stem
    if name in SHIPPED:
        raise BadInput(f"{path}: {name} is a profile that is shipped; call the file something else")
    return build_profile(name, given, str(path))


def build_profile(name: str, given: dict[str, Any], where: str) -> Profile:
    """The profile that a file describes; every fault is told with its place and a way out."""
    for fault in find_unknown_keys(given, Profile, ""):
        raise BadInput(f"{where}: {fault}")
    try:
        profile = msgspec.convert({**given, "name": name}, Profile)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where}: {describe_error(str(error))}") from None
    for fault in find_faults(profile):
        raise BadInput(f"{where}: {fault}")
    return profile


def describe_error(error: str) -> str:
    """What msgspec says, with the place in TOML's own words."""
    what, _, at = error.partition(" - at ")
    place = at.strip("`").removeprefix("$").removeprefix(".")
    return f"{place}: {what[:1].lower()}{what[1:]}" if place else f"{what[:1].lower()}{what[1:]}"


def find_unknown_keys(given: Mapping[str, Any], shape: type[Struct], within: str) -> Iterator[str]:
    """Keys that nobody knows, with the one that may have been meant."""
    known = [name for name in shape.__struct_fields__ if shape is not Profile or name != "name"]
    for key, value in given.items():
        if key not in known:
            close = get_close_matches(key, known, n=1)
            meant = f"did you mean {close[0]}? " if close else ""
            yield f"{within}{key} is not a known key; {meant}known: {', '.join(known)}"
        elif key in LISTS and isinstance(value, list):
            for n, one in enumerate(value):
                if isinstance(one, dict):
                    yield from find_unknown_keys(one, LISTS[key], f"{within}{key}[{n}].")


# --- faults -----------------------------------------------------------------------------------


def find_faults(profile: Profile) -> Iterator[str]:
    """What is wrong with a profile."""
    if not profile.dimensions:
        yield "has no dimensions; add a table [[dimensions]]"
    if not 0 < profile.least <= 1:
        yield f"least = {profile.least:g}: give a share of the weight above 0 and up to 1"
    if profile.categorical not in WAYS["categorical"]:
        yield f'categorical = "{profile.categorical}": give one of {", ".join(WAYS["categorical"])}'
    names = [one.name for one in profile.dimensions]
    for name in names:
        if names.count(name) > 1:
            yield f"two dimensions are called {format_value(name)}; rename one"
    for one in profile.dimensions:
        yield from (f"dimension {format_value(one.name)}: {fault}" for fault in find_scale_faults(one))
    total = sum(one.weight for one in profile.dimensions)
    if not isfinite(total) or abs(total - 1) > NEAR:
        yield f"weights sum to {total:g}, not 1; change one by {1 - total:+g}"


def find_scale_faults(scale: Scale) -> Iterator[str]:
    """What is wrong with one dimension."""
    if scale.name == OVERALL:
        yield f"{OVERALL} is the name of the weighted mean; call it something else"
    if len(scale.name) > LONGEST_NAME:
        yield f"its name has {len(scale.name)} characters; Langfuse takes {LONGEST_NAME} at most, so shorten it"
    if not NAME.fullmatch(scale.name):
        yield "a name is made of letters, digits, spaces and _ . ( ) -"
    if not (isfinite(scale.weight) and 0 < scale.weight <= 1):
        yield f"weight = {scale.weight:g}: give a share above 0 and up to 1"
    if not scale.asks.strip():
        yield "asks is empty; give the question that a judge is to answer"
    if scale.across and scale.across not in WAYS[scale.kind]:
        yield f'across = "{scale.across}": for a {scale.kind} dimension give {" or ".join(WAYS[scale.kind])}'
    for signal in scale.signals:
        if signal not in SIGNALS:
            close = get_close_matches(signal, SIGNALS, n=1)
            meant = f"did you mean {close[0]}? " if close else ""
            yield f"signal {format_value(signal)} is not known; {meant}known: {', '.join(SIGNALS)}"
    yield from find_band_faults(scale) if scale.kind == "numeric" else find_category_faults(scale)


def find_band_faults(scale: Scale) -> Iterator[str]:
    """Bands cover 0 to 1, each beginning where the one before ends."""
    if scale.categories:
        yield 'it has categories though it is numeric; give bands, or kind = "categorical"'
    if not scale.bands:
        yield "it has no bands; give at least one from 0 to 1"
        return
    end = 0.0
    for band in scale.bands:
        if abs(band.low - end) > NEAR:
            what = "leave a gap" if band.low > end else "overlap"
            name = format_value(band.label)
            yield f"bands {what} between {end:g} and {band.low:g}; let {name} begin at low = {end:g}"
        if not band.low < band.high:
            yield f"band {format_value(band.label)} ends at {band.high:g}, not above its beginning {band.low:g}"
        end = band.high
    if abs(end - 1) > NEAR:
        yield f"bands end at {end:g}, not at 1; let the last one end at high = 1.0"
    yield from find_label_faults([one.label for one in scale.bands])


def find_category_faults(scale: Scale) -> Iterator[str]:
    """Four categories, 0 to 3, the worst first."""
    if scale.bands:
        yield 'it has bands though it is categorical; give categories, or kind = "numeric"'
    values = [one.value for one in scale.categories]
    if values != STEPS:
        yield f"its categories have the values {values}; give four in order: 0, 1, 2, 3, the worst first"
    yield from find_label_faults([one.label for one in scale.categories])


def find_label_faults(labels: Sequence[str]) -> Iterator[str]:
    for label in labels:
        if not label.strip():
            yield "a label is empty; give each band or category a word"
            return
        if labels.count(label) > 1:
            yield f"the label {format_value(label)} stands twice; rename one"
            return


class ScoreDefinition(Value, frozen=True):
    """A score as Langfuse is told of it: a range, or categories from the worst to the best."""

    name: str
    type: Literal["NUMERIC", "CATEGORICAL"]
    description: str
    min: float | None = None
    max: float | None = None
    categories: tuple[tuple[str, int], ...] = ()
    """Label and value."""


class OverallQuality(Row, frozen=True):
    """The weighted mean, and what it was made of."""

    value: float | None
    computed_from: list[str]
    missing: list[str]


def hash_profile(profile: Profile) -> str:
    """A short hash of all that the profile says."""
    return hash_parts(msgspec.json.encode(profile))


# --- scores -----------------------------------------------------------------------------------


def scale_score(scale: Scale, score: float) -> float:
    """A score as a part of 1: categories stand at 0, ⅓, ⅔ and 1."""
    return score / TOP if scale.kind == "categorical" else score


def average_scores(profile: Profile, scores: Mapping[str, float | None]) -> OverallQuality:
    """The weighted mean of what was scored, by the profile's rule for what was not; not rounded."""
    there = [(one, scores[one.name]) for one in profile.dimensions if scores.get(one.name) is not None]
    weight = sum(scale.weight for scale, _ in there)
    missing = [one.name for one in profile.dimensions if scores.get(one.name) is None]
    is_enough = weight + LEAST_ERROR >= profile.least and weight > 0
    if not is_enough or (missing and profile.missing == "none"):
        return OverallQuality(value=None, computed_from=[], missing=missing)
    total = sum(scale.weight * scale_score(scale, score) for scale, score in there if score is not None)
    value = min(1.0, max(0.0, total / weight))  # weights that sum to 1 in decimals may miss it in bits
    return OverallQuality(value=value, computed_from=[scale.name for scale, _ in there], missing=missing)


# --- the judge --------------------------------------------------------------------------------


def render_criteria(profile: Profile) -> str:
    """The criteria, for a judge that reads."""
    return "\n\n".join(render_dimension(one) for one in profile.dimensions)


def render_dimension(scale: Scale) -> str:
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


def build_reply_schema(profile: Profile) -> bytes:
    """JSON Schema of the reply: for each dimension evidence, then the rationale, and only then the score.

    The range of a number stands in its description: not every service takes `minimum` and `maximum`.
    """
    return msgspec.json.encode(
        build_strict_object({one.name: build_dimension_schema(one) for one in profile.dimensions})
    )


def build_dimension_schema(scale: Scale) -> dict[str, Any]:
    citation = build_strict_object(
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
    return build_strict_object(
        {
            "evidence": {"type": "array", "items": citation},
            "rationale": {"type": "string", "description": "One or two sentences: why this score and no other"},
            "score": {"anyOf": [graded, {"type": "null"}]},
        }
    )


def build_strict_object(properties: dict[str, Any]) -> dict[str, Any]:
    """An object with exactly these properties, in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


# --- Langfuse ---------------------------------------------------------------------------------


def list_score_definitions(profile: Profile) -> list[ScoreDefinition]:
    """The score configs of all dimensions and of the overall quality."""
    whole = ScoreDefinition(
        name=OVERALL, type="NUMERIC", description="Weighted mean of the dimensions", min=0.0, max=1.0
    )
    return [*(build_score_definition(one) for one in profile.dimensions), whole]


def build_score_definition(scale: Scale) -> ScoreDefinition:
    if scale.kind == "numeric":
        return ScoreDefinition(name=scale.name, type="NUMERIC", description=scale.asks, min=0.0, max=1.0)
    steps = tuple((one.label, one.value) for one in scale.categories)
    return ScoreDefinition(name=scale.name, type="CATEGORICAL", description=scale.asks, categories=steps)
