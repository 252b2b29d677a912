"""The score by project, branch, model, agent, intent, language or tenant."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Literal, get_args

from assay.scores.prism import Score, score
from assay.types import Row, Session

By = Literal["project", "branch", "model", "agent", "intent", "language", "tenant"]
WAYS: tuple[By, ...] = get_args(By)
NOTHING = "(none)"
INSIDE = re.compile(r"/\.(?:worktrees|claude/worktrees)/.*$")
ELSEWHERE = re.compile(r"^.*/\.(?:codex|cursor|conductor)/worktrees/[^/]+/(?=[^/]+$)")
"""Where agents put copies of a repository for one task each: in it, or in their own folder under its name."""


def repository(project: str) -> str:
    """The project of which a folder is a working copy, else the folder."""
    return ELSEWHERE.sub("", INSIDE.sub("", project))


NAMES: dict[By, Callable[[Session], str | None]] = {
    "project": lambda one: repository(one.project),
    "branch": lambda one: one.branch,
    # What several models did together is nobody's alone.
    "model": lambda one: ", ".join(sorted(set(one.models))),
    "agent": lambda one: one.agent,
    "intent": lambda one: one.intent,
    "language": lambda one: one.language,
    "tenant": lambda one: one.tenant,
}


class Slice(Row, frozen=True):
    """The score of the sessions that share a name."""

    name: str
    score: Score


def slices(sessions: Iterable[Session], by: By) -> list[Slice]:
    """One slice per name, those with the most counted sessions first."""
    groups: defaultdict[str, list[Session]] = defaultdict(list)
    for one in sessions:
        groups[NAMES[by](one) or NOTHING].append(one)
    found = [Slice(name=name, score=score(group)) for name, group in groups.items()]
    return sorted(found, key=lambda one: (-one.score.counted, one.name))
