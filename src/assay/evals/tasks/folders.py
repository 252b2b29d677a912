"""Folders as hashes, the same on every machine, and as bytes in memory, where no agent finds them."""

import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

Listing = dict[str, str]
"""Path below a folder → kind and hash of what lies there."""
LEFT_OUT = frozenset({"__pycache__", ".DS_Store", ".pytest_cache"})
"""What programs leave behind by being run."""


def walk_files(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
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


def hash_files(folder: Path) -> Listing:
    """All files below a folder; nothing where there is no such folder."""
    if not folder.is_dir():
        return {}
    found = {
        path: hash_entry(entry) for path, entry in walk_files(folder) if not LEFT_OUT.intersection(path.split("/"))
    }
    return dict(sorted(found.items()))


def hash_entry(entry: os.DirEntry[str]) -> str:
    """One file: what it holds and whether it can be run, or where a link leads."""
    if entry.is_symlink():
        return f"link:{os.readlink(entry.path)}"
    if not entry.is_file(follow_symlinks=False):
        return "special"
    is_program = entry.stat(follow_symlinks=False).st_mode & stat.S_IXUSR
    return f"{'x' if is_program else '-'}:{hash_file(Path(entry.path))}"


def hash_file(file: Path) -> str:
    """The SHA-256 of what a file holds."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def hash_values(*parts: object) -> str:
    """One hash of several values, by their JSON."""
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()


def pack_folder(folder: Path) -> bytes:
    """A folder as bytes; empty where there is none."""
    if not folder.is_dir():
        return b""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as packed:
        packed.add(folder, arcname=".")
    return held.getvalue()


def unpack_folder(archive: bytes, into: Path) -> None:
    """Write a packed folder to disk; nothing where there was none."""
    if not archive:
        return
    into.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(into, filter="data")
