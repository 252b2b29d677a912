"""Which project a folder is part of: one for all spellings, subfolders, work trees and clones of a repository.

Only names in reports go by it: opt-outs and `--project` hold by the folder itself. What is on this machine git is asked
about; of a folder that is not, its path tells, and whether a session was in a branch there.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from assay.errors import BadInput
from assay.git import READ, GitRunner, GitTimeout, find_repository
from assay.scores.breakdown import find_working_copy

PATIENCE_S = 5.0
LONGEST_FILE = 4096
MOST_SILENT = 3
"""Repositories in which git gave no answer before no other is asked."""
WINDOWS = re.compile(r"[A-Za-z]:(?:[\\/]|$)|\\\\")
MOUNTED = re.compile(r"/mnt/([a-z])(?=/|$)|/([a-z])(?=/users/)", re.IGNORECASE)
"""A drive as WSL (`/mnt/c`) and Git Bash (`/c/Users`) write it."""
MAC_HOME = "/users/"
HOMES = re.compile(r"(?:/(?:home|users)/[^/]*|/root|/tmp|/var/folders|/|[a-z]:(?:/users(?:/[^/]*)?)?/?)$")
"""Folders in which projects lie, and that are none themselves, whatever git says: some people keep settings in git."""


class FolderUse(Struct, frozen=True):
    """A folder in which sessions were worked: how many, and whether any of them was in a branch there."""

    sessions: int
    has_branch: bool


class Checkout(Struct, frozen=True, kw_only=True):
    """A repository on this machine, as far as it tells which one it is."""

    top: str
    home: str
    """Its git folder, the same for all its work trees."""
    remote: str = ""
    first_commit: str = ""


def tally_folders(used: Iterable[tuple[str, str]]) -> dict[str, FolderUse]:
    """How often folders were worked in, of a folder and a branch for each session."""
    some = list(used)
    counts, branched = Counter(folder for folder, _ in some), {folder for folder, branch in some if branch}
    return {folder: FolderUse(n, folder in branched) for folder, n in counts.items()}


def name_projects(used: Mapping[str, FolderUse]) -> dict[str, str]:
    """For each folder the one that stands for its project."""
    places = {folder: find_working_copy(folder) for folder in used}
    checkouts = find_checkouts(sorted(set(places.values())))
    groups = SameProjects()
    for folder, place in places.items():
        groups.join(f"folder {folder}", f"path {spell_folder(place)}")
    for place, checkout in checkouts.items():
        groups.join(f"path {spell_folder(place)}", f"path {spell_folder(checkout.top)}", *list_marks(checkout))
    join_clones(groups, [*checkouts.values()])
    join_copies(groups, places)
    known = {spell_folder(place) for place in checkouts}
    tops = {spell_folder(place) for folder, place in places.items() if used[folder].has_branch} - known
    for inner in {spell_folder(place) for place in places.values()} - known:
        if outer := find_outer(inner, tops):
            groups.join(f"path {inner}", f"path {outer}")
    return pick_names(used, places, checkouts, groups)


def pick_names(
    used: Mapping[str, FolderUse], places: Mapping[str, str], checkouts: Mapping[str, Checkout], groups: "SameProjects"
) -> dict[str, str]:
    """The name of each group: a repository's own folder before work trees, then the outermost and most used."""
    own = {one.top for one in checkouts.values() if os.path.dirname(one.home) == one.top}
    named: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for folder, place in places.items():
        checkout = checkouts.get(place)
        named[groups.find(f"folder {folder}")][checkout.top if checkout else place] += used[folder].sessions

    def rank_name(name: str, others: Counter[str]) -> tuple[bool, bool, int, int, str]:
        is_inner = any(is_inside(spell_folder(name), spell_folder(other)) for other in others)
        return name not in own, is_inner, -others[name], len(name), name

    best = {group: min(names, key=lambda one: rank_name(one, names)) for group, names in named.items()}
    return {folder: best[groups.find(f"folder {folder}")] for folder in used}


def join_copies(groups: "SameProjects", places: Mapping[str, str]) -> None:
    """Join the copies that an agent keeps in a folder of its own with the one project of that name in the same home."""
    for folder, place in places.items():
        if place != folder and "/" not in place:  # all that is left of such a copy is its name
            home = spell_folder(re.split(r"[\\/]\.", folder)[0])
            found = {
                spell_folder(one) for one in places.values() if os.path.basename(spell_folder(one)) == place.lower()
            }
            inside = [one for one in found if is_inside(one, home)]
            if len(inside) == 1:
                groups.join(f"path {spell_folder(place)}", f"path {inside[0]}")


class SameProjects:
    """Marks of projects, those of one project together."""

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}

    def find(self, mark: str) -> str:
        """The mark that stands for all that were joined with it."""
        self.parents.setdefault(mark, mark)
        while self.parents[mark] != mark:
            self.parents[mark] = mark = self.parents[self.parents[mark]]
        return mark

    def join(self, first: str, *others: str) -> None:
        """Note that all of these are one project."""
        for other in others:
            one, two = sorted((self.find(first), self.find(other)))
            self.parents[two] = one


def spell_folder(folder: str) -> str:
    """A folder's path in one spelling: drives in one way, and no capitals where the system makes no difference."""
    plain = folder.replace("\\", "/") if WINDOWS.match(folder) else folder
    if mounted := MOUNTED.match(plain):
        plain = f"{mounted[1] or mounted[2]}:{plain[mounted.end() :]}"
    if WINDOWS.match(folder) or mounted or plain.lower().startswith(MAC_HOME):
        plain = plain.lower()
    return plain.rstrip("/") or plain[:1]


