"""What is counted and said of sessions made by hand."""

from collections.abc import Sequence
from datetime import UTC, tzinfo

from assay.scores.audit import AuditTally, is_answered, predict_score, tally_audit
from assay.scores.breakdown import Window, build_windows
from assay.scores.measures import Measures, measure_tally
from assay.scores.prediction import Predicted
from assay.scores.prism import score_sessions
from assay.scores.reasons import Obstacle, list_obstacles
from assay.scores.report import gather_sessions
from assay.scores.tally import Tally, tally_sessions
from assay.types import Session


def tally_of(sessions: Sequence[Session], zone: tzinfo = UTC) -> Tally:
    """Some sessions in numbers."""
    return tally_sessions(sessions, (), zone)


def windows_of(sessions: Sequence[Session], zone: tzinfo = UTC) -> list[Window]:
    """The windows of some sessions."""
    return build_windows(tally_of(sessions, zone).slices.get("day", {}))


def measures_of(sessions: Sequence[Session], zone: tzinfo = UTC) -> Measures:
    """All measures of some sessions."""
    return measure_tally(tally_of(sessions, zone), score_sessions(sessions).counted)


def obstacles_of(sessions: Sequence[Session], most: int = 3) -> list[Obstacle]:
    """What held some sessions back most."""
    told = gather_sessions(sessions, (), UTC)
    return list_obstacles(told.tally.obstacles, told.list_obstructed, most)


def audit_of(sessions: Sequence[Session], seed: str) -> AuditTally | None:
    """How far the audit of some sessions is."""
    return tally_audit([one for one in sessions if is_answered(one)], tally_of(sessions).drawn, seed)


def prediction_of(sessions: Sequence[Session]) -> Predicted | None:
    """Where the true share of some sessions lies."""
    found = tally_of(sessions)
    return predict_score(found.drawable, found.chances)
