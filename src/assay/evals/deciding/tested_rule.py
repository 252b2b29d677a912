"""Rule `tested`: a stratified permutation test, then a guard; what it can't decide it calls inconclusive."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.evals.deciding import guard, sequential
from assay.evals.deciding.pairing import Pair
from assay.evals.deciding.permutation import average, estimate_chances, flip_signs
from assay.evals.deciding.rule_result import (
    NO_CHECKS,
    NO_TASKS,
    RuleResult,
    build_task_result,
    has_checks,
    is_informative,
    list_gaps,
)
from assay.evals.deciding.trial_scores import ArmScores, score_pairs
from assay.types.evals import (
    Design,
    Regression,
    Statistics,
    Suspect,
    TaskResult,
    Thresholds,
    Trial,
    TrialRequest,
    Verdict,
)

Z_95, Z_90 = 1.96, 1.645
"""Two-sided; the second is also the one-sided 95 % of a lower bound."""
Z_FLOOR = 2.326
BROAD = 0.05
SAME = 1e-9
FLAT = 0.1
"""Of alpha, where every trial ended alike: cost is noisy, and such a suite can't see what being cheaper broke."""
CLAIM = "no confirmed regression; a 60-point drop on one task is found about four times in five, not always"
STARTED_ANEW = "attempt {} on this baseline: p must be at most {:.4f}"


class Case(Struct, frozen=True, kw_only=True):
    """The trials, design and thresholds that a verdict depends on."""

    pairs: list[Pair]
    baseline: Sequence[Trial]
    """Of every stage; those of the guard are judged here alone."""
    candidate: Sequence[Trial]
    design: Design
    limits: Thresholds

    @property
    def alpha(self) -> float:
        return self.limits.alpha / self.design.attempt

    def pick_level(self, seen: ArmScores) -> float:
        """How often luck may pass for a gain, on trials like these."""
        return self.alpha * (FLAT if seen.is_flat else 1.0)


class Strength(Struct, frozen=True, kw_only=True):
    """How sure a difference is, by either way of looking at it."""

    scored: ArmScores
    statistics: Statistics
    is_better: bool
    is_worse: bool
    is_quality_proven: bool
    is_final: bool = True


def decide_verdict(case: Case) -> RuleResult:
    """The verdict of rule `tested`, or why there is none yet."""
    rounds = count_rounds(case) if case.design.is_sequential else 0
    planned = rounds * sequential.PER_LOOK if case.design.is_sequential else case.design.repeats
    pairs = sequential.cut_pairs(case.pairs, planned) if case.design.is_sequential else case.pairs
    shown = replace(case, pairs=pairs)
    verdict, reasons = judge_fitness(shown, planned)
    if verdict is not None or (case.design.is_sequential and rounds == 0):
        statistics = build_statistics(shown, score_pairs(pairs), planned)
        wanted = list_next_trials(case, rounds) if verdict is None else ()
        return build_result(shown, verdict or "inconclusive", statistics, reasons, wanted=wanted)
    strength = take_looks(shown, rounds) if case.design.is_sequential else run_test(shown, planned)
    if not strength.is_final:
        at = f"look {rounds} of {sequential.LOOKS} decides nothing yet"
        return build_result(shown, "inconclusive", strength.statistics, (at,), wanted=list_next_trials(case, rounds))
    if case.design.is_sequential:
        shown = replace(shown, pairs=sequential.cut_pairs(pairs, (strength.statistics.look or 0) * sequential.PER_LOOK))
    return weigh_strength(shown, strength)


def judge_fitness(case: Case, planned: int) -> tuple[Verdict | None, tuple[str, ...]]:
    """Why these trials can't be tested at all."""
    broken = [pair for pair in case.pairs if not pair.counts and not pair.is_missing]
    if not case.pairs:
        return "invalid", (NO_TASKS,)
    if broken:
        return "invalid", list_gaps(broken)
    if planned == 0:
        return None, ("nothing was run yet",)
    reasons = [
        f"{share:.0%} of the {name}'s trials are missing; at most {case.limits.most_missing:.0%} may be"
        for name, share in zip(("baseline", "candidate"), share_missing(case.pairs, planned), strict=True)
        if share > case.limits.most_missing + SAME
    ]
    reasons += list_gaps([pair for pair in case.pairs if pair.is_missing])
    if len(case.pairs) < case.limits.min_tasks:
        reasons.append(f"{len(case.pairs)} tasks; at least {case.limits.min_tasks} are needed")
    fewest = min((len(side) for pair in case.pairs for side in (pair.baseline, pair.candidate)), default=0)
    if not case.design.is_sequential and fewest < case.limits.min_repeats:
        reasons.append(f"{fewest} repeats of some task; at least {case.limits.min_repeats} a side are needed")
    return ("inconclusive" if reasons else None), tuple(reasons)


