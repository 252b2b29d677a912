"""Asks many questions in one batch: cheaper, answered within a day, and gone on with after a break."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from assay.errors import ModelBusy, ModelError
from assay.llm.asking import SPENT_UP, Asking, Done, call_of, in_trouble, together, trouble_of, whole
from assay.llm.contract import Answer, Asked, Batching, Call, Question
from assay.llm.patience import Patience

FIRST_LOOK_S = 5.0
SLOWEST_LOOK_S = 120.0
MOST_QUESTIONS = 10_000
MOST_BYTES = 50_000_000
"""In one batch; the service takes 100,000 questions and 256 MB."""
Begun = Callable[[str, tuple[str, ...]], None]
"""Keeps a batch's id and the keys of its questions, before anybody waits for it."""


async def ask_batch(
    run: Asking, service: Batching, questions: Sequence[Question], *, batch: str, begun: Begun, done: Done
) -> None:
    """Asks all in one batch, or collects the `batch` that was begun before; replies that don't fit are asked again
    one by one, with guidance."""
    if not batch:
        allowed = []
        for question in questions:
            if run.budget.may(question):
                allowed.append(question)
            else:
                done(in_trouble(question, "over_budget", SPENT_UP, ()))
        if not allowed:
            return
        questions = allowed
        batch = await submitted(run.patience, service, questions)
        begun(batch, tuple(question.key for question in questions))
    at, began = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
    came = await collected(run.patience, service, batch)
    took_s = (time.monotonic() - began) / max(1, len(came))
    off = []
    for question in questions:
        answer = came.get(question.key, ModelBusy("the batch ended without it"))
        call = msgspec.structs.replace(call_of(run.model.model, answer, at, took_s), share=service.batch_share)
        asked = settled(run, question, answer, call)
        run.budget.spent(question, asked.calls[-1])
        if asked.trouble == "invalid":
            off.append((question, asked.calls))
        else:
            done(asked)
    await guided(run, off, done)


def settled(run: Asking, question: Question, came: Answer | ModelError, call: Call) -> Asked:
    """What became of one question of a batch."""
    if isinstance(came, ModelError):
        return in_trouble(question, trouble_of(came), str(came), (call,))
    if wrong := run.check(question, came.text):
        call = msgspec.structs.replace(call, outcome="invalid", detail=wrong)
        return in_trouble(question, "invalid", wrong, (call,))
    return whole(question, came.text, (call,))


async def guided(run: Asking, off: Sequence[tuple[Question, tuple[Call, ...]]], done: Done) -> None:
    """Asks once more where the reply did not fit."""
    line = iter(off)

    async def work() -> None:
        for question, calls in line:
            done(await run.ask(question, calls))

    await together([work() for _ in range(min(run.at_once, len(off)))])


async def submitted(patience: Patience, service: Batching, questions: Sequence[Question]) -> str:
    """Hands a batch in; asks a busy service again."""
    tried = 0
    while True:
        await patience.ready()
        try:
            return await service.submit(questions)
        except ModelBusy as busy:
            tried += 1
            if not patience.worth_another(tried, busy):
                raise
            await patience.pause(questions[0].key, tried, busy)


async def collected(patience: Patience, service: Batching, id: str) -> dict[str, Answer | ModelError]:
    """What came of a batch, however long it runs; a service that is busy is asked as often as for any answer."""
    look_s, tried = FIRST_LOOK_S, 0
    while True:
        await patience.ready()
        try:
            came = await service.collect(id)
        except ModelBusy as busy:
            tried += 1
            if not patience.worth_another(tried, busy):
                raise
            await patience.pause(id, tried, busy)
            continue
        if came is not None:
            return came
        tried = 0
        await patience.sleep(look_s)
        look_s = min(SLOWEST_LOOK_S, look_s * 1.5)


def portions(questions: Sequence[Question]) -> Iterator[list[Question]]:
    """Questions as one batch may hold them."""
    portion: list[Question] = []
    size = 0
    for question in questions:
        own = sum(len(text.encode()) for text in (question.system, question.material, question.task))
        if portion and (len(portion) == MOST_QUESTIONS or size + own > MOST_BYTES):
            yield portion
            portion, size = [], 0
        portion.append(question)
        size += own
    if portion:
        yield portion
