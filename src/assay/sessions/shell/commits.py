"""Commit ids from git's own report of a commit."""

import re

# `[main abc1234] message`, `[main (root-commit) abc1234] …`, `[detached HEAD abc1234] …`
_REPORT = re.compile(
    r"^\[(?:detached HEAD|[^\s\[\]~^:?*\\]+)(?: \(root-commit\))? (?=[0-9a-f]*[0-9])([0-9a-f]{7,40})\] \S", re.MULTILINE
)


def commit_ids(output: str) -> tuple[str, ...]:
    """Ids of the commits that git says it made, in order, each once."""
    return tuple(dict.fromkeys(_REPORT.findall(output))) if "] " in output else ()
