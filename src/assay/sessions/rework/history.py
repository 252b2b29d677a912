"""What the modules of this room speak in: a repository's changes, the sessions that are followed, and results."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import Protocol

from msgspec import Struct

from assay.sessions.written_lines import split_hashes
from assay.types import FileLines, ReworkResult
from assay.types.lines import hash_text_lines

DAY = 86_400.0
CURVE_DAYS = 30.0
"""The last day of the survival curve."""

Age = tuple[float, bool, int]
"""Days for which so many lines were followed, and whether they were removed then; else they may live on."""

MOST_WRITERS = 50
"""Sessions looked at for one line; what so many wrote tells nothing of any."""


class Hunk(Struct, gc=False):
    """Lines that go and lines that come in one place of a file, in UTF-8, without their newlines."""

    removed: list[bytes]
    added: list[bytes]


class FileChange(Struct):
    """What a commit does to a file; `old` is empty for one it creates, `new` for one it deletes."""

    old: str
    new: str
    hunks: list[Hunk] = []


class CodeChange(Struct, kw_only=True):
    """A commit that is no merge, and what it does to code."""

    id: str
    authored: float
    committed: float
    arrived: float
    """When it reached the default branch: for a commit of another branch, when that was merged."""
    merge: str = ""
    """The commit of the default branch that brought it, if that is another one."""
    author: str = ""
    email: str = ""
    message: str = ""
    files: list[FileChange] = []

    @property
    def latest(self) -> float:
        """A rebase keeps when it was written, and an import may keep neither."""
        return max(self.authored, self.committed)


class LineTarget(Struct, frozen=True, kw_only=True):
    """A session whose lines are followed."""

    id: str
    written: tuple[FileLines, ...] = ()
    """Paths are those in the repository, with `/`."""
    commits: tuple[str, ...] = ()
    """Ids that its transcript names, whole or shortened to 7 or more digits."""
    names: tuple[str, ...] = ()
    """Further ids (of its streams) by which a trailer may name it."""
    pulls: tuple[int, ...] = ()
    """Numbers of the pull requests it opened: a squash says (#12)."""
    is_asked: bool = True
    """Whether anybody asks what became of it; else it only says whose its commits are."""
    started: float
    ended: float


class ReworkRules(Struct, frozen=True, kw_only=True):
    """How long lines are followed, and when a session counts as reworked."""

    days: float = 14.0
    min_lines: int = 10
    share: float = 0.5

    @property
    def window(self) -> float:
        return self.days * DAY

    @property
    def curve_days(self) -> float:
        """For how long lines are followed for the survival curve."""
        return max(self.days, CURVE_DAYS)


class BranchTrees(Protocol):
    """The default branch as it was."""

    def find_commit_at(self, when: float) -> str | None:
        """The branch's commit at a time."""
        ...

    def read_file(self, commit: str, path: str) -> bytes | None:
        """A file in a commit; `None` if it isn't there or can't be read."""
        ...


class FollowResult(Struct, frozen=True, kw_only=True):
    """What became of a session's lines."""

    reworked: ReworkResult
    commits: tuple[str, ...] = ()
    """Those that brought its lines, in order."""
    landed_at: float | None = None
    """When the last of them reached the default branch."""
    final_at: float | None = None
    """From this time on it can't turn any more; `None` where that depends on later commits."""
    ages: tuple[Age, ...] = ()
    """For the survival curve; days are rounded to the hour."""


class HashedHunk:
    """A hunk, its file before and after, and hashes of its lines; a line that tells nothing has an empty hash."""

    def __init__(self, old: str, new: str, hunk: Hunk) -> None:
        self.old = old or new
        self.new = new or old
        self.is_new_file = not old
        self.hunk = hunk

    @cached_property
    def old_hashes(self) -> list[bytes]:
        return [hash_text_lines(line) for line in self.hunk.removed]

    @cached_property
    def new_hashes(self) -> list[bytes]:
        return [hash_text_lines(line) for line in self.hunk.added]


def hash_hunks(change: CodeChange) -> list[HashedHunk]:
    return [HashedHunk(file.old, file.new, hunk) for file in change.files for hunk in file.hunks]


def find_rivals(targets: Iterable[LineTarget], patience: float) -> dict[str, Counter[str]]:
    """For each session those that wrote some of the same lines, and how many, while one of the two waited for them.

    Of two that wait for a line, the one that its commit is said to be of gets it, else who was active last before it.
    """
    by_path: defaultdict[str, list[tuple[LineTarget, bytes]]] = defaultdict(list)
    for target in targets:
        for one in target.written:
            by_path[one.path].append((target, one.lines))
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for writers in by_path.values():
        if len(writers) > 1:
            owners: defaultdict[bytes, list[LineTarget]] = defaultdict(list)
            for target, lines in sorted(writers, key=lambda pair: (pair[0].started, pair[0].id)):
                for line in set(split_hashes(lines)):
                    owners[line].append(target)
            for some in owners.values():
                if len(some) > 1:
                    count_pairs(found, some[:MOST_WRITERS], patience)
    return dict(found)


def count_pairs(found: dict[str, Counter[str]], some: list[LineTarget], patience: float) -> None:
    """Count a line for all pairs of sessions that wrote it in time."""
    for one in some:
        for other in some:
            if other is not one and other.ended + patience >= one.started and other.started <= one.ended + patience:
                found[one.id][other.id] += 1
