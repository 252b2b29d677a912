"""Asks many questions of a model: patiently, within a budget, and never the same thing for nothing.

Whatever becomes of a question is handed over the moment it is known, so a run that is killed loses only what was
under way. `ask_all` makes a call for each question; `ask_batch` hands them in together, which is cheaper, answered
within a day, and gone on with after a break.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Literal, Protocol

import msgspec

from assay.errors import ModelBusy, ModelError, ModelRefused, ModelUnavailable
from assay.llm.contract import Answer, Backend, BatchBackend, ModelCall, PaidRefusal, Question, QuestionResult, Trouble
from assay.retry import double_wait
from assay.types import CleanText, Usage

CheckReply = Callable[[Question, str], str]
"""Nothing when a reply fits its question, else what is wrong with it, in one line and our own words."""
OnResult = Callable[[QuestionResult], None]
GUIDES = 1
"""How often a reply that doesn't fit is answered with what is wrong."""
BUDGET_SPENT = "not asked: the budget is spent"
FIRST_WAIT_S = 1.0
MOST_WAIT_S = 60.0
LONGEST_ASKED_S = 300.0
"""A service that wants a longer pause is left for the next run."""
FIRST_LOOK_S = 5.0
SLOWEST_LOOK_S = 120.0
MOST_QUESTIONS = 10_000
MOST_BYTES = 50_000_000
"""In one batch; the service takes 100,000 questions and 256 MB."""
OnBatchBegun = Callable[[str, tuple[str, ...]], None]
"""Keeps a batch's id and the keys of its questions, before anybody waits for it."""


# --- waiting and paying ------------------------------------------------------------------------


