"""What a commit does to lines that are followed: they stay, are moved, wrapped anew, edited, come back, or are lost."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from assay.sessions.rework.blocks import Block
from assay.sessions.rework.landing import Landed
from assay.sessions.rework.likeness import letters, successors
from assay.sessions.rework.strands import Books, Owner, Remover, Strand

MOVED_WITHIN, MOVED_ACROSS = 20, 30
"""Letters and digits that lines in a row have when they are moved, not written again by chance."""
MOST_PLACES = 8
"""Files in which a moved line is looked for: those that get most of what is gone."""

Spare = dict[bytes, Counter[str]]
"""How often a commit adds each line to which files, less those that were found to be moved."""
NOWHERE: Counter[str] = Counter()


class Struck:
    """A strand whose line a commit removes; it may live on elsewhere."""

    __slots__ = ("block", "is_kept", "line", "strand")

    def __init__(self, block: Block, line: int, strand: Strand) -> None:
        self.block = block
        self.line = line
        self.strand = strand
        self.is_kept = False


class Removals:
    """The lines that one commit removes and adds."""

    def __init__(self, books: Books, blocks: Sequence[Block], change: str) -> None:
        self.books = books
        self.blocks = blocks
        self.change = change
        self.struck = list(self.strike())

    def strike(self) -> Iterator[Struck]:
        """Take the strands whose lines are removed out of their files.

        Of equal lines it is one of the session that owns most of what is removed beside it, and the latest.
        """
        for block in self.blocks:
            book = self.books.by_path.get(block.old)
            if not book or not book.live or not block.hunk.removed:
                continue
            hits = [(line, key) for line, key in enumerate(block.removed) if key and key in book.live]
            owned = Counter(owner for _, key in hits for owner in owners_of(book.live[key]))
            telling = sum(map(bool, block.removed))
            beside: list[Strand] = []
            for line, key in hits:
                if strands := book.live.get(key):
                    counts = [max(owned[landing.owner] for landing in one.landings) for one in strands]
                    most = max(counts)
                    strand = strands[len(counts) - 1 - counts[::-1].index(most)]
                    strand.copies = len(strands)
                    self.books.take(strand)
                    strand.beside = beside if most * 2 >= telling else ()
                    beside.append(strand)
                    yield Struck(block, line, strand)

    def taken(self) -> Counter[Owner]:
        """How many lines of each session it removes."""
        return Counter(landing.owner for one in self.struck for landing in one.strand.landings)

    def resolve(self, remover: Remover, landed: Landed) -> None:
        """Find where the lines live on, and lose the others."""
        if not self.struck and not self.books.lost:
            return
        spare = spare_lines(self.blocks)
        if self.struck:
            self.keep(spare)
        if self.books.lost:
            self.revive(spare)
        for one in self.struck:
            if not one.is_kept:
                self.lose(one.strand, remover, landed)

    # --- lines live on --------------------------------------------------------------------------

    def keep(self, spare: Spare) -> None:
        """Keep what stays in its hunk, then what is moved, then what is wrapped anew or edited."""
        by_block: dict[int, list[Struck]] = {}
        for one in self.struck:
            by_block.setdefault(id(one.block), []).append(one)
        same = {key: self.stay(some, spare) for key, some in by_block.items()}
        for some in by_block.values():
            self.move(some, spare)
        for key, some in by_block.items():
            self.edit([one for one in some if not one.is_kept], same[key])

    def edit(self, some: Sequence[Struck], same: dict[int, int]) -> None:
        """Keep lines that live on in others of their hunk; those that become one line are one from now on."""
        if not some:
            return
        block = some[0].block
        removed, added = block.hunk.removed, block.hunk.added
        free = set(range(len(added))) - set(same.values())
        gone = [(one.line, removed[one.line]) for one in some]
        to = successors(gone, added, free, same, len(removed)) if free else {}
        holders: dict[int, Strand] = {}
        for one in some:
            place = to.get(one.line)
            if place is None:
                continue
            if place in holders:
                one.is_kept = True
                self.books.share(one.strand, holders[place])
            else:
                holders[place] = self.go_on(one, block.new, block.added[place])

    def stay(self, some: Sequence[Struck], spare: Spare) -> dict[int, int]:
        """Keep lines that the hunk both removes and adds; returns where each of them was and is."""
        block = some[0].block
        places: dict[bytes, list[int]] = {}
        for place in reversed(range(len(block.added))):
            places.setdefault(block.added[place], []).append(place)
        found: dict[int, int] = {}
        for one in some:
            if same := places.get(one.strand.hash):
                found[one.line] = same.pop()
                spare[one.strand.hash][block.new] -= 1
                self.go_on(one, block.new, one.strand.hash)
        return found

    def move(self, some: Sequence[Struck], spare: Spare) -> None:
        """Keep lines that stand in a row elsewhere after the same commit: in the same file first."""
        block = some[0].block
        left = {one.line: one for one in some if not one.is_kept}
        reach: Counter[str] = Counter()
        for one in left.values():
            size = len(letters(block.hunk.removed[one.line]))
            for path, count in spare.get(one.strand.hash, NOWHERE).items():
                reach[path] += size if count > 0 else 0
        here = self.books.by_path.get(block.old)
        for path in sorted(reach, key=lambda path: (path != block.new, -reach[path], path))[:MOST_PLACES]:
            limit = MOVED_WITHIN if self.books.by_path.get(path) is here else MOVED_ACROSS
            for run in runs(block.removed, added_to(path, spare)):
                if sum(len(letters(block.hunk.removed[line])) for line in run) < limit:
                    continue
                for one in (left[line] for line in run if line in left):
                    if not one.is_kept:
                        spare[one.strand.hash][path] -= 1
                        self.go_on(one, path, one.strand.hash)

    def go_on(self, one: Struck, path: str, key: bytes) -> Strand:
        one.is_kept = True
        return self.books.put(one.strand, path, key, self.change)

    def revive(self, spare: Spare) -> None:
        """Take up lost lines that come back, in their file or in another one."""
        lost = self.books.lost
        for block in self.blocks:
            here = self.books.by_path.get(block.new)
            for run in runs(block.added, added_to(block.new, spare, self.books.lost)):
                size = sum(len(letters(block.hunk.added[line])) for line in run)
                for key in (block.added[line] for line in run):
                    strand = lost[key][-1] if key in lost else None
                    if strand is None or size < MOVED_WITHIN:
                        continue
                    if size >= MOVED_ACROSS or (here and self.books.by_path.get(strand.path) is here):
                        self.books.found(strand)
                        self.books.put(strand, block.new, key, self.change)

    def lose(self, strand: Strand, remover: Remover, landed: Landed) -> None:
        """A line is gone; for the session that made the commit it does not count at all."""
        for landing in strand.landings:
            landing.dropped += landed.is_own(landing.owner)
        strand.landings = [landing for landing in strand.landings if not landed.is_own(landing.owner)]
        if strand.landings:
            strand.lost = remover
            self.books.lose(strand)


def owners_of(strands: Iterable[Strand]) -> set[Owner]:
    return {landing.owner for strand in strands for landing in strand.landings}


def spare_lines(blocks: Sequence[Block]) -> Spare:
    """How often a commit adds each line to which files."""
    found: Spare = {}
    for block in blocks:
        for key in block.added:
            if key:
                found.setdefault(key, Counter())[block.new] += 1
    return found


def added_to(path: str, spare: Spare, among: Container[bytes] | None = None) -> Callable[[bytes], int]:
    """How often a line is added to a file and not yet taken for another, if it is one of those."""

    def count(key: bytes) -> int:
        return spare[key][path] if key in spare and (among is None or key in among) else 0

    return count


def runs(hashes: Sequence[bytes], left: Callable[[bytes], int]) -> Iterator[list[int]]:
    """Lines in a row, but for those that tell nothing, of which there are enough left."""
    run: list[int] = []
    used: Counter[bytes] = Counter()
    for line, key in enumerate(hashes):
        if not key:
            continue
        if left(key) > used[key]:
            run.append(line)
            used[key] += 1
        elif run:
            yield run
            run, used = [], Counter()
    if run:
        yield run
