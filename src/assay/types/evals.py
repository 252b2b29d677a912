"""What evaluations say to each other: trials, comparisons, plans; nothing here computes, waits or reads a file."""

from typing import Literal

from assay.types.value import Document, Row

Arm = Literal["baseline", "candidate"]
ARMS: tuple[Arm, Arm] = ("baseline", "candidate")
"""Of what `assay eval … --json` prints."""
Rule = Literal["seed", "tested"]
Stage = Literal[
    "main",  # the comparison itself
    "guard",  # fresh trials of a task that looks broken; they never count for the gain
]
TrialState = Literal["done", "failed_infrastructure"]
Verdict = Literal["improved", "mixed", "neutral", "regressed", "inconclusive", "invalid"]
RegressionKind = Literal[
    "objective_drop",  # fewer checks passed
    "composite_drop",  # the composite fell beyond the threshold
    "dropped_task",  # one side has no result
    "non_finite",  # a score that is no number from 0 to 1, or a cost that can't be one
    "confirmed_drop",  # the guard's fresh trials say that a task got worse
]


class CheckResult(Row, frozen=True):
    """What one objective check found; `passed` is `None` where it could not be run, which is nobody's failure."""

    name: str
    kind: str
    passed: bool | None
    detail: str = ""


class Cost(Row, frozen=True):
    """What a trial took; `None`: not known."""

    tokens: int | None = None
    tool_calls: int | None = None
    steps: int | None = None
    wall_s: float | None = None
    usd: float | None = None


class Trial(Row, frozen=True):
    """One run of one task in one arm. One that ran past its time or its limits is `done`, with checks that failed."""

    task: str
    arm: Arm
    repeat: int
    """Counted from 1, within task, arm and stage."""
    state: TrialState = "done"
    checks: tuple[CheckResult, ...] = ()
    judge01: float | None = None
    cost: Cost = Cost()
    attempts: int = 1
    """How often it was started."""
    lost: int = 0
    """Attempts without a result that the agent may have caused: nobody can tell its doing from its service's."""
    folder: str = ""
    stage: Stage = "main"


class Thresholds(Row, frozen=True):
    """Every limit of both rules; they are frozen before the first trial."""

    min_composite_gain: float = 0.01
    """Rule `seed`: the net gain must exceed it."""
    regression_composite_drop: float = 0.05
    """Rule `seed`: a drop beyond it on one task is a hard regression."""
    objective_drop_is_regression: bool = True
    """Rule `seed`."""
    alpha: float = 0.01
    """Rule `tested`, and all below: how often luck alone may pass for a gain."""
    min_gain: float = 0.02
    min_tasks: int = 5
    min_repeats: int = 3
    most_missing: float = 0.10
    """Share of trials of an arm that may be missing."""
    quality_margin: float = 0.03
    """What quality may have lost at worst when only cost is proven better."""
    equivalence_margin: float = 0.03
    suspect_drop: float = 0.30
    """Share of passes that a task must lose to be run again."""
    guard_trials: int = 16
    """Fresh trials per side and suspect."""
    guard_alpha: float = 0.05
    relabellings: int = 9_999


class Design(Row, frozen=True):
    """What was decided before the first trial: what is run, how often, and which attempt this is."""

    tasks: tuple[str, ...]
    repeats: int
    """Per task and side; in sequential mode the cap."""
    attempt: int = 1
    """How many candidates this baseline has been compared with on these tasks, this one included."""
    seed: int = 20_261
    """Of the relabellings."""
    is_sequential: bool = False
    must_pass: tuple[str, ...] = ()
    """Tasks that the guard looks at whatever their trials say."""


class TaskResult(Row, frozen=True):
    """One task, both sides; `None` where a side has nothing to say, and `left_out` why the pair does not count."""

    task: str
    baseline: float | None
    """Composite (`seed`), or mean score (`tested`, not clamped)."""
    candidate: float | None
    delta: float | None
    baseline_base: float | None = None
    """Checks and judge alone, without cost."""
    candidate_base: float | None = None
    baseline_objective: float | None = None
    """Mean share of checks that passed."""
    candidate_objective: float | None = None
    baseline_passes: int = 0
    """Trials in which every check passed."""
    candidate_passes: int = 0
    baseline_trials: int = 0
    candidate_trials: int = 0
    is_judged: bool = False
    left_out: str = ""

    @property
    def is_discordant(self) -> bool:
        """Whether the sides passed unequally often."""
        return self.baseline_passes * self.candidate_trials != self.candidate_passes * self.baseline_trials


class Regression(Row, frozen=True):
    """A hard regression: no gain elsewhere makes up for it."""

    task: str
    kind: RegressionKind
    detail: str


class Suspect(Row, frozen=True):
    """A task that the guard looks at with fresh trials; without all of them it is neither confirmed nor cleared."""

    task: str
    drop: float
    """Of the share of passes in the main trials."""
    baseline_trials: int = 0
    """Fresh ones that count."""
    candidate_trials: int = 0
    baseline_passes: int = 0
    candidate_passes: int = 0
    p: float | None = None
    """One-sided, of the fresh trials alone."""
    is_confirmed: bool | None = None


