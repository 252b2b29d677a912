"""Transcripts as their folders list them, in as few calls as there can be: each is looked at before every report.

Takes paths that lead to files or folders; gives what lies there. Imports nothing of ours, and nothing that is slow to
import: the door (`cli/asked_before.py`) looks at all files before anything else is there.
"""

import os
import re
from collections.abc import Callable, Iterable
from hashlib import blake2b
from marshal import dumps
from stat import S_IFMT

ENDING = ".jsonl"
TELEMETRY_ROOT = "otel:"
"""Stands for the folder in which conversations would lie that telemetry told of; they are in the store alone."""
STORED = (TELEMETRY_ROOT, "shipped:")
"""Names of folders that are none."""
ITSELF = ""
"""The name of a file that was itself given."""
CAN_LIST_OPEN = os.scandir in os.supports_fd and hasattr(os, "O_DIRECTORY")
"""Names are looked up faster from a folder that is open than from the root of the disk."""
WITHOUT_REFERENCES = 2
"""The version of `marshal` in which equal values have equal bytes."""

Entry = tuple[str, int, int, int]
"""Name, inode, size and time of a file."""
Folders = dict[str, list[Entry]]

looked_at: dict[tuple[str, str], tuple[Folders, list[tuple[str, str]]]] = {}
"""What was listed a moment ago by the door, for whoever goes on from there; taken once."""


def list_places(roots: Iterable[str], closed: list[tuple[str, str]], others: str) -> Folders:
    """Transcripts of folders and of all below, and files that are named; `closed` takes what can't be looked at.

    `others` is what names are like that may be a transcript's too, as a regular expression.
    """
    found: Folders = {}
    for root in roots:
        known = (root, others)
        folders, troubles = looked_at.pop(known) if known in looked_at else look_at(root, others)
        found |= folders
        closed += troubles
    named = [path for path, entries in found.items() if entries[0][0] == ITSELF]
    for path in named:
        beside = found.get(os.path.dirname(path), [])
        if any(name == os.path.basename(path) for name, *_ in beside):  # its folder lists it, too
            del found[path]
    return found


def look_at(root: str, others: str) -> tuple[Folders, list[tuple[str, str]]]:
    """What lies at a path now, and what could not be looked at."""
    if not os.path.isdir(root):
        state = os.stat(root)
        return {root: [(ITSELF, state.st_ino, state.st_size, state.st_mtime_ns)]}, []
    found: Folders = {}
    closed: list[tuple[str, str]] = []
    waiting, is_like = [root], re.compile(others).match
    while waiting:
        folder = waiting.pop()
        try:
            entries = list_folder(folder, waiting, closed, is_like)
        except OSError as error:
            closed.append((folder, error.strerror or str(error)))
            continue
        if entries:
            found[folder] = entries
    return found, closed


def list_folder(
    folder: str, inner: list[str], closed: list[tuple[str, str]], is_like: Callable[[str], object]
) -> list[Entry]:
    """The transcripts of a folder; `inner` takes the folders in it."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if CAN_LIST_OPEN else folder
    entries: list[Entry] = []
    try:
        with os.scandir(opened) as listed:
            for entry in listed:
                name = entry.name
                try:
                    if entry.is_dir(follow_symlinks=False):
                        inner.append(os.path.join(folder, name))
                    elif (name.endswith(ENDING) or is_like(name)) and entry.is_file():
                        state = entry.stat()
                        entries.append((name, state.st_ino, state.st_size, state.st_mtime_ns))
                except OSError as error:
                    closed.append((os.path.join(folder, name), error.strerror or str(error)))
    finally:
        if isinstance(opened, int):
            os.close(opened)
    return entries


def sign_entries(entries: list[Entry]) -> bytes:
    """A hash that is another one as soon as a folder lists anything else."""
    return blake2b(dumps(entries, WITHOUT_REFERENCES), digest_size=16).digest()


def sign_folders(found: Folders) -> str:
    """The same of folders, together."""
    hashed = blake2b(digest_size=16)
    for folder, entries in found.items():
        hashed.update(os.fsencode(folder) + b"\0" + sign_entries(entries))
    return hashed.hexdigest()


# --- whether anything is as it was ----------------------------------------------------------------


def find_state(path: str) -> list[int] | None:
    """Inode, size and time of what is at a path; nothing where there is nothing."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return [found.st_ino, found.st_size, found.st_mtime_ns]


def find_kind(path: str) -> list[int] | None:
    """What is at a path, and where a link leads; not what it holds."""
    try:
        found = [os.lstat(path)]
    except (OSError, ValueError):
        return None
    try:
        found.append(os.stat(path))
    except OSError:  # a link that leads nowhere
        found *= 2
    return [number for one in found for number in (S_IFMT(one.st_mode), one.st_dev, one.st_ino)]
