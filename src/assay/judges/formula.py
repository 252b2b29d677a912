"""When a goal counts as completed: the one rule all judges share."""

from collections.abc import Sequence

from assay.types import EvidenceKind, Failure, Intent

FLOORS: dict[Intent, float] = {
    "question": 0.50,
    "investigation": 0.60,
    "review": 0.60,
    "plan": 0.60,
    "small_change": 0.50,
    "bug_fix": 0.75,
    "feature": 0.75,
    "refactor": 0.75,
}
"""Confidence that silence needs: high where an unverified change does harm."""


def goal_complete(intent: Intent, evidence: EvidenceKind, confidence: float, failures: Sequence[Failure]) -> bool:
    """No failure signal, and explicit evidence or enough confidence in silence."""
    if failures or evidence == "failure":
        return False
    return evidence == "explicit" or confidence >= FLOORS[intent]
