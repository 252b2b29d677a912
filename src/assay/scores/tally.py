"""Sessions in numbers that add up: what a report says of all of them is worked out from the tallies of some.

A tally of many sessions is the sum of the tallies of any parts of them, to the last bit: counts are whole numbers, and
what is no whole number is kept value by value. `crushed` of every session must be fresh (`refresh_crushed`).
"""

from collections.abc import Iterable
from copy import copy
from datetime import tzinfo
from typing import Any, TypeVar

from msgspec import Struct

from assay.scores.audit import find_chance, is_answered, is_drawable
from assay.scores.breakdown import WAYS, name_slice
from assay.scores.measures import PILLARS, count_tokens
from assay.scores.prism import (
    Counts,
    JudgeCounts,
    count_session,
    explain_exclusion,
    find_rework_state,
    name_judge,
)
from assay.scores.reasons import advise_session, find_obstacle
from assay.scores.steps import follow_steps
from assay.types import LedgerLine, Session

CHECKS = tuple(check for checks in PILLARS.values() for check in checks)
OFFLINE = "offline"
ALL = "all"
"""The way in which all sessions have one name."""
K = TypeVar("K", str, float)


class Tally(Struct, kw_only=True, omit_defaults=True):
    """Some sessions in numbers."""

    sessions: int = 0
    left: dict[str, int] = {}
    """After each step of the waterfall."""
    losses: dict[str, dict[str, int]] = {}
    """Why sessions are not left after each step."""
    exclusions: dict[str, int] = {}
    small: int = 0
    small_crushed: int = 0
    slices: dict[str, dict[str, JudgeCounts]] = {}
    """By way and name; of all sessions under `ALL`."""
    judges: dict[str, int] = {}
    """Who judged, of those too that don't count."""
    fallbacks: dict[str, dict[str, int]] = {}
    """By who judged instead, and why."""
    unknown: dict[str, int] = {}
    """Why nobody knows whether the lines of crushed sessions stay."""
    obstacles: dict[str, dict[str, int]] = {}
    """By kind and advice."""
    drawable: dict[str, int] = {}
    """By judge, sessions that audits may draw."""
    drawn: list[str] = []
    """Ids of those of them that were not answered."""
    chances: dict[float, int] = {}
    grades: dict[str, int] = {}
    asked: dict[str, int] = {}
    held: dict[str, int] = {}
    """By check of prompts, where it applies, and where it holds."""
    turns: int = 0
    tokens: int = 0
    crushed_tokens: int = 0
    times: list[float] = []
    """Seconds of work of each crushed session."""
    costs: list[float] = []
    """USD of each counted session that has a price."""
    priced_crushed: int = 0
    went_on: int = 0
    """Commits after which the work went on."""


def tally_sessions(sessions: Iterable[Session], ledger: Iterable[LedgerLine], zone: tzinfo) -> Tally:
    """Sessions in numbers, with their lines of the ledger."""
    found = Tally(went_on=sum(line.effect == "went_on" for line in ledger))
    for one in sessions:
        found.sessions += 1
        judge = name_judge(one)
        add(found.judges, one.judge)
        tally_steps(found, one)
        for by in WAYS:
            place = found.slices.setdefault(by, {}).setdefault(name_slice(one, by, zone), {})
            count_session(place, one, judge)
        count_session(found.slices.setdefault(ALL, {}).setdefault(ALL, {}), one, judge)
        if one.fallback and one.judge_status != "opted_out":
            add(found.fallbacks.setdefault(OFFLINE if one.judge == OFFLINE else "", {}), one.fallback)
        if is_drawable(one):
            tally_drawable(found, one)
        if one.crushed is not None:
            tally_measures(found, one)
    return found


def tally_measured(sessions: Iterable[Session], zone: tzinfo) -> Tally:
    """Of sessions no more than what measures are made of."""
    found = Tally()
    days = found.slices.setdefault("day", {})
    for one in sessions:
        if one.crushed is not None:
            count_session(days.setdefault(name_slice(one, "day", zone), {}), one)
            tally_measures(found, one)
    return found


def tally_steps(found: Tally, one: Session) -> None:
    """Count a session at every step that it reaches, and why it goes no further."""
    if reason := explain_exclusion(one):
        add(found.exclusions, reason)
    if one.judge_status == "trivial" and one.goal_complete is not None:
        found.small += 1
        found.small_crushed += one.goal_complete is True and find_rework_state(one) != "yes"
    kind = find_obstacle(one)
    if kind:
        add(found.obstacles.setdefault(kind, {}), str(advise_session(one)))
    steps = follow_steps(one)
    for step in steps.reached:
        add(found.left, step)
    if steps.lost:
        add(found.losses.setdefault(steps.lost, {}), steps.why)


def tally_drawable(found: Tally, one: Session) -> None:
    """Count a session that audits may draw."""
    add(found.drawable, one.judge)
    add(found.chances, find_chance(one))
    if not is_answered(one):
        found.drawn.append(one.id)


def tally_measures(found: Tally, one: Session) -> None:
    """Count what is measured of a session that counts."""
    tokens, cost = count_tokens(one), one.facts["cost_usd"]
    found.turns += one.facts["turns"] if one.facts["tokens"] is not None else 0
    found.tokens += tokens
    if one.grade:
        add(found.grades, one.grade)
    for check in CHECKS:
        if (holds := one.checks.get(check)) is not None:
            add(found.asked, check)
            found.held[check] = found.held.get(check, 0) + bool(holds)
    if cost is not None:
        found.costs.append(cost)
        found.priced_crushed += one.crushed is True
    if one.crushed:
        found.crushed_tokens += tokens
        if one.facts["active_s"] is not None:
            found.times.append(float(one.facts["active_s"]))
        if find_rework_state(one) == "unknown":
            add(found.unknown, (one.facts.get("rework") or {}).get("detail") or "")


def add(counts: dict[K, int], name: K) -> None:
    counts[name] = counts.get(name, 0) + 1


def add_tallies(some: Iterable[Tally]) -> Tally:
    """The tally of all sessions that were tallied in parts."""
    total = Tally()
    others = [name for name in Tally.__struct_fields__ if name != "slices"]
    for one in some:
        add_slices(total.slices, one.slices)
        for name in others:
            setattr(total, name, add_values(getattr(total, name), getattr(one, name)))
    return total


def add_slices(total: dict[str, dict[str, JudgeCounts]], more: dict[str, dict[str, JudgeCounts]]) -> None:
    """Add what was counted in slices, of which there are thousands: every day is one."""
    for by, named in more.items():
        known = total.setdefault(by, {})
        for name, judges in named.items():
            there = known.get(name)
            if there is None:
                known[name] = copy_value(judges)
                continue
            for judge, counts in judges.items():
                if sum_of := there.get(judge):
                    sum_of.counted += counts.counted
                    sum_of.crushed += counts.crushed
                    sum_of.rework_open += counts.rework_open
                    sum_of.rework_unknown += counts.rework_unknown
                else:
                    there[judge] = copy(counts)


def add_values(total: Any, more: Any) -> Any:
    """A sum of two values of a tally: the first is changed where it can be, the second never."""
    if isinstance(total, dict):
        for name, value in more.items():
            total[name] = add_values(total[name], value) if name in total else copy_value(value)
    elif isinstance(total, list):
        total.extend(more)
    else:
        return total + more
    return total


def copy_value(value: Any) -> Any:
    """A value of a tally that can be added to without changing the first."""
    if isinstance(value, dict):
        return {name: copy_value(one) for name, one in value.items()}
    return copy(value) if isinstance(value, Counts) else value
