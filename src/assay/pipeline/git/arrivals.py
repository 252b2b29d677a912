"""When commits reached the default branch, and in which order."""

from bisect import bisect_right
from collections.abc import Collection, Sequence

from assay.pipeline.git.patches import Place


class Arrivals:
    """Commits that are no merges, in order of arrival, ancestors first."""

    def __init__(self, order: list[str], by: dict[str, int], chain: tuple[list[str], list[float]]) -> None:
        self.order = order
        self.by = by
        """Number of the commit of the default branch that brought each."""
        self.chain = chain

    def place(self, id: str) -> Place:
        ids, times = self.chain
        at = self.by[id]
        return Place(arrived=times[at], merge="" if ids[at] == id else ids[at])


def arrivals(rows: Sequence[str], chain: tuple[list[str], list[float]], edge: Collection[str]) -> Arrivals:
    """Read from `rev-list --topo-order --parents --timestamp`, newest first; commits at the edge are left out."""
    parents: dict[str, list[str]] = {}
    for row in rows:
        _, commit, *others = row.split()
        parents[commit] = others
    by: dict[str, int] = {}
    for number, commit in enumerate(chain[0]):
        waiting = [commit] if commit in parents else []
        while waiting:
            one = waiting.pop()
            if one not in by:
                by[one] = number
                waiting.extend(parent for parent in parents[one] if parent in parents)
    kept = [one for one in reversed(parents) if len(parents[one]) < 2 and one in by and one not in edge]
    kept.sort(key=by.__getitem__)  # stable: what one merge brought stays in the order of its own history
    return Arrivals(kept, by, chain)


def straightened(times: Sequence[float]) -> list[float]:
    """Times that never go back: those that fit together stay, the others take the time of the one before.

    One commit from a machine with a wrong clock, years ahead or behind, must not move all that follow: what is kept
    is the longest run that never goes back.
    """
    ends: list[float] = []
    places: list[int] = []
    before: list[int] = []
    for place, time in enumerate(times):
        at = bisect_right(ends, time)
        before.append(places[at - 1] if at else -1)
        if at == len(ends):
            ends.append(time)
            places.append(place)
        else:
            ends[at], places[at] = time, place
    keep: set[int] = set()
    at = places[-1] if places else -1
    while at >= 0:
        keep.add(at)
        at = before[at]
    last = times[min(keep)] if keep else 0.0
    found: list[float] = []
    for place, time in enumerate(times):
        last = time if place in keep else last
        found.append(last)
    return found
