"""What reached git: commits with their ids, pushes, pull requests, and what was taken back."""

from collections import Counter
from collections.abc import Sequence

from assay.sessions.calls import list_calls
from assay.types import Fact, Turn

VERSION = 1


class Git(Fact, frozen=True):
    commits: list[str]
    """Ids, in order; a commit whose id nobody printed is only in `commit_runs`."""
    commit_runs: int
    """Commit commands that did not fail."""
    pushes: int
    pull_requests: list[str]
    reverts: int
    """`git revert`, `git restore`, `git reset --hard` and the like that did not fail."""


def fact(turns: Sequence[Turn]) -> Git:
    did: Counter[str] = Counter()
    commits: dict[str, None] = {}
    for call in list_calls(turns):
        if call.status in ("rejected", "denied", "open"):
            continue
        for run in call.runs:
            if run.purpose and run.outcome != "failed":
                did[run.purpose] += 1
        if call.commits:
            commits.update(dict.fromkeys(call.commits))
    opened = dict.fromkeys(mark.detail for turn in turns for mark in turn.marks if mark.kind == "pr")
    return Git(
        commits=list(commits),
        commit_runs=did["commit"],
        pushes=did["push"],
        pull_requests=list(opened),
        reverts=did["revert"] + did["restore"] + did["reset"],
    )
