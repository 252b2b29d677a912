"""The judge that needs no model and no network: deterministic, every conclusion a sum of named evidence.

- `topic`: where a new goal begins, by a scorecard of signs;
- `language`: what the person writes in, what the code is written in;
- `requests`, `intent`, `rubric`: what was asked for, what a session was after, and how well it was asked for;
- `outcome`: whether the goal was completed, by evidence that is weighed and cited;
- `quality`: the dimensions of a profile, from the scores of signals: `quality_outcome` (where the work led),
  `quality_process` (how it was done), both made of what `quality_signals` holds.

Its weights stand in the TOML files here, each with a version; its phrases in `sessions.speech`, a file per
language. They were set by hand and are called uncalibrated until labels of the reader's own say otherwise.
"""

from assay.judges import criteria
from assay.judges.offline.language import language
from assay.judges.offline.outcome import outcome
from assay.judges.offline.rubric import rubric
from assay.judges.offline.topic import topic
from assay.resources import hash_parts, read_resource
from assay.sessions import speech

__all__ = ["language", "outcome", "rubric", "topic", "versions"]

CODE = "5"
"""Raised when the code judges differently; tables and phrases count by themselves."""


def versions() -> dict[str, str]:
    """A short hash per job: another one means that scores may differ."""
    phrases = speech.hash_phrases()
    topic_table, rubric_table, outcome_table = (
        read_resource("assay.judges.offline", f"{job}.toml") for job in ("topic", "rubric", "outcome")
    )
    return {
        "topic": hash_parts(CODE, phrases, topic_table),
        "language": hash_parts(CODE, "language", phrases),
        "rubric": hash_parts(CODE, phrases, criteria.hash_criteria("rubric"), rubric_table),
        "outcome": hash_parts(CODE, phrases, criteria.hash_criteria("outcome"), outcome_table),
    }
