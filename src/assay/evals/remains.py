"""What an agent left, read with suspicion: never through a link, only real files, so many and so much."""

import errno
import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO

DEEPEST = 20
"""Folders in folders that are looked into."""
LEADS_ELSEWHERE = (errno.ELOOP, errno.ENOTDIR)
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK


class Elsewhere(Exception):
    """A path on the way is a link, or no folder."""


def entered(root: Path, parts: list[str]) -> int:
    """A folder below another one, every part of its path a real folder."""
    here = os.open(root, FOLDER)
    for part in parts:
        try:
            inner = os.open(part, FOLDER, dir_fd=here)
        except OSError as error:
            raise Elsewhere(part) if error.errno in LEADS_ELSEWHERE else error from None
        finally:
            os.close(here)
        here = inner
    return here


def opened(root: Path, path: str) -> BinaryIO | None:
    """A real file below a folder; `None` where there is none, or something else."""
    *parts, name = path.split("/")
    try:
        folder = entered(root, parts)
    except (OSError, Elsewhere):
        return None
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return None
    finally:
        os.close(folder)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return os.fdopen(file, "rb")
    os.close(file)
    return None


def read(root: Path, path: str, most: int) -> bytes:
    """The beginning of a real file below a folder; empty where there is none."""
    file = opened(root, path)
    if file is None:
        return b""
    with file:
        return file.read(most)


def listed(root: Path, folder: str, pattern: str) -> Iterator[str]:
    """Paths of real files below a folder whose names fit; an error where the folder itself leads elsewhere."""
    waiting = [folder.split("/")]
    while waiting:
        parts = waiting.pop()
        try:
            here = entered(root, parts)
        except OSError:
            continue
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False) and len(parts) < DEEPEST:
                        waiting.append([*parts, entry.name])
                    elif entry.is_file(follow_symlinks=False) and fnmatchcase(entry.name, pattern):
                        yield "/".join([*parts, entry.name])
        finally:
            os.close(here)
