"""What a folder holds, as hashes: the same content has the same fingerprint on every machine."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

Listing = dict[str, str]
"""Path below a folder → kind and hash of what lies there."""

LEFT_OUT = frozenset({"__pycache__", ".DS_Store", ".pytest_cache"})
"""What programs leave behind by being run."""


def below(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Everything below a folder but folders, with its path; no link is followed."""
    waiting = [""]
    while waiting:
        here = waiting.pop()
        with os.scandir(folder / here) as entries:
            for entry in entries:
                path = f"{here}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{path}/")
                else:
                    yield path, entry


def listing(folder: Path) -> Listing:
    """All files below a folder; nothing where there is no such folder."""
    if not folder.is_dir():
        return {}
    found = {path: fingerprint(entry) for path, entry in below(folder) if not LEFT_OUT.intersection(path.split("/"))}
    return dict(sorted(found.items()))


def fingerprint(entry: os.DirEntry[str]) -> str:
    """One file: what it holds and whether it can be run, or where a link leads."""
    if entry.is_symlink():
        return f"link:{os.readlink(entry.path)}"
    if not entry.is_file(follow_symlinks=False):
        return "special"
    is_program = entry.stat(follow_symlinks=False).st_mode & stat.S_IXUSR
    return f"{'x' if is_program else '-'}:{sha256_of(Path(entry.path))}"


def sha256_of(file: Path) -> str:
    """Hash of a file's bytes."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def sealed(*parts: object) -> str:
    """One hash of several values."""
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()
