"""A git repository, read through git itself: what reached its default branch, in which order, and how files looked.

Nothing of the repository runs (`assay.git`), and nothing of what a partial clone lacks is fetched. An object that is
missing costs the commit that needs it, and `notes` says so.
"""

import os
import tempfile
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from assay.errors import BadInput
from assay.git.history import FORMAT, Arrivals, PatchReader, order_arrivals, straighten_times
from assay.git.runner import READ, GitProcess, GitResult, GitRunner, find_repository
from assay.sessions.kinds_of_files import is_code_name
from assay.sessions.rework.history import CodeChange

MOST_BROKEN = 100
"""Commits that can't be read before the rest is given up."""
OPENING_S = 20.0
"""To tell whether there is a repository at all."""
DIFF_COMMAND = (
    "diff-tree --stdin --always -r --root -p -U0 -w -M --histogram --no-color --full-index "
    "--no-relative --src-prefix=a/ --dst-prefix=b/ --submodule=short"
).split()
NEVER_CODE = (
    "*.lock *.sum *-lock.json *-lock.yaml *.md *.rst *.txt *.json *.svg *.csv *.ipynb *.map *.min.js *.min.css *.snap "
    "*.po *.xml node_modules/* */node_modules/* vendor/* */vendor/* third_party/* */third_party/*"
).split()
"""Paths that git need not even compare: what changes most is seldom code."""

RELATED_ENDINGS = tuple(
    frozenset(endings.split())
    for endings in (
        "js jsx mjs cjs ts tsx mts cts vue svelte astro",
        "c h cc cpp cxx hh hpp hxx inl m mm",
        "py pyi pyx pxd",
        "java kt kts scala groovy",
        "css scss sass less",
        "sh bash zsh fish ksh",
    )
)
"""Endings between which files are renamed and code is moved."""


