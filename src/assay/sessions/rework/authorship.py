"""Whose a commit is: by its id in a transcript, its trailers, its pull request, its author; and what it takes back."""

import re
from collections.abc import Iterable, Iterator

from assay.sessions.rework.history import Change, Target
from assay.sessions.rework.strands import Landing, Owner

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


class Claims:
    """Which commits are which session's, as transcripts and commit messages say themselves."""

    def __init__(self, targets: Iterable[Target]) -> None:
        self.commits: dict[str, list[tuple[str, str]]] = {}
        self.names: dict[str, str] = {}
        self.pulls: dict[int, list[str]] = {}
        for target in targets:
            for commit in target.commits:
                if len(commit) >= SHORTEST_ID:
                    self.commits.setdefault(commit[:SHORTEST_ID].lower(), []).append((commit.lower(), target.id))
            self.names.update(dict.fromkeys((target.id, *target.names), target.id))
            for pull in target.pulls:
                self.pulls.setdefault(pull, []).append(target.id)

    def of(self, change: Change) -> set[str]:
        """Ids of the sessions that a commit belongs to."""
        known = self.commits.get(change.id[:SHORTEST_ID], ())
        found = {session for commit, session in known if change.id.startswith(commit)}
        if "ession" in change.message:
            said = (value.rpartition("/")[2] for value in TRAILER.findall(change.message))
            found |= {self.names[name] for name in said if name in self.names}
        if self.pulls and (pull := pull_of(change.message.partition("\n")[0])):
            found |= set(self.pulls.get(pull, ()))
        return found


def pull_of(subject: str) -> int | None:
    """The pull request that a squashed commit names."""
    found = PULL.search(subject)
    return int(found[1]) if found and len(found[1]) < 10 else None


def is_bot(author: str, email: str) -> bool:
    return bool(BOT.search(author) or BOT.search(email.partition("@")[0]))


def said_by(change: Change) -> str:
    """A commit's author, for people."""
    name = " ".join((change.author or change.email or "unknown").split())[:80]
    return f"bot {name}" if is_bot(change.author, change.email) else f"person {name}"


def in_short(session: str) -> str:
    return f"session {session[:8]}…" if len(session) > 12 else f"session {session}"


def is_during(change: Change, target: Target) -> bool:
    """Whether a commit was made in a session or soon after, by either of its times."""
    times = change.authored, change.committed
    return any(target.started - SLACK <= time <= target.ended + SLACK for time in times)


def activity(change: Change, target: Target) -> float:
    """When a session was last active before a commit was written."""
    return min(target.ended, change.authored if change.authored >= target.started - SLACK else change.latest)


class Reverts:
    """What a commit says it takes back."""

    def __init__(self, change: Change) -> None:
        message = change.message
        is_likely = "evert" in message
        self.ids = REVERTS.findall(message) if is_likely else []
        self.pulls = {int(pull) for pull in REVERTS_PULL.findall(message) if len(pull) < 10} if is_likely else set()
        title = REVERTS_TITLE.match(message.partition("\n")[0]) if is_likely else None
        self.title = title[1] if title and not self.ids and not self.pulls else ""

    def __bool__(self) -> bool:
        return bool(self.ids or self.pulls or self.title)

    def names(self, id: str) -> bool:
        """Whether it takes back this commit; both ids may be shortened."""
        return bool(id) and any(id.startswith(said) or said.startswith(id) for said in self.ids)

    def hit(self, owner: Owner) -> Iterator[str]:
        """The commits of a session that it takes back."""
        for landing in owner.landings.values():
            if self.has(landing):
                yield landing.commit
        for commit in owner.target.commits:
            is_landed = any(landed.startswith(commit.lower()) for landed in owner.landings)
            if len(commit) >= SHORTEST_ID and not is_landed and self.names(commit.lower()):
                yield commit

    def has(self, landing: Landing) -> bool:
        if self.names(landing.commit) or self.names(landing.merge):
            return True
        if self.pulls:
            return pull_of(landing.subject) in self.pulls
        return bool(self.title) and self.title == landing.subject
