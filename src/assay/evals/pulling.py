"""Pull requests, through the `gh` program where there is one."""

import shutil
import subprocess
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.errors import BadInput

PATIENCE_S = 120
MOST_BODY = 60_000
"""Characters; GitHub takes a few more."""
CUT = "\n\n… cut here: the whole comparison lies in the run's folder.\n"


class Pull(Struct, frozen=True, kw_only=True):
    """A pull request."""

    url: str
    state: str = ""
    is_cross: bool = msgspec.field(name="isCrossRepository", default=False)


class Request(Struct, frozen=True, kw_only=True):
    """A pull request to open."""

    branch: str
    base: str
    title: str
    body: str


def program() -> str | None:
    """Where `gh` is."""
    return shutil.which("gh")


def existing(gh: str, repository: Path, branch: str) -> Pull | None:
    """The pull request of a branch, open or not; one from somebody's fork is another branch."""
    words = ("pr", "list", "--head", branch, "--state", "all", "--limit", "50")
    told = asked(gh, repository, *words, "--json", "url,state,isCrossRepository")
    try:
        found = msgspec.json.decode(told, type=list[Pull])
    except msgspec.DecodeError as error:
        raise BadInput(f"gh pr list: not understood: {error}") from None
    return next((one for one in found if not one.is_cross), None)


def opened(gh: str, repository: Path, wanted: Request) -> str:
    """Open a pull request; its address."""
    body = wanted.body if len(wanted.body) <= MOST_BODY else wanted.body[:MOST_BODY] + CUT
    words = ("--head", wanted.branch, "--base", wanted.base, "--title", wanted.title, "--body-file", "-")
    told = asked(gh, repository, "pr", "create", *words, given=body)
    return next((line for line in reversed(told.split()) if line.startswith("https://")), told.strip())


def asked(gh: str, repository: Path, *words: str, given: str = "") -> str:
    try:
        done = subprocess.run(  # noqa: S603
            [gh, *words], cwd=repository, input=given.encode(), capture_output=True, timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"gh {words[0]} {words[1]}: {error}") from None
    if done.returncode:
        raise BadInput(f"gh {words[0]} {words[1]}: {done.stderr.decode(errors='replace').strip()[-300:]}")
    return done.stdout.decode(errors="replace")
