"""Asks many questions at once: patiently, within a budget, and never the same thing for nothing.

Whatever becomes of a question is handed over the moment it is known, so a run that is killed loses only what was
under way.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from typing import Literal, Protocol

import msgspec

from assay.errors import ModelBusy, ModelError, ModelRefused, ModelUnavailable
from assay.llm.contract import Answer, Asked, Call, Model, PaidRefusal, Question, Trouble
from assay.llm.patience import Patience
from assay.types import Clean, Usage

Check = Callable[[Question, str], str]
"""Nothing when a reply fits its question, else what is wrong with it, in one line and our own words."""
Done = Callable[[Asked], None]
GUIDES = 1
"""How often a reply that doesn't fit is answered with what is wrong."""
SPENT_UP = "not asked: the budget is spent"


class Budget(Protocol):
    """What may be spent."""

    def may(self, question: Question) -> bool:
        """Sets aside what a call may cost, or says no."""

    def spent(self, question: Question, call: Call) -> None:
        """What it did cost; once for every call that was allowed and came to an end."""


class Asking:
    """One run over many questions."""

    def __init__(self, model: Model, at_once: int, patience: Patience, check: Check, budget: Budget) -> None:
        self.model = model
        self.at_once = at_once
        self.patience = patience
        self.check = check
        self.budget = budget
        self.closed = ""
        """Why nobody is answered any more."""
        self.under_way = 0
        self.ended = asyncio.Event()

    async def ask(self, question: Question, calls: tuple[Call, ...] = ()) -> Asked:
        """One question, until it is answered or in trouble; `calls` were made for it before, the last one off."""
        put, guided = question, 0
        if calls:
            put, guided = with_guidance(question, calls[-1].detail), GUIDES
        tried = 0
        while True:
            await self.patience.ready()
            if not await self.affordable(put):
                trouble: Trouble = "unavailable" if self.closed else "over_budget"
                return in_trouble(question, trouble, self.closed or SPENT_UP, calls)
            call, answer, error = await self.call(put)
            calls = (*calls, call)
            tried += 1
            if answer and not call.detail:
                return whole(question, answer.text, calls)
            if answer and guided == GUIDES:
                return in_trouble(question, "invalid", call.detail, calls)
            if answer:
                put, guided, tried = with_guidance(question, call.detail), guided + 1, 0
            elif isinstance(error, ModelBusy) and self.patience.worth_another(tried, error):
                await self.patience.pause(question.key, tried, error)
            else:
                return in_trouble(question, trouble_of(error), str(error), calls)

    async def affordable(self, question: Question) -> bool:
        """Whether a call may be made; what is set aside for those under way mostly comes back, so they are awaited."""
        while not self.closed and not self.budget.may(question):
            if not self.under_way:
                return False
            self.ended.clear()
            await self.ended.wait()
        return not self.closed

    async def call(self, question: Question) -> tuple[Call, Answer | None, ModelError | None]:
        """One call and how it ended; a reply that does not fit says so in the call's detail."""
        at, began = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
        answer: Answer | None = None
        error: ModelError | None = None
        self.under_way += 1
        try:
            answer = await self.model.ask(question)
        except ModelUnavailable as gone:
            error, self.closed = gone, self.closed or str(gone)
        except ModelError as failed:
            error = failed
        finally:
            self.under_way -= 1
            self.ended.set()
        call = call_of(self.model.model, answer or error, at, time.monotonic() - began)
        if answer and (wrong := self.check(question, answer.text)):
            call = msgspec.structs.replace(call, outcome="invalid", detail=wrong)
        self.budget.spent(question, call)
        return call, answer, error


async def ask_all(
    model: Model,
    questions: Sequence[Question],
    *,
    at_once: int,
    patience: Patience,
    check: Check,
    budget: Budget,
    done: Done,
) -> None:
    """Asks all; `done` hears of each question once, as soon as it is known what became of it."""
    run, line = Asking(model, at_once, patience, check, budget), iter(questions)

    async def work() -> None:
        for question in line:
            done(await run.ask(question))

    await together([work() for _ in range(min(at_once, len(questions)))])


async def together(work: Sequence[Coroutine[None, None, None]]) -> None:
    """Runs all at once; whatever ends it, nothing is left running."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def call_of(model: str, came: Answer | ModelError | None, at: str, seconds: float) -> Call:
    """The record of a call, by what came of it."""
    paid = came.answer if isinstance(came, PaidRefusal) else came if isinstance(came, Answer) else None
    failed = came if isinstance(came, ModelError) else None
    return Call(
        at=at,
        model=paid.model if paid else model,
        usage=paid.usage if paid else Usage(),
        seconds=round(seconds, 3),
        outcome=trouble_of(failed) if failed else "ok",
        cost_usd=paid.cost_usd if paid else None,
        detail=str(failed) if failed else "",
    )


def trouble_of(error: ModelError | None) -> Literal["refused", "busy", "unavailable"]:
    if isinstance(error, ModelRefused):
        return "refused"
    return "unavailable" if isinstance(error, ModelUnavailable) else "busy"


def with_guidance(question: Question, wrong: str) -> Question:
    """The same question, and what was wrong with the reply; only our own words."""
    told = Clean(f"Your reply before this one could not be used: {wrong}. Reply again, with the JSON object alone.")
    return msgspec.structs.replace(question, guidance=told)


def whole(question: Question, text: str, calls: tuple[Call, ...]) -> Asked:
    return Asked(key=question.key, job=question.job, version=question.version, text=text, calls=calls)


def in_trouble(question: Question, trouble: Trouble, why: str, calls: tuple[Call, ...]) -> Asked:
    return Asked(key=question.key, job=question.job, version=question.version, trouble=trouble, why=why, calls=calls)
