"""Paths as transcripts say them: made absolute, said in short, found in words, and found in a repository.

A transcript may have been written in another clone, in a work tree or on another machine. Its paths end as those of
the repository do, so every path says where the checkout may have begun, and most of them agree.
"""

import ntpath
import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

MOST_NAMED = 3
LONGEST_NAME = 60

DRIVE = re.compile(r"[A-Za-z]:[\\/]|\\\\")
SLASH = re.compile(r"[\\/]")
WORDS = (re.compile(r"[\w.+@\\/-]+"), re.compile(r"[A-Za-z0-9_.+@\\/-]+"))
"""The second finds a name that stands between letters of a script without spaces."""

MOST_DEEP = 40
LEAST_SHARE = 0.1
MOST_ASKED = 500
"""Paths that are asked where their checkout begins: the others will say the same."""


def make_absolute(path: str, cwd: str) -> str:
    """A path as seen from a folder; one in somebody's home stays as it was said."""
    if path.startswith("~"):
        return path
    system = ntpath if DRIVE.match(path) or DRIVE.match(cwd) else posixpath
    normal: str = system.normpath(system.join(cwd, path))
    return normal


def format_paths(paths: Sequence[str]) -> str:
    """The base names of a few files, on one line; with their folders where two have the same."""
    ends = Counter(SLASH.split(path)[-1] for path in paths)
    names = ["/".join((parts := SLASH.split(path))[-1 - (ends[parts[-1]] > 1) :]) for path in paths]
    said = [" ".join(name.split())[:LONGEST_NAME] for name in names[:MOST_NAMED]]
    left = len(names) - len(said)
    return ", ".join(said) + (f" and {left} more" if left else "")


def find_named_file(paths: Iterable[str], text: str) -> str:
    """The first of these files that a text names, as it names it."""
    names = {shorten_path(path) for path in paths}
    for words in WORDS:
        for word in words.findall(text):
            if (name := shorten_path(word.rstrip(".-/\\"))) in names:
                return name[:LONGEST_NAME]
    return ""


def shorten_path(path: str) -> str:
    """What a file is called: its base name, with its folder before a name that could be any word."""
    parts = SLASH.split(path.lstrip("@"))
    is_telling = "." in parts[-1] or parts[-1] != parts[-1].lower()
    return parts[-1] if is_telling else "/".join(parts[-2:])


# --- checkouts --------------------------------------------------------------------------------


def make_relative(path: str, top: str) -> str | None:
    """A path as seen from a folder above it; `None` for one that is not in there."""
    if path.startswith("/"):  # most are, and there are many
        start = top.rstrip("/") + "/"
        return path[len(start) :] or None if path.startswith(start) else None
    parts, above = SLASH.split(path), SLASH.split(top.rstrip("/\\"))
    if len(parts) <= len(above) or not all(map(is_same_part, parts, above)):
        return None
    return "/".join(parts[len(above) :])


def is_same_part(part: str, other: str) -> bool:
    """Whether two parts of a path are one; drives are written either way."""
    return part == other or (part.endswith(":") and part.lower() == other.lower())


def find_checkouts(paths: Iterable[str], known: Collection[str], first: Sequence[str] = ()) -> list[str]:
    """Folders that are checkouts of a repository with these files, most likely first; some may be known before."""
    votes: Counter[str] = Counter()
    for path in sorted(set(paths))[:MOST_ASKED]:
        if top := find_checkout(path, known):
            votes[top] += 1
    most = max(votes.values(), default=0)
    told = sorted(votes.items(), key=lambda pair: (-pair[1], len(pair[0]), pair[0]))
    # One file of many that says otherwise has a name that stands everywhere, such as __init__.py.
    return [*dict.fromkeys((*first, *(top for top, n in told if n >= min(most, 2) and n >= most * LEAST_SHARE)))]


def find_checkout(path: str, known: Collection[str]) -> str:
    """The folder from which on a path is one of the repository's; the longest such path, for it tells most."""
    parts = SLASH.split(path)
    starts = range(max(1, len(parts) - MOST_DEEP), len(parts))
    return next(("/".join(parts[:start]) for start in starts if "/".join(parts[start:]) in known), "")


def find_in_repository(path: str, tops: Sequence[str], known: Collection[str]) -> str | None:
    """A path as the repository has it; one that is not there any more as seen from the nearest folder of these."""
    places = [(len(top), place) for top in tops if (place := make_relative(path, top)) is not None]
    there = next((place for _, place in places if place in known), None)
    return there or max(places, default=(0, None))[1]
