"""Whose a commit is: by the lines it brings, its id in a transcript, its trailers, its pull request, its author."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from assay.sessions.kinds_of_files import is_code
from assay.sessions.rework.history import BranchTrees, CodeChange, HashedHunk, LineTarget
from assay.sessions.rework.tracking import LandedCommit, LineOwner, TrackedFile, TrackedFiles, TrackedLine
from assay.sessions.written_lines import split_hashes

HEAD_LINES = 20
"""Lines in which a generated file says that it is one."""
FEWEST, FEWEST_SHARE = 5, 0.1
"""Lines, or share of a session's lines, that make a commit its own long after it: common lines come by chance."""

Spot = tuple[HashedHunk, bytes, TrackedFile]
"""An added line that somebody waits for, and the file in which it is waited for."""

SHORTEST_ID = 7
SLACK = 3600.0
"""Clocks differ, and a commit is often made soon after the session."""
TRAILER = re.compile(r"^[\w-]*session[\w-]*:[ \t]*(\S+)[ \t]*$", re.IGNORECASE | re.MULTILINE)
PULL = re.compile(r"\(#(\d+)\)\s*$")
REVERTS = re.compile(r"\b(?:This reverts commit|reversing\s+changes made to|revert of commit)\s+([0-9a-f]{7,64})\b")
REVERTS_PULL = re.compile(r"^Reverts (?:[\w.-]+/[\w.-]+)?#(\d+)\s*$", re.MULTILINE)
REVERTS_TITLE = re.compile(r'^Revert "(.+)"(?:\s+\(#\d+\))?\s*$')
BOT = re.compile(
    r"\[bot\]|(?:^|[-_ .])bot$|^(?:dependabot|renovate|greenkeeper|snyk|mergify|imgbot|pre-commit-ci|github-actions"
    r"|semantic-release|allcontributors|weblate|crowdin|pyup)\b",
    re.IGNORECASE,
)


class CommitLanding:
    """What a commit brought of whom."""

    def __init__(self, change: CodeChange, claimed: Set[str], taken: Mapping[LineOwner, int]) -> None:
        self.change = change
        self.claimed = claimed
        self.taken = taken
        """How many lines of each session the commit removes."""
        self.lines: Counter[LineOwner] = Counter()
        self.tracked_lines: list[TrackedLine] = []

    @property
    def sessions(self) -> set[str]:
        """All sessions whose commit it is."""
        return {*self.claimed, *(owner.target.id for owner in self.lines if self.is_own(owner))}

    def count_lines(self, session: str) -> int:
        """How many lines of a session the commit brings."""
        return sum(lines for owner, lines in self.lines.items() if owner.target.id == session)

    def is_own(self, owner: LineOwner) -> bool:
        """Whether a session made the commit: it is said so, or it brings no fewer of its lines than it takes.

        A commit in the session's time by who made its other commits, and which nobody else claims, is its own too:
        whose lines it brings besides must not decide that, or the result would hang on who is followed together.
        """
        if owner.target.id in self.claimed:
            return True
        if self.lines[owner]:
            return self.lines[owner] >= self.taken.get(owner, 0) or self.is_near(owner)
        return self.is_near(owner) and not self.claimed

    def is_near(self, owner: LineOwner) -> bool:
        """Whether the commit was made in the session's time by who made its other commits."""
        return self.change.email in owner.authors and is_during(self.change, owner.target)

    def settle_lines(self) -> None:
        """Let what was brought be as any other line."""
        for tracked in self.tracked_lines:
            tracked.born = ""


