"""Where in its repository a session began, and what a later commit says of how its work should have ended."""

import os
import re
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from assay.errors import BadInput
from assay.git.repo import Repo
from assay.types import Session

TEST = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__)/|(?:^|/)test_[^/]*$|[._-](?:tests?|specs?)\.[a-z]+$|Tests?\.[a-z]+$"
)
SAFE_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@+-]*")
MOST_TESTS, MOST_BYTES = 40, 1 << 20
PLAIN = ("100644", "100755")


class Beginning(Struct, frozen=True, kw_only=True):
    """The commit that a session found."""

    commit: str
    why: str
    """How it is known, in words."""
    repo: str
    """Where anybody gets it: the remote where it is there, else the folder of this machine."""


class TestFile(Struct, frozen=True, kw_only=True):
    """A test as a later commit left it."""

    __test__ = False
    path: str
    content: bytes


class Fix(Struct, frozen=True, kw_only=True):
    """A later commit that put things right, and the tests that it touched."""

    commit: str
    tests: tuple[TestFile, ...]


def beginning(repo: Repo, session: Session, commits: Sequence[str]) -> Beginning:
    """The commit before a session's first change: by its own commits, else by its branch, else by the time alone."""
    found = by_commits(repo, session, commits) or by_branch(repo, session) or by_time(repo, session)
    if found is None:
        raise BadInput(f"{session.id}: {repo.root} has no commit from before {session.started_at}")
    commit, why = found
    return Beginning(commit=commit, why=why, repo=source_of(repo, commit))


def by_commits(repo: Repo, session: Session, commits: Sequence[str]) -> tuple[str, str] | None:
    """The parent of the session's first commit that is here, if the session had begun by then."""
    for one in commits:
        own = commit_of(repo, one)
        parent = commit_of(repo, f"{own}^") if own else ""
        if parent and repo.find_commit_time(own) >= seconds(session) - 1:
            return parent, f"the parent of the session's first commit, {own[:12]}"
    return None


def by_branch(repo: Repo, session: Session) -> tuple[str, str] | None:
    """The last commit of the session's branch when it began."""
    if not SAFE_REF.fullmatch(session.branch):
        return None
    for ref in (f"refs/heads/{session.branch}", f"refs/remotes/origin/{session.branch}"):
        if commit_of(repo, ref):
            said = repo.ask("rev-list", "-1", "--first-parent", f"--before={int(seconds(session))}", ref)
            if said:
                return said, f"the last commit of {session.branch} when the session began"
    return None


def by_time(repo: Repo, session: Session) -> tuple[str, str] | None:
    found = repo.find_commit_at(seconds(session))
    return (found, f"the last commit of {repo.default_branch} when the session began") if found else None


def fixed(repo: Repo, wanted: str, start: Beginning) -> Fix | None:
    """A commit that came after the beginning, with the tests it touched; `None` where there is no such commit."""
    fix = commit_of(repo, wanted)
    if not fix or fix == start.commit or repo.run("merge-base", "--is-ancestor", start.commit, fix).returncode:
        return None
    words = ("diff-tree", "-r", "-z", "--no-renames", "--diff-filter=AM")
    rows = os.fsdecode(repo.run(*words, f"{fix}^1", fix).stdout).split("\0")
    touched = [path for row, path in zip(rows[::2], rows[1::2], strict=False) if row.split()[1] in PLAIN]
    tests = [path for path in touched if TEST.search(path) and is_harmless(path)][:MOST_TESTS]
    read = [(path, repo.read_file(fix, path)) for path in tests]
    return Fix(
        commit=fix,
        tests=tuple(
            TestFile(path=path, content=text) for path, text in read if text is not None and len(text) <= MOST_BYTES
        ),
    )


def is_harmless(path: str) -> bool:
    """Whether a path of a repository can be written below a folder and named in a file."""
    return path.isprintable() and not any(part in ("", ".", "..") or part.lower() == ".git" for part in path.split("/"))


def source_of(repo: Repo, commit: str) -> str:
    """The remote, without anybody's password, if the commit is there; else the repository itself."""
    url = repo.ask("config", "--get", "remote.origin.url")
    if not url or not repo.ask("for-each-ref", "--count=1", f"--contains={commit}", "refs/remotes/origin"):
        return str(repo.root)
    parts = urlsplit(url)
    if parts.scheme in ("http", "https"):
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    return url


def commit_of(repo: Repo, name: str) -> str:
    if not SAFE_REF.fullmatch(name.rstrip("^")):
        return ""
    return repo.ask("rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")


def seconds(session: Session) -> float:
    """When a session began."""
    try:
        return datetime.fromisoformat(session.started_at).timestamp()
    except ValueError:
        raise BadInput(f"{session.id}: its transcript tells no time") from None
