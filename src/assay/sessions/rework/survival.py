"""What became of the lines that sessions wrote: found in commits, followed through moves and edits, or lost.

One pass over the changes of a repository for all sessions. A line is known by its hash and its file; the commit that
brings it lands it (`landing`), and from then on it is tracked (`tracking`): it lives on in its file, in another one it
is moved to, or in a line that takes its place and is like it (`removals`, `similarity`). A line that a later commit of
somebody else takes is lost, unless it comes back. When a session's window is over, the tree of the default branch has
the last word, and its lines are forgotten: memory holds lines of sessions whose windows are open, and nothing of the
history. The survival curve goes on for longer than the window: a second follower takes the same changes for it, so that
what is looked at for the curve never turns a verdict.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TypedDict

from msgspec.structs import replace

from assay.sessions.kinds_of_files import is_code_name
from assay.sessions.rework.history import (
    DAY,
    Age,
    BranchTrees,
    CodeChange,
    FollowResult,
    HashedHunk,
    LineTarget,
    ReworkRules,
    hash_hunks,
)
from assay.sessions.rework.landing import (
    SLACK,
    CommitClaims,
    CommitLanding,
    LandingFinder,
    RevertMessage,
    describe_author,
    format_session,
)
from assay.sessions.rework.removals import LineRemovals
from assay.sessions.rework.tracking import LandedCommit, LineOwner, RemovingCommit, TrackedFiles, TrackedLine
from assay.sessions.written_lines import split_hashes
from assay.types import ReworkResult
from assay.types.lines import HASH_SIZE, hash_text_lines

LONG = 300
"""Lines from which a session is judged per commit too: a share hides large losses."""
PATIENCE = 90 * DAY
"""How long after its end a session's lines may still reach the default branch."""
GoneLines = list[tuple[LandedCommit, RemovingCommit]]


def follow_lines(
    targets: Sequence[LineTarget],
    changes: Iterable[CodeChange],
    trees: BranchTrees,
    rules: ReworkRules,
    as_of: float,
) -> dict[str, FollowResult]:
    """What became of the lines of each target that is asked for, by its id; their ages are those at the curve's end.

    `changes` come in order of arrival at the default branch, ancestors first, and begin `SLACK` before the earliest
    target that is asked for; what arrived after `as_of` is not looked at, and they are left when all is known. The
    order of targets doesn't matter, and neither do sessions and commits that share no file and no line with a session.
    """
    follower = LineFollower(targets, trees, rules, as_of)
    longer = LineFollower(targets, trees, replace(rules, days=rules.curve_days), as_of)
    for change in changes:
        if change.arrived > as_of or longer.is_done:
            break
        blocks = hash_hunks(change)
        for one in (follower, longer):
            one.take_change(change, blocks)
    aged = longer.judge_rest()
    return {
        name: replace(one, ages=aged[name].ages, final_at=aged[name].final_at)
        for name, one in follower.judge_rest().items()
    }


