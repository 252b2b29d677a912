"""Made-up suites: how often tasks pass, what their checks, judge and costs say, in trials of two arms.

All arrays stand as (tasks, arms, repeats, suites). Rates follow what repeated runs of public agent benchmarks show:
most tasks nearly always pass or nearly always fail, and about a third go either way.
"""

from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from assay.types.evals import Arm, CheckResult, Cost, Trial

Floats = NDArray[np.float64]
PARTS = ("objective", "passed", "judge", "cost")
ARMS: tuple[Arm, Arm] = ("baseline", "candidate")


@dataclass(frozen=True)
class World:
    """Rates and habits of the tasks of many suites; `rates` is (tasks, arms, suites), the rest (tasks, suites)."""

    rates: Floats
    checks: Floats
    partial: Floats
    """How often a failing trial passes some checks."""
    habit: Floats
    """The share that it then usually passes."""
    offset: Floats
    """Of the judge."""
    spread: Floats
    """Of the logarithm of a metric of cost."""
    is_judged: bool = True

    def of(self, suites: NDArray[np.int64], tasks: NDArray[np.int64]) -> "World":
        """Single tasks of single suites, each as a suite of its own."""
        own = {name: getattr(self, name)[tasks, suites][None] for name in ("checks", "partial", "habit", "offset")}
        rates = self.rates[tasks, :, suites].T[None]
        return replace(self, rates=rates, spread=self.spread[tasks, suites][None], **own)


@dataclass(frozen=True)
class Drawn:
    """Trials of both arms."""

    objective: Floats
    passed: NDArray[np.bool_]
    judge: Floats
    cost: Floats
    """Mean of the metrics' logarithms, to base 2."""
    is_judged: bool

    @property
    def base(self) -> Floats:
        return 0.6 * self.objective + 0.4 * self.judge if self.is_judged else self.objective

    def first(self, repeats: int) -> "Drawn":
        """The trials up to a look."""
        part = {name: getattr(self, name)[:, :, :repeats] for name in PARTS}
        return replace(self, **part)

    def swapped(self) -> "Drawn":
        """Each arm in the other's place."""
        return replace(self, **{name: getattr(self, name)[:, ::-1] for name in PARTS})

    def trials(self, suite: int) -> tuple[list[Trial], list[Trial]]:
        """One suite as the values that `compare` takes; 60 checks stand for any of 1 to 5."""
        tasks, _, repeats, _ = self.objective.shape
        sides: tuple[list[Trial], list[Trial]] = ([], [])
        for task, arm, repeat in np.ndindex(tasks, 2, repeats):
            at = task, arm, repeat, suite
            hits = round(float(self.objective[at]) * 60)
            one = Trial(
                task=f"task {task:02}",
                arm=ARMS[arm],
                repeat=repeat + 1,
                checks=tuple(CheckResult(name=str(n), kind="command", passed=n < hits) for n in range(60)),
                judge01=float(self.judge[at]) if self.is_judged else None,
                cost=Cost(wall_s=float(2 ** self.cost[at])),
            )
            sides[arm].append(one)
        return sides


def central(dice: np.random.Generator, tasks: int, suites: int, *, is_judged: bool = True) -> World:
    """Three in ten tasks nearly always fail, four nearly always pass, three go either way."""
    shape = tasks, suites
    kind = dice.choice(3, p=(0.3, 0.4, 0.3), size=shape)
    rates = np.choose(kind, [dice.beta(1, 12, shape), dice.beta(12, 1, shape), dice.beta(2, 2, shape)])
    checks = dice.integers(1, 6, shape).astype(float)
    return World(
        rates=np.repeat(np.clip(rates, 0.05, 0.98)[:, None], 2, axis=1),
        checks=checks,
        partial=np.where(checks > 1, dice.beta(0.7, 0.7, shape), 0.0),
        habit=some_of(dice, checks),
        offset=dice.normal(0, 0.08, shape),
        spread=dice.uniform(0.2, 0.5, shape),
        is_judged=is_judged,
    )


def constant(dice: np.random.Generator, tasks: int, suites: int, rate: float) -> World:
    """Every trial passes, or every one fails; nobody judges, so only cost varies."""
    world = central(dice, tasks, suites, is_judged=False)
    return replace(world, rates=np.full_like(world.rates, rate), partial=np.zeros_like(world.partial))


def some_of(dice: np.random.Generator, checks: Floats) -> Floats:
    """A share of the checks that is neither none nor all."""
    hits = 1 + np.floor(dice.random(checks.shape) * np.maximum(checks - 1, 1))
    return np.where(checks > 1, hits / checks, 0.0)


def draw(dice: np.random.Generator, world: World, repeats: int) -> Drawn:
    """Trials of both arms."""
    tasks, _, suites = world.rates.shape
    shape = tasks, 2, repeats, suites

    def wide(values: Floats) -> Floats:
        return np.broadcast_to(values[:, None, None, :], shape)

    passed = dice.random(shape) < world.rates[:, :, None, :]
    share = np.where(dice.random(shape) < 0.7, wide(world.habit), some_of(dice, wide(world.checks)))
    objective = np.where(passed, 1.0, np.where(dice.random(shape) < wide(world.partial), share, 0.0))
    judge = 0.30 + 0.20 * objective + 0.32 * passed + wide(world.offset) + dice.normal(0, 0.10, shape)
    # the mean of four metrics that correlate by 0.6; a failing trial costs a fifth more
    cost = wide(world.spread) * sqrt((1 + 3 * 0.6) / 4) * dice.normal(size=shape) + 0.2 * ~passed
    return Drawn(objective, passed, np.clip(judge, 0, 1), cost / log(2), world.is_judged)


def lifted(world: World, gain: float) -> World:
    """The candidate better by a common shift of the log-odds that adds this much to the mean rate."""
    before = world.rates[:, 0]
    odds = np.log(before / (1 - before))
    low, high = np.zeros(before.shape[1]), np.full(before.shape[1], 30.0)
    for _ in range(50):
        middle = (low + high) / 2
        short = (1 / (1 + np.exp(-odds - middle)) - before).mean(axis=0) < gain
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return replace(world, rates=np.stack([before, 1 / (1 + np.exp(-odds - high))], axis=1))


def broken(world: World) -> World:
    """The first task falls from 0.9 to 0.3."""
    rates = world.rates.copy()
    rates[0, 0], rates[0, 1] = 0.9, 0.3
    return replace(world, rates=rates)


def skewed(world: World) -> World:
    """No better on the mean: a tenth of the tasks loses 70 points, the others gain a little."""
    before = world.rates[:, 0].copy()
    lost = max(1, len(before) // 10)
    before[:lost] = 0.85
    rest = lifted(replace(world, rates=np.repeat(before[lost:, None], 2, axis=1)), 0.7 * lost / (len(before) - lost))
    after = np.concatenate([np.full_like(before[:lost], 0.15), rest.rates[:, 1]])
    return replace(world, rates=np.stack([before, after], axis=1))
