"""What machines read is written down."""

from pathlib import Path

from msgspec import Struct

from assay.reports.json import SessionDetail, SessionsView, StreamDetail, StreamsView
from assay.scores.audit import AuditTally
from assay.scores.breakdown import Window
from assay.scores.card import Figure, IntentTally, JudgeCard, Measurement, OwnMeasurement, ReliabilityBand
from assay.scores.correction import Corrected
from assay.scores.measures import Measures
from assay.scores.prediction import Predicted
from assay.scores.prism import Score, Waterfall
from assay.scores.reasons import Obstacle
from assay.scores.report import JudgeInfo, Report, Skips
from assay.scores.survival import LostSession, Point, Survival
from assay.types import LedgerLine, Reason, Session, SessionMark
from tests.tables import each_row

PAGE = (Path(__file__).parents[2] / "docs/reference/json.md").read_text("utf-8")
SHOWN = [
    Report, Score, Corrected, Predicted, AuditTally,
    Waterfall, Measures, Window, Obstacle, JudgeInfo, Skips, Survival, Point, LostSession, Session,
    LedgerLine, Reason, SessionMark, JudgeCard, Measurement, Figure, OwnMeasurement, ReliabilityBand, IntentTally,
    SessionsView, SessionDetail, StreamsView, StreamDetail,
]  # fmt: skip


@each_row("shown", SHOWN, ids=lambda one: one.__name__)
def test_every_field_is_documented(shown: type[Struct]):
    fields = shown.__struct_fields__
    assert not [field for field in fields if f"`{field}`" not in PAGE and f'"{field}"' not in PAGE]
