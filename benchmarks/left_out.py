"""What the offline judge is worth on repositories that it was not fitted to: each is left out in turn.

The weights, the calibration and the spread between repositories are fitted on all others, and the sessions of the one
that was left out are judged by them; where sessions begin stays as it was.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import TypeVar

from assay.judges.criteria import SHOWS
from assay.judges.offline.outcome import load_weights
from assay.scores.prediction import Spread, predict_share
from assay.sessions.endings import BROKEN_ENDINGS
from benchmarks import agreement
from benchmarks.agreement import Band, Case, Counts, Verdicts
from benchmarks.fit import (
    LabelledGap,
    LabelledGoal,
    Weights,
    count_shifts,
    fit_line,
    fit_spread,
    fit_threshold,
    fit_without,
    sum_weights,
)
from benchmarks.labelled import DONE, Goal, Stream

RESAMPLES, SEED, TAIL = 1_000, 20261, 0.025
COARSE = {"question": "read", "investigation": "read", "review": "read", "plan": "plan"}
"""The others are changes."""
Interval = tuple[float, float]
T = TypeVar("T")


@dataclass(frozen=True)
class Method:
    """A way to tell completed goals from others, over all repositories, with intervals over them."""

    method: str
    n: int
    false: int
    unclear: int
    """Left out of the balanced accuracy, in all other measures."""
    balanced_accuracy: float | None
    balanced_interval: Interval | None
    auc: float | None
    auc_interval: Interval | None
    brier: float | None
    surest: float | None
    """Share of right ones among the surest two thirds."""


@dataclass(frozen=True)
class Coverage:
    """A repository's true share of completed goals, and the interval that is printed without its labels."""

    repository: str
    goals: int
    share: float
    low: float
    high: float
    is_held: bool


@dataclass(frozen=True)
class LeftOut:
    repositories: int
    methods: list[Method]
    base_brier: float | None
    """Of the share of completed goals, said of every goal."""
    coarse_intent: float | None
    coarse_interval: Interval | None
    boundary_f1: dict[str, tuple[float | None, Interval | None]]
    reliability: list[Band]
    """Of the chances by the others' fits."""
    coverage: list[Coverage]
    spread: Spread
    """Fitted on all of them: what `scores/prediction.toml` holds."""


Judge = Callable[[Goal], tuple[bool | None, float]]
"""What a method says of a goal, and its chance; `None` where it claims nothing."""


def measure_left_out(
    streams: Sequence[Stream], labelled: Sequence[LabelledGoal], gaps: Sequence[LabelledGap]
) -> LeftOut:
    """Everything, on goals that readers decided and that a session with a chance holds."""
    goals = [goal for stream in streams for goal in stream.goals]
    known = [goal for goal in goals if goal.is_complete is not None and goal.session and goal.session["confidence"]]
    refitted = refit(known, fit_without(labelled))
    methods: dict[str, Judge] = {
        "assay, as shipped": judge_as_shipped,
        "assay, fitted on the others": lambda goal: refitted[id(goal)],
        "believe the agent": lambda goal: say(is_complete=goal.ended_properly and bool(goal.kinds & DONE)),
        "ended properly": lambda goal: say(is_complete=goal.ended_properly),
        "always complete": lambda _: say(is_complete=True),
    }
    share = sum(bool(goal.is_complete) for goal in known) / len(known) if known else None
    pairs = {one: [(coarsen(goal), goal) for goal in group] for one, group in by_repository(goals).items()}
    return LeftOut(
        repositories=len(by_repository(goals)),
        methods=[measure(name, known, judge) for name, judge in methods.items()],
        base_brier=None if share is None else share * (1 - share),
        coarse_intent=score_coarse([pair for group in pairs.values() for pair in group]),
        coarse_interval=resample(pairs, score_coarse),
        boundary_f1={
            "assay": measure_boundaries(streams, lambda stream: stream.said),
            "assay, threshold of the others, topics alone": measure_threshold(gaps),
            "never split": measure_boundaries(streams, lambda _: frozenset()),
        },
        reliability=agreement.reliability(
            [
                Case(bool(goal.is_complete), said=bool(refitted[id(goal)][0]), rank=refitted[id(goal)][1])
                for goal in known
            ]
        ),
        coverage=cover(known),
        spread=measure_spread(known),
    )