class Repo:
    """One repository, read through git."""

    def __init__(self, git: GitRunner, root: Path, *, is_bare: bool, is_shallow: bool) -> None:
        self.git = git
        self.root = root
        """The folder its paths are counted from; the repository itself where it is bare."""
        self.is_bare = is_bare
        self.is_shallow = is_shallow
        self.notes: dict[str, int] = {}
        """What could not be read, in words, and how often."""
        self.default_branch, self.tip = self.find_default_branch()
        self.blobs = BlobReader(lambda: self.git.start("cat-file", "--batch"))

    # --- where it stands ------------------------------------------------------------------------

    def find_default_branch(self) -> tuple[str | None, str | None]:
        """The name of the default branch and its last commit; two `None` for a repository without commits.

        What the remote calls HEAD, else main, else master, else what is checked out. Of a branch and its copy of the
        remote's, the one with the later commit.
        """
        said = self.ask("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD").removeprefix("refs/remotes/origin/")
        current = self.ask("symbolic-ref", "--quiet", "HEAD").removeprefix("refs/heads/")
        first = [current] if self.is_bare else [said]
        for name in dict.fromkeys(filter(None, [*first, said, "main", "master"])):
            refs = self.ask(
                "for-each-ref", "--sort=-committerdate", "--format=%(objectname) %(objecttype)",
                f"refs/heads/{name}", f"refs/remotes/origin/{name}",
            ).splitlines()  # fmt: skip
            if tips := [ref.split()[0] for ref in refs if ref.endswith(" commit")]:
                return name, tips[0]
        tip = self.ask("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        return (current or "HEAD", tip) if tip else (None, None)

    @cached_property
    def chain(self) -> tuple[list[str], list[float]]:
        """The commits of the default branch itself, first to last, and when each was its last."""
        if not self.tip:
            return [], []
        rows = [line.split() for line in self.list_revisions("--first-parent", "--timestamp", self.tip)]
        rows.reverse()
        return [row[1] for row in rows], straighten_times([float(row[0]) for row in rows])

    def find_commit_at(self, when: float) -> str | None:
        """The last commit of the default branch at a time; `None` before its history begins."""
        ids, times = self.chain
        place = bisect_right(times, when)
        return ids[place - 1] if place else None

    def read_file(self, commit: str, path: str) -> bytes | None:
        """The bytes of a file in a commit; `None` if it isn't there, can't be read, or is too large."""
        return self.blobs.read(f"{commit}:{path}")

    # --- what happened --------------------------------------------------------------------------

    def read_changes(self, since: float, until: float, paths: Sequence[str] = ()) -> Iterator[CodeChange]:
        """What each commit did to code, in the order in which they reached the default branch, ancestors first.

        Commits made before `since` or arrived after `until` are left out, and merges, which belong to nobody. Given
        `paths`, only files of their kinds are compared: with these alone, no move and no rename would be seen.
        """
        kinds = build_pathspecs(paths)
        found = self.list_arrivals(since)
        wanted = deque(one for one in found.order if found.find_arrival(one).arrived <= until)
        broken = 0
        while wanted and broken < MOST_BROKEN:
            before = len(wanted)
            for change in self.read_patches(wanted, kinds):
                place = found.find_arrival(change.id)
                change.arrived, change.merge = place.arrived, place.merge
                yield change
            if len(wanted) == before:
                broken += 1
                yield from self.read_commit(wanted.popleft(), kinds, found)
        if wanted:
            self.note_problem("commits were left out: too much of the repository is missing", len(wanted))

    def list_arrivals(self, since: float) -> Arrivals:
        """The commits made since a time, in order of arrival."""
        if not self.tip:
            return order_arrivals([], self.chain, set())
        rows = self.list_revisions(
            "--topo-order", "--parents", "--timestamp", f"--max-age={max(0, int(since))}", self.tip
        )
        return order_arrivals(rows, self.chain, self.edge)

    @cached_property
    def edge(self) -> set[str]:
        """Commits where a shallow clone begins: all that came before looks as if they had added it."""
        if not self.is_shallow:
            return set()
        file = Path(self.ask("rev-parse", "--path-format=absolute", "--git-path", "shallow"))
        try:
            return set(file.read_text("ascii").split()) if file.is_file() else set()
        except (OSError, UnicodeDecodeError):
            return set()

    def read_patches(self, wanted: deque[str], kinds: Sequence[str]) -> Iterator[CodeChange]:
        """The changes of the queued commits, each taken off the queue; commits that touch no such path give none."""
        with tempfile.TemporaryFile() as ids, tempfile.TemporaryFile() as said:
            ids.write("".join(f"{one}\n" for one in wanted).encode("ascii"))
            ids.seek(0)
            never = [f":(exclude,top,icase){name}" for name in NEVER_CODE]
            words = [*DIFF_COMMAND, f"--format={FORMAT}", "--", *kinds, *never]
            with self.git.start(*words, stdin=ids, stderr=said) as stream:
                patches = PatchReader(stream.out, may_be_code)
                for change in patches:
                    drop_until(wanted, change.id)
                    yield change
                code = stream.wait_for_exit()
            if patches.lines_cut:
                self.note_problem("lines of huge commits were left out", patches.lines_cut)
            if code == 0:
                wanted.clear()
                if patches.last:
                    yield patches.last
                return
            said.seek(0)
            self.note_problem(describe_git_error(said.read()))

    def read_commit(self, id: str, kinds: Sequence[str], found: Arrivals) -> Iterator[CodeChange]:
        """The change of one commit, read alone because it or the next one can't be read."""
        for change in self.read_patches(deque([id]), kinds):
            place = found.find_arrival(id)
            change.arrived, change.merge = place.arrived, place.merge
            yield change

    # --- asking git -----------------------------------------------------------------------------

    def list_revisions(self, *words: str) -> list[str]:
        """The lines of `git rev-list`; those up to a missing commit where one is missing."""
        done = self.run("rev-list", *words)
        if done.returncode:
            self.note_problem(describe_git_error(done.stderr))
            done = self.run("rev-list", *(word for word in words if word != "--topo-order"))
        return done.stdout.decode("ascii", "replace").splitlines()

    def ask(self, *words: str) -> str:
        """The output of a git command, stripped; empty where the command fails."""
        return self.git.ask(*words)

    def run(self, *words: str, given: bytes = b"") -> GitResult:
        return self.git.run(*words, given=given)

    def find_commit_time(self, commit: str) -> float:
        """When a commit was made; 0 where that is not known."""
        said = self.ask("rev-list", "-1", "--timestamp", "--end-of-options", commit).partition(" ")[0]
        return float(said) if said.isdecimal() else 0.0

    def note_problem(self, said: str, times: int = 1) -> None:
        self.notes[said] = self.notes.get(said, 0) + times

    def close(self) -> None:
        self.blobs.close()

    def __enter__(self) -> "Repo":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_repo(path: Path, *, may_be_bare: bool = False) -> Repo | None:
    """The repository that a folder is in; `None` for none, `BadInput` for one that git will not read.

    One that is bare is only opened where the person named that very folder.
    """
    home = find_repository(path, may_be_bare=may_be_bare) if path.is_dir() else None
    if home is None:
        return None
    git = GitRunner(home.folder, READ, is_bare=home.is_bare)
    asked = ("--is-bare-repository", "--is-shallow-repository", "--absolute-git-dir")
    done = git.run("rev-parse", *asked, patience_s=OPENING_S)
    if done.returncode:
        if b"dubious ownership" in done.stderr or b"safe.directory" in done.stderr:
            raise BadInput(
                f"{path}: git does not read a repository that belongs to somebody else; if you trust it, "
                f"run `git config --global --add safe.directory {path}`"
            )
        if b"not a git repository" in done.stderr:
            return None
        raise BadInput(
            f"{path}: git can't read this repository ({describe_git_error(done.stderr)}); see `git -C {path} status`"
        )
    is_bare, is_shallow, folder = os.fsdecode(done.stdout).removesuffix("\n").split("\n", 2)
    top = git.run("rev-parse", "--show-toplevel", patience_s=OPENING_S)
    root = Path(folder) if top.returncode else Path(os.fsdecode(top.stdout).removesuffix("\n"))
    if not top.returncode and Path(os.path.realpath(root)) != home.folder:
        raise BadInput(f"{home.folder}: its core.worktree lies elsewhere, at {root}; name that folder with --repo")
    return Repo(git, root, is_bare=is_bare == "true", is_shallow=is_shallow == "true")


def build_pathspecs(paths: Sequence[str]) -> list[str]:
    """Pathspecs of files with the endings of these paths and related ones; of all files if a path has no ending."""
    endings = {path.rpartition("/")[2].rpartition(".")[2].lower() for path in paths if "." in path.rpartition("/")[2]}
    if not paths or any("." not in path.rpartition("/")[2] for path in paths):
        return [":(top)"]
    endings |= {ending for kin in RELATED_ENDINGS if kin & endings for ending in kin}
    return [f":(top,icase)*.{ending}" for ending in sorted(endings) if ending.isalnum()] or [":(top)"]


def describe_git_error(said: bytes) -> str:
    """The last line of what git wrote to stderr."""
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return f"git said: {lines[-1][:200]}" if lines else "git ended without a word"


def may_be_code(path: str) -> bool:
    """Whether a file may hold code, as far as its name tells."""
    return is_code_name(path) is not False


def drop_until(wanted: deque[str], id: str) -> None:
    """Take a commit and all before it off the queue."""
    while wanted and wanted.popleft() != id:
        pass


# --- files as they were ------------------------------------------------------------------------

LARGEST_FILE = 8 << 20
PORTION = 1 << 20
LONGEST_NAME = 8 << 10
"""Bytes; what a pipe takes at once, so nobody waits for a git that does not read."""


class BlobReader:
    """Files as they were in a commit, through one `git cat-file --batch` that is started when first needed."""

    def __init__(self, start: Callable[[], GitProcess]) -> None:
        self.start = start
        self.stream: GitProcess | None = None

    def read(self, name: str) -> bytes | None:
        """The bytes of a blob; `None` if it can't be read or is too large."""
        asked = name.encode("utf-8", "surrogateescape")
        if b"\n" in asked or len(asked) > LONGEST_NAME:
            return None
        self.stream = self.stream or self.start()
        answers = self.stream.out
        try:
            self.stream.write(asked + b"\n")
            head = answers.readline().split()
        except OSError:
            head = []
        if not head:  # it died of a broken object
            self.close()
            return None
        if head[-1] in (b"missing", b"ambiguous") or not head[-1].isdigit():
            return None
        size = int(head[-1])
        if size > LARGEST_FILE or head[-2] != b"blob":
            self.skip_answer(size + 1)
            return None
        found = answers.read(size + 1)
        if len(found) <= size:
            self.close()
            return None
        return found[:-1]

    def skip_answer(self, size: int) -> None:
        """Read past an answer that is not wanted."""
        while size > 0 and self.stream:
            got = len(self.stream.out.read(min(size, PORTION)))
            size = size - got if got else 0

    def close(self) -> None:
        """End the git process."""
        stream, self.stream = self.stream, None
        if stream:
            stream.close()
