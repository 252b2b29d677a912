"""Who owns which line now: strands, each a line as it lives on through moves and edits, by file and hash."""

from collections.abc import Iterable, Sequence

from assay.sessions.linebook import each
from assay.sessions.rework.history import Change, Target


class Landing:
    """A commit that brought lines of a session."""

    __slots__ = ("arrived", "at", "commit", "dropped", "lines", "merge", "owner", "subject")

    def __init__(self, owner: "Owner", change: Change) -> None:
        self.owner = owner
        self.commit = change.id
        self.merge = change.merge
        self.subject = change.message.partition("\n")[0]
        self.at = change.committed
        self.arrived = change.arrived
        self.lines = 0
        self.dropped = 0
        """Lines that the session itself removed later."""


class Remover:
    """A commit that took lines, and who is behind it."""

    __slots__ = ("arrived", "at", "by", "commit", "session")

    def __init__(self, change: Change, by: str, session: str | None) -> None:
        self.commit = change.id
        self.at = change.committed
        self.arrived = change.arrived
        self.by = by
        self.session = session


class Strand:
    """One line of a file and the landings it comes from: several where lines became one, or two sessions share it."""

    __slots__ = ("beside", "born", "copies", "hash", "landings", "lost", "path")

    def __init__(self, path: str, key: bytes, landings: list[Landing], born: str = "") -> None:
        self.path = path
        self.hash = key
        self.landings = landings
        self.born = born
        """The commit that has just brought it, until it is taken for the successor of another."""
        self.lost: Remover | None = None
        self.beside: Sequence[Strand] = ()
        """The lines that went with it, if they were mostly the session's too."""
        self.copies = 1
        """Equal lines of its file that were followed when it went: which of them it was is known."""


class Owner:
    """A session while its lines are followed."""

    __slots__ = ("authors", "landed_at", "landings", "lines", "reverts", "strands", "target")

    def __init__(self, target: Target, lines: int) -> None:
        self.target = target
        self.lines = lines
        """Lines of code and tests that it wrote."""
        self.landings: dict[str, Landing] = {}
        self.strands: list[Strand] = []
        self.reverts: list[tuple[Remover, str]] = []
        """Commits that take back one of its commits, and which."""
        self.authors: set[str] = set()
        """Who made its commits, by e-mail."""
        self.landed_at: float | None = None
        """When its last lines reached the default branch."""

    def landing(self, change: Change) -> Landing:
        """The landing of a change that brings lines of it."""
        found = self.landings.get(change.id)
        if found is None:
            found = self.landings[change.id] = Landing(self, change)
            self.landed_at = change.arrived if self.landed_at is None else max(change.arrived, self.landed_at)
        return found


class Book:
    """A file under all names it had."""

    __slots__ = ("live", "paths", "waiting")

    def __init__(self, path: str) -> None:
        self.paths = {path}
        self.waiting: dict[bytes, dict[Owner, int]] = {}
        """Lines that sessions wrote and no commit brought yet."""
        self.live: dict[bytes, list[Strand]] = {}

    def wait(self, key: bytes, owner: Owner, more: int) -> None:
        """So many more, or fewer, lines of an owner are waited for."""
        owners = self.waiting.setdefault(key, {})
        left = owners.get(owner, 0) + more
        if left > 0:
            owners[owner] = left
        else:
            owners.pop(owner, None)
        if not owners:
            del self.waiting[key]


class Books:
    """All files with lines of sessions that are followed now, and the lines that are lost."""

    def __init__(self) -> None:
        self.by_id: dict[str, Owner] = {}
        """Sessions that are followed now."""
        self.by_path: dict[str, Book] = {}
        self.lost: dict[bytes, list[Strand]] = {}

    def owners(self, ids: Iterable[str]) -> list[Owner]:
        """Those of these sessions that are followed now, in a fixed order."""
        return [self.by_id[one] for one in sorted(ids) if one in self.by_id]

    def open(self, path: str) -> Book:
        book = self.by_path.get(path)
        if book is None:
            book = self.by_path[path] = Book(path)
        return book

    def rename(self, old: str, new: str) -> None:
        """From now on both names mean one file."""
        one, other = self.by_path[old], self.by_path.get(new)
        if other is None:
            one.paths.add(new)
            self.by_path[new] = one
        elif other is not one:
            for path in other.paths:
                self.by_path[path] = one
            one.paths |= other.paths
            for key, strands in other.live.items():
                one.live.setdefault(key, []).extend(strands)
            for key, owners in other.waiting.items():
                for owner, count in owners.items():
                    one.wait(key, owner, count)

    def put(self, strand: Strand, path: str, key: bytes, change: str) -> Strand:
        """Let a strand live on in a line; if the change has just brought that line for others, they share it."""
        strands = self.open(path).live.setdefault(key, [])
        for other in strands:
            if other.born == change:
                other.born = ""
                self.share(strand, other)
                return other
        strand.path, strand.hash = path, key
        strand.lost = None
        strand.beside = ()
        strands.append(strand)
        return strand

    def share(self, strand: Strand, other: Strand) -> None:
        """What was a line of its own is now another one."""
        other.landings += strand.landings
        for owner in {landing.owner for landing in strand.landings}:
            owner.strands.append(other)
        strand.landings = []

    def take(self, strand: Strand) -> None:
        """A strand is no longer in its file."""
        book = self.by_path[strand.path]
        strands = book.live[strand.hash]
        strands.remove(strand)
        if not strands:
            del book.live[strand.hash]

    def lose(self, strand: Strand) -> None:
        self.lost.setdefault(strand.hash, []).append(strand)

    def found(self, strand: Strand) -> None:
        """A lost strand is back, or nobody looks for it any more."""
        strands = self.lost[strand.hash]
        strands.remove(strand)
        if not strands:
            del self.lost[strand.hash]

    def forget(self, owner: Owner) -> None:
        """Nobody follows the lines of this session any more."""
        for strand in {id(one): one for one in owner.strands}.values():
            if not strand.landings:
                continue
            strand.landings = [landing for landing in strand.landings if landing.owner is not owner]
            if not strand.landings:
                (self.found if strand.lost else self.take)(strand)
        for one in owner.target.written:
            if book := self.by_path.get(one.path):
                for key in set(each(one.lines)) & book.waiting.keys():
                    book.wait(key, owner, -book.waiting[key].get(owner, 0))
        self.close({one.path for one in owner.target.written} | {strand.path for strand in owner.strands})
        owner.strands = []
        del self.by_id[owner.target.id]

    def close(self, paths: Iterable[str]) -> None:
        """Forget files in which nobody has lines."""
        for path in paths:
            book = self.by_path.get(path)
            if book and not book.live and not book.waiting:
                for name in book.paths:
                    del self.by_path[name]
