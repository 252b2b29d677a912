"""When a goal counts as completed: the one rule all judges share."""

from collections.abc import Sequence

from assay.judges.criteria import FLOORS
from assay.types import EvidenceKind, Failure, Intent

__all__ = ["FLOORS", "goal_complete"]


def goal_complete(intent: Intent, evidence: EvidenceKind, confidence: float, failures: Sequence[Failure]) -> bool:
    """No failure signal, and explicit evidence or enough confidence in silence."""
    if failures or evidence == "failure":
        return False
    return evidence == "explicit" or confidence >= FLOORS[intent]
