"""The part of a store that remembers promoted configurations."""

from typing import Protocol

from assay.types.promotions import NotedPromotion


class PromotionStore(Protocol):
    """What was promoted, for `assay compare --since-promotion`: only ever added to."""

    def save_promotion(self, promotion: NotedPromotion) -> bool:
        """Note a promotion; `False`, and what was noted stays, where there is one with its id."""

    def list_promotions(self) -> list[NotedPromotion]:
        """All promotions, by time and id."""
