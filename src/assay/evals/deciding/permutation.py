"""Is a difference more than luck? Relabels trials inside their tasks, and counts how often chance does as well.

NumPy is imported by the functions that need it: it takes longer to start than `assay --help` may take.
"""

from collections.abc import Iterator, Sequence
from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

AT_ONCE = 1_000
"""Relabellings made at a time: about 6 MB for 40 tasks of 2 × 10 trials."""
SAME = 1e-9
"""Sums of the same numbers in another order differ by less."""
MOST_TASKS_ENUMERATED = 13

Sizes = Sequence[tuple[int, int]]
"""Trials of both sides, for each task."""


def relabel_trials(sizes: Sizes, seed: int, rounds: int) -> Iterator["Floats"]:
    """Weights that turn all trials into a gain, with arms dealt anew inside each task, so many rows at a time.

    Columns stand task by task, the first side before the second; how many trials each side has is kept.
    """
    import numpy as np  # noqa: PLC0415

    dice = np.random.Generator(np.random.PCG64(seed))
    for start in range(0, rounds, AT_ONCE):
        rows = min(AT_ONCE, rounds - start)
        blocks = []
        for first, second in sizes:
            block = np.full((rows, first + second), -1.0 / first / len(sizes))
            dealt = np.argpartition(dice.random(block.shape), second - 1, axis=1)[:, :second]
            np.put_along_axis(block, dealt, 1.0 / second / len(sizes), axis=1)
            blocks.append(block)
        yield np.concatenate(blocks, axis=1)


def count_tails(sizes: Sizes, scores: "Floats", gains: "Floats", seed: int, rounds: int) -> tuple["Floats", "Floats"]:
    """For each column of scores, the chance of a gain at least, and at most, as large as the one that was seen."""
    import numpy as np  # noqa: PLC0415

    above, below = np.ones(scores.shape[1]), np.ones(scores.shape[1])
    for weights in relabel_trials(sizes, seed, rounds):
        drawn = weights @ scores
        above += (drawn >= gains - SAME).sum(axis=0)
        below += (drawn <= gains + SAME).sum(axis=0)
    return above / (rounds + 1), below / (rounds + 1)


def estimate_chances(
    baseline: Sequence[Sequence[float]], candidate: Sequence[Sequence[float]], seed: int, rounds: int
) -> tuple[float, float]:
    """How often luck alone does at least as well, and at least as badly; swapping the arms exchanges the two.

    The relabellings are drawn for the better side against the worse one, so they are the same in both directions.
    """
    import numpy as np  # noqa: PLC0415

    gain = average_gain(baseline, candidate)
    flipped = (gain, list(map(list, candidate))) < (0.0, list(map(list, baseline)))
    worse, better = (candidate, baseline) if flipped else (baseline, candidate)
    sizes = [(len(first), len(second)) for first, second in zip(worse, better, strict=True)]
    flat = [score for first, second in zip(worse, better, strict=True) for score in (*first, *second)]
    up, down = count_tails(sizes, np.array(flat)[:, None], np.array([abs(gain)]), seed, rounds)
    return (float(down[0]), float(up[0])) if flipped else (float(up[0]), float(down[0]))


def average_gain(baseline: Sequence[Sequence[float]], candidate: Sequence[Sequence[float]]) -> float:
    """The mean over tasks of the difference between the sides' means."""
    deltas = [average(theirs) - average(ours) for ours, theirs in zip(baseline, candidate, strict=True)]
    return average(deltas)


def average(values: Sequence[float]) -> float:
    """The mean of some values, the same in whatever order."""
    return fsum(values) / len(values)


def flip_signs(deltas: Sequence[float], seed: int, rounds: int) -> float:
    """How often the tasks' gains would add up to as much, were each as likely a loss: does it hold beyond them?"""
    import numpy as np  # noqa: PLC0415

    values = np.array(deltas)
    if len(deltas) <= MOST_TASKS_ENUMERATED:
        bits = np.arange(2 ** len(deltas))[:, None] >> np.arange(len(deltas)) & 1
        return float(np.mean((bits * 2 - 1) @ values >= values.sum() - SAME))
    signs = np.random.Generator(np.random.PCG64(seed)).integers(0, 2, (rounds, len(deltas))) * 2 - 1
    return float((1 + (signs @ values >= values.sum() - SAME).sum()) / (rounds + 1))
