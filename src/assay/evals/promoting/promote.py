"""A candidate goes in: as a branch and a pull request, once, and only where its run proves that it is better."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.errors import AssayError, BadInput
from assay.evals.promoting.branch import BranchChange, PromotionRemote
from assay.evals.promoting.files import ConfigSearch, PromotedFile, find_tried_config, list_promoted_files
from assay.evals.promoting.note import KeepNote, build_note
from assay.evals.promoting.verify import PromotionRefused, Proof, prove_run
from assay.evals.running import lock
from assay.evals.tasks.folders import hash_values
from assay.types.evals import Comparison
from assay.types.value import Document, Row

Body = Callable[[Comparison], str]
"""A comparison in Markdown."""
PromotionState = Literal[
    "planned",  # dry run: nothing was written anywhere
    "opened",  # the pull request is there now
    "pushed",  # the branch is; there is no `gh` to open a pull request with
    "known",  # it was promoted before, nothing was done
    "unchanged",  # the default branch has these files already
]
TRAILER = "Assay-Comparison"
BRANCH = re.compile(r"(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)))[A-Za-z0-9_][A-Za-z0-9._/@+-]{0,120}(?<![./])")
PATIENCE_S = 120
MOST_BODY = 60_000
"""Characters; GitHub takes a few more."""
CUT = "\n\n… cut here: the whole comparison lies in the run's folder.\n"


class PromoteRequest(Row, frozen=True):
    """Which run is promoted, into which repository, and whether it is meant."""

    run: Path
    repository: Path
    branch: str = ""
    candidate: str = ""
    """Where the candidate's configuration lies, should it not be where it was."""
    is_meant: bool = False
    """Not a dry run."""
    is_named: bool = True
    """They named the repository; else it is the one they stand in, which may not be a bare one."""


class Promotion(Document, frozen=True, kw_only=True, tag="promotion"):
    """What a promotion did, or would do."""

    state: PromotionState
    branch: str
    base: str
    base_commit: str
    commit: str | None
    url: str | None
    title: str
    body: str
    files: tuple[BranchChange, ...]
    says: tuple[str, ...] = ()
    is_noted: bool = False
    """The store knows of it, so that `assay compare --since-promotion` can look at what became of it."""


class PullRequest(Struct, frozen=True, kw_only=True):
    """A pull request that is there, open or not."""

    url: str
    state: str = ""
    is_cross: bool = msgspec.field(name="isCrossRepository", default=False)


class PullRequestDraft(Struct, frozen=True, kw_only=True):
    """A pull request that is to be opened."""

    branch: str
    base: str
    title: str
    body: str


class Promoter:
    """One promotion on its way: branch, commit, pull request."""

    def __init__(
        self, request: PromoteRequest, proof: Proof, files: list[PromotedFile], remote: PromotionRemote
    ) -> None:
        self.request, self.proof, self.files, self.remote = request, proof, files, remote
        self.seal = proof.comparison.evidence.seal
        self.branch = check_branch_name(request.branch or pick_branch_name(proof), remote.base)
        self.gh = find_gh()

    def run(self, body: Body) -> Promotion:
        there = self.remote.find_tip(self.branch)
        if there:
            return self.promote_again(body)
        self.remote.base_tip = self.remote.fetch_branch(self.remote.base)
        tree, changes = self.remote.prepare_tree(self.files, self.remote.base_tip)
        plan = self.build_plan(body, tuple(changes))
        if not changes:
            return replace(plan, state="unchanged", says=(f"{plan.base} has these files already; nothing to do",))
        if before := self.find_request():
            return replace(plan, state="known", url=before.url, says=("it was promoted before; nothing to do",))
        if not self.request.is_meant:
            return replace(plan, says=("dry run: nothing was pushed; --yes does it",))
        commit = self.remote.make_commit(tree, f"{plan.title}\n\n{TRAILER}: {self.seal}\n")
        self.remote.push_commit(commit, self.branch)
        return self.open_request(replace(plan, commit=commit, state="pushed"))

    def find_request(self) -> PullRequest | None:
        """The pull request of the branch, whatever became of it."""
        return find_pull_request(self.gh, self.request.repository, self.branch) if self.gh else None

    def promote_again(self, body: Body) -> Promotion:
        """The branch is there: by the same promotion, or it is somebody else's."""
        tip = self.remote.fetch_branch(self.branch)
        if f"{TRAILER}: {self.seal}" not in self.remote.read_message(tip).splitlines():
            raise BadInput(f"{self.branch}: the remote has another branch of that name; choose one with --branch")
        plan = replace(
            self.build_plan(body, ()), commit=tip, state="known", says=("it was promoted before; nothing to do",)
        )
        _, missing = self.remote.prepare_tree([one for one in self.files if one.content is not None], tip)
        if missing:
            raise BadInput(f"{self.branch}: was changed since it was pushed; look at it, or choose another --branch")
        if not self.gh:
            return plan
        if found := self.find_request():
            return replace(plan, url=found.url)
        if not self.request.is_meant:
            return replace(
                plan, state="planned", says=("the branch is there, its pull request is not; --yes opens it",)
            )
        return self.open_request(plan)

    def open_request(self, plan: Promotion) -> Promotion:
        """Open the pull request, where that can be done from here."""
        if not self.gh:
            said = f"no `gh` on the PATH: the branch {plan.branch} is pushed, open its pull request by hand"
            return replace(plan, says=(said,))
        wanted = PullRequestDraft(branch=plan.branch, base=plan.base, title=plan.title, body=plan.body)
        try:
            url = create_pull_request(self.gh, self.request.repository, wanted)
        except BadInput as error:
            raise BadInput(
                f"the branch {plan.branch} is pushed, but its pull request is not open: {error}; mend that and run "
                "the same command again"
            ) from None
        return replace(plan, state="opened", url=url, says=())

    def note_done(self, done: Promotion, keep: KeepNote) -> Promotion:
        """Have a promotion noted that is on its way; where that fails, it is promoted all the same, and says so."""
        if done.commit is None:
            return done
        pushed_at = self.remote.read_commit_time(done.commit)
        try:
            note = build_note(self.proof, self.files, self.request.repository)
            keep(replace(note, at=pushed_at, branch=done.branch, commit=done.commit, url=done.url))
        except AssayError as error:
            said = f"not noted for `assay compare --since-promotion`: {error}; then run the same command again"
            return replace(done, says=(*done.says, said))
        return replace(done, is_noted=True)

    def build_plan(self, body: Body, files: tuple[BranchChange, ...]) -> Promotion:
        return Promotion(
            state="planned", branch=self.branch, base=self.remote.base, base_commit=self.remote.base_tip, commit=None,
            url=None, title=build_title(self.proof), body=body(self.proof.comparison), files=files,
        )  # fmt: skip


