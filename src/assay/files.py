"""Files and folders: written whole or not at all, named by their paths."""

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

PRIVATE = 0o600
LAKE = "assay-lake.json"
"""The file by which a folder is known as a lake; see `assay.lake`."""


def write_atomically(path: Path, content: bytes, mode: int = PRIVATE) -> None:
    """Write a file so that it is there whole or not at all, even when the power fails.

    What was there stays until the new content is complete; `mode` holds as far as the process's umask allows it.
    """
    beside = path.with_name(f".assay.{secrets.token_hex(8)}.part")
    try:
        with open(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:  # noqa: PTH123
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    with suppress(PermissionError):  # a folder that may be written to, but not listed
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def find_state_folder(env: Mapping[str, str]) -> Path:
    """Where what happens on this machine is kept between two commands; the plugin's hooks look for it by themselves."""
    home = env.get("XDG_STATE_HOME") or f"{env.get('HOME') or Path.home()}/.local/state"
    return Path(home) / "assay"


def name_finished(beside: Path, path: Path) -> None:
    """Give a file its own name, now that all of it is there."""
    os.replace(beside, path)


def to_folder_prefix(folder: str) -> str:
    """The beginning of every path in a folder."""
    return folder.rstrip("/") + "/"


def flush_file(path: Path) -> None:
    """Return once what a file holds would outlast a loss of power."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def hold_lock(path: Path) -> Iterator[bool]:
    """Whether a file could be locked, for as long as this is open; it is made where it is missing."""
    fcntl = import_module("fcntl")  # not there on every system
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
