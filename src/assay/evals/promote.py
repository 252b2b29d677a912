"""A candidate goes in: as a branch and a pull request, once, and only where its run proves that it is better."""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from assay.errors import BadInput
from assay.evals import lock, pulling
from assay.evals.cargo import Item, Search, cargo, config_of
from assay.evals.fingerprint import sealed
from assay.evals.landing import Landing
from assay.evals.proof import Proof, Refused, proven
from assay.evals.types import Comparison
from assay.types.value import Row

Body = Callable[[Comparison], str]
"""A comparison in Markdown."""
State = Literal[
    "planned",  # dry run: nothing was written anywhere
    "opened",  # the pull request is there now
    "pushed",  # the branch is; there is no `gh` to open a pull request with
    "known",  # it was promoted before, nothing was done
    "unchanged",  # the default branch has these files already
]
TRAILER = "Assay-Comparison"
BRANCH = re.compile(r"(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)))[A-Za-z0-9_][A-Za-z0-9._/@+-]{0,120}(?<![./])")


class Wish(Row, frozen=True):
    """What a person asks for."""

    run: Path
    repository: Path
    branch: str = ""
    candidate: str = ""
    """Where the candidate's configuration lies, should it not be where it was."""
    is_meant: bool = False
    """Not a dry run."""
    is_named: bool = True
    """They named the repository; else it is the one they stand in, which may not be a bare one."""


class Changed(Row, frozen=True):
    path: str
    kind: str


class Promotion(Row, frozen=True):
    """What was done, or would be."""

    state: State
    branch: str
    base: str
    base_commit: str
    commit: str | None
    url: str | None
    title: str
    body: str
    files: tuple[Changed, ...]
    says: tuple[str, ...] = ()


def promote(wish: Wish, body: Body) -> Promotion:
    """Open a pull request with the files of a candidate that is proven better; anything else is an error."""
    lock.load(wish.run)
    run = wish.run.resolve()
    with lock.alone(run), tempfile.TemporaryDirectory(prefix="assay-promote-") as scratch:
        proof = proven(run)
        search = Search(run=run, repository=wish.repository, scratch=Path(scratch))
        config = config_of(proof.lock.arms["candidate"], search, wish.candidate)
        items = cargo(config, proof.lock, search)
        return Going(wish, proof, items, Landing(wish.repository, Path(scratch), may_be_bare=wish.is_named)).go(body)


class Going:
    """One promotion on its way."""

    def __init__(self, wish: Wish, proof: Proof, items: list[Item], landing: Landing) -> None:
        self.wish, self.proof, self.items, self.landing = wish, proof, items, landing
        self.seal = proof.comparison.evidence.seal
        self.branch = named(wish.branch or usual(proof), landing.base)
        self.gh = pulling.program()

    def go(self, body: Body) -> Promotion:
        there = self.landing.tip(self.branch)
        if there:
            return self.again(body)
        self.landing.base_tip = self.landing.fetch(self.landing.base)
        tree, changes = self.landing.prepared(self.items, self.landing.base_tip)
        plan = self.plan(body, tuple(Changed(path=one.path, kind=one.kind) for one in changes))
        if not changes:
            return replace(plan, state="unchanged", says=(f"{plan.base} has these files already; nothing to do",))
        if before := self.request():
            return replace(plan, state="known", url=before.url, says=("it was promoted before; nothing to do",))
        if not self.wish.is_meant:
            return replace(plan, says=("dry run: nothing was pushed; --yes does it",))
        commit = self.landing.commit(tree, f"{plan.title}\n\n{TRAILER}: {self.seal}\n")
        self.landing.push(commit, self.branch)
        return self.requested(replace(plan, commit=commit, state="pushed"))

    def request(self) -> pulling.Pull | None:
        """The pull request of the branch, whatever became of it."""
        return pulling.existing(self.gh, self.wish.repository, self.branch) if self.gh else None

    def again(self, body: Body) -> Promotion:
        """The branch is there: by the same promotion, or it is somebody else's."""
        tip = self.landing.fetch(self.branch)
        if f"{TRAILER}: {self.seal}" not in self.landing.message(tip).splitlines():
            raise BadInput(f"{self.branch}: the remote has another branch of that name; choose one with --branch")
        plan = replace(self.plan(body, ()), commit=tip, state="known", says=("it was promoted before; nothing to do",))
        _, missing = self.landing.prepared([one for one in self.items if one.content is not None], tip)
        if missing:
            raise BadInput(f"{self.branch}: was changed since it was pushed; look at it, or choose another --branch")
        if not self.gh:
            return plan
        if found := self.request():
            return replace(plan, url=found.url)
        if not self.wish.is_meant:
            return replace(
                plan, state="planned", says=("the branch is there, its pull request is not; --yes opens it",)
            )
        return self.requested(plan)

    def requested(self, plan: Promotion) -> Promotion:
        """Open the pull request, where that can be done from here."""
        if not self.gh:
            said = f"no `gh` on the PATH: the branch {plan.branch} is pushed, open its pull request by hand"
            return replace(plan, says=(said,))
        wanted = pulling.Request(branch=plan.branch, base=plan.base, title=plan.title, body=plan.body)
        try:
            url = pulling.opened(self.gh, self.wish.repository, wanted)
        except BadInput as error:
            raise BadInput(
                f"the branch {plan.branch} is pushed, but its pull request is not open: {error}; mend that and run "
                "the same command again"
            ) from None
        return replace(plan, state="opened", url=url, says=())

    def plan(self, body: Body, files: tuple[Changed, ...]) -> Promotion:
        return Promotion(
            state="planned", branch=self.branch, base=self.landing.base, base_commit=self.landing.base_tip, commit=None,
            url=None, title=title(self.proof), body=body(self.proof.comparison), files=files,
        )  # fmt: skip


def title(proof: Proof) -> str:
    """One line of a commit and a pull request."""
    gain = proof.comparison.net_gain
    if gain is None:
        raise Refused("the comparison tells no gain")
    return f"Agent configuration {called(proof)}: improved by {gain:.3f} on {len(proof.comparison.tasks)} tasks"


def called(proof: Proof) -> str:
    """The candidate's name, as far as it is harmless in a branch and a title."""
    return re.sub(r"[^A-Za-z0-9]+", "-", proof.lock.arms["candidate"].config)[:40].strip("-").lower() or "candidate"


def usual(proof: Proof) -> str:
    """The same proof always finds the same branch."""
    return f"assay/{called(proof)}-{sealed(proof.comparison.evidence.seal)[:10]}"


def named(branch: str, base: str) -> str:
    """A branch's name that git, a shell and `gh` all take for nothing else."""
    if not BRANCH.fullmatch(branch) or any(part.startswith((".", "-")) for part in branch.split("/")):
        raise BadInput(f"--branch {branch!a}: letters, digits and . _ / - make a branch's name")
    if branch == base:
        raise BadInput(f"--branch {branch}: that is the default branch; a promotion is a branch of its own")
    return branch
