"""What reached git: commits with their ids, pushes, pull requests, and what was taken back."""

import re
from collections import Counter
from collections.abc import Sequence

from assay.sessions import speech
from assay.sessions.written_lines import UNDOING
from assay.types import Fact, Turn

VERSION = 2

TAKING_BACK = re.compile(
    r"\bgit (?:reset|revert|restore|checkout)\b|\b(?:reset|revert|restore|discard|roll ?back|undo)\b", re.IGNORECASE
)
"""The person names the command: it was the task, not a way back."""


class Git(Fact, frozen=True):
    commits: list[str]
    """Ids, in order; a commit whose id nobody printed is only in `commit_runs`."""
    commit_runs: int
    """Commit commands that did not fail."""
    pushes: int
    pull_requests: list[str]
    reverts: int
    """`git revert`, `git restore`, `git reset --hard` and the like that did not fail, and that nobody had asked for."""


def fact(turns: Sequence[Turn]) -> Git:
    did: Counter[str] = Counter()
    commits: dict[str, None] = {}
    for turn in turns:
        is_task = TAKING_BACK.search(speech.parse_own_words(turn.prompt).text) is not None
        for call in turn.calls:
            if call.status in ("rejected", "denied", "open"):
                continue
            for run in call.runs:
                if run.purpose and run.outcome != "failed" and not (is_task and run.purpose in UNDOING):
                    did[run.purpose] += 1
            commits.update(dict.fromkeys(call.commits))
    opened = dict.fromkeys(mark.detail for turn in turns for mark in turn.marks if mark.kind == "pr")
    return Git(
        commits=list(commits),
        commit_runs=did["commit"],
        pushes=did["push"],
        pull_requests=list(opened),
        reverts=did["revert"] + did["restore"] + did["reset"],
    )
