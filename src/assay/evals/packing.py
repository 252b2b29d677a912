"""Folders as bytes: what must not lie anywhere while an agent runs, and what git hands over."""

import io
import tarfile
from pathlib import Path


def pack(folder: Path) -> bytes:
    """A folder in memory; empty where there is none."""
    if not folder.is_dir():
        return b""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as packed:
        packed.add(folder, arcname=".")
    return held.getvalue()


def unpack(archive: bytes, into: Path) -> None:
    """A folder as it was; nothing where there was none."""
    if not archive:
        return
    into.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(into, filter="data")
