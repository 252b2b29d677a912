"""The judge that needs no model and no network: deterministic, every conclusion a sum of named evidence.

Its weights stand in the TOML files here, each with a version; its phrases in `sessions.speech`, a file per
language. They were set by hand and are called uncalibrated until labels of the reader's own say otherwise.
"""

from assay.judges import criteria
from assay.judges.offline.language import language
from assay.judges.offline.outcome import outcome
from assay.judges.offline.rubric import rubric
from assay.judges.offline.tables import version
from assay.judges.offline.topic import topic
from assay.sessions import speech

__all__ = ["language", "outcome", "rubric", "topic", "versions"]

CODE = 1
"""Raised when the code judges differently; tables and phrases count by themselves."""


def versions() -> dict[str, str]:
    """A short hash per job: another one means that scores may differ."""
    phrases = speech.version()
    return {
        "topic": version(CODE, "topic", phrases),
        "language": version(CODE, "language", phrases),
        "rubric": version(CODE, "rubric", phrases, criteria.version("rubric")),
        "outcome": version(CODE, "outcome", phrases, criteria.version("outcome")),
    }
