"""An evaluation as it is told: what `assay eval run --json` prints, and all that its reports are made of."""

from typing import Any, Literal

from assay.types.value import Row

SCHEMA_VERSION = 1
Arm = Literal["baseline", "candidate"]
ARMS: tuple[Arm, Arm] = ("baseline", "candidate")
MAY_GO_IN = {True: "may go in", False: "stays out"}


class TaskLine(Row, frozen=True):
    """One task, both sides."""

    task: str
    baseline: float | None
    candidate: float | None
    delta: float | None
    baseline_base: float | None = None
    candidate_base: float | None = None
    baseline_objective: float | None = None
    candidate_objective: float | None = None
    baseline_passes: int = 0
    candidate_passes: int = 0
    baseline_trials: int = 0
    candidate_trials: int = 0
    is_judged: bool = False
    left_out: str = ""

    @property
    def is_discordant(self) -> bool:
        """Whether the sides passed unequally often."""
        return self.baseline_passes * self.candidate_trials != self.candidate_passes * self.baseline_trials


class RegressionLine(Row, frozen=True):
    """A hard regression."""

    task: str
    kind: str
    detail: str


class SuspectLine(Row, frozen=True):
    """A task that was run again."""

    task: str
    drop: float
    baseline_trials: int
    candidate_trials: int
    baseline_passes: int
    candidate_passes: int
    p: float | None
    is_confirmed: bool | None


class WantedLine(Row, frozen=True):
    """Trials without which there is no verdict."""

    task: str
    stage: str
    repeats: int


class CheckLine(Row, frozen=True):
    """What one check found."""

    name: str
    kind: str
    passed: bool | None
    detail: str


class CostLine(Row, frozen=True):
    """What a trial took; `None`: not known."""

    tokens: int | None
    tool_calls: int | None
    steps: int | None
    wall_s: float | None
    usd: float | None


class Cell(Row, frozen=True):
    """One trial."""

    task: str
    arm: Arm
    repeat: int
    stage: str
    state: str
    checks: tuple[CheckLine, ...]
    judge01: float | None
    cost: CostLine
    attempts: int
    folder: str
    """Below the run's."""
    lost: int = 0
    """Attempts without a result."""
    transcripts: tuple[str, ...] = ()
    """Below the run's folder, as all that follows."""
    files: tuple[str, ...] = ()
    rationale: str = ""
    """The rubric judge's."""
    why: str = ""
    """What broke it, where infrastructure did."""

    @property
    def is_passed(self) -> bool | None:
        """Whether every check passed; `None` where nobody can tell."""
        if self.state != "done" or not self.checks:
            return None
        return all(check.passed for check in self.checks)


class LoadedLine(Row, frozen=True):
    """A file of instructions that an arm's agents had."""

    path: str
    fingerprint: str
    evidence: str
    trials: int


class ArmLine(Row, frozen=True):
    """One configuration."""

    config: str
    sha256: str
    agent: str
    version: str
    model: str
    commit: str
    files: dict[str, str]
    """What it lays over the workspace, with hashes."""
    loaded: tuple[LoadedLine, ...] = ()


class RunLine(Row, frozen=True):
    """The run that a comparison is made of."""

    folder: str
    planned: int
    done: int
    usd: float
    """Of all attempts whose price is known."""
    unpriced: int
    """Trials whose price is not."""
    stopped: str
    sandbox: str
    judge: str
    plan: tuple[str, ...]
    notes: tuple[str, ...]
    arms: dict[Arm, ArmLine]
    trials: tuple[Cell, ...]


class Evaluation(Row, frozen=True, kw_only=True):
    """Two configurations, compared."""

    schema_version: int = SCHEMA_VERSION
    verdict: str
    promote: bool
    exit_code: int
    net_gain: float | None
    rule: str
    label: str
    reasons: tuple[str, ...]
    objections: tuple[str, ...]
    """What stands in the way of a promotion."""
    tasks: tuple[TaskLine, ...]
    regressions: tuple[RegressionLine, ...]
    suspects: tuple[SuspectLine, ...]
    wanted: tuple[WantedLine, ...]
    statistics: dict[str, float | int | bool | None]
    evidence: dict[str, Any]
    run: RunLine


def ordered(found: Evaluation) -> list[TaskLine]:
    """Tasks, those on which the sides differ first, losses before gains."""
    broken = {one.task for one in found.regressions}
    return sorted(
        found.tasks,
        key=lambda one: (
            one.task not in broken,
            not one.is_discordant,
            one.delta if one.delta is not None else -9.0,
            one.task,
        ),
    )


def number(value: float | None, places: int = 3) -> str:
    """A difference with its sign."""
    return "–" if value is None else f"{round(value, places) + 0.0:+.{places}f}"


def plain(value: float | None, places: int = 2) -> str:
    return "–" if value is None else f"{round(value, places) + 0.0:.{places}f}"


def figures(found: Evaluation) -> list[str]:
    """The numbers behind a verdict, in phrases."""
    known, said = found.statistics, []
    if found.net_gain is not None:
        said.append(f"{'net' if found.rule == 'seed' else 'mean'} gain {number(found.net_gain)}")
    if known.get("low") is not None and known.get("high") is not None:
        said.append(f"95 % interval {number(known['low'])} to {number(known['high'])}")
    if known.get("noise_floor") is not None:
        said.append(f"luck alone exceeds {plain(known['noise_floor'], 3)} once in a hundred")
    for name, words in (("p_better", "p of a gain"), ("p_worse", "p of a loss"), ("p_quality", "p of better quality")):
        if known.get(name) is not None:
            said.append(f"{words} {plain(known[name], 4)}")
    if known.get("is_broad") is False and found.verdict == "improved":
        said.append("proven on these tasks only: not shown to hold beyond them")
    return said


def cautions(found: Evaluation) -> list[str]:
    """What a reader must know before trusting the verdict."""
    if found.run.stopped == "budget":
        return ["stopped by --max-cost: not all trials were run, so whatever stands here is not the end of it"]
    if found.run.stopped:
        return ["stopped: --max-cost can't be held, because the price of a trial is not known"]
    return []


def headline(found: Evaluation) -> str:
    """The verdict and what follows from it, behind the verdict itself."""
    label = f" ({found.label})"
    so_far = " so far, stopped by the budget" if found.run.stopped else ""
    return f"{label}{so_far}: the candidate {MAY_GO_IN[found.promote]}"


def spent(found: Evaluation) -> str:
    """What a run cost."""
    run = found.run
    if run.unpriced and run.unpriced >= run.done:
        return f"{run.done} of {run.planned} trials, unpriced"
    more = f" and {run.unpriced} unpriced trials" if run.unpriced else ""
    return f"{run.done} of {run.planned} trials, USD {run.usd:.2f}{more}"


class CheckupLine(Row, frozen=True):
    """What became of a task's checks without an agent."""

    task: str
    untouched: tuple[CheckLine, ...]
    solved: tuple[CheckLine, ...] | None
    """On the reference solution; `None`: there is none."""
    problems: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    """What may be meant, and should be known."""


class Checkups(Row, frozen=True, kw_only=True):
    """`assay eval check --json`."""

    schema_version: int = SCHEMA_VERSION
    tasks: tuple[CheckupLine, ...]
    configs: tuple[str, ...]
