"""How often each rule is wrong, and how often right: many made-up suites, both rules side by side.

    python -m benchmarks.gate                 # everything; says how long it took
    python -m benchmarks.gate --runs 1000     # fewer A/A runs
    python -m benchmarks.gate --twin 4000     # an equal candidate that asks to be run again when it fails

Tables go to standard output, the plot of power to benchmarks/gate_power.svg. The permutation test, the limits and the
guard's tests are the product's own functions; what is written anew here is checked against `compare` by a test.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.evals.deciding import compare, guard, sequential
from assay.evals.deciding.permutation import count_tails
from assay.evals.deciding.tested_rule import FLAT, Z_90
from assay.types.evals import Thresholds
from benchmarks import gate_plot, gate_twin
from benchmarks.gate_world import Drawn, Floats, World, broken, central, constant, draw, lifted, skewed

Flags = NDArray[np.bool_]
LIMITS = Thresholds()
BATCH = 1_000
"""Suites that share their relabellings; each batch has its own."""
SIZES = [(tasks, repeats) for tasks in (5, 10, 20, 40) for repeats in (3, 5, 10)]
GAINS = (0.05, 0.10, 0.15, 0.20)
PLOT = Path(__file__).with_name("gate_power.svg")


def scores(drawn: Drawn) -> Floats:
    """The symmetric score of every trial."""
    middle = drawn.cost.mean(axis=(1, 2), keepdims=True)
    clipped: Floats = drawn.base - 0.1 * np.clip(drawn.cost - middle, -0.5, 0.5)
    return clipped


def deltas(values: Floats) -> Floats:
    """For each task and suite, the candidate's mean less the baseline's."""
    means = values.mean(axis=2)
    difference: Floats = means[:, 1] - means[:, 0]
    return difference


def chances(values: Floats, seed: int) -> tuple[Floats, Floats]:
    """The permutation test of every suite, the better arm taken as the second."""
    tasks, _, repeats, suites = values.shape
    gains = deltas(values).mean(axis=0)
    turned = np.where(gains < 0, values[:, ::-1], values)
    flat = np.ascontiguousarray(turned).reshape(-1, suites)
    up, down = count_tails([(repeats, repeats)] * tasks, flat, np.abs(gains), seed, LIMITS.relabellings)
    return np.where(gains < 0, down, up), np.where(gains < 0, up, down)


def tested(drawn: Drawn, seed: int) -> tuple[Flags, Flags]:
    """Which suites are superior, and which regressed."""
    values, base = scores(drawn), drawn.base
    better, worse = chances(values, seed)
    alike = (base.max(axis=(1, 2)) == base.min(axis=(1, 2))).all(axis=0)
    level = LIMITS.alpha * np.where(alike, FLAT, 1.0) + 1e-9
    gain, quality = deltas(values).mean(axis=0), deltas(base).mean(axis=0)
    superior = (better <= level) & (gain >= LIMITS.min_gain - 1e-9) & (quality >= -1e-9)
    if superior.any():
        some = np.flatnonzero(superior)
        proven = chances(base[..., some], seed)[0] <= LIMITS.alpha + 1e-9
        error = np.sqrt((base[..., some].var(axis=2, ddof=1) / base.shape[2]).sum(axis=(0, 1))) / len(base)
        sound = (quality[some] - Z_90 * error > -LIMITS.quality_margin) & drawn.passed[..., some].any(axis=(0, 1, 2))
        superior[some] = proven | sound
    lost: Flags = np.less_equal(worse, LIMITS.alpha + 1e-9)
    return superior, lost


def seed_rule(drawn: Drawn) -> tuple[Flags, Flags]:
    """Rule `seed` on the first repeat."""
    base, cost, objective = drawn.base[:, :, 0], drawn.cost[:, :, 0], drawn.objective[:, :, 0]
    adjusted = base[:, 1] - 0.1 * np.clip(cost[:, 1] - cost[:, 0], -1, 1)
    change = np.clip(adjusted, 0, 1) - np.clip(base[:, 0], 0, 1)
    dropped = objective[:, 1] < objective[:, 0] - 1e-9
    regressed: Flags = np.logical_or.reduce(dropped | (-change > LIMITS.regression_composite_drop + 1e-9), axis=0)
    gained: Flags = change.sum(axis=0) > LIMITS.min_composite_gain + 1e-9
    return gained & ~regressed, regressed


def suspects(drawn: Drawn) -> Flags:
    """Tasks, for each suite, that lost a good part of their passes."""
    share = drawn.passed.mean(axis=2)
    lost: Flags = share[:, 0] - share[:, 1] >= LIMITS.suspect_drop - 1e-9
    return lost


def confirmed(dice: np.random.Generator, world: World, drawn: Drawn, which: NDArray[np.int64]) -> Flags:
    """Of these suites, in which tasks fresh trials confirm a drop: (tasks, suites)."""
    marked = suspects(drawn)
    found = np.zeros_like(marked)
    tasks, places = np.nonzero(marked[:, which])
    if not len(tasks):
        return found
    fresh = draw(dice, world.of(which[places], tasks), LIMITS.guard_trials).objective[0]
    chance = np.array([drop(fresh[:, :, one], int(dice.integers(2**31))) for one in range(len(tasks))])
    for place, suite in enumerate(which):
        mine = np.flatnonzero(places == place)
        if len(mine):
            found[tasks[mine], suite] = guard.apply_holm(list(chance[mine]), LIMITS.guard_alpha)
    return found


def drop(fresh: Floats, seed: int) -> float:
    """The guard's test of one task; fewer relabellings than in the product, for its level is 0.05."""
    before, after = fresh
    return guard.estimate_drop_chance(list(before), list(after), seed, 1_999)


