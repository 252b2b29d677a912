"""Whether sessions moved since a configuration was promoted, and what may be said of it."""

from datetime import timedelta
from typing import Literal

from assay.scores.comparison import ScoreComparison
from assay.scores.difference import FEWEST_COUNTED
from assay.types import Document, Row
from assay.types.promotions import NotedPromotion

WINDOW = timedelta(weeks=8)
"""How far sessions are looked at, to either side; what lies further away was other work."""
WORTHWHILE = 5.0
"""Points: a gain that lies below it, with its whole interval, is none that anybody would notice."""

PromotionVerdict = Literal[
    "not_merged",  # the repository is here, and its default branch has never had these files
    "too_early",  # fewer than five sessions count since
    "nothing_before",  # fewer than five count before
    "not_comparable",  # judged in different ways
    "better",
    "worse",
    "no_better",  # a gain worth speaking of is ruled out
    "inconclusive",
]
DID_NOT_HELP: tuple[PromotionVerdict, ...] = ("worse", "no_better")


class PromotionOutcome(Row, frozen=True):
    """What became of one promotion."""

    promotion: NotedPromotion
    is_merged: bool | None
    """Whether its files were on the default branch at any time; `None` where its repository is not here."""
    in_effect: str | None
    """From when on sessions count as after it: when its files were merged, else when it was promoted."""
    changed: str | None
    """When the default branch had other files again, where it has."""
    verdict: PromotionVerdict
    did_not_help: bool
    says: tuple[str, ...]
    comparison: ScoreComparison | None
    """Of the sessions of its project and agents, before and since; `None` where it is not in effect."""


class PromotionReview(Document, frozen=True, kw_only=True, tag="promotion_review"):
    """`assay compare --since-promotion --json`."""

    promotions: list[PromotionOutcome]
    """The newest first."""
    did_not_help: list[str]
    """Names of those that made sessions worse, or no better."""


def decide_promotion(found: ScoreComparison | None) -> PromotionVerdict:
    """What the sessions before and since allow to say; `None`: it is not in effect."""
    if found is None:
        return "not_merged"
    before, since = (one.score.counted for one in found.sides)
    told = found.difference
    if since < FEWEST_COUNTED:
        return "too_early"
    if before < FEWEST_COUNTED or told.high is None:
        return "nothing_before"
    if not told.is_one_judge:
        return "not_comparable"
    if told.direction:
        return "better" if told.direction == "up" else "worse"
    return "no_better" if told.high < WORTHWHILE else "inconclusive"