def share_missing(pairs: Sequence[Pair], planned: int) -> tuple[float, float]:
    """The share of planned trials of either side without a usable result."""
    of = planned * len(pairs)
    counts = (sum(len(pair.baseline) for pair in pairs), sum(len(pair.candidate) for pair in pairs))
    return (1 - counts[0] / of, 1 - counts[1] / of) if of else (0.0, 0.0)


def build_statistics(case: Case, seen: ArmScores, planned: int) -> Statistics:
    """The statistics that can be given without a test."""
    lost = share_missing(case.pairs, planned)
    statistics = Statistics(
        tasks=len(seen.baseline),
        repeats=seen.repeats,
        informative=sum(is_informative(pair.trials) for pair in case.pairs if pair.counts),
        attempt=case.design.attempt,
        alpha=case.alpha,
        seed=case.design.seed,
        missing_baseline=lost[0],
        missing_candidate=lost[1],
    )
    if not seen.baseline:
        return statistics
    return replace(
        statistics,
        gain=seen.gain,
        quality=seen.quality,
        standard_error=seen.error,
        low=seen.gain - Z_95 * seen.error,
        high=seen.gain + Z_95 * seen.error,
        noise_floor=Z_FLOOR * seen.error,
    )


def run_test(case: Case, planned: int) -> Strength:
    """The permutation test, once, on all trials."""
    seen, seed, rounds = score_pairs(case.pairs), case.design.seed, case.limits.relabellings
    better, worse = estimate_chances(seen.baseline, seen.candidate, seed, rounds)
    quality, _ = estimate_chances(seen.baseline_base, seen.candidate_base, seed, rounds)
    statistics = replace(build_statistics(case, seen, planned), p_better=better, p_worse=worse, p_quality=quality)
    return Strength(
        scored=seen,
        statistics=add_breadth(statistics, seen, case),
        is_better=better <= case.pick_level(seen) + SAME,
        is_worse=worse <= case.limits.alpha + SAME,
        is_quality_proven=quality <= case.alpha + SAME,
    )


def add_breadth(statistics: Statistics, seen: ArmScores, case: Case) -> Statistics:
    """Whether the gain is likely to hold for other tasks than these."""
    broad = flip_signs(seen.deltas, case.design.seed, case.limits.relabellings)
    return replace(statistics, p_broad=broad, is_broad=broad <= BROAD)


def take_looks(case: Case, rounds: int) -> Strength:
    """The looks in their order, up to the first that decides."""
    strength: Strength | None = None
    for number in range(1, rounds + 1):
        at = sequential.take_look(case.pairs, number, case.alpha)
        repeats = number * sequential.PER_LOOK
        statistics = build_statistics(
            replace(case, pairs=sequential.cut_pairs(case.pairs, repeats)), at.scored, repeats
        )
        strength = Strength(
            scored=at.scored,
            statistics=replace(add_breadth(statistics, at.scored, case), z=at.z, boundary=at.boundary, look=number),
            is_better=at.z >= sequential.find_boundaries(case.pick_level(at.scored))[number - 1],
            is_worse=at.is_below,
            is_quality_proven=at.z_quality >= at.boundary,
            is_final=at.is_below or at.is_futile or number == sequential.LOOKS,
        )
        if strength.is_final or not list_shortfalls(strength, case.limits):
            return replace(strength, is_final=True)
    assert strength is not None
    return strength


def list_shortfalls(strength: Strength, limits: Thresholds) -> list[str]:
    """What keeps a candidate from being superior; nothing, when it is."""
    seen, short = strength.scored, []
    if not strength.is_better:
        short.append("the gain may be luck")
    if seen.gain < limits.min_gain - SAME:
        short.append(f"the gain {seen.gain:+.3f} is below {limits.min_gain}")
    if seen.quality < -SAME:
        short.append(f"quality without cost fell by {-seen.quality:.3f}")
    if not short and not strength.is_quality_proven and not seen.passed:
        short.append("no trial passed on either side: to fail at a lower cost is no gain")
    worst = seen.quality - Z_90 * seen.quality_error
    if not short and not strength.is_quality_proven and worst <= -limits.quality_margin:
        short.append(f"only cost is proven better, and quality may have lost as much as {-worst:.3f}")
    return short


