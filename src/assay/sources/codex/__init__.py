"""Codex rollouts: `$CODEX_HOME/sessions/**/rollout-*.jsonl`, every line `{timestamp, type, payload}`.

Takes records, gives the events of `assay.types`; imports nothing else of ours. Known from cli 0.40 to 0.166.
"""

from assay.sources.codex.places import claims, roots
from assay.sources.codex.reader import Reader
from assay.sources.codex.records import Record

AGENT = "codex"
VERSION = 5

__all__ = ["AGENT", "VERSION", "Reader", "Record", "claims", "roots"]
