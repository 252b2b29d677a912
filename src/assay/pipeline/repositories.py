"""Which repository a session was worked in: one that is given, else the one its folder lies in."""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from assay.errors import BadInput
from assay.git import GitTimeout, find_repository
from assay.git.repo import Repo, open_repo
from assay.sessions.paths import find_checkout, find_checkouts, find_in_repository, make_relative

NOT_KNOWN = "its folder is not known"
NOT_HERE = "its folder is not on this machine: see --repo"
NO_REPOSITORY = "its folder is in no git repository"
EMPTY = "its repository has no commits"
MOST_SILENT = 3
"""Repositories in which git gave no answer before no other is asked."""
TOO_SILENT = "git gave no answer in several repositories; this one was not asked"


class RepositoryQuery(Struct, frozen=True, kw_only=True):
    """What is known of a session whose repository is looked for."""

    folder: str
    paths: tuple[str, ...]
    commits: tuple[str, ...]


class KnownRepository:
    """A repository, and what helps to find its files in transcripts."""

    def __init__(self, repo: Repo, name: str) -> None:
        self.repo = repo
        self.name = name
        """Its own folder, the same for all its work trees."""
        self.tops = {str(repo.root)}
        """Folders in which it is checked out, as far as they are known."""
        self.commits: dict[str, bool] = {}
        """Whether ids are those of its commits."""

    @cached_property
    def root(self) -> str:
        """Its first commit: the same in every clone."""
        return min(
            self.repo.ask("rev-list", "--max-parents=0", "--first-parent", str(self.repo.tip)).split(), default=""
        )

    @cached_property
    def last_commit_at(self) -> float:
        """When its last commit was made: what came later may not have been fetched."""
        return self.repo.find_commit_time(str(self.repo.tip))

    def find_moment(self, as_of: datetime) -> float:
        """Up to when lines are followed: the end of the day, so that what is found holds for all of it.

        As it was before the last commit, it is the very moment.
        """
        if as_of.timestamp() < self.last_commit_at:
            return as_of.timestamp()
        tomorrow = (as_of.astimezone(UTC) + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return tomorrow.timestamp() - 0.001

    @cached_property
    def files(self) -> frozenset[str]:
        """The files of the default branch."""
        done = self.repo.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", str(self.repo.tip))
        return frozenset(os.fsdecode(done.stdout).split("\0")) - {""}

    def look_up(self, ids: Iterable[str]) -> None:
        """Find out which of these are commits of this repository, all at once."""
        new = sorted({one for one in ids if one.isalnum()} - self.commits.keys())
        if not new:
            return
        asked = "".join(f"{one}\n" for one in new).encode("ascii", "ignore")
        answers = self.repo.run("cat-file", "--batch-check", given=asked).stdout.decode("ascii", "replace").splitlines()
        self.commits |= {one: " commit " in answer for one, answer in zip(new, answers, strict=False)}

    def measure_fit(self, asked: RepositoryQuery) -> tuple[int, int, int, int]:
        """How well a session fits in here: its commits, its folder, the folder's name, its files."""
        named = os.path.basename(self.name.removesuffix("/.git").removesuffix(".git"))
        return (
            sum(self.commits.get(one, False) for one in asked.commits),
            int(any(path == asked.folder or make_relative(asked.folder, path) is not None for path in self.tops)),
            int(bool(asked.folder) and os.path.basename(asked.folder) == named),
            sum(bool(find_checkout(path, self.files)) for path in asked.paths),
        )

    def find_paths(self, asked: RepositoryQuery) -> dict[str, str]:
        """The files of a session as this repository has them; those that lie elsewhere are left out."""
        first = sorted(self.tops)
        if asked.folder and not any(make_relative(f"{asked.folder}/x", top) for top in first):
            first = []
        found = find_checkouts(asked.paths, self.files, first) or [asked.folder]
        placed = ((path, find_in_repository(path, found, self.files)) for path in asked.paths)
        return {path: place for path, place in placed if place}


class Repositories:
    """Opens each repository once, and never breaks a run: what can't be opened is told as a reason."""

    def __init__(self, given: Sequence[str], silent: dict[str, str] | None = None) -> None:
        self.places: dict[str, KnownRepository] = {}
        self.by_folder: dict[str, KnownRepository | str] = {}
        self.given: list[KnownRepository] = []
        self.troubles: list[str] = []
        """Why a repository that was given can't be read."""
        self.silent: dict[str, str] = {} if silent is None else silent
        """Repositories in which git gave no answer."""
        for path in dict.fromkeys(given):
            found = self.open_at(os.path.realpath(os.path.expanduser(path)), is_named=True)
            if isinstance(found, str):
                self.troubles.append(f"{path}: {found}")
            elif found not in self.given:
                self.given.append(found)

    def __enter__(self) -> "Repositories":
        return self

    def __exit__(self, *_: object) -> None:
        for place in self.places.values():
            place.repo.close()

    def look_up_all(self, asked: Iterable[RepositoryQuery]) -> None:
        """Look up the commits and files of all sessions in the repositories that were given."""
        ids = {one for session in asked for one in session.commits} if self.given else set()
        for place in list(self.given):
            try:
                place.look_up(ids)
                len(place.files)
            except GitTimeout as error:
                self.given.remove(place)
                self.troubles.append(str(error))

    def find_repository(self, asked: RepositoryQuery) -> KnownRepository | str:
        """The repository of a session, or why there is none."""
        fits = [(place.measure_fit(asked), -n) for n, place in enumerate(self.given)]
        best, n = max(fits, default=((0, 0, 0, 0), 0))
        if any(best[:-1]):
            return self.given[-n]
        if asked.folder not in self.by_folder:
            self.by_folder[asked.folder] = self.find_around(asked.folder)
        found = self.by_folder[asked.folder]
        if isinstance(found, str) and best[-1]:  # files alone don't outweigh the folder it was worked in
            return self.given[-n]
        return "; ".join(self.troubles) if isinstance(found, str) and self.troubles else found

    def find_around(self, folder: str) -> KnownRepository | str:
        """The repository that a folder lies in."""
        if not folder:
            return NOT_KNOWN
        if not os.path.isabs(folder) or not os.path.isdir(folder):
            return NOT_HERE
        return self.open_at(os.path.realpath(folder))

    def open_at(self, folder: str, *, is_named: bool = False) -> KnownRepository | str:
        """The repository at a folder or around it; work trees of one share it."""
        try:
            home = find_repository(Path(folder), may_be_bare=is_named)
            if home is None:
                return NO_REPOSITORY
            if len(self.silent) >= MOST_SILENT or str(home.folder) in self.silent:
                return self.silent.get(str(home.folder), TOO_SILENT)
            return self.add_repository(Path(folder), is_named=is_named)
        except GitTimeout as error:
            return self.silent.setdefault(str(home.folder) if home else folder, str(error))
        except (BadInput, OSError) as error:
            return str(error)

    def add_repository(self, folder: Path, *, is_named: bool) -> KnownRepository | str:
        repo = open_repo(folder, may_be_bare=is_named)
        if repo is None:
            return NO_REPOSITORY
        name = repo.ask("rev-parse", "--path-format=absolute", "--git-common-dir") or str(repo.root)
        if name in self.places:
            self.places[name].tops.add(str(repo.root))
            repo.close()
        elif repo.tip:
            self.places[name] = KnownRepository(repo, name)
        else:
            repo.close()
            return EMPTY
        return self.places[name]
