"""Which files to read: those given, those in folders given, or those where the agents keep them."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from assay.errors import BadInput
from assay.sources import load_sources

ENDING = ".jsonl"


class File(Struct, frozen=True, gc=False):
    """A file as the folder lists it."""

    path: str
    name: str
    """The path as it is kept and shown: bytes that are no text are spelled out."""
    inode: int
    size: int
    mtime_ns: int


class Found(Struct, frozen=True, kw_only=True):
    """Files to look at, where they were looked for, and folders that could not be opened."""

    roots: tuple[str, ...]
    files: tuple[File, ...]
    closed: tuple[tuple[str, str], ...] = ()
    """Folders and files that could not be looked at, and why."""


def usual_roots(env: Mapping[str, str], home: Path) -> dict[str, list[Path]]:
    """Where each agent keeps its transcripts."""
    return {one.AGENT: one.roots(env, home) for one in load_sources().values()}


def discover(paths: Sequence[Path]) -> Found:
    """All transcripts at or below the paths given."""
    roots = tuple(dict.fromkeys(real(path) for path in paths))
    closed: list[tuple[str, str]] = []
    found = {file.path: file for root in roots for file in walk(root, closed)}
    return Found(
        roots=tuple(spelled(root) for root in roots),
        files=tuple(found.values()),
        closed=tuple((spelled(path), why) for path, why in closed),
    )


def real(path: Path) -> str:
    """Where a path really leads; it must lead to a file or folder."""
    try:
        found = os.path.realpath(path.expanduser())
        mode = os.stat(found).st_mode
    except (OSError, RuntimeError, ValueError) as error:
        said = "no such file or folder" if isinstance(error, FileNotFoundError) else str(error)
        raise BadInput(f"{path}: {said}; give a transcript or a folder with transcripts") from None
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise BadInput(f"{path}: neither a file nor a folder; give a transcript or a folder with transcripts")
    return found


def spelled(path: str) -> str:
    """A path as text: bytes that are no UTF-8 as `\\xff`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def listed(path: str, found: os.stat_result) -> File:
    return File(path, spelled(path), found.st_ino, found.st_size, found.st_mtime_ns)


def walk(root: str, closed: list[tuple[str, str]]) -> Iterator[File]:
    """A file itself, or all transcripts in a folder and below."""
    if not os.path.isdir(root):
        yield listed(root, os.stat(root))
        return
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            closed.append((folder, error.strerror or str(error)))
            continue
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(ENDING) and entry.is_file():
                    yield listed(entry.path, entry.stat())
            except OSError as error:
                closed.append((entry.path, error.strerror or str(error)))