class LineFollower:
    """Follows the lines of all sessions through one change after the other."""

    def __init__(self, targets: Sequence[LineTarget], trees: BranchTrees, rules: ReworkRules, as_of: float) -> None:
        self.trees, self.rules, self.as_of = trees, rules, as_of
        self.files = TrackedFiles()
        self.claims = CommitClaims(targets)
        self.lander = LandingFinder(self.files, trees)
        self.found: dict[str, FollowResult] = {}
        asked = (target for target in targets if target.is_asked)
        self.coming = sorted(asked, key=lambda target: (-target.started, target.id))
        self.due: list[tuple[float, str]] = []
        """When to look at a session again; a later landing moves that on."""

    def take_change(self, change: CodeChange, blocks: Sequence[HashedHunk]) -> None:
        """Take up what a commit did."""
        self.begin_sessions(change.latest + SLACK)
        while self.due and self.due[0][0] < change.arrived:
            self.judge_if_due(heapq.heappop(self.due)[1], change.arrived)
        for file in change.files:
            if file.old and file.new and file.old != file.new and file.old in self.files.by_path:
                self.files.rename_file(file.old, file.new)
        removals = LineRemovals(self.files, blocks, change.id)
        landed = self.lander.land_lines(change, blocks, self.claims.find_sessions(change), removals.count_taken())
        for owner in landed.lines:
            heapq.heappush(self.due, (find_deadline(owner, self.rules), owner.target.id))
        remover = self.find_remover(change, landed)
        if reverts := RevertMessage(change):
            self.note_reverts(reverts, remover, landed)
        removals.resolve_lines(remover, landed)
        landed.settle_lines()

    @property
    def is_done(self) -> bool:
        return not self.coming and not self.files.by_id

    def begin_sessions(self, until: float) -> None:
        """Take up sessions that had begun by a time."""
        while self.coming and self.coming[-1].started <= until:
            target = self.coming.pop()
            files = [
                (one.path, split_hashes(one.lines)) for one in target.written if is_code_name(one.path) is not False
            ]
            owner = self.files.by_id[target.id] = LineOwner(target, sum(len(lines) for _, lines in files))
            for path, lines in files:
                file = self.files.open_file(path)
                for key, count in Counter(lines).items():
                    file.await_lines(key, owner, count)
            heapq.heappush(self.due, (find_deadline(owner, self.rules), target.id))

    def judge_if_due(self, id: str, now: float) -> None:
        """Say what became of a session's lines if its time is over."""
        owner = self.files.by_id.get(id)
        if owner and find_deadline(owner, self.rules) < now:
            self.judge_session(owner)

    def judge_session(self, owner: LineOwner) -> None:
        """Say what became of a session's lines, and forget them."""
        self.found[owner.target.id] = judge_owner(owner, self.files, self.trees, self.rules, self.as_of)
        self.files.forget_owner(owner)

    def judge_rest(self) -> dict[str, FollowResult]:
        """What became of the lines of all sessions that were asked for."""
        self.begin_sessions(float("inf"))
        for owner in list(self.files.by_id.values()):
            self.judge_session(owner)
        return self.found

    def find_remover(self, change: CodeChange, landed: CommitLanding) -> RemovingCommit:
        """Who is behind a commit: the session that brought most lines with it, else its author."""
        sessions = sorted(landed.sessions, key=lambda one: (-landed.count_lines(one), one))
        by = format_session(sessions[0]) if sessions else describe_author(change)
        return RemovingCommit(change, by, sessions[0] if sessions else None)

    def note_reverts(self, reverts: RevertMessage, remover: RemovingCommit, landed: CommitLanding) -> None:
        """Note whose commits are taken back, except by themselves."""
        for owner in self.files.by_id.values():
            if not landed.is_own(owner):
                owner.reverts += ((remover, commit) for commit in reverts.list_reverted(owner))


# --- what became of a session, once all that happened to its lines is known ------------------


class LineCounts(TypedDict, total=False):
    lines: int
    gone: int
    share: float


def find_deadline(owner: LineOwner, rules: ReworkRules) -> float:
    """Until when it matters what happens to a session's lines."""
    if owner.landed_at is None:
        return owner.target.ended + PATIENCE
    return max(owner.landed_at + rules.window, owner.target.ended)


def judge_owner(
    owner: LineOwner, files: TrackedFiles, trees: BranchTrees, rules: ReworkRules, as_of: float
) -> FollowResult:
    """What became of a session's lines by the end of its window, or by now."""
    end = as_of if owner.landed_at is None else min(as_of, owner.landed_at + rules.window)
    gone = list(TreeCheck(owner, files, trees, end).list_gone())
    found = judge_rework(owner, gone, rules, end, as_of)
    return FollowResult(
        reworked=found,
        commits=tuple(owner.landings),
        landed_at=owner.landed_at,
        final_at=find_deadline(owner, rules),
        ages=tuple(list_ages(owner, gone, end)),
    )


