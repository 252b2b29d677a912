"""Assay tells whether coding agents' sessions land their goals.

>>> import assay
>>> report = assay.score("~/.claude/projects", since="30d")  # doctest: +SKIP
>>> report.score.value, report.score.low, report.score.high  # doctest: +SKIP
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.evals.compare import compare
    from assay.evals.composite import composite
    from assay.evals.gate import should_promote
    from assay.pipeline.api import score
    from assay.scores.report import Report

__all__ = ["Report", "compare", "composite", "score", "should_promote"]

PLACES = {
    "Report": "assay.scores.report",
    "compare": "assay.evals.compare",
    "composite": "assay.evals.composite",
    "score": "assay.pipeline.api",
    "should_promote": "assay.evals.gate",
}
"""Where the names of this package live; they are imported when somebody asks for them."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415  slow, and seldom asked for

        return version("assay")
    if name in PLACES:
        return getattr(importlib.import_module(PLACES[name]), name)
    raise AttributeError(f"module 'assay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *PLACES])
