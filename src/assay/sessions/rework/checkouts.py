"""Which file of a repository a path in a transcript means, wherever that checkout was.

A transcript may have been written in another clone, in a work tree or on another machine. Its paths end as those of
the repository do, so every path says where the checkout may have begun, and most of them agree.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from assay.sessions.paths import SLASH

MOST_DEEP = 40
LEAST_SHARE = 0.1
MOST_ASKED = 500
"""Paths that are asked where their checkout begins: the others will say the same."""


def inside(path: str, top: str) -> str | None:
    """A path as seen from a folder above it; `None` for one that is not in there."""
    if path.startswith("/"):  # most are, and there are many
        start = top.rstrip("/") + "/"
        return path[len(start) :] or None if path.startswith(start) else None
    parts, above = SLASH.split(path), SLASH.split(top.rstrip("/\\"))
    if len(parts) <= len(above) or not all(map(is_same, parts, above)):
        return None
    return "/".join(parts[len(above) :])


def is_same(part: str, other: str) -> bool:
    """Whether two parts of a path are one; drives are written either way."""
    return part == other or (part.endswith(":") and part.lower() == other.lower())


def tops(paths: Iterable[str], known: Collection[str], first: Sequence[str] = ()) -> list[str]:
    """Folders that are checkouts of a repository with these files, most likely first; some may be known before."""
    votes: Counter[str] = Counter()
    for path in sorted(set(paths))[:MOST_ASKED]:
        if top := beginning(path, known):
            votes[top] += 1
    most = max(votes.values(), default=0)
    told = sorted(votes.items(), key=lambda pair: (-pair[1], len(pair[0]), pair[0]))
    # One file of many that says otherwise has a name that stands everywhere, such as __init__.py.
    return [*dict.fromkeys((*first, *(top for top, n in told if n >= min(most, 2) and n >= most * LEAST_SHARE)))]


def beginning(path: str, known: Collection[str]) -> str:
    """The folder from which on a path is one of the repository's: the longest such path, for it tells most."""
    parts = SLASH.split(path)
    starts = range(max(1, len(parts) - MOST_DEEP), len(parts))
    return next(("/".join(parts[:start]) for start in starts if "/".join(parts[start:]) in known), "")


def in_repository(path: str, tops: Sequence[str], known: Collection[str]) -> str | None:
    """A path as the repository has it; one that is not there any more as seen from the nearest folder of these."""
    places = [(len(top), place) for top in tops if (place := inside(path, top)) is not None]
    there = next((place for _, place in places if place in known), None)
    return there or max(places, default=(0, None))[1]
