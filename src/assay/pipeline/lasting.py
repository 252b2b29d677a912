"""How long what was printed of a store is what would be printed again: what it depends on outside of the store.

Within the store, whoever changes a row drops it. Outside are the files as they were listed, the repositories around the
folders that sessions were run in, and time. A repository is described by paths to look at and by what was found there,
so that the door can look again without any of our rooms (`cli/asked_before.py`).
"""

import os
import time
from collections.abc import Iterable, Iterator
from datetime import tzinfo

from msgspec import Struct

from assay.config import Config
from assay.errors import BadInput
from assay.git.runner import REPOSITORY_FILES
from assay.listing import find_kind, find_state
from assay.pipeline.judge_stream import OFFLINE
from assay.pipeline.kept_report import VIEW, pick_roots
from assay.pipeline.neighbourhoods import forget_folders, list_git_paths, sign_folder
from assay.pipeline.scoring_run import ALL, ScoringRun
from assay.pipeline.spool import ENDED, find_spool
from assay.pipeline.telling import describe_view
from assay.plugins import list_entry_points
from assay.scores.breakdown import find_working_copy

MOST_PATHS = 20_000
"""To look at more takes longer than it saves."""


class Lasting(Struct, frozen=True, kw_only=True):
    """Until when something holds, and what must stay as it is until then."""

    since: float
    until: float
    kinds: dict[str, list[int] | None]
    """Of folders on the way to where sessions were run, and of what makes one a repository: what they are, if there."""
    states: dict[str, list[int] | None]
    """Of files that git changes with what a repository holds: inode, size and time."""


def find_lasting(run: ScoringRun, zone: tzinfo) -> Lasting | None:
    """What all that is told of a store depends on, where that is no more than can be looked at without us."""
    told = run.store.told
    if run.selection != ALL or run.client is not None or not is_plain(run.config) or list_entry_points():
        return None
    view, known, now = told.load_view(), told.list_neighbourhoods(), time.time()
    if not view or not known or told.has_changes() or run.find_waiting(set()):
        return None
    kept = VIEW(view)
    since, until = max(one.told_at for one in known), min(one.valid_until for one in known)
    if describe_view(run, pick_roots(run, kept), zone).key != kept.key or not since <= now <= until:
        return None
    folders = sorted({folder for one in known for folder, _, _ in one.folders})
    signs = [sign_folder(folder) for folder in folders]  # as they were looked at in this run
    kinds = {path: find_kind(path) for path in list_ways(folders)}
    try:
        states = {path: find_state(path) for folder in folders for path in list_git_paths(folder)}
    except (BadInput, OSError):  # one that is not to be looked into
        return None
    spool = find_spool(os.environ)
    states |= {str(path): find_state(str(path)) for path in (spool, spool / ENDED)}  # which conversations were left
    if len(kinds) + len(states) > MOST_PATHS or run.has_ended_since(since):
        return None
    forget_folders()
    if [sign_folder(folder) for folder in folders] != signs:  # somebody is at work there
        return None
    return Lasting(since=now, until=until, kinds=kinds, states=states)


def is_plain(config: Config) -> bool:
    """Whether nothing is said but what is kept, and time takes nothing of it away."""
    keeps = all(one.retention_days is None for one in config.tenants.values())
    return config.judge == OFFLINE and keeps and not config.as_of and not config.rework.repos


def list_ways(folders: Iterable[str]) -> Iterator[str]:
    """Paths that decide in which repository folders lie, wherever links lead: those to them, and signs of git there."""
    asked = {one for folder in folders for one in (folder, find_working_copy(folder)) if os.path.isabs(one)}
    ways: dict[str, None] = {}
    for folder in sorted(asked | {os.path.realpath(one) for one in asked}):
        while folder not in ways:
            ways[folder] = None
            folder = os.path.dirname(folder)
    for way in ways:
        yield way
        if os.path.isdir(way):
            inside = os.path.join(way, ".git")
            yield inside
            for place in (way, inside):
                yield from (os.path.join(place, name) for name in REPOSITORY_FILES)
