"""Fits the offline outcome judge to labelled streams; `benchmarks.gold` says what that is worth on others.

`python -m benchmarks.fit [GOLD.jsonl] [--corpus DIR]` prints lines for `judges/offline/outcome.toml`, each with n and
interval. Weights are a ridge regression of the log-odds on the evidence of
goals that did not break off, cut as labelled: every sign is bound to what its evidence means, a repository weighs by
the root of its goals, a goal by how certain its readers were, both outcomes alike. Asserts nothing, writes nothing.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from assay.facts import establish_facts
from assay.facts.failures import Failures
from assay.judges.offline.intent import judge_intent
from assay.judges.offline.outcome import OutcomeRecord, find_evidence, load_weights
from assay.judges.offline.topic import load_card, measure_gaps
from assay.judges.timeline import read_timeline
from benchmarks.agreement import Counts
from benchmarks.labelled import when
from benchmarks.recut import goals, streams

Numbers = NDArray[np.float64]
INTENTS = ("investigation", "plan")
SPEAKS_FOR = frozenset({"says_done", "handed_in", "full_answer", "plan"})
"""Evidence that may not speak against completion; all other may not speak for it."""
RIDGE, STEPS = 1.0, 1_500
RESAMPLES, SEED = 200, 20261
LEAST_CERTAINTY = 0.05
BASE_RATE = 0.6


@dataclass(frozen=True)
class LabelledGoal:
    """A labelled goal, and the evidence that the outcome judge finds for and against it."""

    repository: str
    is_complete: bool
    certainty: float
    is_broken_off: bool
    evidence: frozenset[str]


@dataclass(frozen=True)
class LabelledGap:
    """A step from one prompt to the next, and the topic judge's score of it."""

    repository: str
    is_boundary: bool
    score: float


THRESHOLDS = [2 + 0.05 * n for n in range(80)]
Weights = dict[str, float]
"""By kind of evidence; `start` is what a goal begins with."""


def list_kinds() -> list[str]:
    return [*load_weights().weights, *INTENTS]


def read_goals(lines: Sequence[dict[str, Any]], corpus: Path) -> list[LabelledGoal]:
    """The goals of which readers said whether they were completed, cut as labelled."""
    known, found = streams(corpus), []
    for line in lines:
        labels = {when(goal["at"]): goal for goal in line["goals"]}
        for turns, after in goals(line, known[line["file"]]) if line["file"] in known else ():
            label = labels[when(turns[0].prompt.at)] if turns[0].prompt else None
            if label is None or label["goal_complete"] is None:
                continue
            aimed = judge_intent(turns)
            intent = aimed.intent if aimed else "question"
            failures = cast(Failures, establish_facts(turns)["failures"]).failure_signals
            record = OutcomeRecord(read_timeline(turns), intent, failures, after.prompt if after else None)
            found.append(
                LabelledGoal(
                    repository=line["source"],
                    is_complete=label["goal_complete"],
                    certainty=label["certainty"],
                    is_broken_off=record.is_broken_off,
                    evidence=frozenset({one.kind for one in find_evidence(record)} | {intent}),
                )
            )
    return found


def read_gaps(lines: Sequence[dict[str, Any]], corpus: Path) -> list[LabelledGap]:
    """Every step between two prompts of the labelled streams, but those on which the readers differed."""
    known, found = streams(corpus), []
    card = load_card()
    for line in lines:
        starts = {when(goal["at"]) for goal in line["goals"]}
        others = {when(stamp) for stamp in line["maybe_starts_at"]} | {min(starts, default=0.0)}
        asked = {when(stamp) for stamp in line["prompts_at"]} - others
        turns = known[line["file"]].turns if line["file"] in known else ()
        for number, signs in measure_gaps(turns):
            prompt = turns[number].prompt
            if prompt and when(prompt.at) in asked:
                score = sum(value * card.signs[name].weight for name, value in signs.items())
                found.append(LabelledGap(line["source"], when(prompt.at) in starts, score))
    return found


def fit_threshold(found: Sequence[LabelledGap]) -> float:
    """The threshold of the best F1."""
    return max(THRESHOLDS, key=lambda threshold: count_shifts(found, threshold).f1 or 0.0)


def count_shifts(found: Sequence[LabelledGap], threshold: float) -> Counts:
    said = [(gap.is_boundary, gap.score > threshold) for gap in found]
    return Counts(
        tp=sum(true and shift for true, shift in said),
        fp=sum(shift and not true for true, shift in said),
        fn=sum(true and not shift for true, shift in said),
    )


def fit_weights(found: Sequence[LabelledGoal]) -> Weights:
    """The weights of goals that did not break off, by accelerated projected gradient."""
    kinds = list_kinds()
    whole = [goal for goal in found if not goal.is_broken_off]
    seen = np.array([[1.0, *(float(kind in goal.evidence) for kind in kinds)] for goal in whole])
    done = np.array([float(goal.is_complete) for goal in whole])
    weight = weigh_goals(whole, done)
    ridge = np.array([0.0, *(RIDGE for _ in kinds)])
    high = np.array([np.inf, *(np.inf if kind in SPEAKS_FOR else 0.0 for kind in kinds)])
    low = np.array([-np.inf, *(0.0 if kind in SPEAKS_FOR else -np.inf for kind in kinds)])
    pace = 1 / (np.linalg.norm((seen * weight[:, None]).T @ seen, 2) / 4 + RIDGE)
    at = ahead = np.zeros(len(kinds) + 1)
    momentum = 1.0
    for _ in range(STEPS):
        slope = seen.T @ (weight * (to_chance(seen @ ahead) - done)) + ridge * ahead
        step = np.clip(ahead - pace * slope, low, high)
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead, at, momentum = step + (momentum - 1) / grown * (step - at), step, grown
    return dict(zip(["start", *kinds], map(float, at), strict=True))


