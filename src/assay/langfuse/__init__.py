"""Langfuse: sessions read out of it, scores written into it.

- `client`: address and keys, and what is at the other end
- `observations`: what the server has of a session, by either of its read APIs
- `pull`: sessions into files that `sources.langfuse` reads
- `configs`: score configs, found or created
- `scores`: one score, its identity and payload, and how it is read back
- `mapping`: the scores and score configs of a profile, of a judged session, of the PRISM Score
- `write`: scores stored exactly once and read back
- `push`: the scores of many sessions, with the store's memory of what is there

Takes clean words and judged sessions; gives reports. Imports types, errors, files, http, scores, stores, and the
records of its own source. `docs/concepts/langfuse.md` explains why things are done this way.
"""

from assay.langfuse.client import Client, ServerStatus, connect, fetch_status
from assay.langfuse.configs import RemoteConfig, SetupReport, WantedConfig, ensure_configs
from assay.langfuse.mapping import (
    FACT_CONFIGS,
    ScoreTarget,
    build_configs,
    build_fact_scores,
    build_quality_scores,
)
from assay.langfuse.pull import PulledSession, PullReport, find_trace, is_known, pull_sessions
from assay.langfuse.push import (
    WAIT_S,
    Delivery,
    DeliveryView,
    Outbox,
    PushedSession,
    PushReport,
    build_all_configs,
    build_delivery_view,
    deliver_scores,
    explain_unknown,
    find_project,
    find_targets,
    find_trace_targets,
    push_scores,
)
from assay.langfuse.scores import ScoreWrite, build_id, hash_score
from assay.langfuse.write import NotStored, WritePlan, WriteReport, write_scores

__all__ = [
    "FACT_CONFIGS",
    "WAIT_S",
    "Client",
    "Delivery",
    "DeliveryView",
    "NotStored",
    "Outbox",
    "PullReport",
    "PulledSession",
    "PushReport",
    "PushedSession",
    "RemoteConfig",
    "ScoreTarget",
    "ScoreWrite",
    "ServerStatus",
    "SetupReport",
    "WantedConfig",
    "WritePlan",
    "WriteReport",
    "build_all_configs",
    "build_configs",
    "build_delivery_view",
    "build_fact_scores",
    "build_id",
    "build_quality_scores",
    "connect",
    "deliver_scores",
    "ensure_configs",
    "explain_unknown",
    "fetch_status",
    "find_project",
    "find_targets",
    "find_trace",
    "find_trace_targets",
    "hash_score",
    "is_known",
    "pull_sessions",
    "push_scores",
    "write_scores",
]