def batches(runs: int, size: int = BATCH) -> Iterator[int]:
    """How many suites come at a time."""
    for start in range(0, runs, size):
        yield min(size, runs - start)


@dataclass
class Cell:
    """Counts over many suites of one kind."""

    runs: int = 0
    superior: int = 0
    promoted: int = 0
    regressed: int = 0
    vetoed: int = 0
    """Of all suites, or of the superior ones where only those were guarded."""
    caught: int = 0
    """The planted drop, confirmed."""
    seed_improved: int = 0
    seed_regressed: int = 0

    def share(self, name: str, of: str = "runs") -> float:
        return 100 * float(getattr(self, name)) / max(1, float(getattr(self, of)))


def measure(dice: np.random.Generator, make: "Maker", repeats: int, runs: int, *, is_guarded: bool = True) -> Cell:
    """Both rules over many suites; the guard acts on superior ones, or on all of them."""
    cell = Cell()
    for suites in batches(runs):
        world = make(dice, suites)
        drawn = draw(dice, world, repeats)
        superior, worse = tested(drawn, int(dice.integers(2**31)))
        improved, regressed = seed_rule(drawn)
        looked = np.flatnonzero(superior) if is_guarded else np.arange(suites)
        worse_tasks = confirmed(dice, world, drawn, looked)
        vetoed = worse_tasks.any(axis=0)
        cell.runs += suites
        cell.superior += int(superior.sum())
        cell.promoted += int((superior & ~vetoed).sum())
        cell.regressed += int((worse & ~superior).sum())
        cell.vetoed += int(vetoed.sum())
        cell.caught += int(worse_tasks[0].sum())
        cell.seed_improved += int(improved.sum())
        cell.seed_regressed += int(regressed.sum())
    return cell


class Maker:
    """Makes worlds of one kind."""

    def __init__(self, tasks: int, gain: float = 0.0, kind: str = "central") -> None:
        self.tasks, self.gain, self.kind = tasks, gain, kind

    def __call__(self, dice: np.random.Generator, suites: int) -> World:
        if self.kind in ("fail", "pass"):
            return constant(dice, self.tasks, suites, float(self.kind == "pass"))
        world = central(dice, self.tasks, suites, is_judged=self.kind != "unjudged")
        world = lifted(world, self.gain) if self.gain else world
        if self.kind == "broken":
            return broken(world)
        return skewed(world) if self.kind == "skewed" else world


def looks(drawn: Drawn) -> tuple[Flags, NDArray[np.int64]]:
    """Sequential mode: which suites pass the test, and after how many repeats each stopped."""
    bounds = sequential.find_boundaries(LIMITS.alpha)
    suites = drawn.cost.shape[-1]
    superior, stopped = np.zeros(suites, bool), np.zeros(suites, np.int64)
    for number, bound in enumerate(bounds, 1):
        repeats = number * sequential.PER_LOOK
        part = drawn.first(repeats)
        values = scores(part)
        spread = np.moveaxis(values, 3, 1).reshape(len(values), suites, -1).var(axis=2, ddof=1)
        z = deltas(values).sum(axis=0) / np.sqrt((2 / repeats * spread).sum(axis=0))
        enough = (z >= bound) & (deltas(values).mean(axis=0) >= LIMITS.min_gain)
        enough &= deltas(part.base).mean(axis=0) >= -1e-9
        done = enough | (z <= -bound)
        if number < sequential.LOOKS:
            done |= z < sequential.FUTILE[number - 1]
        else:
            done |= True
        now = done & (stopped == 0)
        superior |= now & enough
        stopped[now] = repeats
    return superior, stopped


def swapped(dice: np.random.Generator, suites: int) -> int:
    """Suites on which swapping the arms does not negate everything; the product's own comparison."""
    drawn = draw(dice, lifted(central(dice, 6, suites), 0.1), 3)
    wrong = 0
    for suite in range(suites):
        there, back = (compare.compare(*one.trials(suite)).statistics for one in (drawn, drawn.swapped()))
        same = (there.gain, there.p_better, there.p_worse, there.quality)
        wrong += same != (-(back.gain or 0.0), back.p_worse, back.p_better, -(back.quality or 0.0))
    return wrong


def row(*cells: object) -> None:
    """One line of a table."""
    print("| " + " | ".join(f"{one:.2f}" if isinstance(one, float) else str(one) for one in cells) + " |", flush=True)


