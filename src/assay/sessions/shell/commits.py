"""Commit ids from git's own report of a commit."""

import re

# `[main abc1234] message`, `[main (root-commit) abc1234] …`, `[detached HEAD abc1234] …`; the line after it is kept,
# because an id of digits alone could as well be the number in a log line.
_REPORT = re.compile(
    r"^\[(?:detached HEAD|[^\s\[\]~^:?*\\]+)(?: \(root-commit\))? ([0-9a-f]{7,40})\] \S[^\n]*(\n [^\n]*)?", re.MULTILINE
)
_MIXED = re.compile(r"(?=.*[0-9]).*[a-f]")
_FOLLOWS = re.compile(r"\n (?:\d+ files? changed|Author: |Date: |Committer: )")


def commit_ids(output: str) -> tuple[str, ...]:
    """Ids of the commits that git says it made, in order, each once."""
    if "] " not in output:
        return ()
    found = (m[1] for m in _REPORT.finditer(output) if _MIXED.match(m[1]) or _FOLLOWS.match(m[2] or ""))
    return tuple(dict.fromkeys(found))
