"""What following lines speaks in: a repository's changes, the lines that sessions wrote, and what became of them."""

from typing import Protocol

from msgspec import Struct

from assay.types import Reworked, Written

DAY = 86_400.0

Age = tuple[float, bool, int]
"""Days for which so many lines were followed, and whether they were removed then; else they may live on."""


class Hunk(Struct, gc=False):
    """Lines that go and lines that come in one place of a file, in UTF-8, without their newlines."""

    removed: list[bytes]
    added: list[bytes]


class FileChange(Struct):
    """What a commit does to a file; `old` is empty for one it creates, `new` for one it deletes."""

    old: str
    new: str
    hunks: list[Hunk] = []


class Change(Struct, kw_only=True):
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


class Target(Struct, frozen=True, kw_only=True):
    """A session whose lines are followed."""

    id: str
    written: tuple[Written, ...] = ()
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


class Rules(Struct, frozen=True, kw_only=True):
    """When lines are looked at, and when a session is reworked."""

    days: float = 14.0
    min_lines: int = 10
    share: float = 0.5

    @property
    def window(self) -> float:
        return self.days * DAY


class Trees(Protocol):
    """The default branch as it was."""

    def find_commit_at(self, when: float) -> str | None:
        """Its commit at a time."""
        ...

    def read_file(self, commit: str, path: str) -> bytes | None:
        """A file in a commit; `None` if it isn't there or can't be read."""
        ...


class Followed(Struct, frozen=True, kw_only=True):
    """What became of a session's lines."""

    reworked: Reworked
    commits: tuple[str, ...] = ()
    """Those that brought its lines, in order."""
    landed_at: float | None = None
    """When the last of them reached the default branch."""
    final_at: float | None = None
    """From this time on it can't turn any more; `None` where that depends on later commits."""
    ages: tuple[Age, ...] = ()
    """For the survival curve; days are rounded to the hour."""
