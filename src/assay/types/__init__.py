"""What the stages say to each other: frozen values that know no file, no store and no screen.

A source turns records into events. `sessions` folds events into turns, turns into streams, and cuts streams
into sessions. Facts are computed from turns, judgements from turns and facts. Nothing missing is ever a number:
an unknown outcome is `None`, an unpriced cost is `None`, a call without a result is `"open"`.

- `value`: what every value and every printed document is made of, keys, and signs of tenants;
- `events`: what sources yield;
- `turns`: what sessions make of events;
- `session`: boundaries, judgements, and a session as everybody reads it;
- `quality`: what a profile asks for, and what a judge says of it;
- `transcripts`: what stores keep of files and streams;
- `access`: keys of a server, and what was done there;
- `telemetry`: what agents tell while they work; `shipping`: what one machine sends to a server;
- `lines`: lines as hashes, and a change in short;
- `edits`: edits of texts, files and diffs;
- `tools`: what a tool call is about, by the names that most agents have for things;
- `packed`: a file that is one document;
- `evals`: tasks, trials and comparisons; `promotions`: what went in for good.

Imports nothing else of ours.
"""

from assay.types.access import AccessKey, Deed, DeedKind, Scope
from assay.types.events import (
    About,
    Call,
    CallKind,
    CallStatus,
    Edit,
    Emit,
    Event,
    Mark,
    MarkKind,
    Outcome,
    Prompt,
    PromptKind,
    Purpose,
    Reply,
    Result,
    Run,
    SkippedLine,
    Spend,
    Usage,
)
from assay.types.session import (
    Aim,
    AuditDraw,
    Boundary,
    BoundarySignal,
    Citation,
    CorrectionKind,
    EvidenceKind,
    Failure,
    FailureKind,
    FileLines,
    Gap,
    Intent,
    Join,
    JoinSignal,
    JudgeStatus,
    LanguageJudgement,
    LedgerLine,
    OutcomeJudgement,
    PersonCorrection,
    PersonVerdict,
    Reason,
    ReworkResult,
    ReworkState,
    RubricJudgement,
    Segment,
    Session,
    SessionMark,
    VerdictKind,
)
from assay.types.telemetry import LiveConversation, LiveRow, LiveState, Signal, SpanEvent, TelemetryRecord
from assay.types.transcripts import FileState, KnownFile, ReadPosition, StoreFigures, StreamSummary
from assay.types.turns import Part, Stream, Turn
from assay.types.value import SCHEMA_VERSION, CleanText, Document, Fact, Row, Value, to_key

__all__ = [
    "SCHEMA_VERSION",
    "About",
    "AccessKey",
    "Aim",
    "AuditDraw",
    "Boundary",
    "BoundarySignal",
    "Call",
    "CallKind",
    "CallStatus",
    "Citation",
    "CleanText",
    "CorrectionKind",
    "Deed",
    "DeedKind",
    "Document",
    "Edit",
    "Emit",
    "Event",
    "EvidenceKind",
    "Fact",
    "Failure",
    "FailureKind",
    "FileLines",
    "FileState",
    "Gap",
    "Intent",
    "Join",
    "JoinSignal",
    "JudgeStatus",
    "KnownFile",
    "LanguageJudgement",
    "LedgerLine",
    "LiveConversation",
    "LiveRow",
    "LiveState",
    "Mark",
    "MarkKind",
    "Outcome",
    "OutcomeJudgement",
    "Part",
    "PersonCorrection",
    "PersonVerdict",
    "Prompt",
    "PromptKind",
    "Purpose",
    "ReadPosition",
    "Reason",
    "Reply",
    "Result",
    "ReworkResult",
    "ReworkState",
    "Row",
    "RubricJudgement",
    "Run",
    "Scope",
    "Segment",
    "Session",
    "SessionMark",
    "Signal",
    "SkippedLine",
    "SpanEvent",
    "Spend",
    "StoreFigures",
    "Stream",
    "StreamSummary",
    "TelemetryRecord",
    "Turn",
    "Usage",
    "Value",
    "VerdictKind",
    "to_key",
]
