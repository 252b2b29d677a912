"""Langfuse: sessions read out of it, scores written into it.

`connect` gives a `Client`; `setup` ensures score configs, `pull` writes sessions as files that `sources.langfuse`
reads, `write` stores scores exactly once and reads them back, `status` says what is at the other end, `is_known` and
`trace_at` take small looks at a session.

Takes clean values (`ScoreWrite`, `ScoreConfig`) and gives reports; `configs_of` and `scores_of` make those of a profile
and of a judged session. Knows no store; imports types, errors, http, scores, and the records of its own source.
`docs/concepts/langfuse.md` tells why things are done this way.
"""

from assay.langfuse.client import Client, Status, connect, status
from assay.langfuse.configs import Config, ScoreConfig, SetupReport, setup
from assay.langfuse.deriving import Target, configs_of, scores_of
from assay.langfuse.looking import is_known, trace_at
from assay.langfuse.pulling import Pulled, PullReport, pull
from assay.langfuse.scores import ScoreWrite, digest_of, id_of
from assay.langfuse.writing import NotStored, Plan, WriteReport, write

__all__ = [
    "Client",
    "Config",
    "NotStored",
    "Plan",
    "PullReport",
    "Pulled",
    "ScoreConfig",
    "ScoreWrite",
    "SetupReport",
    "Status",
    "Target",
    "WriteReport",
    "configs_of",
    "connect",
    "digest_of",
    "id_of",
    "is_known",
    "pull",
    "scores_of",
    "setup",
    "status",
    "trace_at",
    "write",
]
