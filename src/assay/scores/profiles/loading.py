"""Finds a profile, reads it, and says what is wrong with it and what to do."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.config import config_files, shown
from assay.errors import BadInput
from assay.judges.offline.quality import SIGNALS
from assay.scores.profiles.deriving import OVERALL
from assay.types.quality import Band, Category, Profile, Scale

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


class Found(Struct, frozen=True):
    """A profile that is there: its name, and its file where it is a person's own."""

    name: str
    path: Path | None


def folders(env: Mapping[str, str], cwd: Path) -> list[Path]:
    """Where a person's own profiles are looked for: beside every `assay.toml` that holds, the nearest first."""
    return [path.parent / FOLDER for path in config_files(env, cwd)][::-1]


def listed(where: Sequence[Path] = ()) -> list[Found]:
    """All profiles, the shipped ones first; of two with one name the nearer holds."""
    found = {name: Found(name, None) for name in SHIPPED}
    for folder in where:
        for path in sorted(folder.glob(f"*{ENDING}")) if folder.is_dir() else ():
            found.setdefault(path.stem, Found(path.stem, path))
    return list(found.values())


def load(name: str, where: Sequence[Path] = ()) -> Profile:
    """The profile of a name, or the one at a path."""
    if name.endswith(ENDING) or "/" in name or os.sep in name:
        return read(Path(name).expanduser())
    if name in SHIPPED:
        return shipped(name)
    known = {one.name: one.path for one in listed(where)}
    if path := known.get(name):
        return read(path)
    close = get_close_matches(name, known, n=1)
    meant = f"did you mean {close[0]}? " if close else ""
    raise BadInput(
        f"no profile is called {shown(name)}; {meant}there are: {', '.join(known)};"
        f" one of your own is a path, or a file in {FOLDER}/ beside assay.toml"
    )


@cache
def shipped(name: str) -> Profile:
    text = files("assay.scores.profiles").joinpath(f"{name}{ENDING}").read_text("utf-8")
    return made(name, tomllib.loads(text), f"{name}{ENDING}")


def read(path: Path) -> Profile:
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
    return made(name, given, str(path))


def made(name: str, given: dict[str, Any], where: str) -> Profile:
    """The profile that a file describes; every fault is told with its place and a way out."""
    for fault in unknown_keys(given, Profile, ""):
        raise BadInput(f"{where}: {fault}")
    try:
        profile = msgspec.convert({**given, "name": name}, Profile)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where}: {plainly(str(error))}") from None
    for fault in faults(profile):
        raise BadInput(f"{where}: {fault}")
    return profile


def plainly(error: str) -> str:
    """What msgspec says, with the place in TOML's own words."""
    what, _, at = error.partition(" - at ")
    place = at.strip("`").removeprefix("$").removeprefix(".")
    return f"{place}: {what[:1].lower()}{what[1:]}" if place else f"{what[:1].lower()}{what[1:]}"


def unknown_keys(given: Mapping[str, Any], shape: type[Struct], within: str) -> Iterator[str]:
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
                    yield from unknown_keys(one, LISTS[key], f"{within}{key}[{n}].")


# --- faults -----------------------------------------------------------------------------------


def faults(profile: Profile) -> Iterator[str]:
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
            yield f"two dimensions are called {shown(name)}; rename one"
    for one in profile.dimensions:
        yield from (f"dimension {shown(one.name)}: {fault}" for fault in faults_of(one))
    total = sum(one.weight for one in profile.dimensions)
    if not isfinite(total) or abs(total - 1) > NEAR:
        yield f"weights sum to {total:g}, not 1; change one by {1 - total:+g}"


def faults_of(scale: Scale) -> Iterator[str]:
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
            yield f"signal {shown(signal)} is not known; {meant}known: {', '.join(SIGNALS)}"
    yield from faults_of_bands(scale) if scale.kind == "numeric" else faults_of_categories(scale)


def faults_of_bands(scale: Scale) -> Iterator[str]:
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
            yield f"bands {what} between {end:g} and {band.low:g}; let {shown(band.label)} begin at low = {end:g}"
        if not band.low < band.high:
            yield f"band {shown(band.label)} ends at {band.high:g}, not above its beginning {band.low:g}"
        end = band.high
    if abs(end - 1) > NEAR:
        yield f"bands end at {end:g}, not at 1; let the last one end at high = 1.0"
    yield from twice([one.label for one in scale.bands])


def faults_of_categories(scale: Scale) -> Iterator[str]:
    """Four categories, 0 to 3, the worst first."""
    if scale.bands:
        yield 'it has bands though it is categorical; give categories, or kind = "numeric"'
    values = [one.value for one in scale.categories]
    if values != STEPS:
        yield f"its categories have the values {values}; give four in order: 0, 1, 2, 3, the worst first"
    yield from twice([one.label for one in scale.categories])


def twice(labels: Sequence[str]) -> Iterator[str]:
    for label in labels:
        if not label.strip():
            yield "a label is empty; give each band or category a word"
            return
        if labels.count(label) > 1:
            yield f"the label {shown(label)} stands twice; rename one"
            return
