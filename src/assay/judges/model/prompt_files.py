"""Prompts as files: a head in TOML, a body with placeholders. What is written here is clean because we wrote it."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec
from msgspec import Struct

from assay.judges.criteria import load_criteria
from assay.resources import read_resource
from assay.types import CleanText

FENCE = "+++\n"
RATIONALE = re.compile(r'"rationale": "([^"]+)"')
PLACEHOLDER = re.compile(r"\{\{(\w*)\}\}")


class PromptHead(Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    most_output: int


class PromptFile(Struct, frozen=True):
    """A prompt as its file has it."""

    head: PromptHead
    body: str
    source: bytes


@cache
def load_prompt(name: str) -> PromptFile:
    """The prompt called `name`."""
    source = read_resource("assay.judges.model", f"prompts/{name}.md")
    _, head, body = source.decode("utf-8").split(FENCE, 2)
    return PromptFile(msgspec.toml.decode(head, type=PromptHead), body.strip() + "\n", source)


def fill_placeholders(body: str, values: Mapping[str, str]) -> str:
    """The text with every placeholder replaced once; one that has no value is a mistake of ours."""
    return PLACEHOLDER.sub(lambda found: values[found[1]], body)


def declare_clean(text: str) -> CleanText:
    """Text that was written here: no word of it comes from a transcript or from a model."""
    return CleanText(text)


@cache
def render_system() -> CleanText:
    """The contract, the same for all jobs: with the material it is the prefix that services cache."""
    return declare_clean(load_prompt("system").body)


def render_task(job: str, **values: str) -> CleanText:
    """What a job asks; `values` are numbers and words of ours."""
    return declare_clean(fill_placeholders(load_prompt(job).body, {**describe_criteria(), **values}))


@cache
def describe_criteria() -> dict[str, str]:
    """What prompts say in every session, from the criteria."""
    known = load_criteria()
    return {
        "intents": "\n".join(
            f"- {name}: {one.means}. {one.criterion} Shown ({' or '.join(one.grounds)}): {one.explicit}"
            for name, one in known.intents.items()
        ),
        "checks": "\n".join(f"- {name}: {one.asks}" for name, one in known.checks.items()),
    }


@cache
def find_example(job: str) -> str:
    """The rationale in a prompt's example: small models copy it."""
    found = RATIONALE.search(load_prompt(job).body)
    return found[1] if found else ""


def format_numbers(found: Sequence[int]) -> str:
    """Numbers in rising order, runs of them in short: `2-5, 8`."""
    runs: list[list[int]] = []
    for number in found:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


def parse_numbers(text: str) -> frozenset[int]:
    """The numbers that such a text stands for."""
    runs = [[int(end) for end in run.split("-")] for run in text.split(", ")]
    return frozenset(number for run in runs for number in range(run[0], run[-1] + 1))