class LandingFinder:
    """Finds, in each commit, the lines that sessions wait for."""

    def __init__(self, files: TrackedFiles, trees: BranchTrees) -> None:
        self.files = files
        self.trees = trees
        self.kinds: dict[str, bool] = {}
        """Files that were looked into, and whether they hold code."""

    def land_lines(
        self, change: CodeChange, blocks: Sequence[HashedHunk], claimed: Set[str], taken: Mapping[LineOwner, int]
    ) -> CommitLanding:
        """Give each added line to the session that wrote it; where two did, to the last active before the commit."""
        landed = CommitLanding(change, claimed, taken)
        spots = list(self.find_spots(change, blocks, claimed))
        able = self.find_candidates(spots, landed) if spots else {}
        for block, key, file in spots:
            owners = [owner for owner in file.waiting.get(key, ()) if owner in able]
            if not owners:
                continue
            owner = max(owners, key=lambda one: (able[one], one.target.started, one.target.id))
            file.await_lines(key, owner, -1)
            landing = owner.land_commit(change)
            landing.lines += 1
            landed.lines[owner] += 1
            tracked = TrackedLine(block.new, key, [landing], change.id)
            self.files.open_file(block.new).live.setdefault(key, []).append(tracked)
            owner.tracked_lines.append(tracked)
            landed.tracked_lines.append(tracked)
        for owner in self.files.list_owners(claimed):
            if owner.landings or not owner.lines:  # its last commit, also if it brings no lines of code
                landed.lines[owner] += 0
                owner.land_commit(change)
        for owner in landed.lines:
            if landed.is_own(owner):
                owner.authors.add(change.email)
        return landed

    def find_spots(self, change: CodeChange, blocks: Sequence[HashedHunk], claimed: Set[str]) -> Iterator[Spot]:
        """Added lines that somebody waits for in this file, or, if it is said to be theirs, in another one."""
        elsewhere = self.find_elsewhere(claimed)
        for block in blocks:
            file = self.files.by_path.get(block.new)
            waiting = file.waiting if file else {}
            if not waiting and not elsewhere:
                continue
            found = [key for key in block.new_hashes if key and (key in waiting or key in elsewhere)]
            if not found or not self.is_code_file(change, block, file):
                continue
            for key in found:
                if file and key in waiting:
                    yield block, key, file
                elif key in elsewhere:
                    yield block, key, elsewhere[key]

    def find_elsewhere(self, claimed: Set[str]) -> dict[bytes, TrackedFile]:
        """Lines that sessions wait for in any file, in a commit that is theirs: they may have moved the file."""
        found: dict[bytes, TrackedFile] = {}
        for owner in self.files.list_owners(claimed):
            for one in owner.target.written:
                if file := self.files.by_path.get(one.path):
                    found |= {key: file for key in split_hashes(one.lines) if owner in file.waiting.get(key, ())}
        return found

    def find_candidates(self, spots: Sequence[Spot], landed: CommitLanding) -> dict[LineOwner, tuple[bool, float]]:
        """Sessions that may get lines of this commit; the first of two that wait for the same has the greater value."""
        change = landed.change
        brings: Counter[LineOwner] = Counter()
        seen: Counter[tuple[bytes, TrackedFile]] = Counter()
        for _, key, file in spots:
            seen[key, file] += 1
            brings.update(owner for owner, left in file.waiting[key].items() if left >= seen[key, file])
        return {
            owner: (owner.target.id in landed.claimed, find_last_activity(change, owner.target))
            for owner, lines in brings.items()
            if change.latest >= owner.target.started - SLACK and self.may_own(owner, lines, landed)
        }

    def may_own(self, owner: LineOwner, lines: int, landed: CommitLanding) -> bool:
        """Whether a commit can have been made of what a session wrote."""
        if owner.target.id in landed.claimed or is_during(landed.change, owner.target):
            return True
        return lines >= min(FEWEST, FEWEST_SHARE * owner.lines) and lines >= landed.taken.get(owner, 0)

    def is_code_file(self, change: CodeChange, block: HashedHunk, file: TrackedFile | None) -> bool:
        """Whether a file holds code or tests, by its first lines; nobody waits for lines of one that doesn't."""
        is_known = self.kinds.get(block.new)
        if is_known is None:
            text = None if block.is_new_file else self.trees.read_file(change.id, block.new)
            head = block.hunk.added if text is None else text.split(b"\n", HEAD_LINES)
            said = b"\n".join(head[:HEAD_LINES]).decode("utf-8", "replace")
            is_known = self.kinds[block.new] = is_code(block.new, said)
        if not is_known and file:
            for owners in file.waiting.values():
                for owner, count in owners.items():
                    owner.lines -= count
            file.waiting.clear()
        return is_known


