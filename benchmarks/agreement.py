"""How far what was said agrees with labels: measures over plain lists, which know nothing of assay.

What the cases can't tell (a ratio over nothing, an AUC with one class only) is `None`, never a number.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

RESAMPLES, SEED = 1000, 20261
TAIL = 0.025
BANDS = 5


class Counts(NamedTuple):
    """Hits, false alarms and misses."""

    tp: int = 0
    fp: int = 0
    fn: int = 0

    @property
    def precision(self) -> float | None:
        return ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        return ratio(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float | None:
        return ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn)


class Case(NamedTuple):
    """A goal: whether its label says complete, whether a method does, and how sure it is."""

    label: bool
    said: bool
    rank: float
    """Larger is surer of completion; a probability unless the method says otherwise."""


@dataclass(frozen=True)
class Verdicts:
    """A yes-or-no method over all its cases; "false" is the class that has to be found."""

    n: int
    true: int
    false: int
    accuracy: float | None
    balanced_accuracy: float | None
    auc: float | None
    brier: float | None
    f1_false: float | None
    recall_false: float | None
    precision_false: float | None


@dataclass(frozen=True)
class Band:
    """Cases whose probability lies in a band."""

    low: float
    high: float
    n: int
    mean_p: float | None
    share_true: float | None


def ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def total(counts: Sequence[Counts]) -> Counts:
    """Counts of several streams, pooled."""
    return Counts(*(sum(column) for column in zip(*counts, strict=True))) if counts else Counts()


def interval(counts: Sequence[Counts], measure: Callable[[Counts], float | None]) -> tuple[float, float] | None:
    """Bootstrap 95 % interval: streams are drawn with replacement, always in the same way."""
    dice = random.Random(SEED)
    drawn = (total(dice.choices(counts, k=len(counts))) for _ in range(RESAMPLES if counts else 0))
    values = sorted(value for value in map(measure, drawn) if value is not None)
    cut = int(TAIL * len(values))
    return (values[cut], values[-1 - cut]) if values else None


def window(reference: Sequence[bool]) -> int:
    """Half the mean length of the reference segments, counted in gaps and rounded down; at least 1."""
    return max(1, len(reference) // (2 * (sum(reference) + 1)))


def disagreeing(reference: Sequence[bool], said: Sequence[bool]) -> tuple[int, int, int]:
    """Windows of a stream: all; those where only one side has a boundary; those where the sides count apart."""
    size = window(reference)
    pairs = [
        (sum(reference[at : at + size]), sum(said[at : at + size])) for at in range(max(0, len(reference) - size + 1))
    ]
    return len(pairs), sum(bool(a) != bool(b) for a, b in pairs), sum(a != b for a, b in pairs)


def pk_and_windowdiff(streams: Sequence[tuple[Sequence[bool], Sequence[bool]]]) -> tuple[float | None, float | None]:
    """Pk and WindowDiff, the windows of all streams pooled; each stream is walked with its own window."""
    rows = [disagreeing(reference, said) for reference, said in streams]
    windows, either, apart = (sum(column) for column in zip(*rows, strict=True)) if rows else (0, 0, 0)
    return ratio(either, windows), ratio(apart, windows)


def accuracy(pairs: Sequence[tuple[str, str]]) -> float | None:
    return ratio(sum(label == said for label, said in pairs), len(pairs))


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's: agreement beyond what the two frequencies would give by chance."""
    if not pairs:
        return None
    labels, answers = Counter(label for label, _ in pairs), Counter(said for _, said in pairs)
    chance = sum(labels[name] * answers[name] for name in labels) / len(pairs) ** 2
    return ratio((accuracy(pairs) or 0) - chance, 1 - chance)


def per_class(pairs: Sequence[tuple[str, str]]) -> dict[str, Counts]:
    """Counts of each class that has a label or was said."""
    return {
        name: Counts(
            tp=sum(label == said == name for label, said in pairs),
            fp=sum(said == name != label for label, said in pairs),
            fn=sum(label == name != said for label, said in pairs),
        )
        for name in sorted({name for pair in pairs for name in pair})
    }


def macro_f1(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Mean F1 of the classes that have a label."""
    labelled = [counts.f1 or 0.0 for counts in per_class(pairs).values() if counts.tp + counts.fn]
    return fmean(labelled) if labelled else None


def auc(cases: Sequence[Case]) -> float | None:
    """How often a completed goal ranks above one that is not; a tie counts half."""
    high = [case.rank for case in cases if case.label]
    low = [case.rank for case in cases if not case.label]
    return ratio(sum((a > b) + 0.5 * (a == b) for a in high for b in low), len(high) * len(low))


def verdicts(cases: Sequence[Case], *, is_probability: bool = True) -> Verdicts:
    """All measures of a method; a rank that is no probability has no Brier score."""
    true, false = [c.said for c in cases if c.label], [not c.said for c in cases if not c.label]
    found = Counts(tp=sum(false), fp=len(true) - sum(true), fn=len(false) - sum(false))
    errors = [(case.rank - case.label) ** 2 for case in cases]
    return Verdicts(
        n=len(cases),
        true=len(true),
        false=len(false),
        accuracy=ratio(sum(case.label == case.said for case in cases), len(cases)),
        balanced_accuracy=(fmean(true) + fmean(false)) / 2 if true and false else None,
        auc=auc(cases),
        brier=fmean(errors) if errors and is_probability else None,
        f1_false=found.f1,
        recall_false=found.recall,
        precision_false=found.precision,
    )


def reliability(cases: Sequence[Case]) -> list[Band]:
    """Bands of probability, each with what was promised and what was true; 1 lies in the last one."""
    bands: list[list[Case]] = [[] for _ in range(BANDS)]
    for case in cases:
        bands[min(BANDS - 1, int(case.rank * BANDS))].append(case)
    return [
        Band(
            low=at / BANDS,
            high=(at + 1) / BANDS,
            n=len(inside),
            mean_p=fmean(case.rank for case in inside) if inside else None,
            share_true=fmean(case.label for case in inside) if inside else None,
        )
        for at, inside in enumerate(bands)
    ]
