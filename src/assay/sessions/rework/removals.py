"""What a commit does to lines that are tracked: they stay, are moved, wrapped anew, edited, come back, or are lost."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from assay.sessions.rework.history import HashedHunk
from assay.sessions.rework.landing import CommitLanding
from assay.sessions.rework.similarity import find_successors, strip_signs
from assay.sessions.rework.tracking import LineOwner, RemovingCommit, TrackedFiles, TrackedLine

MOVED_WITHIN, MOVED_ACROSS = 20, 30
"""Letters and digits that lines in a row have when they are moved, not written again by chance."""
MOST_PLACES = 8
"""Files in which a moved line is looked for: those that get most of what is gone."""

Spare = dict[bytes, Counter[str]]
"""How often a commit adds each line to which files, less those that were found to be moved."""
NOWHERE: Counter[str] = Counter()


class StruckLine:
    """A tracked line that a commit removes; it may live on elsewhere."""

    __slots__ = ("block", "is_kept", "line", "tracked")

    def __init__(self, block: HashedHunk, line: int, tracked: TrackedLine) -> None:
        self.block = block
        self.line = line
        self.tracked = tracked
        self.is_kept = False


class LineRemovals:
    """The lines that one commit removes and adds."""

    def __init__(self, files: TrackedFiles, blocks: Sequence[HashedHunk], change: str) -> None:
        self.files = files
        self.blocks = blocks
        self.change = change
        self.struck = list(self.strike_lines())

    def strike_lines(self) -> Iterator[StruckLine]:
        """Take the tracked lines that are removed out of their files.

        Of equal lines it is one of the session that owns most of what is removed beside it, and the latest.
        """
        for block in self.blocks:
            file = self.files.by_path.get(block.old)
            if not file or not file.live or not block.hunk.removed:
                continue
            hits = [(line, key) for line, key in enumerate(block.old_hashes) if key and key in file.live]
            owned = Counter(owner for _, key in hits for owner in list_owners(file.live[key]))
            telling = sum(map(bool, block.old_hashes))
            beside: list[TrackedLine] = []
            for line, key in hits:
                if tracked_lines := file.live.get(key):
                    counts = [max(owned[landing.owner] for landing in one.landings) for one in tracked_lines]
                    most = max(counts)
                    tracked = tracked_lines[len(counts) - 1 - counts[::-1].index(most)]
                    tracked.copies = len(tracked_lines)
                    self.files.take_line(tracked)
                    tracked.beside = beside if most * 2 >= telling else ()
                    beside.append(tracked)
                    yield StruckLine(block, line, tracked)

    def count_taken(self) -> Counter[LineOwner]:
        """How many lines of each session the commit removes."""
        return Counter(landing.owner for one in self.struck for landing in one.tracked.landings)

    def resolve_lines(self, remover: RemovingCommit, landed: CommitLanding) -> None:
        """Find where the lines live on, and lose the others."""
        if not self.struck and not self.files.lost:
            return
        spare = count_added_lines(self.blocks)
        if self.struck:
            self.keep_lines(spare)
        if self.files.lost:
            self.revive_lines(spare)
        for one in self.struck:
            if not one.is_kept:
                self.lose_line(one.tracked, remover, landed)

    # --- lines live on --------------------------------------------------------------------------

    def keep_lines(self, spare: Spare) -> None:
        """Keep what stays in its hunk, then what is moved, then what is wrapped anew or edited."""
        by_block: dict[int, list[StruckLine]] = {}
        for one in self.struck:
            by_block.setdefault(id(one.block), []).append(one)
        same = {key: self.keep_unmoved(some, spare) for key, some in by_block.items()}
        for some in by_block.values():
            self.follow_moves(some, spare)
        for key, some in by_block.items():
            self.follow_edits([one for one in some if not one.is_kept], same[key])

    def follow_edits(self, some: Sequence[StruckLine], same: dict[int, int]) -> None:
        """Keep lines that live on in others of their hunk; those that become one line are one from now on."""
        if not some:
            return
        block = some[0].block
        removed, added = block.hunk.removed, block.hunk.added
        free = set(range(len(added))) - set(same.values())
        gone = [(one.line, removed[one.line]) for one in some]
        to = find_successors(gone, added, free, same, len(removed)) if free else {}
        holders: dict[int, TrackedLine] = {}
        for one in some:
            place = to.get(one.line)
            if place is None:
                continue
            if place in holders:
                one.is_kept = True
                self.files.share_line(one.tracked, holders[place])
            else:
                holders[place] = self.carry_on(one, block.new, block.new_hashes[place])

    def keep_unmoved(self, some: Sequence[StruckLine], spare: Spare) -> dict[int, int]:
        """Keep lines that the hunk both removes and adds; returns where each of them was and is."""
        block = some[0].block
        places: dict[bytes, list[int]] = {}
        for place in reversed(range(len(block.new_hashes))):
            places.setdefault(block.new_hashes[place], []).append(place)
        found: dict[int, int] = {}
        for one in some:
            if same := places.get(one.tracked.hash):
                found[one.line] = same.pop()
                spare[one.tracked.hash][block.new] -= 1
                self.carry_on(one, block.new, one.tracked.hash)
        return found

    def follow_moves(self, some: Sequence[StruckLine], spare: Spare) -> None:
        """Keep lines that stand in a row elsewhere after the same commit: in the same file first."""
        block = some[0].block
        left = {one.line: one for one in some if not one.is_kept}
        reach: Counter[str] = Counter()
        for one in left.values():
            size = len(strip_signs(block.hunk.removed[one.line]))
            for path, count in spare.get(one.tracked.hash, NOWHERE).items():
                reach[path] += size if count > 0 else 0
        here = self.files.by_path.get(block.old)
        for path in sorted(reach, key=lambda path: (path != block.new, -reach[path], path))[:MOST_PLACES]:
            limit = MOVED_WITHIN if self.files.by_path.get(path) is here else MOVED_ACROSS
            for run in find_runs(block.old_hashes, count_added_to(path, spare)):
                if sum(len(strip_signs(block.hunk.removed[line])) for line in run) < limit:
                    continue
                for one in (left[line] for line in run if line in left):
                    if not one.is_kept:
                        spare[one.tracked.hash][path] -= 1
                        self.carry_on(one, path, one.tracked.hash)

    def carry_on(self, one: StruckLine, path: str, key: bytes) -> TrackedLine:
        one.is_kept = True
        return self.files.place_line(one.tracked, path, key, self.change)

    def revive_lines(self, spare: Spare) -> None:
        """Take up lost lines that come back, in their file or in another one."""
        lost = self.files.lost
        for block in self.blocks:
            here = self.files.by_path.get(block.new)
            for run in find_runs(block.new_hashes, count_added_to(block.new, spare, self.files.lost)):
                size = sum(len(strip_signs(block.hunk.added[line])) for line in run)
                for key in (block.new_hashes[line] for line in run):
                    tracked = lost[key][-1] if key in lost else None
                    if tracked is None or size < MOVED_WITHIN:
                        continue
                    if size >= MOVED_ACROSS or (here and self.files.by_path.get(tracked.path) is here):
                        self.files.forget_lost(tracked)
                        self.files.place_line(tracked, block.new, key, self.change)

    def lose_line(self, tracked: TrackedLine, remover: RemovingCommit, landed: CommitLanding) -> None:
        """Lose a line; for the session that made the commit it does not count at all."""
        for landing in tracked.landings:
            landing.dropped += landed.is_own(landing.owner)
        tracked.landings = [landing for landing in tracked.landings if not landed.is_own(landing.owner)]
        if tracked.landings:
            tracked.lost = remover
            self.files.lose_line(tracked)


def list_owners(tracked_lines: Iterable[TrackedLine]) -> set[LineOwner]:
    return {landing.owner for tracked in tracked_lines for landing in tracked.landings}


def count_added_lines(blocks: Sequence[HashedHunk]) -> Spare:
    """How often a commit adds each line to which files."""
    found: Spare = {}
    for block in blocks:
        for key in block.new_hashes:
            if key:
                found.setdefault(key, Counter())[block.new] += 1
    return found


def count_added_to(path: str, spare: Spare, among: Container[bytes] | None = None) -> Callable[[bytes], int]:
    """A function that counts how often a line is added to a file and not yet taken for another."""

    def count_lines(key: bytes) -> int:
        return spare[key][path] if key in spare and (among is None or key in among) else 0

    return count_lines


def find_runs(hashes: Sequence[bytes], left: Callable[[bytes], int]) -> Iterator[list[int]]:
    """Lines in a row of which enough are left; those that tell nothing don't part them."""
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