def weigh_goals(found: Sequence[LabelledGoal], done: Numbers) -> Numbers:
    """How much each goal counts: both outcomes alike, large repositories and doubtful labels less."""
    sizes = Counter(goal.repository for goal in found)
    weight = np.array([max(LEAST_CERTAINTY, 2 * goal.certainty - 1) / sizes[goal.repository] ** 0.5 for goal in found])
    for outcome in (0.0, 1.0):
        weight[done == outcome] /= weight[done == outcome].sum() or 1.0
    return weight * len(found) / 2


def to_chance(odds: Numbers) -> Numbers:
    return 1 / (1 + np.exp(-odds))


def sum_weights(evidence: frozenset[str] | set[str], weights: Weights) -> float:
    """Log-odds at even odds of goals, before calibration."""
    return weights["start"] + sum(weight for kind, weight in weights.items() if kind in evidence)


def fit_without(found: Sequence[LabelledGoal]) -> dict[str, Weights]:
    """For each repository, the weights fitted on all the others."""
    return {
        one: fit_weights([goal for goal in found if goal.repository != one])
        for one in sorted({goal.repository for goal in found})
    }


def resample_weights(found: Sequence[LabelledGoal]) -> dict[str, tuple[float, float]]:
    """95 % intervals over repositories drawn with replacement."""
    dice = np.random.default_rng(SEED)
    names = sorted({goal.repository for goal in found})
    drawn = []
    for _ in range(RESAMPLES):
        sample = [goal for name in dice.choice(names, len(names)) for goal in found if goal.repository == name]
        if len({goal.is_complete for goal in sample if not goal.is_broken_off}) == 2:
            drawn.append(fit_weights(sample))
    return {
        kind: cast(tuple[float, float], tuple(np.quantile([one[kind] for one in drawn], [0.025, 0.975])))
        for kind in drawn[0]
    }


def fit_line(pairs: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    """Start and slope of the log-odds of completion in the sum of weights, at a base rate of `BASE_RATE`.

    Platt's calibration; the base rate is that of people whom the judge had not seen, and the slope is held near 1.
    """
    sums, done = np.array([one for one, _ in pairs]), np.array([float(done) for _, done in pairs])
    weight = np.where(done > 0, BASE_RATE / done.mean(), (1 - BASE_RATE) / (1 - done.mean()))
    start, slope = 0.0, 1.0
    for _ in range(4 * STEPS):
        error = weight * (to_chance(start + slope * sums) - done)
        start -= 0.05 * float(error.mean())
        slope -= 0.05 * float((error * sums).mean() + (slope - 1) / len(pairs))
    return start, slope


def fit_spread(found: Sequence[tuple[int, int, float]]) -> tuple[float, float, float]:
    """Start, slope and spread between repositories, of goals, completed goals and smoothed mean chance of each.

    The spread is integrated out; weak priors (0 ± .7, 1.2 ± .5, .6 ± .3) hold what few repositories can't tell.
    """
    places, shares = np.polynomial.hermite_e.hermegauss(41)
    shares = shares / shares.sum()
    best, chosen = np.inf, (0.0, 1.0, 0.5)
    for slope in np.arange(0.6, 2.3, 0.1):
        for start in np.arange(-1.0, 1.55, 0.1):
            for between in np.arange(0.2, 1.25, 0.1):
                loss = (start / 0.7) ** 2 / 2 + ((slope - 1.2) / 0.5) ** 2 / 2 + ((between - 0.6) / 0.3) ** 2 / 2
                for goals_, done, mean in found:
                    chance = to_chance(start + slope * np.log(mean / (1 - mean)) + between * places)
                    loss -= np.log((shares * chance**done * (1 - chance) ** (goals_ - done)).sum())
                if loss < best:
                    best, chosen = loss, (float(start), float(slope), float(between))
    return chosen


def print_weights(found: Sequence[LabelledGoal]) -> None:
    """The weights as `outcome.toml` has them."""
    weights, spread = fit_weights(found), resample_weights(found)
    repositories = len({goal.repository for goal in found})
    missed = sum(not goal.is_complete for goal in found)
    print(f"# {len(found)} goals of {repositories} repositories, {missed} not complete")
    print(f"start = {weights['start']:.3f}")
    for kind in list_kinds():
        having = [goal for goal in found if kind in goal.evidence and not goal.is_broken_off]
        complete = sum(goal.is_complete for goal in having) / len(having) if having else 0.0
        low, high = spread[kind]
        print(
            f"{kind} = {{ weight = {weights[kind]:.2f}, low = {low:.2f}, high = {high:.2f}, n = {len(having)}, "
            f"complete = {complete:.2f} }}"
        )
    broken = [goal for goal in found if goal.is_broken_off]
    print(f"# broken off: {len(broken)}, {sum(goal.is_complete for goal in broken)} of them complete")


def main() -> None:
    from benchmarks.gold import SHARED, labels

    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit", description=__doc__)
    parser.add_argument("gold", type=Path, nargs="?", default=SHARED / "gold" / "dev.jsonl", help="labelled streams")
    parser.add_argument("--corpus", type=Path, default=SHARED / "corpus", help="the transcripts they are labels of")
    args = parser.parse_args()
    print_weights(read_goals(labels(args.gold), args.corpus))


if __name__ == "__main__":
    main()
