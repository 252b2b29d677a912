"""Which streams must be told together, and what of the outside world their telling depends on.

Sessions of one folder may be linked and take each other's lines away; so may those of folders in one repository, of a
plan that is carried from one to another, and whatever a person merged. All others are told apart. Once together,
streams stay so until everything is told anew: that costs time, never truth.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from assay.errors import BadInput
from assay.git import find_repository
from assay.listing import find_state
from assay.pipeline.judgement import hash_values
from assay.pipeline.projects import (
    FolderUse,
    SameProjects,
    find_git_folder,
    find_own_git_folder,
    find_top,
    find_top_around,
)
from assay.scores.breakdown import find_working_copy
from assay.stores import Neighbourhood, StreamName, StreamPlace

FILES = ("HEAD", "packed-refs", "shallow", "config", "config.worktree", "reftable/tables.list")
"""Files of a git folder that change when anything does that a report tells of."""
MOST_REFS = 20_000


class Neighbours(Struct, frozen=True, kw_only=True):
    """Streams that are to be told together, and where they were told before."""

    name: str
    nodes: tuple[str, ...]
    before: tuple[Neighbourhood, ...] = ()
    changed: tuple[StreamName, ...] = ()

    @property
    def is_as_before(self) -> bool:
        """Whether nothing joined, and no stream changed."""
        return not self.changed and len(self.before) == 1 and self.before[0].nodes == self.nodes


def list_nodes(place: StreamPlace) -> list[str]:
    """What a stream is near to: its folders; where none is known, only itself."""
    return [f"folder {folder}" if folder else f"stream {place.agent} {place.stream}" for folder, _, _ in place.folders]


def find_neighbours(
    before: Sequence[Neighbourhood],
    homes: Mapping[StreamName, str],
    places: Mapping[StreamName, StreamPlace],
    ties: Iterable[tuple[Sequence[str], Sequence[str]]],
    *,
    is_one: bool = False,
) -> list[Neighbours]:
    """Who is to be told together, given what was told before, and in which neighbourhoods streams that changed were.

    `ties` are nodes that belong together for a plan or a merge; `is_one` puts all together.
    """
    groups = SameProjects()
    by_name = {one.name: one for one in before}
    for one in before:
        groups.join(one.nodes[0], *one.nodes[1:])
    for name, place in places.items():
        nodes = [*list_nodes(place), *(by_name[homes[name]].nodes[:1] if name in homes else ())]
        if nodes:
            groups.join(nodes[0], *nodes[1:])
    for some, others in ties:
        if some and others:
            groups.join(some[0], *some[1:], *others)
    nodes = sorted(
        {node for one in before for node in one.nodes} | {n for one in places.values() for n in list_nodes(one)}
    )
    for some in [nodes] if is_one and nodes else list_repositories(nodes):
        groups.join(some[0], *some[1:])
    return gather_neighbours(groups, nodes, before, homes, places)


def gather_neighbours(
    groups: SameProjects,
    nodes: Sequence[str],
    before: Sequence[Neighbourhood],
    homes: Mapping[StreamName, str],
    places: Mapping[StreamName, StreamPlace],
) -> list[Neighbours]:
    """The neighbourhoods that were found, each under its first node."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        found.setdefault(groups.find(node), []).append(node)
    old: dict[str, list[Neighbourhood]] = {}
    for one in before:
        old.setdefault(groups.find(one.nodes[0]), []).append(one)
    roots = {one.name: groups.find(one.nodes[0]) for one in before}
    changed: dict[str, list[StreamName]] = {}
    for name, place in places.items():
        near = list_nodes(place)
        if near or name in homes:
            changed.setdefault(groups.find(near[0]) if near else roots[homes[name]], []).append(name)
    return [
        Neighbours(
            name=some[0],
            nodes=tuple(some),
            before=tuple(old.get(root, ())),
            changed=tuple(sorted(changed.get(root, ()))),
        )
        for root, some in sorted(found.items(), key=lambda pair: pair[1][0])
    ]


