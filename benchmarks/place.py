"""The folder a benchmark runs in: a fresh corpus, or a mirror of one that exists and stays untouched."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.claude import Counts, Session, World
from benchmarks.claude_tools import Tally
from benchmarks.corpus import LONG_FILE, MB, Claude, build
from benchmarks.text import Pool

APPENDED = MB


@dataclass(frozen=True)
class Place:
    root: Path
    grown: Path
    """The file of about 24 MB that the append goes to."""
    length: int
    """Its length before any append."""
    addition: bytes

    def append(self) -> None:
        with self.grown.open("ab") as file:
            file.write(self.addition)

    def restore(self) -> None:
        os.truncate(self.grown, self.length)

    def bytes(self) -> int:
        return sum(file.stat().st_size for file in self.root.rglob("*.jsonl"))


def prepare(root: Path, existing: Path | None, mb: float, seed: int) -> Place:
    """Fill `root` and find, or add, the file that will grow."""
    if existing:
        mirror(existing, root)
    else:
        build(root, mb, seed)
    world = _world(seed + 1)
    grown = min(_mains(root), key=lambda file: abs(file.stat().st_size - LONG_FILE), default=None)
    if grown is None or not 0.8 < grown.stat().st_size / LONG_FILE < 1.25:
        Claude(root / "claude", world).session(LONG_FILE)
        (root / "manifest.json").unlink(missing_ok=True)  # its totals no longer hold
        grown = min(_mains(root), key=lambda file: abs(file.stat().st_size - LONG_FILE))
    if existing:
        _own(grown)
    gap = b"" if grown.read_bytes().endswith(b"\n") else b"\n"
    return Place(root, grown, grown.stat().st_size, gap + _addition(_world(seed + 2), grown.stem))


def mirror(existing: Path, root: Path) -> None:
    """Hard links where the file system allows, else copies; no row writes to them."""
    for file in [*existing.rglob("*.jsonl"), *existing.glob("manifest.json")]:
        target = root / file.relative_to(existing)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file, target)
        except OSError:
            shutil.copy2(file, target)


def _own(file: Path) -> None:
    """Replace a hard link by a copy, since this file will be written to."""
    copy = file.with_suffix(".copy")
    shutil.copy2(file, copy)
    copy.replace(file)


def _mains(root: Path) -> list[Path]:
    return sorted((root / "claude" / "projects").glob("*/*.jsonl"))


def _world(seed: int) -> World:
    rng = Random(seed)
    return World(rng=rng, pool=Pool(rng), tally=Tally(), counts=Counts())


def _addition(world: World, session_id: str) -> bytes:
    """About 1 MB of further turns of the same session, in whole lines."""
    session = Session(world, "/home/dev/grown")
    session.id = session_id
    while session.size < APPENDED:
        session.turn()
    text, kept = b"", iter(session.lines)
    while len(text) < APPENDED and (line := next(kept, None)) is not None:
        text += line + b"\n"
    return text
