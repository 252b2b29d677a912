"""Whether a session was reworked, once all that happened to its lines is known."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TypedDict

from assay.sessions.rework.history import DAY, Age, Followed, Rules, Trees
from assay.sessions.rework.strands import Books, Landing, Owner, Remover, Strand
from assay.types import Reworked
from assay.types.lines import SIZE, packed_text

LONG = 300
"""Lines from which a session is judged per commit too: a share hides large losses."""
PATIENCE = 90 * DAY
"""How long after its end a session's lines may still reach the default branch."""

Gone = list[tuple[Landing, Remover]]


class Counts(TypedDict, total=False):
    lines: int
    gone: int
    share: float


def deadline(owner: Owner, rules: Rules) -> float:
    """Until when it matters what happens to a session's lines."""
    if owner.landed_at is None:
        return owner.target.ended + PATIENCE
    return max(owner.landed_at + rules.window, owner.target.ended)


def verdict(owner: Owner, books: Books, trees: Trees, rules: Rules, as_of: float) -> Followed:
    """What became of a session's lines by the end of its window, or by now."""
    end = as_of if owner.landed_at is None else min(as_of, owner.landed_at + rules.window)
    gone = list(Check(owner, books, trees, end).gone())
    found = judged(owner, gone, rules, end, as_of)
    return Followed(
        reworked=found,
        commits=tuple(owner.landings),
        landed_at=owner.landed_at,
        final_at=deadline(owner, rules),
        ages=tuple(ages(owner, gone, end)),
    )


def judged(owner: Owner, gone: Gone, rules: Rules, end: float, as_of: float) -> Reworked:
    """The rule of DESIGN 3."""
    lines = sum(one.lines - one.dropped for one in owner.landings.values())
    counts = Counts(lines=lines, gone=len(gone), share=len(gone) / lines) if lines else Counts()
    if reverted := standing(owner, gone, rules, end):
        remover, commit = reverted
        return replaced(remover, f"revert {remover.commit[:7]}", f"takes back its commit {commit[:7]}", counts)
    if owner.lines < rules.min_lines:
        return Reworked(state="not_judged", detail=f"{owner.lines} lines of code", **counts)
    if not lines:
        if any(one.lines for one in owner.landings.values()):
            return Reworked(state="not_judged", detail="it removed its lines itself")
        return Reworked(state="unknown", detail="its lines reached no commit of the default branch")
    if owner.landed_at is not None and as_of < owner.landed_at + rules.window:
        return Reworked(state="open", **counts)
    if lines < rules.min_lines:
        return Reworked(state="not_judged", detail=f"{lines} of its lines reached the default branch", **counts)
    if is_most(len(gone), lines, rules):
        return replaced(most(gone), "", None, counts)
    if lines > LONG and (worst := worst_commit(owner, gone, rules)):
        lost = [pair for pair in gone if pair[0] is worst]
        detail = f"{len(lost)} of {worst.lines - worst.dropped} lines of its commit {worst.commit[:7]}"
        return replaced(most(lost), "", detail, counts)
    return Reworked(state="no", **counts)


def standing(owner: Owner, gone: Gone, rules: Rules, end: float) -> tuple[Remover, str] | None:
    """A revert in the window whose commit did not come back."""
    lost = Counter(landing.commit for landing, _ in gone)
    for remover, commit in owner.reverts:
        landing = owner.landings.get(commit)
        left = landing.lines - landing.dropped if landing else 0
        if remover.arrived <= end and (not left or is_most(lost[commit], left, rules)):
            return remover, commit
    return None


def is_most(gone: int, lines: int, rules: Rules) -> bool:
    return gone / lines >= rules.share - 1e-9


def worst_commit(owner: Owner, gone: Gone, rules: Rules) -> Landing | None:
    """The commit of which most is gone, if that is enough to call it replaced."""
    lost = Counter(landing.commit for landing, _ in gone)
    for commit, count in sorted(lost.items(), key=lambda pair: (-pair[1], pair[0])):
        landing = owner.landings[commit]
        lines = landing.lines - landing.dropped
        if lines >= rules.min_lines and is_most(count, lines, rules):
            return landing
    return None


