"""Which sessions' lines a commit brings, and so whose commit it is."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

from assay.sessions.kinds_of_files import is_code
from assay.sessions.linebook import each
from assay.sessions.rework.authorship import SLACK, activity, is_during
from assay.sessions.rework.blocks import Block
from assay.sessions.rework.history import Change, Trees
from assay.sessions.rework.strands import Book, Books, Owner, Strand

HEAD_LINES = 20
"""Lines in which a generated file says that it is one."""
FEWEST, FEWEST_SHARE = 5, 0.1
"""Lines, or share of a session's lines, that make a commit its own long after it: common lines come by chance."""

Spot = tuple[Block, bytes, Book]
"""An added line that somebody waits for, and the file in which it is waited for."""


class Landed:
    """What a commit brought of whom."""

    def __init__(self, change: Change, claimed: Set[str], taken: Mapping[Owner, int]) -> None:
        self.change = change
        self.claimed = claimed
        self.taken = taken
        """How many lines of each session the commit removes."""
        self.lines: Counter[Owner] = Counter()
        self.strands: list[Strand] = []

    @property
    def sessions(self) -> set[str]:
        """All sessions whose commit it is."""
        return {*self.claimed, *(owner.target.id for owner in self.lines if self.is_own(owner))}

    def count(self, session: str) -> int:
        return sum(lines for owner, lines in self.lines.items() if owner.target.id == session)

    def is_own(self, owner: Owner) -> bool:
        """Whether a session made the commit: it is said so, or it brings no fewer of its lines than it takes.

        A commit in the session's time by who made its other commits, and which is nobody else's, is its own too.
        """
        if owner.target.id in self.claimed:
            return True
        if self.lines[owner]:
            return self.lines[owner] >= self.taken.get(owner, 0) or self.is_near(owner)
        return self.is_near(owner) and not self.claimed and not +self.lines

    def is_near(self, owner: Owner) -> bool:
        return self.change.email in owner.authors and is_during(self.change, owner.target)

    def settle(self) -> None:
        """What was brought is now as any other line."""
        for strand in self.strands:
            strand.born = ""


class Lander:
    """Finds the lines that sessions wait for."""

    def __init__(self, books: Books, trees: Trees) -> None:
        self.books = books
        self.trees = trees
        self.kinds: dict[str, bool] = {}
        """Files that were looked into, and whether they hold code."""

    def land(self, change: Change, blocks: Sequence[Block], claimed: Set[str], taken: Mapping[Owner, int]) -> Landed:
        """Give each added line to the session that wrote it; where two did, to the last active before the commit."""
        landed = Landed(change, claimed, taken)
        spots = list(self.spots(change, blocks, claimed))
        able = self.able(spots, landed) if spots else {}
        for block, key, book in spots:
            owners = [owner for owner in book.waiting.get(key, ()) if owner in able]
            if not owners:
                continue
            owner = max(owners, key=lambda one: (able[one], one.target.started, one.target.id))
            book.wait(key, owner, -1)
            landing = owner.landing(change)
            landing.lines += 1
            landed.lines[owner] += 1
            strand = Strand(block.new, key, [landing], change.id)
            self.books.open(block.new).live.setdefault(key, []).append(strand)
            owner.strands.append(strand)
            landed.strands.append(strand)
        for owner in self.books.owners(claimed):
            if owner.landings or not owner.lines:  # its last commit, also if it brings no lines of code
                landed.lines[owner] += 0
                owner.landing(change)
        for owner in landed.lines:
            if landed.is_own(owner):
                owner.authors.add(change.email)
        return landed

    def spots(self, change: Change, blocks: Sequence[Block], claimed: Set[str]) -> Iterator[Spot]:
        """Added lines that somebody waits for in this file, or, if it is said to be theirs, in another one."""
        elsewhere = self.elsewhere(claimed)
        for block in blocks:
            book = self.books.by_path.get(block.new)
            waiting = book.waiting if book else {}
            if not waiting and not elsewhere:
                continue
            found = [key for key in block.added if key and (key in waiting or key in elsewhere)]
            if not found or not self.is_ours(change, block, book):
                continue
            for key in found:
                if book and key in waiting:
                    yield block, key, book
                elif key in elsewhere:
                    yield block, key, elsewhere[key]

    def elsewhere(self, claimed: Set[str]) -> dict[bytes, Book]:
        """Lines that sessions wait for, whatever the file, in a commit that is theirs: they may have moved the file."""
        found: dict[bytes, Book] = {}
        for owner in self.books.owners(claimed):
            for one in owner.target.written:
                if book := self.books.by_path.get(one.path):
                    found |= {key: book for key in each(one.lines) if owner in book.waiting.get(key, ())}
        return found

    def able(self, spots: Sequence[Spot], landed: Landed) -> dict[Owner, tuple[bool, float]]:
        """Sessions that may get lines of this commit; the first of two that wait for the same has the greater value."""
        change = landed.change
        brings: Counter[Owner] = Counter()
        seen: Counter[tuple[bytes, Book]] = Counter()
        for _, key, book in spots:
            seen[key, book] += 1
            brings.update(owner for owner, left in book.waiting[key].items() if left >= seen[key, book])
        return {
            owner: (owner.target.id in landed.claimed, activity(change, owner.target))
            for owner, lines in brings.items()
            if change.latest >= owner.target.started - SLACK and self.is_able(owner, lines, landed)
        }

    def is_able(self, owner: Owner, lines: int, landed: Landed) -> bool:
        """Whether a commit can have been made of what a session wrote."""
        if owner.target.id in landed.claimed or is_during(landed.change, owner.target):
            return True
        return lines >= min(FEWEST, FEWEST_SHARE * owner.lines) and lines >= landed.taken.get(owner, 0)

    def is_ours(self, change: Change, block: Block, book: Book | None) -> bool:
        """Whether a file holds code or tests, by its first lines; nobody waits for lines of one that doesn't."""
        is_known = self.kinds.get(block.new)
        if is_known is None:
            text = None if block.is_new_file else self.trees.read_file(change.id, block.new)
            head = block.hunk.added if text is None else text.split(b"\n", HEAD_LINES)
            said = b"\n".join(head[:HEAD_LINES]).decode("utf-8", "replace")
            is_known = self.kinds[block.new] = is_code(block.new, said)
        if not is_known and book:
            for owners in book.waiting.values():
                for owner, count in owners.items():
                    owner.lines -= count
            book.waiting.clear()
        return is_known
