"""Which instructions an agent had: what its transcript says it loaded, and what merely lay where it looks."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from assay.evals.configs import INSTRUCTIONS
from assay.evals.fingerprint import Listing, listing, sealed
from assay.evals.runner import Told
from assay.types.value import Row

SKILL = "SKILL.md"
NAME = re.compile(r"^name:\s*['\"]?([^'\"\n]+)", re.MULTILINE)
LONGEST = 1 << 20


class LoadedFile(Row, frozen=True):
    """One file of instructions."""

    path: str
    """Below the workspace, or in full where it lies elsewhere."""
    fingerprint: str
    evidence: Literal[
        "transcript",  # the agent says it loaded it
        "present",  # it lay there, and the transcript says nothing
        "elsewhere",  # loaded from outside the workspace: no configuration put it there
    ]


def loaded(workspace: Path, inside: str, given: Listing, told: Sequence[Told]) -> tuple[LoadedFile, ...]:
    """Every file of instructions: those a configuration laid down, those of the task, those found elsewhere."""
    own = {path: mark for path, mark in listing(workspace).items() if path.split("/")[0] in INSTRUCTIONS}
    within = f"{inside.rstrip('/')}/"
    named = {one.path.removeprefix(within): one for one in told if one.path}
    found = [
        LoadedFile(
            path=path,
            fingerprint=mark,
            evidence="transcript" if path in named or is_told(workspace / path, told) else "present",
        )
        for path, mark in sorted((own | given).items())
    ]
    foreign = [
        LoadedFile(path=path, fingerprint=f"told:{sealed(one.text)}", evidence="elsewhere")
        for path, one in sorted(named.items())
        if path.startswith("/")
    ]
    return (*found, *foreign)


def is_told(file: Path, told: Sequence[Told]) -> bool:
    """Whether a file's words, or for a skill its name, stand in what the agent was told."""
    if not file.is_file() or file.stat().st_size > LONGEST:
        return False
    text = file.read_text("utf-8", "replace").strip()
    texts = [one.text for one in told if not one.path]
    if file.name == SKILL:
        name = NAME.search(text)
        known = name[1].strip() if name else file.parent.name
        return any(re.search(rf"^\W*{re.escape(known)}:", one, re.MULTILINE) for one in texts)
    return bool(text) and any(text in one for one in texts)
