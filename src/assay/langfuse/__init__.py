"""Langfuse: sessions read out of it, scores written into it.

- `client`: address and keys, and what is at the other end
- `observations`: what the server has of a session, by either of its read APIs
- `pull`: sessions into files that `sources.langfuse` reads
- `evidence`: where in Langfuse quoted words stand
- `configs`: score configs, found or created
- `scores`: one score, its identity and payload, and how it is read back
- `mapping`: the scores and score configs of a profile, of a judged session, of the PRISM Score
- `write`: scores stored exactly once and read back
- `withdraw`: scores taken out again, and seen to be gone
- `spans`: a conversation as traces
- `upload`: conversations sent, each trace once, and read back
- `push`: the scores of many sessions, with the store's memory of what is there

Takes clean words and judged sessions; gives reports. Imports types, errors, files, http, scores, stores, and the
records of its own source. `docs/concepts/langfuse.md` explains why things are done this way.
"""

from assay.langfuse.client import Client, ServerStatus, connect, fetch_status
from assay.langfuse.configs import RemoteConfig, SetupReport, WantedConfig, ensure_configs
from assay.langfuse.evidence import EvidenceMap
from assay.langfuse.mapping import (
    FACT_CONFIGS,
    Locate,
    ScoreTarget,
    build_configs,
    build_fact_scores,
    build_quality_scores,
    locate_nothing,
    name_score,
)
from assay.langfuse.observations import LONE, SessionPick
from assay.langfuse.pull import PulledSession, PullReport, find_trace, name_file, pull_sessions
from assay.langfuse.push import (
    ELSEWHERE,
    WAIT_S,
    Delivery,
    DeliveryView,
    KnownSession,
    Outbox,
    PushedSession,
    PushReport,
    build_all_configs,
    build_delivery_view,
    deliver_scores,
    find_project,
    find_targets,
    find_trace_targets,
    look_up_session,
    push_scores,
    take_out,
)
from assay.langfuse.scores import ScoreWrite, build_id, fetch_own_ids, hash_score
from assay.langfuse.spans import TraceUpload, build_traces
from assay.langfuse.upload import UploadedSession, UploadReport, upload_sessions
from assay.langfuse.withdraw import ForgetReport, NotWithdrawn, WithdrawReport, withdraw_scores
from assay.langfuse.write import NotStored, WritePlan, WriteReport, write_scores

__all__ = [
    "ELSEWHERE",
    "FACT_CONFIGS",
    "LONE",
    "WAIT_S",
    "Client",
    "Delivery",
    "DeliveryView",
    "EvidenceMap",
    "ForgetReport",
    "KnownSession",
    "Locate",
    "NotStored",
    "NotWithdrawn",
    "Outbox",
    "PullReport",
    "PulledSession",
    "PushReport",
    "PushedSession",
    "RemoteConfig",
    "ScoreTarget",
    "ScoreWrite",
    "ServerStatus",
    "SessionPick",
    "SetupReport",
    "TraceUpload",
    "UploadReport",
    "UploadedSession",
    "WantedConfig",
    "WithdrawReport",
    "WritePlan",
    "WriteReport",
    "build_all_configs",
    "build_configs",
    "build_delivery_view",
    "build_fact_scores",
    "build_id",
    "build_quality_scores",
    "build_traces",
    "connect",
    "deliver_scores",
    "ensure_configs",
    "fetch_own_ids",
    "fetch_status",
    "find_project",
    "find_targets",
    "find_trace",
    "find_trace_targets",
    "hash_score",
    "locate_nothing",
    "look_up_session",
    "name_file",
    "name_score",
    "pull_sessions",
    "push_scores",
    "take_out",
    "upload_sessions",
    "withdraw_scores",
    "write_scores",
]
