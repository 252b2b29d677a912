"""Git repositories: the only room that runs git.

- `runner` starts git on an errand, with as few rights as that errand needs;
- `repo` opens a repository: its default branch, its files in a commit, its changes;
- `history` reads the patches that git writes, and in which order commits reached the default branch.

Takes folders, addresses and ids of commits; gives bytes, commits and `sessions.rework` changes.
Imports errors and sessions.
"""

from assay.git.runner import (
    COPY,
    LAND,
    QUIET_VARIABLES,
    READ,
    TRANSPORTS,
    GitResult,
    GitRunner,
    GitTimeout,
    find_repository,
    find_transport,
)

__all__ = [
    "COPY",
    "LAND",
    "QUIET_VARIABLES",
    "READ",
    "TRANSPORTS",
    "GitResult",
    "GitRunner",
    "GitTimeout",
    "find_repository",
    "find_transport",
]
