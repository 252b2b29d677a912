"""Which files to read: those given, those in folders given, or those where the agents keep them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from assay.errors import BadInput
from assay.sources import sources

ENDING = ".jsonl"


class File(Struct, frozen=True, gc=False):
    """A file as the folder lists it."""

    path: str
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
    return {one.AGENT: one.roots(env, home) for one in sources().values()}


def discover(paths: Sequence[Path]) -> Found:
    """All transcripts at or below the paths given."""
    roots = tuple(dict.fromkeys(os.path.realpath(path.expanduser()) for path in paths))
    closed: list[tuple[str, str]] = []
    found: dict[str, File] = {}
    for given, root in zip(paths, roots, strict=False):
        if not os.path.exists(root):
            raise BadInput(f"{given}: no such file or folder; give a transcript or a folder with transcripts")
    for root in roots:
        for file in walk(root, closed):
            found[file.path] = file
    return Found(roots=roots, files=tuple(found.values()), closed=tuple(closed))


def walk(root: str, closed: list[tuple[str, str]]) -> Iterator[File]:
    """A file itself, or all transcripts in a folder and below."""
    if not os.path.isdir(root):
        stat = os.stat(root)
        yield File(root, stat.st_ino, stat.st_size, stat.st_mtime_ns)
        return
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.name.endswith(ENDING) and entry.is_file():
                        stat = entry.stat()
                        yield File(entry.path, stat.st_ino, stat.st_size, stat.st_mtime_ns)
        except OSError as error:
            closed.append((folder, error.strerror or str(error)))