def head(title: str, *columns: str) -> None:
    """The beginning of a table."""
    print(f"\n{title}\n")
    row(*columns)
    row(*["---"] * len(columns))


def identical(dice: np.random.Generator, runs: int) -> None:
    head("A/A, %", "tasks", "repeats", "tested promotes", "tested regressed", "seed improved", "seed regressed")
    for tasks, repeats in SIZES:
        cell = measure(dice, Maker(tasks), repeats, runs)
        names = ("promoted", "regressed", "seed_improved", "seed_regressed")
        row(tasks, repeats, *(cell.share(name) for name in names))
    head("Suites that can't tell the arms apart, %", "suite", "tasks", "repeats", "tested promotes", "seed improved")
    for kind in ("fail", "pass"):
        for tasks, repeats in ((5, 3), (10, 3), (20, 5)):
            cell = measure(dice, Maker(tasks, kind=kind), repeats, runs)
            row(f"all {kind}", tasks, repeats, cell.share("promoted"), cell.share("seed_improved"))
    head("No better on the mean, a tenth of the tasks broken, %", "tasks", "repeats", "tested promotes")
    for tasks in (20, 40):
        row(tasks, 5, measure(dice, Maker(tasks, kind="skewed"), 5, runs // 2).share("promoted"))


def powerful(dice: np.random.Generator, runs: int) -> dict[tuple[int, int, float], float]:
    head("Power, %: tested promotes, seed improved", "tasks", "repeats", *(f"+{100 * gain:.0f}" for gain in GAINS))
    found = {}
    for tasks, repeats in [*SIZES, (80, 3), (80, 5), (80, 10)]:
        cells = [measure(dice, Maker(tasks, gain), repeats, runs) for gain in GAINS]
        found.update({(tasks, repeats, gain): one.share("promoted") for gain, one in zip(GAINS, cells, strict=True)})
        row(tasks, repeats, *(f"{one.share('promoted'):.1f}, {one.share('seed_improved'):.1f}" for one in cells))
    return found


def guards(dice: np.random.Generator, runs: int) -> None:
    head(
        "Guard on every suite, %",
        "tasks",
        "repeats",
        "false veto A/A",
        "false veto +10",
        "catch of 0.9 → 0.3, rest +15",
    )
    for tasks, repeats in ((10, 5), (20, 3), (20, 5), (40, 5), (20, 10), (40, 10)):
        same, better = (measure(dice, Maker(tasks, gain), repeats, runs, is_guarded=False) for gain in (0.0, 0.10))
        cell = measure(dice, Maker(tasks, 0.15, "broken"), repeats, runs, is_guarded=False)
        row(tasks, repeats, same.share("vetoed"), better.share("vetoed"), cell.share("caught"))
    head(
        "Guard on superior suites, one task broken, %",
        "tasks",
        "repeats",
        "superior",
        "caught",
        "promoted all the same",
    )
    for tasks, repeats in ((20, 5), (40, 5), (20, 10), (40, 10)):
        cell = measure(dice, Maker(tasks, 0.15, "broken"), repeats, 2 * runs)
        caught = cell.share("vetoed", "superior")
        row(tasks, repeats, cell.share("superior"), caught, cell.share("promoted"))


def stopping(dice: np.random.Generator, runs: int) -> None:
    head("Sequential mode", "tasks", "true gain", "promotes before the guard, %", "mean repeats")
    for tasks in (20, 40):
        for gain in (0.0, 0.10, 0.15, 0.20):
            many = runs * 4 if gain == 0 else runs
            parts = [looks(draw(dice, Maker(tasks, gain)(dice, suites), sequential.CAP)) for suites in batches(many)]
            superior = np.concatenate([one for one, _ in parts])
            stopped = np.concatenate([one for _, one in parts])
            row(tasks, f"+{100 * gain:.0f}", 100 * float(superior.mean()), float(stopped.mean()))


def twins(dice: np.random.Generator, runs: int) -> None:
    head("An equal candidate that loses attempts it would fail, %", "tasks", "repeats", "loses of them", "promotes")
    for tasks, repeats in ((5, 3), (8, 5), (20, 5)):
        for lie in (1.0, 0.3, 0.1):
            count = gate_twin.promoted(dice, tasks, repeats, lie, runs)
            row(tasks, repeats, f"{lie:.0%}", 100 * count / runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40_000, help="A/A suites of each size")
    parser.add_argument("--power-runs", type=int, default=2_000, help="suites of each other cell")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", type=Path, default=PLOT)
    parser.add_argument("--twin", type=int, default=0, help="only this: suites with a twin that asks to be run again")
    given = parser.parse_args()
    if given.twin:
        twins(np.random.default_rng(given.seed), given.twin)
        return
    dice, began = np.random.default_rng(given.seed), time.monotonic()
    print(f"swapping arms: {swapped(dice, 200)} of 200 suites not negated")
    identical(dice, given.runs)
    guards(dice, given.power_runs)
    stopping(dice, given.power_runs)
    given.plot.write_text(gate_plot.drawn(powerful(dice, given.power_runs)), "utf-8")
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
