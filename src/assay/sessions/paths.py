"""Paths as transcripts say them: made absolute, said in short, found in words."""

import ntpath
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Sequence

MOST_NAMED = 3
LONGEST_NAME = 60

DRIVE = re.compile(r"[A-Za-z]:[\\/]|\\\\")
SLASH = re.compile(r"[\\/]")
WORDS = (re.compile(r"[\w.+@\\/-]+"), re.compile(r"[A-Za-z0-9_.+@\\/-]+"))
"""The second finds a name that stands between letters of a script without spaces."""


def absolute(path: str, cwd: str) -> str:
    """A path as seen from a folder; one in somebody's home stays as it was said."""
    if path.startswith("~"):
        return path
    system = ntpath if DRIVE.match(path) or DRIVE.match(cwd) else posixpath
    normal: str = system.normpath(system.join(cwd, path))
    return normal


def in_short(paths: Sequence[str]) -> str:
    """The base names of a few files, on one line; with their folders where two have the same."""
    ends = Counter(SLASH.split(path)[-1] for path in paths)
    names = ["/".join((parts := SLASH.split(path))[-1 - (ends[parts[-1]] > 1) :]) for path in paths]
    said = [" ".join(name.split())[:LONGEST_NAME] for name in names[:MOST_NAMED]]
    left = len(names) - len(said)
    return ", ".join(said) + (f" and {left} more" if left else "")


def named(paths: Iterable[str], text: str) -> str:
    """The first of these files that a text names, as it names it."""
    names = {tail(path) for path in paths}
    for words in WORDS:
        for word in words.findall(text):
            if (name := tail(word.rstrip(".-/\\"))) in names:
                return name[:LONGEST_NAME]
    return ""


def tail(path: str) -> str:
    """What a file is called: its base name, with its folder before a name that could be any word."""
    parts = SLASH.split(path.lstrip("@"))
    is_telling = "." in parts[-1] or parts[-1] != parts[-1].lower()
    return parts[-1] if is_telling else "/".join(parts[-2:])
