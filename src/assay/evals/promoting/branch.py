"""A branch of somebody's repository, made beside it: nothing of their checkout, index or refs is touched.

The commit is put together in a bare repository of our own, from objects; no file is checked out and no hook runs. It
is pushed with the settings of the person's repository that say how to get in.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from assay.errors import BadInput
from assay.evals.promoting.files import PromotedFile
from assay.evals.promoting.verify import PromotionRefused
from assay.git import LAND, TRANSPORTS, GitRunner, find_repository, find_transport
from assay.types.value import Row, to_time

ENTRANCE = ("http.", "credential.", "url.", "core.sshcommand", "user.", "author.", "committer.", "ssh.")
"""Settings of a repository that matter to getting in and signing as somebody."""
FILE, PROGRAM = "100644", "100755"
OURS = {"user.name": "assay", "user.email": "assay@localhost"}


class BranchChange(Row, frozen=True):
    """What a promotion does to one file."""

    path: str
    kind: str
    """`added`, `changed` or `removed`."""


class PromotionRemote:
    """The remote of a repository, and a place of our own to prepare a commit for it."""

    def __init__(self, repository: Path, scratch: Path, *, may_be_bare: bool = True) -> None:
        own = scratch / "own.git"
        self.person, self.own = repository, GitRunner(own, LAND, is_bare=True)
        self.settings: dict[str, str] = {}
        self.url = self.find_url(may_be_bare)
        self.ways = tuple(dict.fromkeys((*TRANSPORTS, find_transport(self.url))))
        own.mkdir(mode=0o700)
        self.ask_git("init", "-q", "--bare", "-b", "assay-nothing")
        self.own.settings = self.settings
        self.base, self.base_tip = self.find_default_branch()

    # --- where it goes --------------------------------------------------------------------------

    def find_url(self, may_be_bare: bool) -> str:
        """Where the person's repository pushes to; a bare one without a remote is meant itself."""
        home = find_repository(self.person, may_be_bare=may_be_bare) if self.person.is_dir() else None
        git = GitRunner(home.folder, LAND, is_bare=home.is_bare) if home else None
        if git is None or git.run("rev-parse", "--git-dir").returncode:
            raise BadInput(f"{self.person}: no git repository; name one with --repo")
        self.settings = list_entrance_settings(git)
        found = git.run("remote", "get-url", "--push", "origin")
        if not found.returncode:
            url = found.stdout.decode().strip()
            return str((git.folder / url).resolve()) if (git.folder / url).is_dir() else url
        if git.ask("rev-parse", "--is-bare-repository") == "true":
            return str(self.person.resolve())
        raise BadInput(f"{self.person}: has no remote called origin to push a branch to")

    def find_default_branch(self) -> tuple[str, str]:
        """The remote's default branch and its last commit."""
        told = self.ask_git("ls-remote", "--symref", "--", self.url, "HEAD").splitlines()
        names = [line.split()[1].removeprefix("refs/heads/") for line in told if line.startswith("ref: refs/heads/")]
        tips = [line.split()[0] for line in told if line.endswith("\tHEAD") and not line.startswith("ref:")]
        if not names or not tips:
            raise BadInput("the remote has no default branch with a commit; push one first")
        return names[0], tips[0]

    def find_tip(self, branch: str) -> str:
        """The last commit of a branch of the remote; empty where there is no such branch."""
        told = self.ask_git("ls-remote", "--", self.url, f"refs/heads/{branch}").splitlines()
        return next((line.split()[0] for line in told if line.endswith(f"\trefs/heads/{branch}")), "")

    def fetch_branch(self, branch: str) -> str:
        """Get a branch of the remote, and return its last commit."""
        self.ask_git("fetch", "-q", "--no-tags", "--depth=1", "--", self.url, f"refs/heads/{branch}")
        return self.ask_git("rev-parse", "--verify", "FETCH_HEAD^{commit}")

    # --- what goes there ------------------------------------------------------------------------

    def prepare_tree(self, files: Sequence[PromotedFile], onto: str) -> tuple[str, list[BranchChange]]:
        """The tree of a commit with these files laid over it, and what that changes."""
        self.ask_git("read-tree", onto)
        changes = [change for item in files if (change := self.lay_file(item, onto))]
        return self.ask_git("write-tree"), changes

    def lay_file(self, item: PromotedFile, onto: str) -> BranchChange | None:
        mode, blob = self.find_entry(onto, item.path)
        if mode not in ("", FILE, PROGRAM):
            raise PromotionRefused(f"{item.path}: no plain file in the repository")
        if item.content is None:
            return self.remove_file(item, blob)
        wanted = PROGRAM if item.is_program else FILE
        new = self.ask_git("hash-object", "-w", "--no-filters", "--stdin", given=item.content)
        if (mode, blob) == (wanted, new):
            return None
        self.ask_git("update-index", "--add", "--cacheinfo", f"{wanted},{new},{item.path}")
        return BranchChange(path=item.path, kind="changed" if blob else "added")

    def remove_file(self, item: PromotedFile, blob: str) -> BranchChange | None:
        """Take out what the baseline had and the candidate does without; what is another file by now stays."""
        if not blob:
            return None
        old = self.own.run("cat-file", "blob", blob).stdout
        if not item.was.endswith(f":{sha256(old).hexdigest()}"):
            raise PromotionRefused(
                f"{item.path}: the candidate does without it, but it is not the baseline's file any more"
            )
        self.ask_git("update-index", "-z", "--index-info", given=f"0 {blob}\t{item.path}\0".encode())
        return BranchChange(path=item.path, kind="removed")

    def find_entry(self, commit: str, path: str) -> tuple[str, str]:
        """Mode and id of what lies at a path of a commit; a link or file on the way to it counts as one there."""
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            told = self.ask_git("ls-tree", "-z", "--full-tree", commit, "--", "/".join(parts[:depth]))
            if not told:
                return "", ""
            mode, kind, blob = told.partition("\t")[0].split()
            if depth == len(parts) or kind != "tree":
                return (mode, blob) if depth == len(parts) else ("in the way", "")
        return "", ""

    def read_message(self, commit: str) -> str:
        """What a commit says of itself, behind its head."""
        return self.ask_git("cat-file", "commit", commit).partition("\n\n")[2]

    def read_commit_time(self, commit: str) -> str:
        """When a commit was made, in UTC; empty where it does not say."""
        head = self.ask_git("cat-file", "commit", commit).partition("\n\n")[0].splitlines()
        said = next((line.split()[-2] for line in head if line.startswith("committer ")), "")
        return to_time(int(said)) if said.isdecimal() else ""

    def make_commit(self, tree: str, message: str) -> str:
        if not self.own.ask("config", "user.email"):
            self.settings |= OURS
        return self.ask_git("commit-tree", tree, "-p", self.base_tip, given=message.encode())

    def push_commit(self, commit: str, branch: str) -> None:
        """Make a branch that is not there yet; somebody who was faster is not overwritten."""
        ref = f"refs/heads/{branch}"
        self.ask_git("push", "-q", f"--force-with-lease={ref}:", "--", self.url, f"{commit}:{ref}")

    def ask_git(self, *words: str, given: bytes = b"") -> str:
        """What git says in the repository of our own; an error where it fails."""
        done = self.own.run(*words, given=given, transports=self.ways)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()[-300:]
            raise BadInput(f"git {words[0]}: {said or 'ended without a word'}")
        return done.stdout.decode("utf-8", "replace").strip("\n\0")


def list_entrance_settings(git: GitRunner) -> dict[str, str]:
    """A repository's own settings that a push needs; they are passed on and written nowhere."""
    told = git.run("config", "--local", "--includes", "-z", "--list").stdout.decode(errors="replace")
    pairs = [line.partition("\n") for line in told.split("\0") if "\n" in line]
    return {key: value for key, _, value in pairs if key.lower().startswith(ENTRANCE)}