def say(*, is_complete: bool) -> tuple[bool | None, float]:
    return is_complete, float(is_complete)


def judge_as_shipped(goal: Goal) -> tuple[bool | None, float]:
    session = goal.session or {}
    return session["goal_complete"], session["confidence"]


def by_repository(goals: Sequence[Goal]) -> dict[str, list[Goal]]:
    found: dict[str, list[Goal]] = {}
    for goal in goals:
        found.setdefault(goal.repository, []).append(goal)
    return found


# --- judged by the others' numbers --------------------------------------------------------------


def refit(known: Sequence[Goal], weights: Mapping[str, Weights]) -> dict[int, tuple[bool | None, float]]:
    """What the judge says of each goal when its repository was left out of every fit."""
    said = {}
    for one in sorted({goal.repository for goal in known}):
        others = [goal for goal in known if goal.repository != one and not broke_off(goal)]
        line = fit_line([(sum_weights(read_kinds(goal), weights[one]), bool(goal.is_complete)) for goal in others])
        broken = [bool(goal.is_complete) for goal in known if goal.repository != one and broke_off(goal)]
        for goal in known:
            if goal.repository == one:
                said[id(goal)] = judge_again(goal, weights[one], line, (sum(broken) + 0.5) / (len(broken) + 1))
    return said


def read_kinds(goal: Goal) -> set[str]:
    return goal.kinds | {str((goal.session or {}).get("intent"))}


def broke_off(goal: Goal) -> bool:
    return bool(goal.kinds & set(BROKEN_ENDINGS))


def judge_again(goal: Goal, weights: Weights, line: Interval, broken: float) -> tuple[bool | None, float]:
    """The judge's formula, with other numbers in it."""
    rules = load_weights()
    if broke_off(goal):
        return False, broken
    odds = line[0] + line[1] * sum_weights(read_kinds(goal), weights)
    against = {kind for kind, known in rules.weights.items() if known.weight < 0}
    if goal.kinds & SHOWS and not goal.kinds & against:
        odds = max(odds, log(rules.shown / (1 - rules.shown)))
    chance = 1 / (1 + exp(-odds))
    is_unclear = rules.unclear.low <= chance < rules.unclear.high
    return None if is_unclear else chance >= rules.unclear.high, chance


# --- measures -----------------------------------------------------------------------------------


def measure(name: str, known: Sequence[Goal], judge: Judge) -> Method:
    """One method over all goals; what it claims nothing of is out of its balanced accuracy only."""
    said = {
        one: [(bool(goal.is_complete), *judge(goal)) for goal in group] for one, group in by_repository(known).items()
    }
    pooled = [row for rows in said.values() for row in rows]
    decided, every = score_decided(pooled), score_all(pooled)
    return Method(
        method=name,
        n=len(pooled),
        false=every.false,
        unclear=len(pooled) - decided.n,
        balanced_accuracy=decided.balanced_accuracy,
        balanced_interval=resample(said, lambda rows: score_decided(rows).balanced_accuracy),
        auc=every.auc,
        auc_interval=resample(said, lambda rows: score_all(rows).auc),
        brier=every.brier,
        surest=score_surest(pooled),
    )


Row = tuple[bool, bool | None, float]
"""Label, what was said, and the chance."""


def score_decided(rows: Sequence[Row]) -> Verdicts:
    return agreement.verdicts([Case(label, said, chance) for label, said, chance in rows if said is not None])


def score_all(rows: Sequence[Row]) -> Verdicts:
    return agreement.verdicts([Case(label, bool(said), chance) for label, said, chance in rows])