class TrialRequest(Row, frozen=True):
    """Trials that must be run before there is a verdict: `repeats` per side, those before included."""

    task: str
    stage: Stage
    repeats: int


class Statistics(Row, frozen=True):
    """What stands behind a verdict; `None` where a rule does not know it."""

    tasks: int
    """That count."""
    repeats: int
    """Of the task and side with the fewest."""
    informative: int
    """Tasks that neither always pass nor always fail."""
    attempt: int = 1
    alpha: float | None = None
    """After the attempts."""
    gain: float | None = None
    low: float | None = None
    """95 % interval of the gain."""
    high: float | None = None
    standard_error: float | None = None
    noise_floor: float | None = None
    """Luck alone exceeds this once in a hundred."""
    p_better: float | None = None
    p_worse: float | None = None
    quality: float | None = None
    """Mean difference of checks and judge alone."""
    p_quality: float | None = None
    p_broad: float | None = None
    """Sign-flip over tasks: small where the gain is likely to hold beyond them."""
    is_broad: bool | None = None
    z: float | None = None
    """Sequential mode, at the last look; so are the next two."""
    boundary: float | None = None
    look: int | None = None
    seed: int | None = None
    missing_baseline: float = 0.0
    """Share of planned trials without a usable result."""
    missing_candidate: float = 0.0


class Evidence(Row, frozen=True):
    """What a comparison rests on, so that anybody can compute it again."""

    thresholds: Thresholds
    design: Design
    trials: int
    trials_sha256: str
    gaps: tuple[str, ...] = ()
    """What is missing; nothing is promoted with a gap."""
    seal: str = ""
    """Digest of the whole comparison; see `evals.evidence`."""


class Comparison(Row, frozen=True):
    """Two configurations, compared."""

    rule: Rule
    label: str
    """`single-run` for rule `seed`: it is not a test. `tested` otherwise, `sequential` where it stops early."""
    verdict: Verdict
    promote: bool
    net_gain: float | None
    """Sum of the tasks' deltas (`seed`), or their mean (`tested`)."""
    tasks: tuple[TaskResult, ...]
    regressions: tuple[Regression, ...]
    suspects: tuple[Suspect, ...]
    wanted: tuple[TrialRequest, ...]
    """What the runner should run next; empty when the verdict is final."""
    reasons: tuple[str, ...]
    """Why this verdict, in sentences that can stand in a report."""
    statistics: Statistics
    evidence: Evidence


class Pilot(Row, frozen=True):
    """What trials of the baseline alone tell a planner."""

    variance: float
    """Mean over tasks of the variance of a trial's score."""
    tasks: int
    informative: int
    usd_per_trial: float | None = None
    is_judged: bool = False


class SuitePlan(Document, frozen=True, kw_only=True, tag="plan"):
    """What a suite can prove, before anything is spent."""

    tasks: int
    repeats: int
    trials_per_side: int
    detectable_gain: float
    """Composite gain that is found four times in five."""
    detectable_points: float
    """The same in percentage points of tasks passed, about."""
    noise_floor: float
    wanted_points: float | None
    power: float | None
    """Chance to prove what is wanted."""
    needed_per_side: int | None
    """Trials per side that find it four times in five."""
    usd: float | None
    """About, for both sides, without the guard; `None`: unpriced."""
    usd_guard: float | None
    """About, for one suspect."""
    informative: int | None
    is_decidable: bool
    says: tuple[str, ...]
    remedies: tuple[str, ...] = ()
    """What would decide it, where it can't be decided."""


# --- what reports tell ----------------------------------------------------------------------


class TrialLine(Row, frozen=True):
    """One trial."""

    task: str
    arm: Arm
    repeat: int
    stage: Stage
    state: TrialState
    checks: tuple[CheckResult, ...]
    judge01: float | None
    cost: Cost
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
    trials: tuple[TrialLine, ...]


class Evaluation(Document, frozen=True, kw_only=True, tag="evaluation"):
    """Two configurations, compared."""

    verdict: Verdict
    promote: bool
    exit_code: int
    net_gain: float | None
    rule: Rule
    label: str
    reasons: tuple[str, ...]
    objections: tuple[str, ...]
    """What stands in the way of a promotion."""
    tasks: tuple[TaskResult, ...]
    regressions: tuple[Regression, ...]
    suspects: tuple[Suspect, ...]
    wanted: tuple[TrialRequest, ...]
    statistics: Statistics
    evidence: Evidence
    run: RunLine


class Checkup(Row, frozen=True):
    """What became of a task's checks without an agent."""

    task: str
    untouched: tuple[CheckResult, ...]
    solved: tuple[CheckResult, ...] | None
    """On the reference solution; `None`: there is none."""
    problems: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    """What may be meant, and should be known."""


class Checkups(Document, frozen=True, kw_only=True, tag="checkups"):
    """`assay eval check --json`."""

    tasks: tuple[Checkup, ...]
    configs: tuple[str, ...]
