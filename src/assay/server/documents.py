"""What the API answers with, where no command prints the same: parts of a report, and pages of long lists."""

from collections.abc import Sequence

from assay.scores.audit import AuditTally
from assay.scores.breakdown import Slice, Trend, Window
from assay.scores.correction import Corrected
from assay.scores.measures import Measures
from assay.scores.prediction import Predicted
from assay.scores.prism import Score, SmallSessions, Waterfall
from assay.scores.reasons import Obstacle
from assay.scores.report import JudgeInfo, JudgeShare, Report, Skips
from assay.scores.survival import LostSession, Survival
from assay.types import Document, LedgerLine, LiveRow, Row, Session


class ScoreView(Document, frozen=True, kw_only=True, tag="score"):
    """A report without its sessions: `GET /api/v1/score`."""

    score: Score
    waterfall: Waterfall
    judge: JudgeInfo
    by_judge: list[JudgeShare]
    skipped: Skips
    exclusions: dict[str, int]
    small: SmallSessions | None
    grade: str | None
    no_grade: str | None
    audit: AuditTally | None
    measures: Measures
    slices: dict[str, list[Slice]]
    """By what was asked for with `by`."""
    obstacles: list[Obstacle]
    survival: Survival | None
    lost: list[LostSession]
    pending: int = 0
    """Conversations of which something came in that is not judged yet."""


class TrendView(Document, frozen=True, kw_only=True, tag="trend"):
    """Whether the score rises or falls: `GET /api/v1/trend`."""

    by: str
    points: list[Slice]
    trend: Trend
    windows: list[Window]
    pending: int = 0


class SessionsPage(Document, frozen=True, kw_only=True, tag="sessions_page"):
    """Sessions, the newest first: `GET /api/v1/sessions`."""

    sessions: Sequence[Session]
    next: str | None
    """The `cursor` of the page after this one; `None` on the last."""
    pending: int = 0


class LedgerPage(Document, frozen=True, kw_only=True, tag="ledger_page"):
    """Lines of the ledger, the newest first: `GET /api/v1/ledger`."""

    ledger: Sequence[LedgerLine]
    next: str | None
    pending: int = 0


class LivePage(Document, frozen=True, kw_only=True, tag="live_page"):
    """Conversations of the last day, the latest first: `GET /api/v1/live`."""

    pending: int
    """Conversations of which something came in that is not judged yet, though it could be."""
    failed: int
    """Conversations that broke workers several times, and are left until they change."""
    opened_again: int
    """Sessions that went on after they had been sealed."""
    conversations: list[LiveRow]


class MarkedSession(Document, frozen=True, kw_only=True, tag="marked_session"):
    """A session after somebody said how it ended, or took that back."""

    session: Session


class ForgottenWords(Document, frozen=True, kw_only=True, tag="forgotten"):
    """What was deleted, and of how many conversations."""

    session: str
    conversations: int


class ForgottenMachine(Document, frozen=True, kw_only=True, tag="forgotten_machine"):
    """A machine of which everything was deleted."""

    machine: str
    sessions: int


class AuditProgress(Document, frozen=True, kw_only=True, tag="audit_progress"):
    """How far an audit is: `GET /api/v1/audit`."""

    wanted: int
    audit: AuditTally | None
    corrected: Corrected | None
    predicted: Predicted | None
    waiting: list[str]
    """Sessions to ask about next, in the order in which they were drawn; nothing of what a judge says of them."""


class EvaluationLine(Row, frozen=True, kw_only=True):
    """One evaluation."""

    name: str
    verdict: str
    promote: bool
    net_gain: float | None


class EvaluationsView(Document, frozen=True, kw_only=True, tag="evaluations"):
    """Evaluations that were run: `GET /api/v1/evaluations`."""

    evaluations: list[EvaluationLine]


def build_score_view(report: Report, slices: dict[str, list[Slice]], pending: int = 0) -> ScoreView:
    """A report without its sessions, sliced by what was asked for."""
    taken = {name: getattr(report, name) for name in ScoreView.__struct_fields__ if hasattr(report, name)}
    return ScoreView(**taken | {"slices": slices, "pending": pending})
