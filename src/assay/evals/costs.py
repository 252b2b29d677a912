"""What a trial cost, from the files that are kept of it: its transcript, what it claims, and how its attempts ended."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from assay.evals import paths, remains, transcript
from assay.evals.composite import METRICS
from assay.evals.launching import Ended
from assay.evals.types import Cost

LARGEST_CLAIM = 64 << 10
"""Bytes; a larger one is no claim."""


def take_claim(scratch: Path, into: Path) -> None:
    """Keep what an agent claims that it cost, beside its transcript."""
    claim = remains.read(scratch, f"result/{transcript.COST_FILE}", LARGEST_CLAIM + 1)
    if 0 < len(claim) <= LARGEST_CLAIM:
        (into / transcript.COST_FILE).write_bytes(claim)


def with_lost(cost: Cost, lost: Sequence[Cost]) -> Cost:
    """The cost of a trial, that of its lost attempts included as far as it is known."""
    sums = {}
    for name in (*METRICS, "usd"):
        own = getattr(cost, name)
        more = [value for one in lost if (value := getattr(one, name)) is not None]
        sums[name] = own if own is None else own + sum(more)
    return replace(cost, **sums)


def recounted(folder: Path, lost: Sequence[Cost]) -> Cost:
    """The cost of a trial by the files of its last attempt; dollars by today's prices."""
    ended = msgspec.json.decode((folder / paths.ENDED).read_bytes(), type=Ended)
    turns = transcript.read(sorted((folder / paths.TRANSCRIPTS).glob("*.jsonl"))).turns
    return with_lost(transcript.cost(turns, transcript.claimed(folder), ended.wall_s), lost)


def misstated(folder: Path, stated: Cost, lost: Sequence[Cost]) -> str:
    """Which costs of a trial are not what its files tell; empty where all are."""
    try:
        found = recounted(folder, lost)
    except (OSError, msgspec.DecodeError) as error:
        return f"its cost can't be counted again: {error}"
    wrong = [name for name in METRICS if getattr(found, name) != getattr(stated, name)]
    return f"{', '.join(wrong)} not what its files tell" if wrong else ""
