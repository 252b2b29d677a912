"""Who owns which line now: each line as it lives on through moves and edits, by file and hash."""

from collections.abc import Iterable, Sequence

from assay.sessions.rework.history import CodeChange, LineTarget
from assay.sessions.written_lines import split_hashes


class LandedCommit:
    """A commit that brought lines of a session."""

    __slots__ = ("arrived", "at", "commit", "dropped", "lines", "merge", "owner", "subject")

    def __init__(self, owner: "LineOwner", change: CodeChange) -> None:
        self.owner = owner
        self.commit = change.id
        self.merge = change.merge
        self.subject = change.message.partition("\n")[0]
        self.at = change.committed
        self.arrived = change.arrived
        self.lines = 0
        self.dropped = 0
        """Lines that the session itself removed later."""


class RemovingCommit:
    """A commit that took lines, and who is behind it."""

    __slots__ = ("arrived", "at", "by", "commit", "session")

    def __init__(self, change: CodeChange, by: str, session: str | None) -> None:
        self.commit = change.id
        self.at = change.committed
        self.arrived = change.arrived
        self.by = by
        self.session = session


class TrackedLine:
    """One line of a file and the commits it comes from: several where lines became one, or two sessions share it."""

    __slots__ = ("beside", "born", "copies", "hash", "landings", "lost", "path")

    def __init__(self, path: str, key: bytes, landings: list[LandedCommit], born: str = "") -> None:
        self.path = path
        self.hash = key
        self.landings = landings
        self.born = born
        """The commit that has just brought it, until it is taken for the successor of another."""
        self.lost: RemovingCommit | None = None
        self.beside: Sequence[TrackedLine] = ()
        """The lines that went with it, if they were mostly the session's too."""
        self.copies = 1
        """Equal lines of its file that were followed when it went: which of them it was is known."""


class LineOwner:
    """A session while its lines are followed."""

    __slots__ = ("authors", "landed_at", "landings", "lines", "reverts", "target", "tracked_lines")

    def __init__(self, target: LineTarget, lines: int) -> None:
        self.target = target
        self.lines = lines
        """Lines of code and tests that it wrote."""
        self.landings: dict[str, LandedCommit] = {}
        self.tracked_lines: list[TrackedLine] = []
        self.reverts: list[tuple[RemovingCommit, str]] = []
        """Commits that take back one of its commits, and which."""
        self.authors: set[str] = set()
        """Who made its commits, by e-mail."""
        self.landed_at: float | None = None
        """When its last lines reached the default branch."""

    def land_commit(self, change: CodeChange) -> LandedCommit:
        """Note a change that brings lines of this session."""
        found = self.landings.get(change.id)
        if found is None:
            found = self.landings[change.id] = LandedCommit(self, change)
            self.landed_at = change.arrived if self.landed_at is None else max(change.arrived, self.landed_at)
        return found


class TrackedFile:
    """A file under all names it had."""

    __slots__ = ("live", "paths", "waiting")

    def __init__(self, path: str) -> None:
        self.paths = {path}
        self.waiting: dict[bytes, dict[LineOwner, int]] = {}
        """Lines that sessions wrote and no commit brought yet."""
        self.live: dict[bytes, list[TrackedLine]] = {}

    def await_lines(self, key: bytes, owner: LineOwner, more: int) -> None:
        """Wait for so many more, or fewer, equal lines of an owner."""
        owners = self.waiting.setdefault(key, {})
        left = owners.get(owner, 0) + more
        if left > 0:
            owners[owner] = left
        else:
            owners.pop(owner, None)
        if not owners:
            del self.waiting[key]


class TrackedFiles:
    """All files with lines of sessions that are followed now, and the lines that are lost."""

    def __init__(self) -> None:
        self.by_id: dict[str, LineOwner] = {}
        """Sessions that are followed now."""
        self.by_path: dict[str, TrackedFile] = {}
        self.lost: dict[bytes, list[TrackedLine]] = {}

    def list_owners(self, ids: Iterable[str]) -> list[LineOwner]:
        """Those of these sessions that are followed now, in a fixed order."""
        return [self.by_id[one] for one in sorted(ids) if one in self.by_id]

    def open_file(self, path: str) -> TrackedFile:
        file = self.by_path.get(path)
        if file is None:
            file = self.by_path[path] = TrackedFile(path)
        return file

    def rename_file(self, old: str, new: str) -> None:
        """Let both names mean one file from now on."""
        one, other = self.by_path[old], self.by_path.get(new)
        if other is None:
            one.paths.add(new)
            self.by_path[new] = one
        elif other is not one:
            for path in other.paths:
                self.by_path[path] = one
            one.paths |= other.paths
            for key, tracked_lines in other.live.items():
                one.live.setdefault(key, []).extend(tracked_lines)
            for key, owners in other.waiting.items():
                for owner, count in owners.items():
                    one.await_lines(key, owner, count)

    def place_line(self, tracked: TrackedLine, path: str, key: bytes, change: str) -> TrackedLine:
        """Let a line live on in another; if the change has just brought that one for others, they share it."""
        tracked_lines = self.open_file(path).live.setdefault(key, [])
        for other in tracked_lines:
            if other.born == change:
                other.born = ""
                self.share_line(tracked, other)
                return other
        tracked.path, tracked.hash = path, key
        tracked.lost = None
        tracked.beside = ()
        tracked_lines.append(tracked)
        return tracked

    def share_line(self, tracked: TrackedLine, other: TrackedLine) -> None:
        """Make what was a line of its own a part of another one."""
        other.landings += tracked.landings
        for owner in {landing.owner for landing in tracked.landings}:
            owner.tracked_lines.append(other)
        tracked.landings = []

    def take_line(self, tracked: TrackedLine) -> None:
        """Take a line out of its file."""
        file = self.by_path[tracked.path]
        tracked_lines = file.live[tracked.hash]
        tracked_lines.remove(tracked)
        if not tracked_lines:
            del file.live[tracked.hash]

    def lose_line(self, tracked: TrackedLine) -> None:
        self.lost.setdefault(tracked.hash, []).append(tracked)

    def forget_lost(self, tracked: TrackedLine) -> None:
        """Look no longer for a lost line: it is back, or nobody asks."""
        tracked_lines = self.lost[tracked.hash]
        tracked_lines.remove(tracked)
        if not tracked_lines:
            del self.lost[tracked.hash]

    def forget_owner(self, owner: LineOwner) -> None:
        """Follow the lines of this session no longer."""
        for tracked in {id(one): one for one in owner.tracked_lines}.values():
            if not tracked.landings:
                continue
            tracked.landings = [landing for landing in tracked.landings if landing.owner is not owner]
            if not tracked.landings:
                (self.forget_lost if tracked.lost else self.take_line)(tracked)
        for one in owner.target.written:
            if file := self.by_path.get(one.path):
                for key in set(split_hashes(one.lines)) & file.waiting.keys():
                    file.await_lines(key, owner, -file.waiting[key].get(owner, 0))
        self.close_files({one.path for one in owner.target.written} | {tracked.path for tracked in owner.tracked_lines})
        owner.tracked_lines = []
        del self.by_id[owner.target.id]

    def close_files(self, paths: Iterable[str]) -> None:
        """Forget files in which nobody has lines."""
        for path in paths:
            file = self.by_path.get(path)
            if file and not file.live and not file.waiting:
                for name in file.paths:
                    del self.by_path[name]
