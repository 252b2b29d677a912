"""Before anything is spent: what gain this suite can prove, with how many trials, at about what cost."""

from collections.abc import Sequence
from math import ceil, sqrt
from statistics import NormalDist

from msgspec import Struct

from assay.errors import BadInput
from assay.evals.deciding.composite import is_usable
from assay.evals.deciding.pairing import group_by_task
from assay.evals.deciding.permutation import average
from assay.evals.deciding.rule_result import is_informative
from assay.evals.deciding.trial_scores import measure_variance, score_trials
from assay.types.evals import Pilot, SuitePlan, Thresholds, Trial

POWER = 0.80
SAME = 1e-9
VARIANCE = {True: 0.065, False: 0.096}
"""Of a trial's score when nothing else is known, with and without a judge; measured in the simulated central world."""
PER_POINT = {True: 0.0069, False: 0.0082}
"""What one percentage point of tasks passed adds to the composite, with and without a judge."""
FOUND = "a task that breaks badly is found about four times in five, not always"
UNDECIDABLE = "cannot be decided with this suite: "
WOULD_DECIDE = "what would decide it"


def measure_pilot(trials: Sequence[Trial]) -> Pilot:
    """What trials of the baseline alone tell; three repeats of a task are the least that say how much it varies."""
    tasks = {task: [one for one in found if is_usable(one)] for task, found in group_by_task(trials).items()}
    repeated = {task: found for task, found in tasks.items() if len(found) >= Thresholds().min_repeats}
    if not repeated:
        raise BadInput("no task has 3 usable trials of the baseline; a pilot needs them to see how much they vary")
    prices = [one.cost.usd for found in tasks.values() for one in found]
    known = [price for price in prices if price is not None]
    return Pilot(
        variance=average([measure_variance(score_trials(found)) for found in repeated.values()]),
        tasks=len(repeated),
        informative=sum(is_informative(tuple(found)) for found in repeated.values()),
        usd_per_trial=average(known) if known and len(known) == len(prices) else None,
        is_judged=all(one.judge01 is not None for found in repeated.values() for one in found),
    )


def count_needed_trials(gain: float, spread: float, alpha: float) -> int:
    """Trials per side that find a gain four times in five."""
    return ceil(2 * spread * (find_quantile(1 - alpha) + find_quantile(POWER)) ** 2 / gain**2 - SAME)


def estimate_power(gain: float, spread: float, trials: int, alpha: float) -> float:
    """The chance to find a gain with so many trials per side."""
    return NormalDist().cdf(gain / sqrt(2 * spread / trials) - find_quantile(1 - alpha)) if spread else 1.0


def find_quantile(share: float) -> float:
    """A quantile of the normal distribution."""
    return NormalDist().inv_cdf(share)


class SuiteFigures(Struct, frozen=True, kw_only=True):
    """A suite as the planner sees it."""

    tasks: int
    repeats: int
    spread: float
    """Variance of a trial's score."""
    point: float
    """Composite gain of one percentage point."""
    alpha: float
    bounds: Thresholds

    @property
    def trials(self) -> int:
        return self.tasks * self.repeats

    @property
    def error(self) -> float:
        """Standard error of the mean gain."""
        return sqrt(2 * self.spread / self.trials)

    @property
    def detectable(self) -> float:
        """Found four times in five; below `min_gain` nothing passes, however many trials there are."""
        return max(self.bounds.min_gain, self.error * (find_quantile(1 - self.alpha) + find_quantile(POWER)))