def score_surest(rows: Sequence[Row]) -> float | None:
    """Of two thirds of the goals, those farthest from the middle of the unclear band, how many are right."""
    band = load_weights().unclear
    middle = (band.low + band.high) / 2
    surest = sorted(rows, key=lambda row: -abs(row[2] - middle))[: len(rows) * 2 // 3]
    return agreement.ratio(sum((chance >= middle) == label for label, _, chance in surest), len(surest))


def coarsen(goal: Goal) -> bool:
    """Whether read, plan or change was said rightly."""
    session = goal.session or {}
    said = session.get("aim") or COARSE.get(session.get("intent") or "none", "change")
    return goal.session is not None and said in {COARSE.get(name, "change") for name in goal.intents}


def score_coarse(pairs: Sequence[tuple[bool, Goal]]) -> float | None:
    return agreement.ratio(sum(is_right for is_right, _ in pairs), len(pairs))


def measure_boundaries(
    streams: Sequence[Stream], find: Callable[[Stream], frozenset[float]]
) -> tuple[float | None, Interval | None]:
    """F1 of boundaries, and its interval over repositories."""
    counts: dict[str, list[Counts]] = {}
    for stream in streams:
        said = find(stream)
        found = Counts(
            tp=len(said & stream.boundaries),
            fp=len(said - stream.boundaries - stream.maybe),
            fn=len(stream.boundaries - said),
        )
        counts.setdefault(stream.repository, []).append(found)
    pooled = agreement.total([one for group in counts.values() for one in group])
    return pooled.f1, resample(counts, lambda rows: agreement.total(rows).f1)


def measure_threshold(gaps: Sequence[LabelledGap]) -> tuple[float | None, Interval | None]:
    """F1 of topic shifts where each repository's threshold is fitted on the others."""
    counts = {}
    for one in sorted({gap.repository for gap in gaps}):
        threshold = fit_threshold([gap for gap in gaps if gap.repository != one])
        counts[one] = [count_shifts([gap for gap in gaps if gap.repository == one], threshold)]
    pooled = agreement.total([one for group in counts.values() for one in group])
    return pooled.f1, resample(counts, lambda rows: agreement.total(rows).f1)


def resample(groups: Mapping[str, Sequence[T]], score: Callable[[Sequence[T]], float | None]) -> Interval | None:
    """95 % interval: repositories are drawn with replacement, always in the same way."""
    dice, names = random.Random(SEED), sorted(groups)
    values = []
    for _ in range(RESAMPLES if names else 0):
        value = score([row for name in dice.choices(names, k=len(names)) for row in groups[name]])
        if value is not None:
            values.append(value)
    values.sort()
    cut = int(TAIL * len(values))
    return (values[cut], values[-1 - cut]) if values else None


def measure_spread(known: Sequence[Goal]) -> Spread:
    """How far the judge's chances are off between these repositories."""
    rows = []
    for group in by_repository(known).values():
        chances = [judge_as_shipped(goal)[1] for goal in group]
        done = sum(bool(goal.is_complete) for goal in group)
        rows.append((len(group), done, (sum(chances) + 1) / (len(chances) + 2)))
    start, slope, between = fit_spread(rows)
    return Spread(start=start, slope=slope, between=between, repositories=len(rows), goals=len(known))


def cover(known: Sequence[Goal]) -> list[Coverage]:
    """For each repository, whether its true share lies in the interval that is printed without knowing it."""
    found = []
    for one, group in sorted(by_repository(known).items()):
        spread = measure_spread([goal for goal in known if goal.repository != one])
        told = predict_share([judge_as_shipped(goal)[1] for goal in group], spread)
        share = 100 * sum(bool(goal.is_complete) for goal in group) / len(group)
        if told:
            found.append(Coverage(one, len(group), share, told.low, told.high, told.low <= share <= told.high))
    return found