def weigh_strength(case: Case, strength: Strength) -> RuleResult:
    """The verdict that follows from how sure the difference is."""
    short = list_shortfalls(strength, case.limits)
    if not short:
        return guard_candidate(case, strength)
    seen, statistics = strength.scored, strength.statistics
    if strength.is_worse:
        return build_result(case, "regressed", statistics, (f"the gain {seen.gain:+.3f} is a loss beyond luck",))
    reach = abs(seen.gain) + Z_90 * seen.error
    if reach < case.limits.equivalence_margin:
        equal = f"shown equal: the gain lies within ±{case.limits.equivalence_margin} with 90 % confidence"
        return build_result(case, "neutral", statistics, (equal,))
    return build_result(case, "inconclusive", statistics, tuple(short))


def guard_candidate(case: Case, strength: Strength) -> RuleResult:
    """The verdict on a superior candidate, after a second look at what it may have broken."""
    found = guard.find_suspects(case.pairs, case.design, case.limits)
    found = guard.judge_suspects(found, case.baseline, case.candidate, case.design, case.limits)
    wanted = guard.list_requests(found, case.baseline, case.candidate, case.limits)
    worse = [one for one in found if one.is_confirmed]
    won = f"the gain {strength.scored.gain:+.3f} is beyond luck"
    if not has_checks(case.pairs):
        return build_result(case, "invalid", strength.statistics, (won, NO_CHECKS), short=(NO_CHECKS,))
    if wanted:
        waiting = f"{won}; {len(wanted)} suspect tasks wait for their fresh trials"
        return build_result(case, "inconclusive", strength.statistics, (waiting,), found, wanted)
    if worse:
        named = ", ".join(one.task for one in worse)
        return build_result(case, "mixed", strength.statistics, (won, f"confirmed worse: {named}"), found)
    return build_result(case, "improved", strength.statistics, (won, CLAIM), found)


def build_result(
    case: Case,
    verdict: Verdict,
    statistics: Statistics,
    reasons: Sequence[str],
    found: Sequence[Suspect] = (),
    wanted: Sequence[TrialRequest] = (),
    short: Sequence[str] = (),
) -> RuleResult:
    """A verdict with the rows it stands on."""
    regressions = [
        Regression(
            task=one.task,
            kind="confirmed_drop",
            detail=f"fresh trials passed: {one.baseline_passes} of {one.baseline_trials} → "
            f"{one.candidate_passes} of {one.candidate_trials}, p = {one.p:.4f}",
        )
        for one in found
        if one.is_confirmed
    ]
    later = STARTED_ANEW.format(case.design.attempt, case.alpha)
    return RuleResult(
        verdict=verdict,
        net_gain=statistics.gain,
        tasks=build_rows(case.pairs),
        statistics=statistics,
        reasons=(*reasons, *((later,) if case.design.attempt > 1 else ())),
        regressions=tuple(regressions),
        gaps=(*list_gaps(case.pairs), *short),
        suspects=tuple(found),
        wanted=tuple(wanted),
    )


def build_rows(pairs: Sequence[Pair]) -> tuple[TaskResult, ...]:
    """Every task, with its mean scores."""
    found = []
    for pair in pairs:
        seen = score_pairs([pair])
        means = (average(seen.baseline[0]), average(seen.candidate[0])) if seen.baseline else (None, None)
        found.append(build_task_result(pair, *means))
    return tuple(found)


def count_rounds(case: Case) -> int:
    """Rounds of which every task has all its trials, usable or not."""
    counts = []
    for side in (case.baseline, case.candidate):
        main = [trial for trial in side if trial.stage == "main"]
        counts += [sum(trial.task == task for trial in main) for task in case.design.tasks]
    return min(counts, default=0) // sequential.PER_LOOK


def list_next_trials(case: Case, rounds: int) -> tuple[TrialRequest, ...]:
    """The trials that the next look of a sequential run needs."""
    if not case.design.is_sequential or rounds >= sequential.LOOKS:
        return ()
    repeats = (rounds + 1) * sequential.PER_LOOK
    return tuple(TrialRequest(task=task, stage="main", repeats=repeats) for task in case.design.tasks)