def most(gone: Gone) -> Remover:
    """The commit that took most, of those who took most."""
    by = Counter(remover.by for _, remover in gone)
    first = min(by, key=lambda name: (-by[name], name))
    commits = Counter(remover.commit for _, remover in gone if remover.by == first)
    worst = min(commits, key=lambda commit: (-commits[commit], commit))
    return next(remover for _, remover in gone if remover.commit == worst)


def replaced(remover: Remover, by: str, detail: str | None, counts: Counts) -> Reworked:
    return Reworked(
        state="yes",
        by=by or remover.by,
        commit=remover.commit,
        session=remover.session,
        at=stamp(remover.at),
        detail=detail,
        **counts,
    )


def stamp(when: float) -> str | None:
    """A time as transcripts write it; a commit can hold any."""
    try:
        return datetime.fromtimestamp(when, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return None


def ages(owner: Owner, gone: Gone, end: float) -> Iterator[Age]:
    """For how long lines were followed, to the hour, and whether they were removed then."""
    found: Counter[tuple[float, bool]] = Counter()
    lost: Counter[str] = Counter()
    for landing, remover in gone:
        lost[landing.commit] += 1
        found[days(remover.at - landing.at), True] += 1
    for landing in owner.landings.values():
        found[days(end - landing.arrived), False] += landing.lines - landing.dropped - lost[landing.commit]
    for (age, is_removed), lines in sorted(found.items()):
        if lines > 0:
            yield age, is_removed, lines


def days(seconds: float) -> float:
    return round(max(0.0, seconds) / 3600) / 24


class Check:
    """Asks the tree at the end of the window whether lost lines are really gone.

    A merge can bring back what a commit took, and of equal lines another one may have gone. A line is gone if its file
    has it no more, or, where all equal lines were followed, has fewer of it than when it landed. Any other is gone if
    one that went with it is: then the removal stands.
    """

    def __init__(self, owner: Owner, books: Books, trees: Trees, end: float) -> None:
        self.owner, self.books, self.trees, self.end = owner, books, trees, end
        self.counts: dict[tuple[str, str], Counter[bytes]] = {}

    def gone(self) -> Gone:
        """The lines that are gone, with the commit that took each."""
        groups: dict[tuple[str, bytes], list[Strand]] = {}
        for strand in {id(one): one for one in self.owner.strands}.values():
            is_own = any(landing.owner is self.owner for landing in strand.landings)
            if is_own and strand.lost and strand.lost.arrived <= self.end:
                groups.setdefault((min(self.names(strand.path)), strand.hash), []).append(strand)
        commit = self.trees.find_commit_at(self.end) if groups else None
        certain = {id(one): one for strands in groups.values() for one in self.certain(strands, commit)}
        standing = {id(one.beside) for one in certain.values() if one.beside}
        return [
            (landing, strand.lost)
            for strands in groups.values()
            for strand in strands
            if id(strand) in certain or id(strand.beside) in standing
            for landing in strand.landings
            if landing.owner is self.owner and strand.lost
        ]

    def names(self, path: str) -> Iterable[str]:
        """All names of a file."""
        book = self.books.by_path.get(path)
        return book.paths if book else (path,)

    def certain(self, strands: list[Strand], commit: str | None) -> list[Strand]:
        """Those of equal lines that the tree shows to be gone."""
        path, key = strands[0].path, strands[0].hash
        left = self.count(commit, path, key) if commit else 0
        if not left:
            return strands
        landing = next(one for one in strands[0].landings if one.owner is self.owner)
        before = self.count(landing.commit, path, key)
        is_known = before <= max(strand.copies for strand in strands)
        return strands[: max(0, before - left)] if is_known else []

    def count(self, commit: str, path: str, key: bytes) -> int:
        """How often a line stands in a file of a commit, whatever the file's name."""
        return sum(self.lines(commit, name)[key] for name in self.names(path))

    def lines(self, commit: str, path: str) -> Counter[bytes]:
        found = self.counts.get((commit, path))
        if found is None:
            hashes = packed_text(self.trees.read_file(commit, path) or b"")
            found = Counter(hashes[at : at + SIZE] for at in range(0, len(hashes), SIZE))
            self.counts[commit, path] = found
        return found
