"""Assay tells whether coding agents' sessions land their goals, and how well they were run.

>>> import assay
>>> report = assay.score("~/.claude/projects", since="30d")  # doctest: +SKIP
>>> report.score.value, report.score.low, report.score.high  # doctest: +SKIP
>>> assay.quality(report.sessions[0], "enhanced").overall_quality  # doctest: +SKIP
"""

import importlib

TYPE_CHECKING = False
"""As in `typing`, which takes longer to import than a status line may."""
if TYPE_CHECKING:
    from typing import Any

    from assay.evals.deciding.compare import compare
    from assay.evals.deciding.composite import composite
    from assay.evals.deciding.gate import should_promote
    from assay.pipeline.api import quality, score
    from assay.scores.report import Report
    from assay.types.quality import Quality

__version__ = "0.1.0"

__all__ = ["Quality", "Report", "compare", "composite", "quality", "score", "should_promote"]

PLACES = {
    "Quality": "assay.types.quality",
    "Report": "assay.scores.report",
    "compare": "assay.evals.deciding.compare",
    "composite": "assay.evals.deciding.composite",
    "quality": "assay.pipeline.api",
    "score": "assay.pipeline.api",
    "should_promote": "assay.evals.deciding.gate",
}
"""Where the names of this package live; they are imported when somebody asks for them."""


def __getattr__(name: str) -> "Any":
    if name in PLACES:
        return getattr(importlib.import_module(PLACES[name]), name)
    raise AttributeError(f"module 'assay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *PLACES])
