"""What is kept of a promotion, so that somebody can see later whether real sessions moved."""

import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from assay.errors import BadInput
from assay.evals.promoting.files import PromotedFile
from assay.evals.promoting.verify import Proof
from assay.evals.tasks.folders import hash_values
from assay.git.repo import open_repo
from assay.pipeline.repositories import KnownRepository
from assay.types.promotions import NotedFile, NotedPromotion

KeepNote = Callable[[NotedPromotion], bool]
ANY_AGENT = "command"
"""The runner of a program that nobody knows: what it is given may concern every agent."""


def build_note(proof: Proof, files: Sequence[PromotedFile], repository: Path) -> NotedPromotion:
    """What went in, and why; when and on which branch is for whoever pushed it to say."""
    tried, comparison = proof.lock.arms["candidate"], proof.comparison
    project, first_commit = identify_repository(repository)
    return NotedPromotion(
        id=hash_values([comparison.evidence.seal, first_commit or project])[:12],
        name=Path(tried.config).name or tried.config,
        at="",
        project=project,
        first_commit=first_commit,
        agents=() if tried.agent == ANY_AGENT else (tried.agent,),
        branch="",
        commit="",
        url=None,
        files=tuple(
            NotedFile(path=one.path, sha256=None if one.content is None else sha256(one.content).hexdigest())
            for one in files
        ),
        config_sha256=tried.sha256,
        verdict=comparison.verdict,
        gain=comparison.net_gain,
        tasks=len(comparison.tasks),
        seal=comparison.evidence.seal,
    )  # fmt: skip


def identify_repository(folder: Path) -> tuple[str, str]:
    """Where a repository lies, and its first commit, as far as that can be told."""
    place = os.path.realpath(folder)
    try:
        repo = open_repo(Path(place), may_be_bare=True)
    except BadInput:
        return place, ""
    if repo is None:
        return place, ""
    with repo:
        root = "" if repo.tip is None or repo.is_shallow else KnownRepository(repo, place).root
        return str(repo.root), root
