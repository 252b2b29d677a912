"""Which trials meet: the same task on both sides, with the same checks, judged or not judged alike."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from assay.errors import BadInput
from assay.evals.deciding.composite import explain_unsound, is_usable
from assay.types.evals import Arm, Design, RegressionKind, Trial


class Pair(Struct, frozen=True, kw_only=True):
    """One task with the trials of both sides that count; `left_out` says why there are none."""

    task: str
    baseline: tuple[Trial, ...] = ()
    candidate: tuple[Trial, ...] = ()
    left_out: str = ""
    kind: RegressionKind | None = None
    """What it is where that is a regression by itself."""
    is_missing: bool = False
    """One side has no usable trial, which is infrastructure's doing and may be mended by running it again."""

    @property
    def counts(self) -> bool:
        return not self.left_out

    @property
    def trials(self) -> tuple[Trial, ...]:
        return self.baseline + self.candidate

    @property
    def is_judged(self) -> bool:
        return any(trial.judge01 is not None for trial in self.trials)


def infer_design(trials: Iterable[Trial]) -> Design:
    """The design that these trials look like; better is the one that was written down before."""
    cells: dict[tuple[str, str], int] = {}
    for trial in trials:
        if trial.stage == "main":
            cells[trial.task, trial.arm] = cells.get((trial.task, trial.arm), 0) + 1
    return Design(tasks=tuple(sorted({task for task, _ in cells})), repeats=max(cells.values(), default=0))


def check_trials(trials: Sequence[Trial], arm: Arm, design: Design) -> tuple[Trial, ...]:
    """The trials of an arm in their order, when they are what was planned."""
    seen: set[tuple[str, str, int]] = set()
    cells: dict[str, int] = {}
    for trial in trials:
        where = f"{trial.task}, {trial.arm}, repeat {trial.repeat}"
        if trial.arm != arm:
            raise BadInput(f"{where}: given as a trial of the {arm}")
        if trial.task not in design.tasks:
            raise BadInput(f"{where}: no such task was planned; the plan is frozen before the first trial")
        if (trial.stage, trial.task, trial.repeat) in seen:
            raise BadInput(f"{where}: given twice; each trial counts once")
        seen.add((trial.stage, trial.task, trial.repeat))
        cells[trial.task] = cells.get(trial.task, 0) + (trial.stage == "main")
        if cells[trial.task] > design.repeats:
            raise BadInput(f"{where}: {design.repeats} repeats were planned; more of them are another comparison")
    return tuple(sorted(trials, key=lambda trial: (trial.task, trial.stage, trial.repeat)))


def build_pair(task: str, baseline: Sequence[Trial], candidate: Sequence[Trial]) -> Pair:
    """The trials of one task that may be compared, or why there are none."""
    ours, theirs = ([trial for trial in side if is_usable(trial)] for side in (baseline, candidate))
    if not candidate and baseline:
        return Pair(task=task, left_out="the candidate has no trial of it", kind="dropped_task")
    for name, usable in (("baseline", ours), ("candidate", theirs)):
        if not usable:
            return Pair(task=task, left_out=f"the {name} has no usable trial of it", is_missing=True)
    wrong = next(filter(None, map(explain_unsound, [*ours, *theirs])), "")
    if wrong:
        return Pair(task=task, left_out=wrong, kind="non_finite")
    if len({list_checks(trial) for trial in [*ours, *theirs]}) > 1:
        return Pair(task=task, left_out="its trials were not put to the same checks")
    return match_judged(task, ours, theirs)


def list_checks(trial: Trial) -> tuple[tuple[str, str], ...]:
    """Which checks a trial was put to."""
    return tuple(sorted((check.name, check.kind) for check in trial.checks))


def match_judged(task: str, ours: list[Trial], theirs: list[Trial]) -> Pair:
    """All trials where all are judged or none is; else the repeats that are judged on both sides, else on neither."""
    if len({trial.judge01 is None for trial in [*ours, *theirs]}) == 1:
        return Pair(task=task, baseline=tuple(ours), candidate=tuple(theirs))
    for is_judged in (True, False):
        sides = [[one for one in side if (one.judge01 is not None) == is_judged] for side in (ours, theirs)]
        both = {one.repeat for one in sides[0]} & {one.repeat for one in sides[1]}
        if both:
            kept = [tuple(one for one in side if one.repeat in both) for side in sides]
            return Pair(task=task, baseline=kept[0], candidate=kept[1])
    return Pair(task=task, left_out="judged on one side only")


def build_pairs(baseline: Sequence[Trial], candidate: Sequence[Trial], design: Design) -> list[Pair]:
    """Every planned task, with the main trials of both sides that may meet."""
    sides = [group_by_task(side) for side in (baseline, candidate)]
    return [build_pair(task, sides[0].get(task, []), sides[1].get(task, [])) for task in design.tasks]


def group_by_task(trials: Sequence[Trial], stage: str = "main") -> dict[str, list[Trial]]:
    """The trials of a stage by their task, in order."""
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.stage == stage:
            found.setdefault(trial.task, []).append(trial)
    return found
