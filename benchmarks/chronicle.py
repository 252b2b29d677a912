"""What a made-up history knows of itself: its sessions, what became of their lines, and its branches."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.changes import Tree
from benchmarks.fast_import import Author
from benchmarks.made_code import File


@dataclass
class Session:
    """Who wrote what, as a transcript would tell it, and what became of it."""

    id: str
    number: int
    began: float
    ended: float = 0.0
    landing: str = "direct"
    lines: dict[str, dict[int, str]] = field(default_factory=dict)
    """Path, number of the line, text: what it wrote and did not take back itself, of all kinds of files."""
    counted: dict[int, str] = field(default_factory=dict)
    """The lines of code and tests among them, number and path."""
    noted: list[int] = field(default_factory=list)
    """Its commits as it saw them; a squash or a rebase leaves others."""
    made: list[set[int]] = field(default_factory=list)
    """Numbers of the counted lines of each of these."""
    landed: list[int] = field(default_factory=list)
    """Commits of the main branch's history that hold its lines."""
    landed_at: float = 0.0
    reached: set[int] = field(default_factory=set)
    """Numbers of counted lines that stood in one of these commits."""
    steps: list[set[int]] = field(default_factory=list)
    """The same for each commit on the main branch; a squash is one."""
    fates: dict[int, str] | None = None
    """What had become of each of these 14 days after; `None` when the history ends before."""
    twins: set[str] = field(default_factory=set)
    """Lines that stood more than once when it landed: which of them went later is anybody's guess."""
    pull: int = 0
    """The number that a squash names."""
    is_reverted: bool = False
    """Whether `git revert` took one of its commits back within the window."""


@dataclass
class Branch:
    ref: str
    tree: Tree
    base: Tree
    tip: int
    steps: list[tuple[Tree, dict[str, File | None], Author, str, float]] = field(default_factory=list)
    """For each commit: the files before it and after it, by whom, saying what, when."""
    touched: set[str] = field(default_factory=set)
    number: int = 0


@dataclass(frozen=True)
class History:
    repo: Path
    sessions: list[Session]
    ids: Mapping[int, str]
    """Commit ids by mark."""
    ended: float
    commits: int


def combined(old: File | None, ours: File, theirs: File) -> File:
    """Both sides' changes to a file, by blocks; where both changed a block theirs stays."""
    before = {block.id: block for block in old.blocks} if old else {}
    new = {block.id: block for block in theirs.blocks}
    kept = [
        new[block.id] if block.id in new and new[block.id] != before.get(block.id) else block
        for block in ours.blocks
        if block.id in new or block.id not in before
    ]
    here = {block.id for block in ours.blocks}
    for block, behind in zip(theirs.blocks, (None, *theirs.blocks), strict=False):
        if block.id not in here and block.id not in before:
            at = next((at for at, one in enumerate(kept, 1) if behind and one.id == behind.id), len(kept))
            kept.insert(at, block)
    return ours._replace(blocks=tuple(kept))
