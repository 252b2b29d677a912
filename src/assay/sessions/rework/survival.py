"""What became of the lines that sessions wrote: found in commits, followed through moves and edits, or lost.

One pass over the changes of a repository for all sessions. A line is known by its hash and its file; the commit that
brings it lands it (`landing`), and from then on it is a strand (`strands`) that lives on in its file, in another one it
is moved to, or in a line that takes its place and is like it (`removals`, `likeness`). A strand that a later commit of
somebody else takes is lost, unless it comes back. When a session's window is over, the tree of the default branch has
the last word (`verdicts`), and its lines are forgotten: memory holds lines of sessions whose windows are open, and
nothing of the history.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence

from assay.sessions.kinds_of_files import by_name
from assay.sessions.linebook import each
from assay.sessions.rework.authorship import SLACK, Claims, Reverts, in_short, said_by
from assay.sessions.rework.blocks import blocks_of
from assay.sessions.rework.history import Change, FileChange, Followed, Hunk, Rules, Target, Trees
from assay.sessions.rework.landing import Landed, Lander
from assay.sessions.rework.removals import Removals
from assay.sessions.rework.strands import Books, Owner, Remover
from assay.sessions.rework.verdicts import PATIENCE, deadline, verdict

__all__ = ["PATIENCE", "SLACK", "Change", "FileChange", "Followed", "Hunk", "Rules", "Target", "Trees", "follow"]


def follow(
    targets: Sequence[Target], changes: Iterable[Change], trees: Trees, rules: Rules, as_of: float
) -> dict[str, Followed]:
    """What became of the lines of each target that is asked for, by its id.

    `changes` come in order of arrival at the default branch, ancestors first, and begin `SLACK` before the earliest
    target that is asked for; what arrived after `as_of` is not looked at, and they are left when all is known. The
    order of targets doesn't matter, and neither do sessions and commits that share no file and no line with a session.
    """
    follower = Follower(targets, trees, rules, as_of)
    for change in changes:
        if change.arrived > as_of or follower.is_done:
            break
        follower.see(change)
    return follower.finished()


class Follower:
    """Sees one change after the other."""

    def __init__(self, targets: Sequence[Target], trees: Trees, rules: Rules, as_of: float) -> None:
        self.trees, self.rules, self.as_of = trees, rules, as_of
        self.books = Books()
        self.claims = Claims(targets)
        self.lander = Lander(self.books, trees)
        self.found: dict[str, Followed] = {}
        asked = (target for target in targets if target.is_asked)
        self.coming = sorted(asked, key=lambda target: (-target.started, target.id))
        self.due: list[tuple[float, str]] = []
        """When to look at a session again; a later landing moves that on."""

    def see(self, change: Change) -> None:
        """Take up what a commit did."""
        self.begin(change.latest + SLACK)
        while self.due and self.due[0][0] < change.arrived:
            self.look(heapq.heappop(self.due)[1], change.arrived)
        for file in change.files:
            if file.old and file.new and file.old != file.new and file.old in self.books.by_path:
                self.books.rename(file.old, file.new)
        blocks = blocks_of(change)
        removals = Removals(self.books, blocks, change.id)
        landed = self.lander.land(change, blocks, self.claims.of(change), removals.taken())
        for owner in landed.lines:
            heapq.heappush(self.due, (deadline(owner, self.rules), owner.target.id))
        remover = self.remover(change, landed)
        if reverts := Reverts(change):
            self.revert(reverts, remover, landed)
        removals.resolve(remover, landed)
        landed.settle()

    @property
    def is_done(self) -> bool:
        return not self.coming and not self.books.by_id

    def begin(self, until: float) -> None:
        """Take up sessions that had begun by a time."""
        while self.coming and self.coming[-1].started <= until:
            target = self.coming.pop()
            files = [(one.path, each(one.lines)) for one in target.written if by_name(one.path) is not False]
            owner = self.books.by_id[target.id] = Owner(target, sum(len(lines) for _, lines in files))
            for path, lines in files:
                book = self.books.open(path)
                for key, count in Counter(lines).items():
                    book.wait(key, owner, count)
            heapq.heappush(self.due, (deadline(owner, self.rules), target.id))

    def look(self, id: str, now: float) -> None:
        """Say what became of a session's lines if its time is over."""
        owner = self.books.by_id.get(id)
        if owner and deadline(owner, self.rules) < now:
            self.say(owner)

    def say(self, owner: Owner) -> None:
        self.found[owner.target.id] = verdict(owner, self.books, self.trees, self.rules, self.as_of)
        self.books.forget(owner)

    def finished(self) -> dict[str, Followed]:
        """What became of the lines of all that were asked for."""
        self.begin(float("inf"))
        for owner in list(self.books.by_id.values()):
            self.say(owner)
        return self.found

    def remover(self, change: Change, landed: Landed) -> Remover:
        """Who is behind a commit: the session that brought most lines with it, else its author."""
        sessions = sorted(landed.sessions, key=lambda one: (-landed.count(one), one))
        by = in_short(sessions[0]) if sessions else said_by(change)
        return Remover(change, by, sessions[0] if sessions else None)

    def revert(self, reverts: Reverts, remover: Remover, landed: Landed) -> None:
        """Note whose commits are taken back, except by themselves."""
        for owner in self.books.by_id.values():
            if not landed.is_own(owner):
                owner.reverts += ((remover, commit) for commit in reverts.hit(owner))