def find_outer(inner: str, tops: Collection[str]) -> str | None:
    """The outermost folder around one in which sessions were in a branch, so that it is a part of that repository."""
    around = (inner[:at] for at, sign in enumerate(inner) if sign == "/")
    return next((one for one in around if one in tops and not HOMES.match(one.lower())), None)


def is_inside(inner: str, outer: str) -> bool:
    return inner.startswith(outer.rstrip("/") + "/")


# --- repositories on this machine -----------------------------------------------------------------


def find_checkouts(folders: Sequence[str]) -> dict[str, Checkout]:
    """The repositories that folders on this machine lie in."""
    find_top_around.cache_clear()  # by now there may be others
    homes: dict[str, tuple[str, str]] = {}
    for folder in folders:
        if top := find_top(folder):
            homes[folder] = top
    repositories = sorted(set(homes.values()))
    if len({home for _, home in repositories}) < 2:  # nothing to tell apart: git need not be asked
        return {folder: Checkout(top=top, home=home) for folder, (top, home) in homes.items()}
    found = ask_repositories(repositories)
    return {folder: found[home] for folder, home in homes.items()}


def find_top(folder: str) -> tuple[str, str] | None:
    """The folder of a repository and its git folder; of a folder that was removed, those of what it was in."""
    if not os.path.isabs(folder):
        return None
    there = folder
    while not os.path.isdir(there) and there != os.path.dirname(there):
        there = os.path.dirname(there)
    return find_top_around(there)


@cache
def find_top_around(there: str) -> tuple[str, str] | None:
    """The same of a folder that is here: many that were removed were in the same one."""
    try:
        found = find_repository(Path(there))
    except (BadInput, OSError):
        return None
    if found is None or HOMES.match(str(found.folder).lower()) or found.folder == Path.home():
        return None
    return str(found.folder), find_git_folder(found.folder)


def find_git_folder(top: Path) -> str:
    """The git folder of a checkout; a work tree has a file that names its own inside of the repository's."""
    return re.sub(r"/worktrees/[^/]+$", "", find_own_git_folder(top))


def find_own_git_folder(top: Path) -> str:
    """The git folder of a checkout alone: of a work tree, the one inside of the repository's."""
    file = top / ".git"
    try:
        with file.open("rb") as opened:
            said = os.fsdecode(opened.read(LONGEST_FILE))
    except OSError:  # a folder, as in most
        said = ""
    named = said.partition("gitdir:")[2].strip("\n ").replace("\0", "")
    return os.path.realpath(top / named) if named else str(file)


def ask_repositories(repositories: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Checkout]:
    """What git says of repositories: where they come from; where one does not say, how all of them began."""
    silent: list[str] = []
    remotes = {one: ask_git(one, silent, "config", "--get", "remote.origin.url") for one in repositories}
    firsts = {}
    if not all(remotes.values()):
        asked = ("rev-list", "--max-parents=0", "--first-parent", "HEAD")
        firsts = {one: min(ask_git(one, silent, *asked).split(), default="") for one in repositories}
    return {
        one: Checkout(top=one[0], home=one[1], remote=spell_remote(remotes[one]), first_commit=firsts.get(one, ""))
        for one in repositories
    }


def ask_git(one: tuple[str, str], silent: list[str], *words: str) -> str:
    """What git says in a repository; nothing where it fails, or where it was silent too often."""
    if len(silent) >= MOST_SILENT or one[0] in silent:
        return ""
    try:
        done = GitRunner(Path(one[0]), READ).run(*words, patience_s=PATIENCE_S)
    except GitTimeout:
        silent.append(one[0])
        return ""
    except (BadInput, OSError):
        return ""
    return "" if done.returncode else os.fsdecode(done.stdout).strip()


def spell_remote(url: str) -> str:
    """Where a repository comes from, in one spelling: no scheme, person, password, port or ending."""
    plain = url.strip().rstrip("/").removesuffix(".git")
    if "://" in plain:
        try:
            found = urlsplit(plain)
            host = found.hostname or ""
        except ValueError:
            return ""
        if found.scheme == "file":
            return os.path.realpath(unquote(found.path))
        return f"{host}{found.path}".lower()
    host, colon, path = plain.partition(":")
    if colon and "/" not in host and len(host) > 1:
        return f"{host.rpartition('@')[2]}/{path.lstrip('/')}".lower()
    return os.path.realpath(plain) if os.path.isabs(plain) else plain.lower()


def list_marks(checkout: Checkout) -> list[str]:
    """By what other checkouts of the same repository are known."""
    marks = [f"home {checkout.home}"]
    if os.path.isabs(checkout.remote):  # a clone of a folder on this machine
        return [
            *marks,
            *(f"home {one}" for one in (checkout.remote, f"{checkout.remote}/.git", f"{checkout.remote}.git")),
        ]
    return [*marks, f"remote {checkout.remote}"] if checkout.remote else marks


def join_clones(groups: SameProjects, checkouts: Sequence[Checkout]) -> None:
    """Join checkouts that don't say where they come from with those that began with the same commit.

    Forks, which do say, stay apart; what could be a clone of several of them stays alone.
    """
    by_first: dict[str, list[Checkout]] = {}
    for one in checkouts:
        if one.first_commit:
            by_first.setdefault(one.first_commit, []).append(one)
    for first, some in by_first.items():
        lost = [f"home {one.home}" for one in some if not one.remote]
        origins = {groups.find(f"home {one.home}") for one in some if one.remote}
        if lost:
            groups.join(f"first {first}", *lost, *(origins if len(origins) == 1 else ()))