def list_repositories(nodes: Iterable[str]) -> list[list[str]]:
    """Folders that lie in one repository."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        kind, _, folder = node.partition(" ")
        if kind == "folder" and (home := find_home(folder)):
            found.setdefault(home, []).append(node)
    return [some for some in found.values() if len(some) > 1]


def add_folders(some: Iterable[Iterable[tuple[str, int, bool]]]) -> dict[str, FolderUse]:
    """How often folders were worked in, of what is known of parts."""
    found: dict[str, FolderUse] = {}
    for folders in some:
        for folder, n, has_branch in folders:
            known = found.get(folder, FolderUse(0, has_branch=False))
            found[folder] = FolderUse(known.sessions + n, has_branch=known.has_branch or has_branch)
    return found


# --- what a repository is like now, without asking git --------------------------------------------


@cache
def find_home(folder: str) -> str:
    """The git folder of the repository that a folder lies in; empty where there is none."""
    if not os.path.isabs(folder) or not os.path.isdir(folder):
        return ""
    try:
        found = find_repository(Path(os.path.realpath(folder)))
    except (BadInput, OSError):
        return ""
    return os.path.realpath(find_git_folder(found.folder)) if found else ""


@cache
def sign_folder(folder: str) -> str:
    """A hash that changes when the repository around a folder does, or another one stands in its place."""
    is_here = os.path.isabs(folder) and os.path.isdir(folder)
    top = find_top(find_working_copy(folder))
    signs: list[object] = [is_here, top]
    if is_here:
        signs.append(find_home(folder))
    try:
        tops = find_tops(folder) if is_here or top else []
        return hash_values(*signs, [sign_checkout(one) for one in tops])
    except (BadInput, OSError) as error:
        return hash_values(*signs, str(error))


def find_tops(folder: str) -> list[str]:
    """The checkouts that a folder lies in, and that it was a working copy of."""
    is_here = os.path.isabs(folder) and os.path.isdir(folder)
    around = find_repository(Path(os.path.realpath(folder))) if is_here else None
    top = find_top(find_working_copy(folder))
    return list(dict.fromkeys([*([str(around.folder)] if around else []), *([top[0]] if top else [])]))


@cache
def sign_checkout(top: str) -> str:
    """A hash of the state of a checkout's git folders: of their settings and of every branch."""
    own, home = find_own_git_folder(Path(top)), find_git_folder(Path(top))
    return hash_values([sign_git_folder(one) for one in dict.fromkeys((own, home))])


def sign_git_folder(folder: str) -> list[tuple[str | int, ...]]:
    """Of the files that say what a repository is like, inode, size and time; nothing is opened."""
    _, files = list_git_files(folder)
    return [(path, *state) for path in files if (state := find_state(path))]


def list_git_files(folder: str) -> tuple[list[str], list[str]]:
    """Folders in which a git folder has its branches, and all files that say what a repository is like."""
    places, paths = [], [os.path.join(folder, name) for name in FILES]
    for place, folders, files in os.walk(os.path.join(folder, "refs")):
        folders.sort()
        places.append(place)
        paths += [os.path.join(place, name) for name in sorted(files)]
        if len(paths) > MOST_REFS:
            break
    return places, paths


def list_git_paths(folder: str) -> list[str]:
    """All that must be as it was for `sign_folder` to say of a folder's repository what it said before."""
    tops = find_tops(folder)
    homes = dict.fromkeys(find(Path(top)) for top in tops for find in (find_own_git_folder, find_git_folder))
    inside = [path for home in homes for some in list_git_files(home) for path in some]
    named = [path for top in tops if os.path.isfile(path := os.path.join(top, ".git"))]
    return [*named, *inside]


def forget_folders() -> None:
    """Look at folders anew: for whatever runs for long, or in tests."""
    for one in (find_home, find_top_around, sign_folder, sign_checkout):
        one.cache_clear()
