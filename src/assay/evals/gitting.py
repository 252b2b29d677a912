"""Git, asked for single answers by an evaluation: about its own copies, and about repositories it copies from."""

from collections.abc import Sequence
from pathlib import Path

from assay.errors import BadInput
from assay.git import COPY, GitRunner, find_repository


def made(folder: Path, *words: str, is_bare: bool = False, transports: Sequence[str] = ()) -> bytes:
    """What git prints in a folder of our own; an error where it fails."""
    done = GitRunner(folder, COPY, is_bare=is_bare).run(*words, transports=transports)
    if done.returncode:
        raise BadInput(f"git {words[0]} in {folder}: {done.stderr.decode(errors='replace').strip()[-300:]}")
    return done.stdout


def commit_of(git: GitRunner, ref: str) -> str:
    """The commit that a ref names; empty for none."""
    return git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")


def around(folder: Path, *, may_be_bare: bool = False) -> GitRunner | None:
    """Git where somebody's repository lies around a folder."""
    home = find_repository(folder, may_be_bare=may_be_bare) if folder.is_dir() else None
    return GitRunner(home.folder, COPY, is_bare=home.is_bare) if home else None