def promote_candidate(request: PromoteRequest, body: Body, keep: KeepNote | None = None) -> Promotion:
    """Open a pull request with the files of a candidate that is proven better; anything else is an error.

    What went out is given to `keep`, to be noted; a dry run notes nothing.
    """
    lock.load_lock(request.run)
    run = request.run.resolve()
    with lock.claim_run(run), tempfile.TemporaryDirectory(prefix="assay-promote-") as scratch:
        proof = prove_run(run)
        search = ConfigSearch(run=run, repository=request.repository, scratch=Path(scratch))
        config = find_tried_config(proof.lock.arms["candidate"], search, request.candidate)
        files = list_promoted_files(config, proof.lock, search)
        remote = PromotionRemote(request.repository, Path(scratch), may_be_bare=request.is_named)
        promoter = Promoter(request, proof, files, remote)
        done = promoter.run(body)
        return promoter.note_done(done, keep) if keep and request.is_meant else done


def build_title(proof: Proof) -> str:
    """The title of a commit and its pull request."""
    gain = proof.comparison.net_gain
    if gain is None:
        raise PromotionRefused("the comparison tells no gain")
    tasks = len(proof.comparison.tasks)
    return f"Agent configuration {format_config_name(proof)}: improved by {gain:.3f} on {tasks} tasks"


def format_config_name(proof: Proof) -> str:
    """The candidate's name, as far as it is harmless in a branch and a title."""
    return re.sub(r"[^A-Za-z0-9]+", "-", proof.lock.arms["candidate"].config)[:40].strip("-").lower() or "candidate"


def pick_branch_name(proof: Proof) -> str:
    """The name of a branch; the same proof always finds the same one."""
    return f"assay/{format_config_name(proof)}-{hash_values(proof.comparison.evidence.seal)[:10]}"


def check_branch_name(branch: str, base: str) -> str:
    """A branch's name that git, a shell and `gh` all take for nothing else."""
    if not BRANCH.fullmatch(branch) or any(part.startswith((".", "-")) for part in branch.split("/")):
        raise BadInput(f"--branch {branch!a}: letters, digits and . _ / - make a branch's name")
    if branch == base:
        raise BadInput(f"--branch {branch}: that is the default branch; a promotion is a branch of its own")
    return branch


def find_gh() -> str | None:
    """The path of the program `gh`, if it is installed."""
    return shutil.which("gh")


def find_pull_request(gh: str, repository: Path, branch: str) -> PullRequest | None:
    """The pull request of a branch, open or not; one from somebody's fork is another branch."""
    words = ("pr", "list", "--head", branch, "--state", "all", "--limit", "50")
    told = run_gh(gh, repository, *words, "--json", "url,state,isCrossRepository")
    try:
        found = msgspec.json.decode(told, type=list[PullRequest])
    except msgspec.DecodeError as error:
        raise BadInput(f"gh pr list: not understood: {error}") from None
    return next((one for one in found if not one.is_cross), None)


def create_pull_request(gh: str, repository: Path, wanted: PullRequestDraft) -> str:
    """Open a pull request, and return its address."""
    body = wanted.body if len(wanted.body) <= MOST_BODY else wanted.body[:MOST_BODY] + CUT
    words = ("--head", wanted.branch, "--base", wanted.base, "--title", wanted.title, "--body-file", "-")
    told = run_gh(gh, repository, "pr", "create", *words, given=body)
    return next((line for line in reversed(told.split()) if line.startswith("https://")), told.strip())


def run_gh(gh: str, repository: Path, *words: str, given: str = "") -> str:
    try:
        done = subprocess.run(  # noqa: S603
            [gh, *words], cwd=repository, input=given.encode(), capture_output=True, timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"gh {words[0]} {words[1]}: {error}") from None
    if done.returncode:
        raise BadInput(f"gh {words[0]} {words[1]}: {done.stderr.decode(errors='replace').strip()[-300:]}")
    return done.stdout.decode(errors="replace")