class CommitClaims:
    """Which commits are which session's, as transcripts and commit messages say themselves."""

    def __init__(self, targets: Iterable[LineTarget]) -> None:
        self.commits: dict[str, list[tuple[str, str]]] = {}
        self.is_naming: dict[str, str] = {}
        self.pulls: dict[int, list[str]] = {}
        for target in targets:
            for commit in target.commits:
                if len(commit) >= SHORTEST_ID:
                    self.commits.setdefault(commit[:SHORTEST_ID].lower(), []).append((commit.lower(), target.id))
            self.is_naming.update(dict.fromkeys((target.id, *target.names), target.id))
            for pull in target.pulls:
                self.pulls.setdefault(pull, []).append(target.id)

    def find_sessions(self, change: CodeChange) -> set[str]:
        """Ids of the sessions that a commit belongs to."""
        known = self.commits.get(change.id[:SHORTEST_ID], ())
        found = {session for commit, session in known if change.id.startswith(commit)}
        if "ession" in change.message:
            said = (value.rpartition("/")[2] for value in TRAILER.findall(change.message))
            found |= {self.is_naming[name] for name in said if name in self.is_naming}
        if self.pulls and (pull := parse_pull(change.message.partition("\n")[0])):
            found |= set(self.pulls.get(pull, ()))
        return found


def parse_pull(subject: str) -> int | None:
    """The pull request that a squashed commit names."""
    found = PULL.search(subject)
    return int(found[1]) if found and len(found[1]) < 10 else None


def is_bot(author: str, email: str) -> bool:
    return bool(BOT.search(author) or BOT.search(email.partition("@")[0]))


def describe_author(change: CodeChange) -> str:
    """A commit's author, for people."""
    name = " ".join((change.author or change.email or "unknown").split())[:80]
    return f"bot {name}" if is_bot(change.author, change.email) else f"person {name}"


def format_session(session: str) -> str:
    return f"session {session[:8]}…" if len(session) > 12 else f"session {session}"


def is_during(change: CodeChange, target: LineTarget) -> bool:
    """Whether a commit was made in a session or soon after, by either of its times."""
    times = change.authored, change.committed
    return any(target.started - SLACK <= time <= target.ended + SLACK for time in times)


def find_last_activity(change: CodeChange, target: LineTarget) -> float:
    """When a session was last active before a commit was written."""
    return min(target.ended, change.authored if change.authored >= target.started - SLACK else change.latest)


class RevertMessage:
    """What a commit says it takes back."""

    def __init__(self, change: CodeChange) -> None:
        message = change.message
        is_likely = "evert" in message
        self.ids = REVERTS.findall(message) if is_likely else []
        self.pulls = {int(pull) for pull in REVERTS_PULL.findall(message) if len(pull) < 10} if is_likely else set()
        title = REVERTS_TITLE.match(message.partition("\n")[0]) if is_likely else None
        self.title = title[1] if title and not self.ids and not self.pulls else ""

    def __bool__(self) -> bool:
        return bool(self.ids or self.pulls or self.title)

    def is_naming(self, id: str) -> bool:
        """Whether it takes back this commit; both ids may be shortened."""
        return bool(id) and any(id.startswith(said) or said.startswith(id) for said in self.ids)

    def list_reverted(self, owner: LineOwner) -> Iterator[str]:
        """The commits of a session that it takes back."""
        for landing in owner.landings.values():
            if self.is_reverting(landing):
                yield landing.commit
        for commit in owner.target.commits:
            is_landed = any(landed.startswith(commit.lower()) for landed in owner.landings)
            if len(commit) >= SHORTEST_ID and not is_landed and self.is_naming(commit.lower()):
                yield commit

    def is_reverting(self, landing: LandedCommit) -> bool:
        """Whether it takes back a commit that landed."""
        if self.is_naming(landing.commit) or self.is_naming(landing.merge):
            return True
        if self.pulls:
            return parse_pull(landing.subject) in self.pulls
        return bool(self.title) and self.title == landing.subject