def judge_rework(owner: LineOwner, gone: GoneLines, rules: ReworkRules, end: float, as_of: float) -> ReworkResult:
    """Whether a session was reworked, by the rule of DESIGN 3."""
    lines = sum(one.lines - one.dropped for one in owner.landings.values())
    counts = LineCounts(lines=lines, gone=len(gone), share=len(gone) / lines) if lines else LineCounts()
    if reverted := find_standing_revert(owner, gone, rules, end):
        remover, commit = reverted
        return build_replaced(remover, f"revert {remover.commit[:7]}", f"takes back its commit {commit[:7]}", counts)
    if owner.lines < rules.min_lines:
        return ReworkResult(state="not_judged", detail=f"{owner.lines} lines of code", **counts)
    if not lines:
        if any(one.lines for one in owner.landings.values()):
            return ReworkResult(state="not_judged", detail="it removed its lines itself")
        return ReworkResult(state="unknown", detail="its lines reached no commit of the default branch")
    if owner.landed_at is not None and as_of < owner.landed_at + rules.window:
        return ReworkResult(state="open", **counts)
    if lines < rules.min_lines:
        return ReworkResult(state="not_judged", detail=f"{lines} of its lines reached the default branch", **counts)
    if is_most(len(gone), lines, rules):
        return build_replaced(find_main_remover(gone), "", None, counts)
    if lines > LONG and (worst := find_worst_commit(owner, gone, rules)):
        lost = [pair for pair in gone if pair[0] is worst]
        detail = f"{len(lost)} of {worst.lines - worst.dropped} lines of its commit {worst.commit[:7]}"
        return build_replaced(find_main_remover(lost), "", detail, counts)
    return ReworkResult(state="no", **counts)


def find_standing_revert(
    owner: LineOwner, gone: GoneLines, rules: ReworkRules, end: float
) -> tuple[RemovingCommit, str] | None:
    """A revert in the window whose commit did not come back."""
    lost = Counter(landing.commit for landing, _ in gone)
    for remover, commit in owner.reverts:
        landing = owner.landings.get(commit)
        left = landing.lines - landing.dropped if landing else 0
        if remover.arrived <= end and (not left or is_most(lost[commit], left, rules)):
            return remover, commit
    return None


def is_most(gone: int, lines: int, rules: ReworkRules) -> bool:
    return gone / lines >= rules.share - 1e-9


def find_worst_commit(owner: LineOwner, gone: GoneLines, rules: ReworkRules) -> LandedCommit | None:
    """The commit of which most is gone, if that is enough to call it replaced."""
    lost = Counter(landing.commit for landing, _ in gone)
    for commit, count in sorted(lost.items(), key=lambda pair: (-pair[1], pair[0])):
        landing = owner.landings[commit]
        lines = landing.lines - landing.dropped
        if lines >= rules.min_lines and is_most(count, lines, rules):
            return landing
    return None


def find_main_remover(gone: GoneLines) -> RemovingCommit:
    """The commit that took most, of those who took most."""
    by = Counter(remover.by for _, remover in gone)
    first = min(by, key=lambda name: (-by[name], name))
    commits = Counter(remover.commit for _, remover in gone if remover.by == first)
    worst = min(commits, key=lambda commit: (-commits[commit], commit))
    return next(remover for _, remover in gone if remover.commit == worst)


def build_replaced(remover: RemovingCommit, by: str, detail: str | None, counts: LineCounts) -> ReworkResult:
    """The result for lines that were replaced."""
    return ReworkResult(
        state="yes",
        by=by or remover.by,
        commit=remover.commit,
        session=remover.session,
        at=format_stamp(remover.at),
        detail=detail,
        **counts,
    )


