"""What models answered and what it cost, in SQL."""

from collections.abc import Iterable, Sequence

import msgspec
from sqlalchemy import delete, func, insert, select

from assay.llm.contract import FINAL, ModelCall, QuestionResult
from assay.stores.contract import QuestionBatch
from assay.stores.sql.database import Database, split_values
from assay.stores.sql.schema import answers, batches, calls

PACK = msgspec.msgpack.Encoder().encode
KEYS = msgspec.msgpack.Decoder(tuple[str, ...]).decode


class SqlAnswers:
    """Keeps answers, calls and batches."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def load_answers(self, keys: Iterable[str]) -> dict[str, QuestionResult]:
        with self.database.reading() as connection:
            return {
                row.key: QuestionResult(
                    key=row.key, job=row.job, version=row.version, text=row.text, trouble=row.trouble, why=row.why
                )
                for some in split_values(sorted(set(keys)))
                for row in connection.execute(select(answers).where(answers.c.key.in_(some)))
            }

    def save_answer(self, asked: QuestionResult, backend: str) -> None:
        with self.database.writing() as connection:
            for one in asked.calls:
                connection.execute(insert(calls).values(build_call_row(one, asked, backend)))
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

    def drop_answers(self, before: str) -> int:
        latest = select(calls.c.key).group_by(calls.c.key).having(func.max(calls.c.at) < before)
        is_old = answers.c.key.in_(latest)
        with self.database.reading() as connection:
            if connection.execute(select(answers.c.key).where(is_old).limit(1)).first() is None:
                return 0  # nearly always: nobody is waited for
        with self.database.scrubbing() as connection:
            return connection.execute(delete(answers).where(is_old)).rowcount

    def list_calls(self) -> list[ModelCall]:
        with self.database.reading() as connection:
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

    def list_batches(self, backend: str) -> list[QuestionBatch]:
        with self.database.reading() as connection:
            return [
                QuestionBatch(id=row.id, backend=row.backend, at=row.at, keys=KEYS(row.keys))
                for row in connection.execute(select(batches).where(batches.c.backend == backend))
            ]

    def save_batch(self, batch: QuestionBatch) -> None:
        with self.database.writing() as connection:
            connection.execute(
                insert(batches).values(id=batch.id, backend=batch.backend, at=batch.at, keys=PACK(batch.keys))
            )

    def drop_batches(self, ids: Sequence[str]) -> None:
        with self.database.writing() as connection:
            connection.execute(delete(batches).where(batches.c.id.in_(ids)))


def build_call_row(call: ModelCall, asked: QuestionResult, backend: str) -> dict[str, object]:
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