class Patience:
    """How often and after what pause the same is asked; one for all calls to a service."""

    def __init__(
        self,
        tries: int,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tries = tries
        self.sleep = sleep
        self.clock = clock
        self.quiet_until = clock()

    async def wait_until_quiet(self) -> None:
        """Returns when no pause holds; a service that is crowded for one call is crowded for all."""
        while (left := self.quiet_until - self.clock()) > 0:
            await self.sleep(left)

    def may_retry(self, tried: int, busy: ModelBusy) -> bool:
        return tried < self.tries and (busy.wait_s or 0) <= LONGEST_ASKED_S

    async def pause(self, key: str, tried: int, busy: ModelBusy) -> None:
        """Waits after the `tried`-th call for a question found the service busy."""
        wait_s = max(busy.wait_s or 0.0, hash_wait(key, tried))
        if busy.wait_s is None:  # this call's own bad luck: a timeout, a dead line, a fault
            await self.sleep(wait_s)
        else:
            self.quiet_until = max(self.quiet_until, self.clock() + wait_s)


def hash_wait(key: str, tried: int) -> float:
    """The wait after the `tried`-th call for a question, spread by a hash of its key: the same in every run."""
    spread = int.from_bytes(sha256(f"{key} {tried}".encode()).digest()[:4], "big") / 2**32
    return double_wait(tried, FIRST_WAIT_S, MOST_WAIT_S, spread)


class Budget(Protocol):
    """What a run may spend on calls."""

    def reserve(self, question: Question) -> bool:
        """Sets aside what a call may cost; false where the budget does not reach."""

    def record(self, question: Question, call: ModelCall) -> None:
        """Books what a call did cost; once for every call that was allowed and came to an end."""


class QuestionRunner:
    """Asks questions of one model, each until it is answered or in trouble."""

    def __init__(self, model: Backend, at_once: int, patience: Patience, check: CheckReply, budget: Budget) -> None:
        self.model = model
        self.at_once = at_once
        self.patience = patience
        self.check = check
        self.budget = budget
        self.closed = ""
        """Why nobody is answered any more."""
        self.under_way = 0
        self.ended = asyncio.Event()

    async def ask(self, question: Question, calls: tuple[ModelCall, ...] = ()) -> QuestionResult:
        """One question, until it is answered or in trouble; `calls` were made for it before, the last one off."""
        put, guided = question, 0
        if calls:
            put, guided = add_guidance(question, calls[-1].detail), GUIDES
        tried = 0
        while True:
            await self.patience.wait_until_quiet()
            if not await self.reserve_budget(put):
                trouble: Trouble = "unavailable" if self.closed else "over_budget"
                return build_trouble(question, trouble, self.closed or BUDGET_SPENT, calls)
            call, answer, error = await self.make_call(put)
            calls = (*calls, call)
            tried += 1
            if answer and not call.detail:
                return build_reply(question, answer.text, calls)
            if answer and guided == GUIDES:
                return build_trouble(question, "invalid", call.detail, calls)
            if answer:
                put, guided, tried = add_guidance(question, call.detail), guided + 1, 0
            elif isinstance(error, ModelBusy) and self.patience.may_retry(tried, error):
                await self.patience.pause(question.key, tried, error)
            else:
                return build_trouble(question, pick_trouble(error), str(error), calls)

    async def reserve_budget(self, question: Question) -> bool:
        """Whether a call may be made; what is set aside for those under way mostly comes back, so they are awaited."""
        while not self.closed and not self.budget.reserve(question):
            if not self.under_way:
                return False
            self.ended.clear()
            await self.ended.wait()
        return not self.closed

    async def make_call(self, question: Question) -> tuple[ModelCall, Answer | None, ModelError | None]:
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
        call = build_call(self.model.model, answer or error, at, time.monotonic() - began)
        if answer and (wrong := self.check(question, answer.text)):
            call = msgspec.structs.replace(call, outcome="invalid", detail=wrong)
        self.budget.record(question, call)
        return call, answer, error


async def ask_all(
    model: Backend,
    questions: Sequence[Question],
    *,
    at_once: int,
    patience: Patience,
    check: CheckReply,
    budget: Budget,
    done: OnResult,
) -> None:
    """Asks all questions; `done` hears of each question once, as soon as it is known what became of it."""
    run, line = QuestionRunner(model, at_once, patience, check, budget), iter(questions)

    async def work() -> None:
        for question in line:
            done(await run.ask(question))

    await run_together([work() for _ in range(min(at_once, len(questions)))])


async def run_together(work: Sequence[Coroutine[None, None, None]]) -> None:
    """Runs all coroutines at once; whatever ends one, none is left running."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def build_call(model: str, came: Answer | ModelError | None, at: str, seconds: float) -> ModelCall:
    """The record of a call, by what came of it."""
    paid = came.answer if isinstance(came, PaidRefusal) else came if isinstance(came, Answer) else None
    failed = came if isinstance(came, ModelError) else None
    return ModelCall(
        at=at,
        model=paid.model if paid else model,
        usage=paid.usage if paid else Usage(),
        seconds=round(seconds, 3),
        outcome=pick_trouble(failed) if failed else "ok",
        cost_usd=paid.cost_usd if paid else None,
        detail=str(failed) if failed else "",
    )


def pick_trouble(error: ModelError | None) -> Literal["refused", "busy", "unavailable"]:
    if isinstance(error, ModelRefused):
        return "refused"
    return "unavailable" if isinstance(error, ModelUnavailable) else "busy"


def add_guidance(question: Question, wrong: str) -> Question:
    """The same question, and what was wrong with the reply; only our own words."""
    told = CleanText(f"Your reply before this one could not be used: {wrong}. Reply again, with the JSON object alone.")
    return msgspec.structs.replace(question, guidance=told)


def build_reply(question: Question, text: str, calls: tuple[ModelCall, ...]) -> QuestionResult:
    return QuestionResult(key=question.key, job=question.job, version=question.version, text=text, calls=calls)


def build_trouble(question: Question, trouble: Trouble, why: str, calls: tuple[ModelCall, ...]) -> QuestionResult:
    return QuestionResult(
        key=question.key, job=question.job, version=question.version, trouble=trouble, why=why, calls=calls
    )


# --- batches ----------------------------------------------------------------------------------


async def ask_batch(
    run: QuestionRunner,
    service: BatchBackend,
    questions: Sequence[Question],
    *,
    batch: str,
    begun: OnBatchBegun,
    done: OnResult,
) -> None:
    """Asks all questions in one batch, or collects the `batch` that was begun before.

    Replies that don't fit are asked for again one by one, with guidance.
    """
    if not batch:
        allowed = []
        for question in questions:
            if run.budget.reserve(question):
                allowed.append(question)
            else:
                done(build_trouble(question, "over_budget", BUDGET_SPENT, ()))
        if not allowed:
            return
        questions = allowed
        batch = await submit_batch(run.patience, service, questions)
        begun(batch, tuple(question.key for question in questions))
    at, began = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
    came = await collect_batch(run.patience, service, batch)
    took_s = (time.monotonic() - began) / max(1, len(came))
    off = []
    for question in questions:
        answer = came.get(question.key, ModelBusy("the batch ended without it"))
        call = msgspec.structs.replace(build_call(run.model.model, answer, at, took_s), share=service.batch_share)
        asked = build_result(run, question, answer, call)
        run.budget.record(question, asked.calls[-1])
        if asked.trouble == "invalid":
            off.append((question, asked.calls))
        else:
            done(asked)
    await ask_with_guidance(run, off, done)


def build_result(run: QuestionRunner, question: Question, came: Answer | ModelError, call: ModelCall) -> QuestionResult:
    """What became of one question of a batch."""
    if isinstance(came, ModelError):
        return build_trouble(question, pick_trouble(came), str(came), (call,))
    if wrong := run.check(question, came.text):
        call = msgspec.structs.replace(call, outcome="invalid", detail=wrong)
        return build_trouble(question, "invalid", wrong, (call,))
    return build_reply(question, came.text, (call,))


async def ask_with_guidance(
    run: QuestionRunner, off: Sequence[tuple[Question, tuple[ModelCall, ...]]], done: OnResult
) -> None:
    """Asks questions once more whose replies did not fit."""
    line = iter(off)

    async def work() -> None:
        for question, calls in line:
            done(await run.ask(question, calls))

    await run_together([work() for _ in range(min(run.at_once, len(off)))])


async def submit_batch(patience: Patience, service: BatchBackend, questions: Sequence[Question]) -> str:
    """Hands a batch in and returns its id; a busy service is asked again."""
    tried = 0
    while True:
        await patience.wait_until_quiet()
        try:
            return await service.submit(questions)
        except ModelBusy as busy:
            tried += 1
            if not patience.may_retry(tried, busy):
                raise
            await patience.pause(questions[0].key, tried, busy)


async def collect_batch(patience: Patience, service: BatchBackend, id: str) -> dict[str, Answer | ModelError]:
    """The answers of a batch, however long it runs; a service that is busy is asked as often as for any answer."""
    look_s, tried = FIRST_LOOK_S, 0
    while True:
        await patience.wait_until_quiet()
        try:
            came = await service.collect(id)
        except ModelBusy as busy:
            tried += 1
            if not patience.may_retry(tried, busy):
                raise
            await patience.pause(id, tried, busy)
            continue
        if came is not None:
            return came
        tried = 0
        await patience.sleep(look_s)
        look_s = min(SLOWEST_LOOK_S, look_s * 1.5)


def split_batches(questions: Sequence[Question]) -> Iterator[list[Question]]:
    """Questions in portions that one batch may hold."""
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
