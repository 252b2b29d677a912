"""The second stage: a task that looks broken is run again, and fresh trials alone say whether it is.

The first trials only point. Judging them again would find a broken task in every suite that is long enough.
"""

from collections.abc import Sequence
from math import comb

from msgspec.structs import replace

from assay.evals.deciding.composite import has_passed, is_usable, score_checks
from assay.evals.deciding.pairing import Pair, list_checks
from assay.evals.deciding.permutation import estimate_chances
from assay.types.evals import Design, Suspect, Thresholds, Trial, TrialRequest

SAME = 1e-9


def find_suspects(pairs: Sequence[Pair], design: Design, thresholds: Thresholds) -> tuple[Suspect, ...]:
    """Tasks that lost a good part of their passes, and those that must pass."""
    found = []
    for pair in pairs:
        if not pair.counts or not any(trial.checks for trial in pair.trials):
            continue
        before, after = (sum(map(has_passed, side)) / len(side) for side in (pair.baseline, pair.candidate))
        if before - after >= thresholds.suspect_drop - SAME or pair.task in design.must_pass:
            found.append(Suspect(task=pair.task, drop=before - after))
    return tuple(found)


def judge_suspects(
    found: Sequence[Suspect], baseline: Sequence[Trial], candidate: Sequence[Trial], design: Design, limits: Thresholds
) -> tuple[Suspect, ...]:
    """The suspects, each confirmed or cleared when all of them have their fresh trials; Holm over the suspects."""
    looked = [judge_suspect(one, baseline, candidate, design, limits) for one in found]
    chance = [one.p for one in looked if one.p is not None]
    if len(chance) < len(looked):
        return tuple(looked)
    confirmed = apply_holm(chance, limits.guard_alpha)
    return tuple(replace(one, is_confirmed=is_worse) for one, is_worse in zip(looked, confirmed, strict=True))


def judge_suspect(
    suspect: Suspect, baseline: Sequence[Trial], candidate: Sequence[Trial], design: Design, limits: Thresholds
) -> Suspect:
    """What the fresh trials of one task say; nothing, while one is missing."""
    ours, theirs = (list_fresh_trials(side, suspect.task)[: limits.guard_trials] for side in (baseline, candidate))
    is_complete = min(len(ours), len(theirs)) == limits.guard_trials
    return replace(
        suspect,
        baseline_trials=len(ours),
        candidate_trials=len(theirs),
        baseline_passes=sum(map(has_passed, ours)),
        candidate_passes=sum(map(has_passed, theirs)),
        p=estimate_drop_chance(score_each(ours), score_each(theirs), design.seed, limits.relabellings)
        if is_complete
        else None,
    )


def list_fresh_trials(trials: Sequence[Trial], task: str) -> list[Trial]:
    """The usable guard trials of a task, in order, that were put to the same checks as its main ones."""
    usable = [trial for trial in trials if trial.task == task and is_usable(trial)]
    known = {list_checks(trial) for trial in usable if trial.stage == "main"}
    return [trial for trial in usable if trial.stage == "guard" and list_checks(trial) in known]


def score_each(trials: Sequence[Trial]) -> list[float]:
    """The share of checks that passed, for each trial."""
    return list(map(score_checks, trials))


def estimate_drop_chance(before: Sequence[float], after: Sequence[float], seed: int, rounds: int) -> float:
    """How often luck alone does this badly: Fisher's exact test, or relabelled trials where checks pass in part."""
    if set(before) | set(after) <= {0.0, 1.0}:
        return run_fisher_test(int(sum(before)), len(before), int(sum(after)), len(after))
    return estimate_chances([before], [after], seed, rounds)[1]


def run_fisher_test(passed: int, of: int, passed_later: int, of_later: int) -> float:
    """One-sided: the chance that so few of all passes fall to the later side."""
    all_passed = passed + passed_later
    ways = sum(
        comb(of_later, hits) * comb(of, all_passed - hits) for hits in range(max(0, all_passed - of), passed_later + 1)
    )
    return ways / comb(of + of_later, all_passed)


def apply_holm(chance: Sequence[float], alpha: float) -> list[bool]:
    """Which of several tests hold together: the smallest first, each at what the ones before left over."""
    held = [False] * len(chance)
    for rank, place in enumerate(sorted(range(len(chance)), key=lambda place: chance[place])):
        if chance[place] > alpha / (len(chance) - rank):
            break
        held[place] = True
    return held


def list_requests(
    found: Sequence[Suspect], baseline: Sequence[Trial], candidate: Sequence[Trial], limits: Thresholds
) -> tuple[TrialRequest, ...]:
    """Fresh trials that are still to be run: one more for each that infrastructure spoiled."""
    asked = []
    for one in found:
        if one.p is None:
            sides = [[trial for trial in side if trial.task == one.task] for side in (baseline, candidate)]
            spoiled = max(sum(trial.stage == "guard" and not is_usable(trial) for trial in side) for side in sides)
            asked.append(TrialRequest(task=one.task, stage="guard", repeats=limits.guard_trials + spoiled))
    return tuple(asked)
