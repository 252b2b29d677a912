"""Prompts as files: a head in TOML, a body with placeholders. What is written here is clean because we wrote it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import msgspec
from msgspec import Struct

from assay.judges.criteria import load_criteria
from assay.judges.explicit_evidence import SessionRecord
from assay.resources import read_resource
from assay.sessions.calls import is_mutating
from assay.types import CleanText, Failure, Intent

FENCE = "+++\n"
RATIONALE = re.compile(r'"rationale": "([^"]+)"')
PLACEHOLDER = re.compile(r"\{\{(\w*)\}\}")
ENDS = {
    "answered": "the agent's words close it",
    "landed": "it ends on a commit, push or pull request",
    "unanswered": "the last prompt got neither words nor work",
    "api_error": "the model's service failed",
    "interrupted": "the person stopped the agent",
    "rejected": "the person refused a call, and nothing followed",
    "pending": "a question or plan waits for the person",
    "mid_work": "a tool call is the last that happened",
    "announces_more": "the agent announces more that never came",
    "nothing": "nobody asked for anything",
}


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
        "intents": "\n".join(f"- {name}: {one.means}" for name, one in known.intents.items()),
        "checks": "\n".join(f"- {name}: {one.asks}" for name, one in known.checks.items()),
    }


def describe_intent(intent: Intent) -> dict[str, str]:
    """What the outcome's prompt says of an intent."""
    one = load_criteria().intents[intent]
    return {
        "intent": intent.replace("_", " "),
        "means": one.means,
        "criterion": one.criterion,
        "explicit": one.explicit,
        "grounds": " or ".join(one.grounds),
    }


@cache
def find_example(job: str) -> str:
    """The rationale in a prompt's example: small models copy it."""
    found = RATIONALE.search(load_prompt(job).body)
    return found[1] if found else ""


def format_numbers(found: list[int]) -> str:
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


def describe_facts(record: SessionRecord, failures: Sequence[Failure]) -> str:
    """The facts, one a line."""
    return "\n".join(f"- {line}" for line in list_facts(record, failures))


def list_facts(record: SessionRecord, failures: Sequence[Failure]) -> Iterator[str]:
    timeline, turns = record.timeline, record.turns
    yield f"turns: {len(turns)}" + (
        f"; what the person said next, on another goal, is turn {len(turns) + 1}" if record.after else ""
    )
    yield f"last change of code: turn {record.changed}" if record.changed else "no code was changed"
    yield from list_check_facts(record)
    landed = [f"{purpose} in turn {number}" for number, purpose, _ in timeline.landed]
    yield "handed in: " + (", ".join(dict.fromkeys(landed)) or "no commit, push or pull request")
    stopped = [
        number
        for number, turn in enumerate(turns, 1)
        if any(mark.kind == "interrupt" for mark in turn.marks)
        or any(call.status in ("interrupted", "rejected") for call in turn.calls)
    ]
    if stopped:
        yield f"stopped or refused by the person: turns {format_numbers(stopped)}"
    if not any(is_mutating(call) for turn in turns for call in turn.calls):
        yield "no tool call had side effects"
    yield f"ending: {ENDS[timeline.ending.kind]}"
    signals = [f"{one.kind.replace('_', ' ')} in turn {one.turn}" for one in failures]
    yield "failure signals: " + (", ".join(dict.fromkeys(signals)) or "none")


def list_check_facts(record: SessionRecord) -> Iterator[str]:
    """The last run of each kind of check."""
    timeline = record.timeline
    latest = {check.purpose: (place, check) for place, check in zip(timeline.checked_at, timeline.checks, strict=True)}
    if not latest:
        yield "checks: no test, linter, type check or build was run"
    for purpose, (place, check) in latest.items():
        ended = {True: "passed", False: "failed", None: "ended in an unknown way"}[check.passed]
        when = "after" if place > timeline.last_edit and check.turn >= record.changed else "before"
        yield f"last {purpose}: {ended} in turn {check.turn}" + (f", {when} the last change" if record.changed else "")
