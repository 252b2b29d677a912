"""Where a comparison comes from: a digest of its trials, and a seal over all it says."""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import json
from msgspec.structs import replace

from assay.types.evals import Comparison, Trial


def hash_trials(trials: Iterable[Trial]) -> str:
    """One number for all trials, in whatever order they come; where they lie is no part of it."""
    rows = sorted(json.encode(replace(trial, folder=""), order="deterministic") for trial in trials)
    return sha256(b"\n".join(rows)).hexdigest()


def seal_comparison(comparison: Comparison) -> Comparison:
    """A comparison with its seal put in."""
    return replace(comparison, evidence=replace(comparison.evidence, seal=hash_comparison(comparison)))


def hash_comparison(comparison: Comparison) -> str:
    """A digest of all that a comparison says, its own seal left out."""
    bare = replace(comparison, evidence=replace(comparison.evidence, seal=""))
    return sha256(json.encode(bare, order="deterministic")).hexdigest()


def is_sealed(comparison: Comparison) -> bool:
    """Whether nothing was changed since; who forges a seal is found by `verify`, which asks the trials."""
    return comparison.evidence.seal == hash_comparison(comparison)