def plan_suite(
    tasks: int,
    repeats: int,
    wanted_points: float | None = None,
    known: Pilot | None = None,
    *,
    is_judged: bool = True,
    attempt: int = 1,
    limits: Thresholds | None = None,
) -> SuitePlan:
    """What so many tasks and repeats can prove; with `wanted_points`, whether that much can be."""
    check_plan(tasks, repeats, wanted_points, attempt)
    judged, bounds = known.is_judged if known else is_judged, limits or Thresholds()
    suite = SuiteFigures(
        tasks=tasks,
        repeats=repeats,
        spread=known.variance if known else VARIANCE[judged],
        point=PER_POINT[judged],
        alpha=bounds.alpha / attempt,
        bounds=bounds,
    )
    wanted = wanted_points * suite.point if wanted_points is not None else None
    short = list_shortfalls(suite, wanted)
    usd = known.usd_per_trial if known else None
    return SuitePlan(
        tasks=tasks,
        repeats=repeats,
        trials_per_side=suite.trials,
        detectable_gain=suite.detectable,
        detectable_points=suite.detectable / suite.point,
        noise_floor=suite.error * find_quantile(0.99),
        wanted_points=wanted_points,
        power=estimate_power(wanted, suite.spread, suite.trials, suite.alpha) if wanted is not None else None,
        needed_per_side=count_needed_trials(wanted, suite.spread, suite.alpha) if wanted is not None else None,
        usd=usd * 2 * suite.trials if usd is not None else None,
        usd_guard=usd * 2 * bounds.guard_trials if usd is not None else None,
        informative=known.informative if known else None,
        is_decidable=not short, says=tuple(UNDECIDABLE + why for why in short),
        remedies=tuple(list_remedies(suite, wanted) if short else ()),
    )  # fmt: skip


def check_plan(tasks: int, repeats: int, wanted_points: float | None, attempt: int) -> None:
    """Refuse a plan of nothing."""
    if tasks < 1 or repeats < 1 or attempt < 1 or (wanted_points is not None and wanted_points <= 0):
        raise BadInput("a plan needs at least one task, one repeat, and a wanted gain above 0 points")


def list_shortfalls(suite: SuiteFigures, wanted: float | None) -> list[str]:
    """Why a suite can't decide what is wanted."""
    short, bounds = [], suite.bounds
    if suite.tasks < bounds.min_tasks:
        short.append(f"{count_things(suite.tasks, 'task')}, and at least {bounds.min_tasks} are needed")
    if suite.repeats < bounds.min_repeats:
        short.append(f"{count_things(suite.repeats, 'repeat')}, and at least {bounds.min_repeats} are needed")
    if wanted is not None and wanted < bounds.min_gain - SAME:
        short.append(f"a gain below {bounds.min_gain / suite.point:.1f} points passes no gate, however many trials")
    elif wanted is not None and wanted < suite.detectable - SAME:
        chance = estimate_power(wanted, suite.spread, suite.trials, suite.alpha)
        short.append(
            f"+{wanted / suite.point:.3g} points would be proven in about {chance:.0%} of cases, and need about "
            f"{count_needed_trials(wanted, suite.spread, suite.alpha)} trials per side; with {suite.trials} it is "
            f"+{suite.detectable / suite.point:.0f} points and more"
        )
    return short


def list_remedies(suite: SuiteFigures, wanted: float | None) -> list[str]:
    """What would decide what this suite can't."""
    bounds, found = suite.bounds, []
    if suite.tasks < bounds.min_tasks:
        more = count_things(bounds.min_tasks - suite.tasks, "more task")
        found.append(f"{more}: `assay eval mine SESSION` makes one of a session that did not land")
    if suite.repeats < bounds.min_repeats:
        found.append(f"--repeats {bounds.min_repeats} or more")
    if wanted is not None and bounds.min_gain - SAME <= wanted < suite.detectable - SAME:
        repeats = ceil(count_needed_trials(wanted, suite.spread, suite.alpha) / suite.tasks)
        found.append(f"--repeats {repeats} with these tasks, or more tasks, which are better")
    return [*found, "--rule seed goes by one run per side, and is no test"]


def count_things(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def describe_plan(made: SuitePlan) -> tuple[str, ...]:
    """A plan in sentences, for a person who is about to spend."""
    price = f", about ${made.usd:.2f}" if made.usd is not None else ", unpriced"
    size = f"{count_things(made.tasks, 'task')} × {count_things(made.repeats, 'repeat')}"
    lines = [
        *made.says,
        *([f"{WOULD_DECIDE}: {'; '.join(made.remedies)}"] if made.remedies else ()),
        f"{size}: {count_things(made.trials_per_side, 'trial')} per side{price}",
        f"finds +{made.detectable_points:.0f} points (composite +{made.detectable_gain:.3f}) four times in five",
        f"luck alone exceeds {made.noise_floor:.3f} once in a hundred",
        FOUND,
    ]
    if made.power is not None:
        lines.insert(-2, f"+{made.wanted_points:g} points would be proven in about {made.power:.0%} of cases")
    if made.informative is not None:
        lines.append(f"{made.informative} of {made.tasks} tasks both pass and fail; the others tell nothing of quality")
    return tuple(lines)
