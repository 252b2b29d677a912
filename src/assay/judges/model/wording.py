"""Prompts as files: a head in TOML, a body with placeholders. What is written here is clean because we wrote it."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import msgspec
from msgspec import Struct

from assay.judges.criteria import criteria
from assay.types import Clean, Intent

FENCE = "+++\n"
RATIONALE = re.compile(r'"rationale": "([^"]+)"')
PLACEHOLDER = re.compile(r"\{\{(\w*)\}\}")


class Head(Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    most_output: int


class Wording(Struct, frozen=True):
    """A prompt as its file has it."""

    head: Head
    body: str
    source: bytes


@cache
def wording(name: str) -> Wording:
    """The prompt called `name`."""
    source = files("assay.judges.model").joinpath("prompts", f"{name}.md").read_bytes()
    _, head, body = source.decode("utf-8").split(FENCE, 2)
    return Wording(msgspec.toml.decode(head, type=Head), body.strip() + "\n", source)


def fill(body: str, values: Mapping[str, str]) -> str:
    """The text with every placeholder replaced once; one that has no value is a mistake of ours."""
    return PLACEHOLDER.sub(lambda found: values[found[1]], body)


def written(text: str) -> Clean:
    """Text that was written here: no word of it comes from a transcript or from a model."""
    return Clean(text)


@cache
def system() -> Clean:
    """The contract, the same for all jobs: with the material it is the prefix that services cache."""
    return written(wording("system").body)


def task(job: str, **values: str) -> Clean:
    """What a job asks; `values` are numbers and words of ours."""
    return written(fill(wording(job).body, {**shared(), **values}))


@cache
def shared() -> dict[str, str]:
    """What prompts say in every session, from the criteria."""
    known = criteria()
    return {
        "intents": "\n".join(f"- {name}: {one.means}" for name, one in known.intents.items()),
        "checks": "\n".join(f"- {name}: {one.asks}" for name, one in known.checks.items()),
    }


def about(intent: Intent) -> dict[str, str]:
    """What the outcome's prompt says of an intent."""
    one = criteria().intents[intent]
    return {
        "intent": intent.replace("_", " "),
        "means": one.means,
        "criterion": one.criterion,
        "explicit": one.explicit,
        "grounds": " or ".join(one.grounds),
    }


@cache
def example(job: str) -> str:
    """The rationale in a prompt's example: small models copy it."""
    found = RATIONALE.search(wording(job).body)
    return found[1] if found else ""


def numbers(found: list[int]) -> str:
    """Numbers in rising order, runs of them in short: `2-5, 8`."""
    runs: list[list[int]] = []
    for number in found:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


def numbered(text: str) -> frozenset[int]:
    """The numbers that such a text stands for."""
    runs = [[int(end) for end in run.split("-")] for run in text.split(", ")]
    return frozenset(number for run in runs for number in range(run[0], run[-1] + 1))