def format_stamp(when: float) -> str | None:
    """A time as transcripts write it; `None` for one that is out of range."""
    try:
        return datetime.fromtimestamp(when, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return None


def list_ages(owner: LineOwner, gone: GoneLines, end: float) -> Iterator[Age]:
    """For how long lines were followed, to the hour, and whether they were removed then."""
    found: Counter[tuple[float, bool]] = Counter()
    lost: Counter[str] = Counter()
    for landing, remover in gone:
        lost[landing.commit] += 1
        found[to_days(remover.at - landing.at), True] += 1
    for landing in owner.landings.values():
        found[to_days(end - landing.arrived), False] += landing.lines - landing.dropped - lost[landing.commit]
    for (age, is_removed), lines in sorted(found.items()):
        if lines > 0:
            yield age, is_removed, lines


def to_days(seconds: float) -> float:
    return round(max(0.0, seconds) / 3600) / 24


class TreeCheck:
    """Asks the tree at the end of the window whether lost lines are really gone.

    A merge can bring back what a commit took, and of equal lines another one may have gone. A line is gone if its file
    has it no more, or, where all equal lines were followed, has fewer of it than when it landed. Any other is gone if
    one that went with it is: then the removal stands.
    """

    def __init__(self, owner: LineOwner, files: TrackedFiles, trees: BranchTrees, end: float) -> None:
        self.owner, self.files, self.trees, self.end = owner, files, trees, end
        self.counts: dict[tuple[str, str], Counter[bytes]] = {}

    def list_gone(self) -> GoneLines:
        """The lines that are gone, with the commit that took each."""
        groups: dict[tuple[str, bytes], list[TrackedLine]] = {}
        for tracked in {id(one): one for one in self.owner.tracked_lines}.values():
            is_own = any(landing.owner is self.owner for landing in tracked.landings)
            if is_own and tracked.lost and tracked.lost.arrived <= self.end:
                groups.setdefault((min(self.list_names(tracked.path)), tracked.hash), []).append(tracked)
        commit = self.trees.find_commit_at(self.end) if groups else None
        certain = {
            id(one): one for tracked_lines in groups.values() for one in self.list_certain(tracked_lines, commit)
        }
        standing = {id(one.beside) for one in certain.values() if one.beside}
        return [
            (landing, tracked.lost)
            for tracked_lines in groups.values()
            for tracked in tracked_lines
            if id(tracked) in certain or id(tracked.beside) in standing
            for landing in tracked.landings
            if landing.owner is self.owner and tracked.lost
        ]

    def list_names(self, path: str) -> Iterable[str]:
        """All names of a file."""
        file = self.files.by_path.get(path)
        return file.paths if file else (path,)

    def list_certain(self, tracked_lines: list[TrackedLine], commit: str | None) -> list[TrackedLine]:
        """Those of equal lines that the tree shows to be gone."""
        path, key = tracked_lines[0].path, tracked_lines[0].hash
        left = self.count_line(commit, path, key) if commit else 0
        if not left:
            return tracked_lines
        landing = next(one for one in tracked_lines[0].landings if one.owner is self.owner)
        before = self.count_line(landing.commit, path, key)
        is_known = before <= max(tracked.copies for tracked in tracked_lines)
        return tracked_lines[: max(0, before - left)] if is_known else []

    def count_line(self, commit: str, path: str, key: bytes) -> int:
        """How often a line stands in a file of a commit, whatever the file's name."""
        return sum(self.count_lines(commit, name)[key] for name in self.list_names(path))

    def count_lines(self, commit: str, path: str) -> Counter[bytes]:
        """How often each line stands in a file of a commit."""
        found = self.counts.get((commit, path))
        if found is None:
            hashes = hash_text_lines(self.trees.read_file(commit, path) or b"")
            found = Counter(hashes[at : at + HASH_SIZE] for at in range(0, len(hashes), HASH_SIZE))
            self.counts[commit, path] = found
        return found
