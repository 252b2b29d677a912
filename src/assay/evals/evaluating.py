"""An evaluation from beginning to end: run what was planned, compare, run what the comparison wants, compare again."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from assay.errors import InvalidRun
from assay.evals import kept, lock, paths
from assay.evals.compare import compare
from assay.evals.configs import Config
from assay.evals.kept import Decided, Finished, Kept
from assay.evals.ledger import ANEW
from assay.evals.lock import Lock
from assay.evals.run import Plan, Ran, run
from assay.evals.sequential import PER_LOOK
from assay.evals.tasks import Suite
from assay.evals.types import Arm, Comparison, Design, Stage, Trial, Wanted

MOST_ROUNDS = 12
"""Five looks and the guard; a loop that wants more is a mistake of ours."""
SHOWN = 5


class Outcome(Struct, frozen=True, kw_only=True):
    """How an evaluation ended."""

    comparison: Comparison
    kept: Kept


def attempt(folder: Path, suite: Suite, arms: Mapping[Arm, Config]) -> int:
    """Which attempt on the baseline this is: runs beside this one with the same tasks and baseline came before it."""
    if (folder / paths.LOCK).exists():
        return kept.decided(lock.load(folder)).design.attempt
    tasks = {task.name: task.sha256 for task in suite.tasks}
    beside = [lock.load(file.parent) for file in folder.parent.glob(f"*/{paths.LOCK}")]
    return 1 + sum(is_same(one, tasks, arms["baseline"].sha256) for one in beside)


def is_same(held: Lock, tasks: Mapping[str, str], baseline: str) -> bool:
    pinned = held.arms.get("baseline")
    return held.tasks == tasks and pinned is not None and pinned.sha256 == baseline


def design_of(suite: Suite, repeats: int, attempt: int, *, is_sequential: bool) -> Design:
    """What is run, how often."""
    return Design(
        tasks=tuple(task.name for task in suite.tasks),
        repeats=repeats,
        attempt=attempt,
        is_sequential=is_sequential,
        must_pass=tuple(task.name for task in suite.tasks if task.must_pass),
    )


def evaluate(plan: Plan, decided: Decided, says: tuple[str, ...] = ()) -> Outcome:
    """Run and compare until nothing more is wanted, or the budget is reached; then it is on disk."""
    design = decided.design
    first = PER_LOOK if design.is_sequential else design.repeats
    asked: dict[tuple[str, Stage], int] = {(task, "main"): first for task in design.tasks}
    for _ in range(MOST_ROUNDS):
        ran = run(plan, [Wanted(task=task, stage=stage, repeats=most) for (task, stage), most in asked.items()])
        trusted(ran.altered)
        found = compared(ran.trials, decided)
        more = {(one.task, one.stage): one.repeats for one in found.wanted}
        if ran.stopped or all(asked.get(key, 0) >= most for key, most in more.items()):
            break
        asked |= more
    kept.end(plan.folder, finished(ran, says))
    whole = sound(kept.load(plan.folder))
    found = compared(whole.trials, decided)
    kept.keep(plan.folder, found)
    return Outcome(comparison=found, kept=whole)


def finished(ran: Ran, says: tuple[str, ...]) -> Finished:
    return Finished(
        planned=ran.planned, usd=ran.usd, stopped=ran.stopped, sandbox=ran.sandbox.says, plan=says, notes=ran.notes
    )


def compared(trials: tuple[Trial, ...], decided: Decided) -> Comparison:
    """The comparison of a run's trials, as it was decided before the first of them."""
    sides = [[trial for trial in trials if trial.arm == arm] for arm in ("baseline", "candidate")]
    return compare(sides[0], sides[1], decided.thresholds, decided.design, decided.rule)


def sound(whole: Kept) -> Kept:
    """A run whose trials are what they were when they ended, and cost what their files tell; else an error."""
    trusted(whole.altered)
    trusted(kept.misstated(whole))
    return whole


def trusted(altered: tuple[str, ...]) -> None:
    """Nothing is said about trials that somebody changed."""
    if altered:
        more = f" and {len(altered) - SHOWN} more" if len(altered) > SHOWN else ""
        raise InvalidRun(
            f"files of trials are not what they were when these ended ({', '.join(altered[:SHOWN])}{more}); {ANEW}"
        )
