"""Thresholds that a person chose, and how they differ from the usual ones: every report says so."""

from assay.config.settings import Eval
from assay.evals.types import Thresholds

LOOSER_ABOVE = (
    "alpha", "most_missing", "quality_margin", "equivalence_margin", "suspect_drop", "regression_composite_drop",
)  # fmt: skip
"""Limits that let more through the higher they are; the others let more through the lower they are."""


def thresholds(chosen: Eval) -> Thresholds:
    """The thresholds of an evaluation, as the settings have them."""
    return Thresholds(**{name: getattr(chosen, name) for name in Eval.__struct_fields__})


def unusual(limits: Thresholds) -> tuple[str, ...]:
    """What is not as usual, in sentences."""
    usual, found = Thresholds(), []
    for name in Thresholds.__struct_fields__:
        now, before = getattr(limits, name), getattr(usual, name)
        if now != before:
            way = "looser" if (now > before) == (name in LOOSER_ABOVE) else "stricter"
            found.append(f"{way} than usual: {name} {now}, not {before}")
    return tuple(found)
