"""What models said and what it cost: kept as soon as it is there, so that nothing is paid for twice."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct
from sqlalchemy import delete, insert, select

from assay.llm.contract import FINAL, ModelCall, QuestionResult
from assay.stores.sql.schema import answers, batches, calls
from assay.stores.sql.scored import Connecting, portions

PACK = msgspec.msgpack.Encoder().encode
KEYS = msgspec.msgpack.Decoder(tuple[str, ...]).decode


class Batch(Struct, frozen=True, kw_only=True):
    """Questions that were handed over together and are answered in time."""

    id: str
    backend: str
    at: str
    keys: tuple[str, ...]


class KeptAnswers:
    """Keeps answers, calls and batches in SQL."""

    def __init__(self, reading: Connecting, writing: Connecting) -> None:
        self.reading = reading
        self.writing = writing

    def known(self, keys: Iterable[str]) -> dict[str, QuestionResult]:
        """What became of these questions, as far as they were answered, or never will be."""
        with self.reading() as connection:
            return {
                row.key: QuestionResult(
                    key=row.key, job=row.job, version=row.version, text=row.text, trouble=row.trouble, why=row.why
                )
                for some in portions(sorted(set(keys)))
                for row in connection.execute(select(answers).where(answers.c.key.in_(some)))
            }

    def keep(self, asked: QuestionResult, backend: str) -> None:
        """Keep an answer with the calls it took; a question that may be answered later is not kept as answered."""
        with self.writing() as connection:
            for one in asked.calls:
                connection.execute(insert(calls).values(row_of(one, asked, backend)))
            if asked.trouble is None or asked.trouble in FINAL:
                connection.execute(delete(answers).where(answers.c.key == asked.key))
                connection.execute(
                    insert(answers).values(
                        key=asked.key,
                        job=asked.job,
                        version=asked.version,
                        trouble=asked.trouble,
                        why=asked.why,
                        text=asked.text,
                    )
                )

    def spent(self) -> list[ModelCall]:
        """Every call that was ever made."""
        with self.reading() as connection:
            return [
                msgspec.convert(
                    {
                        "at": row.at,
                        "model": row.model,
                        "seconds": row.seconds,
                        "outcome": row.outcome,
                        "cost_usd": row.cost_usd,
                        "detail": row.detail,
                        "usage": {
                            "input": row.input,
                            "output": row.output,
                            "cache_read": row.cache_read,
                            "cache_write": row.cache_write,
                        },
                    },
                    ModelCall,
                )
                for row in connection.execute(select(calls).order_by(calls.c.id))
            ]

    def batches(self, backend: str) -> list[Batch]:
        """Batches that were handed over and not yet taken back."""
        with self.reading() as connection:
            return [
                Batch(id=row.id, backend=row.backend, at=row.at, keys=KEYS(row.keys))
                for row in connection.execute(select(batches).where(batches.c.backend == backend))
            ]

    def hand_over(self, batch: Batch) -> None:
        """Note a batch before anybody waits for it."""
        with self.writing() as connection:
            connection.execute(
                insert(batches).values(id=batch.id, backend=batch.backend, at=batch.at, keys=PACK(batch.keys))
            )

    def take_back(self, ids: Sequence[str]) -> None:
        """Forget batches whose answers are kept, or lost."""
        with self.writing() as connection:
            connection.execute(delete(batches).where(batches.c.id.in_(ids)))


def row_of(call: ModelCall, asked: QuestionResult, backend: str) -> dict[str, object]:
    return {
        "key": asked.key,
        "job": asked.job,
        "backend": backend,
        "model": call.model,
        "at": call.at,
        "seconds": call.seconds,
        "outcome": call.outcome,
        "input": call.usage.input,
        "output": call.usage.output,
        "cache_read": call.usage.cache_read,
        "cache_write": call.usage.cache_write,
        "cost_usd": call.cost_usd,
        "detail": call.detail,
    }
