"""An equal candidate that loses the attempts which it would fail, so as to be run again: how often is it promoted?

Both arms pass alike. Where the candidate is about to fail it says, with some probability, that its service failed; it
is then tried again, up to three times, and missing after that. The product's own `compare` decides.
"""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from assay.evals.deciding.compare import compare
from assay.types.evals import Arm, CheckResult, Cost, Design, Trial
from benchmarks.gate_world import ARMS

ATTEMPTS = 3


def side(dice: np.random.Generator, arm: Arm, rates: Sequence[float], repeats: int, lie: float) -> list[Trial]:
    """Trials of one arm; `lie` is how often it says that its service failed where it failed itself."""
    return [
        tried(dice, Trial(task=f"task {task:02}", arm=arm, repeat=repeat), rate, lie)
        for task, rate in enumerate(rates)
        for repeat in range(1, repeats + 1)
    ]


def tried(dice: np.random.Generator, trial: Trial, rate: float, lie: float) -> Trial:
    """One trial, as often as it takes."""
    spent = 0.0
    for lost in range(ATTEMPTS):
        is_passed = bool(dice.random() < rate)
        spent += float(dice.lognormal(2.0, 0.3))
        if is_passed or dice.random() >= lie:
            check = CheckResult(name="check", kind="command", passed=is_passed)
            return replace(trial, checks=(check,), cost=Cost(wall_s=spent), attempts=lost + 1, lost=lost)
    return replace(trial, state="failed_infrastructure", attempts=ATTEMPTS)


def promoted(dice: np.random.Generator, tasks: int, repeats: int, lie: float, suites: int) -> int:
    """Of so many suites, those in which the twin is promoted; what the guard wants is run, and lied about alike."""
    names = tuple(f"task {task:02}" for task in range(tasks))
    count = 0
    for _ in range(suites):
        rates = [float(rate) for rate in dice.uniform(0.3, 0.9, tasks)]
        sides = [side(dice, arm, rates, repeats, lies) for arm, lies in zip(ARMS, (0.0, lie), strict=True)]
        plan = Design(tasks=names, repeats=repeats, seed=int(dice.integers(2**31)))
        found = compare(sides[0], sides[1], design=plan)
        while found.wanted:
            for wanted in found.wanted:
                for trials, arm, lies in zip(sides, ARMS, (0.0, lie), strict=True):
                    there = sum(one.stage == "guard" and one.task == wanted.task for one in trials)
                    for repeat in range(there + 1, wanted.repeats + 1):
                        fresh = Trial(task=wanted.task, arm=arm, repeat=repeat, stage="guard")
                        trials.append(tried(dice, fresh, rates[names.index(wanted.task)], lies))
            found = compare(sides[0], sides[1], design=plan)
        count += found.promote
    return count
