"""What sessions are measured by, read from `criteria.toml`: the same for every judge."""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Literal

import msgspec
from msgspec import Struct

from assay.types import Intent

Ground = Literal["person", "check", "landing", "reply"]
"""What can show that a goal was completed."""


class Criterion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When an intent counts as completed."""

    means: str
    criterion: str
    explicit: str
    grounds: tuple[Ground, ...]
    floor: float


class Check(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the seven checks of how well it was asked for."""

    pillar: str
    asks: str
    not_asked: tuple[Intent, ...]


class Criteria(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    version: int
    intents: dict[Intent, Criterion]
    checks: dict[str, Check]
    grades: dict[str, float]


@cache
def source() -> bytes:
    """The file as it is written."""
    return files("assay.judges").joinpath("criteria.toml").read_bytes()


@cache
def criteria() -> Criteria:
    """The file as it is read."""
    return msgspec.toml.decode(source(), type=Criteria)


FLOORS: dict[Intent, float] = {intent: one.floor for intent, one in criteria().intents.items()}
"""Confidence that silence needs."""
GROUNDS: dict[Intent, frozenset[Ground]] = {
    intent: frozenset(one.grounds) for intent, one in criteria().intents.items()
}
"""What explicit evidence can stand on."""
NOT_ASKED: dict[str, frozenset[Intent]] = {name: frozenset(one.not_asked) for name, one in criteria().checks.items()}
"""Checks that say nothing for an intent."""
LOWEST = "F"


def asked_of(intent: Intent, checks: Mapping[str, bool | None]) -> dict[str, bool | None]:
    """The checks, with `None` for those that say nothing for the intent."""
    return {name: None if intent in NOT_ASKED[name] else value for name, value in checks.items()}


def grade(checks: Mapping[str, bool | None]) -> str | None:
    """A letter for the share of applicable checks that hold."""
    applicable = [value for value in checks.values() if value is not None]
    if not applicable:
        return None
    share = sum(applicable) / len(applicable)
    return next((letter for letter, least in criteria().grades.items() if share >= least), LOWEST)


@cache
def version(job: str) -> str:
    """Changes with the numbers that decide a job's answers whoever judges, and not with the sentences."""
    known = criteria()
    decides: dict[str, object] = {
        "rubric": ([(name, sorted(one.not_asked)) for name, one in known.checks.items()], list(known.grades.items())),
        "outcome": sorted(FLOORS.items()),
    }
    return sha256(msgspec.json.encode(decides.get(job))).hexdigest()[:12]
