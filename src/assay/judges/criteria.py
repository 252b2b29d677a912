"""What no judge may decide for itself: the criteria of `criteria.toml`, the grade, and when a goal is completed."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

import msgspec
from msgspec import Struct

from assay.resources import hash_parts, load_table, read_resource
from assay.types import Aim, EvidenceKind, Failure, Intent

Ground = Literal["person", "check", "rerun", "reply"]
"""What can show that a goal was completed."""
Basis = Literal[Ground, "none"]
"""The ground that a model names."""


class Criterion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When an intent counts as completed."""

    means: str
    criterion: str
    explicit: str
    grounds: tuple[Ground, ...]
    floor: float


class RubricCheck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the seven checks of how well a session's goal was asked for."""

    pillar: str
    asks: str
    not_asked: tuple[Intent, ...]


class Criteria(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that `criteria.toml` says."""

    version: int
    intents: dict[Intent, Criterion]
    checks: dict[str, RubricCheck]
    grades: dict[str, float]


def read_criteria() -> bytes:
    """The criteria as they are written."""
    return read_resource("assay.judges", "criteria.toml")


def load_criteria() -> Criteria:
    """The criteria of `criteria.toml`."""
    return load_table("assay.judges", "criteria.toml", Criteria)


FLOORS: dict[Intent, float] = {intent: one.floor for intent, one in load_criteria().intents.items()}
"""Confidence that silence needs."""
GROUNDS: dict[Intent, frozenset[Ground]] = {
    intent: frozenset(one.grounds) for intent, one in load_criteria().intents.items()
}
"""What explicit evidence can stand on."""
NOT_ASKED: dict[str, frozenset[Intent]] = {
    name: frozenset(one.not_asked) for name, one in load_criteria().checks.items()
}
"""Checks that say nothing for an intent."""
VERIFIED: frozenset[Intent] = frozenset({"bug_fix", "feature", "refactor"})
"""Intents that nothing completes but a change, and that a check should show."""
SHOWS = frozenset(
    {"accepted", "accepted_next", "check_passed", "ran_again", "concluded", "plan_accepted", "building_began"}
)
"""Kinds of evidence that show a goal reached by themselves; a landing and the agent's praise are none of them."""
AIMS: dict[Intent, Aim] = {
    "question": "read", "investigation": "read", "review": "read", "plan": "plan", "small_change": "change",
    "bug_fix": "change", "feature": "change", "refactor": "change",
}  # fmt: skip
"""What an intent comes down to."""
LOWEST = "F"
LONGEST_TITLE, LONGEST_SUMMARY = 60, 240


def format_chance(chance: float) -> str:
    """A chance as every command tells it: two digits, and 0 and 1 only where it is exactly that."""
    return f"{chance if chance in (0, 1) else min(99, max(1, round(100 * chance))) / 100:.2f}"


def select_checks(intent: Intent, checks: Mapping[str, bool | None]) -> dict[str, bool | None]:
    """The checks, with `None` for those that say nothing for the intent."""
    return {name: None if intent in NOT_ASKED[name] else value for name, value in checks.items()}


def grade_checks(checks: Mapping[str, bool | None]) -> str | None:
    """A letter for the share of applicable checks that hold."""
    applicable = [value for value in checks.values() if value is not None]
    if not applicable:
        return None
    share = sum(applicable) / len(applicable)
    return next((letter for letter, least in load_criteria().grades.items() if share >= least), LOWEST)


@cache
def hash_criteria(job: str) -> str:
    """Changes with the numbers that decide a job's answers whoever judges, and not with the sentences."""
    known = load_criteria()
    decides: dict[str, object] = {
        "rubric": ([(name, sorted(one.not_asked)) for name, one in known.checks.items()], list(known.grades.items())),
        "outcome": sorted(FLOORS.items()),
    }
    return hash_parts(msgspec.json.encode(decides.get(job)))


def is_goal_complete(intent: Intent, evidence: EvidenceKind, confidence: float, failures: Sequence[Failure]) -> bool:
    """Whether a goal counts as completed: no failure signal, and explicit evidence or enough confidence in silence."""
    if failures or evidence == "failure":
        return False
    return evidence == "explicit" or confidence >= FLOORS[intent]
