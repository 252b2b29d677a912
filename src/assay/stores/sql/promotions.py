"""Promoted configurations, in SQL."""

import msgspec
from sqlalchemy import insert, select

from assay.stores.sql.database import Database
from assay.stores.sql.schema import promotions
from assay.types.promotions import NotedPromotion

ENCODE = msgspec.json.Encoder().encode
DECODE = msgspec.json.Decoder(NotedPromotion).decode


class SqlPromotions:
    """Keeps what was promoted."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def save_promotion(self, promotion: NotedPromotion) -> bool:
        with self.database.writing() as connection:
            known = select(promotions.c.id).where(promotions.c.id == promotion.id)
            if connection.execute(known).first():
                return False
            row = {"id": promotion.id, "at": promotion.at, "note": ENCODE(promotion)}
            connection.execute(insert(promotions).values(row))
        return True

    def list_promotions(self) -> list[NotedPromotion]:
        query = select(promotions.c.note).order_by(promotions.c.at, promotions.c.id)
        with self.database.reading() as connection:
            return [DECODE(note) for note in connection.execute(query).scalars()]
