"""Sessions that may have written the same line of the same file: what becomes of one can depend on the other."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from assay.sessions.linebook import each
from assay.sessions.rework.history import Target

MOST = 50
"""Sessions looked at for one line; what so many wrote tells nothing of any."""


def rivals(targets: Iterable[Target], patience: float) -> dict[str, Counter[str]]:
    """For each session those that were active later, or at the same time, and with how many lines they share.

    A line goes to who was active last before its commit, so sessions of before don't matter; nor does one that began
    when lines were no longer waited for.
    """
    by_path: defaultdict[str, list[tuple[Target, bytes]]] = defaultdict(list)
    for target in targets:
        for one in target.written:
            by_path[one.path].append((target, one.lines))
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for writers in by_path.values():
        if len(writers) > 1:
            owners: defaultdict[bytes, list[Target]] = defaultdict(list)
            for target, lines in sorted(writers, key=lambda pair: (pair[0].started, pair[0].id)):
                for line in set(each(lines)):
                    owners[line].append(target)
            for some in owners.values():
                if len(some) > 1:
                    note(found, some[:MOST], patience)
    return dict(found)


def note(found: dict[str, Counter[str]], some: list[Target], patience: float) -> None:
    """Count a line for all pairs of sessions that wrote it in time."""
    for one in some:
        for other in some:
            if other is not one and other.ended >= one.started and other.started <= one.ended + patience:
                found[one.id][other.id] += 1
