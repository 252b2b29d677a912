"""Asks a model what judges want to know: what was answered before comes from the store, the rest is asked and kept."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import ModuleType
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from assay.config import Config
from assay.errors import BadInput, ModelError, ModelRefused, ModelUnavailable
from assay.judges import model as model_judge
from assay.llm import UNASKED, AbsentModel, Backend, Question, QuestionResult
from assay.llm.client import Patience, QuestionRunner, ask_all, ask_batch, split_batches
from assay.llm.contract import BatchBackend
from assay.llm.egress import Estimate
from assay.pipeline.cost import (
    CostLimit,
    ModelSpending,
    QuestionSize,
    SharedCostLimit,
    add_usage,
    estimate_cost,
    find_price,
)
from assay.pipeline.judge_stream import JudgeModel
from assay.pipeline.judgement import is_own_judge, list_model_backends
from assay.plugins import load_module
from assay.stores import QuestionBatch, Store
from assay.types import CleanText

AnswerProgress = Callable[[int, int], None]
"""Called with how many questions are answered and how many there are."""

OVER_BUDGET = "--max-cost is reached"
ONLY_KEPT = "this command asks no model"
UNANSWERED = "the model gave no answer"
MOST_STREAMS = 200


class ModelAccess(Struct, frozen=True, kw_only=True):
    """Who is asked in a run: nobody, a model, or nobody in its stead."""

    client: "ModelClient | None" = None
    unavailable: str = ""
    """Why the model that was asked for is not there."""

    def close(self) -> None:
        if self.client:
            self.client.close()


NO_MODEL = ModelAccess()


def find_outage(why: str | None) -> str:
    """Why a model can't be asked, of what a report says of it; nothing where it could, and was not to be."""
    return "" if why in (None, OVER_BUDGET, ONLY_KEPT) else str(why)


def check_available(why: str, config: Config) -> None:
    """Refuse to go on without the model that was asked for, unless another judge may stand in for it."""
    if why and config.fallback == "none":
        raise BadInput(
            f"{why}; nothing was judged. --judge offline asks no model, "
            "and fallback = offline (--fallback offline) lets it stand in for one"
        )


class AskOptions(Struct, frozen=True, kw_only=True):
    """How a model is asked."""

    batch: bool = False
    again: bool = False
    """Also what it had refused, or answered in a way that can't be read."""
    only_kept: bool = False
    """Nothing is asked: what was answered before has to do."""
    heard: AnswerProgress = lambda *_: None
    shares_limit: bool = False
    """`max_cost` holds for any 24 hours, with all others who ask for the same store."""


ASK_AT_ONCE = AskOptions()
ASK_WITH_OTHERS = AskOptions(shares_limit=True)
ONLY_FROM_MEMORY = AskOptions(only_kept=True)


def open_models(store: Store, config: Config, env: Mapping[str, str], options: AskOptions = ASK_AT_ONCE) -> ModelAccess:
    """Connect to the model that these settings ask, if they ask any and it is there."""
    if not needs_model(config):
        return NO_MODEL
    try:
        return ModelAccess(client=ModelClient(store, config, connect_model(config, env), options))
    except ModelUnavailable as error:
        return ModelAccess(unavailable=f"{config.judge} can't be asked: {error}")


def open_kept_answers(store: Store, config: Config, env: Mapping[str, str]) -> ModelAccess:
    """What was answered before, which needs neither a key nor a way to the service."""
    own = getattr(find_backend(config), "MODEL", "") if needs_model(config) and not config.model.url else ""
    if not needs_model(config) or not (name := config.model.name or own):
        return open_models(store, config, env, ONLY_FROM_MEMORY)
    absent = AbsentModel(backend=config.judge, model=name, where=config.model.url)
    return ModelAccess(client=ModelClient(store, config, absent, ONLY_FROM_MEMORY))


def needs_model(config: Config) -> bool:
    """Whether the judge that is set asks a model."""
    return not is_own_judge(config.judge) and config.judge in list_model_backends()


def connect_model(config: Config, env: Mapping[str, str]) -> Backend:
    """A way to the model that is set; raises `ModelUnavailable`."""
    found: Backend = find_backend(config).connect(config.model, env)
    return found


def describe_model(config: Config, env: Mapping[str, str]) -> Backend:
    """The model that is set, as far as it is known without a key, a package of its service or a way to it."""
    backend = find_backend(config)
    found: Backend = getattr(backend, "describe_model", backend.connect)(config.model, env)
    return found


def find_backend(config: Config) -> ModuleType:
    """The file that knows the way."""
    return load_module("llm", config.judge.replace("-", "_"))


class ModelClient:
    """Who is asked in a run, and what it may cost."""

    def __init__(self, store: Store, config: Config, model: Backend, options: AskOptions = ASK_AT_ONCE) -> None:
        self.store = store
        self.settings = config.model
        self.model = model
        self.options = options
        if options.batch and not hasattr(model, "submit"):
            raise BadInput(f"--batch: {config.judge} takes no batches; leave it out, or take --judge anthropic")
        self.batching = cast(BatchBackend, model)
        self.share = self.batching.batch_share if options.batch else 1.0
        self.price = find_price(model.model, config.model)
        terms = config.model.max_cost, self.price, self.share, model
        self.purse = SharedCostLimit(*terms, store.work) if options.shares_limit else CostLimit(*terms)
        self.spent = ModelSpending()
        self.closed = ONLY_KEPT if options.only_kept else ""
        """Why nobody is asked any more."""
        self.asked: set[str] = set()
        self.runner = asyncio.Runner()

    @property
    def judge_model(self) -> JudgeModel:
        """What judges need to know of the model."""
        return JudgeModel(
            backend=self.model.backend,
            model=self.model.model,
            tokens=self.settings.tokens,
            votes=self.settings.votes,
        )

    @property
    def streams_at_once(self) -> int:
        """How many streams are judged together; few where money may run out, for half a judgement is none."""
        is_short = self.purse.limit is not None and not self.options.batch
        return self.settings.at_once if is_short else MOST_STREAMS

    def close(self) -> None:
        """Let go of the service."""
        try:
            self.runner.run(self.model.close())
        finally:
            self.runner.close()

    # --- before -----------------------------------------------------------------------------------

    def estimate(self, sizes: Sequence[QuestionSize]) -> Estimate:
        """What these questions will take."""
        known = set(self.load_answers([one.key for one in sizes]))
        return estimate_cost(sizes, self.model, known, self.price, self.share)

    def load_answers(self, keys: Iterable[str]) -> dict[str, QuestionResult]:
        """What became of these questions before; not where they should be asked again."""
        found = self.store.answers.load_answers(keys)
        return {
            key: one for key, one in found.items() if not (self.options.again and one.trouble and key not in self.asked)
        }

    # --- asking -----------------------------------------------------------------------------------

    def ask_questions(self, questions: Sequence[Question]) -> dict[str, QuestionResult]:
        """What became of every question, asked now or before; where nobody is asked any more, why."""
        unique = {one.key: one for one in questions}
        found = self.load_answers(unique)
        self.spent.cached += len(found)
        missing = [one for key, one in unique.items() if key not in found]
        if missing and not self.closed:
            found |= self.ask_missing(missing)
        return found | {one.key: self.explain_unasked(one) for one in missing if one.key not in found}

    def explain_unasked(self, question: Question) -> QuestionResult:
        """What becomes of a question that nobody is asked."""
        return QuestionResult(
            key=question.key,
            job=question.job,
            version=question.version,
            trouble="over_budget" if self.closed == OVER_BUDGET else "unavailable",
            why=self.closed or UNANSWERED,
        )

    def ask_missing(self, missing: Sequence[Question]) -> dict[str, QuestionResult]:
        """Ask, and keep what comes as soon as it comes."""
        found: dict[str, QuestionResult] = {}
        self.options.heard(0, len(missing))

        def take_result(asked: QuestionResult) -> None:
            self.save_answer(asked)
            if asked.trouble not in UNASKED:
                found[asked.key] = asked
            self.options.heard(len(found), len(missing))

        try:
            self.runner.run(
                self.ask_in_batches(missing, take_result)
                if self.options.batch
                else self.ask_singly(missing, take_result)
            )
        except ModelError as error:
            self.closed = str(error)
        return found

    def save_answer(self, asked: QuestionResult) -> None:
        """Keep an answer and what it cost."""
        calls = tuple(replace(one, cost_usd=self.purse.cost_of(one)) for one in asked.calls)
        self.store.answers.save_answer(replace(asked, calls=calls), self.model.backend)
        self.purse.release(asked.key)
        self.asked.add(asked.key)
        for one in calls:
            self.spent.calls += 1
            self.spent.usage = add_usage(self.spent.usage, one.usage)
            if one.cost_usd is None or self.spent.cost_usd is None:
                self.spent.cost_usd = None
            else:
                self.spent.cost_usd += one.cost_usd
        if asked.trouble:
            self.spent.troubles[asked.trouble] += 1
        if asked.trouble == "unavailable":
            self.closed = asked.why
        elif asked.trouble == "over_budget":
            self.closed = OVER_BUDGET

    async def ask_singly(self, missing: Sequence[Question], done: Callable[[QuestionResult], None]) -> None:
        await ask_all(
            self.model,
            missing,
            at_once=self.settings.at_once,
            patience=Patience(self.settings.tries),
            check=model_judge.check_reply,
            budget=self.purse,
            done=done,
        )

    def count_tokens(self, text: CleanText) -> int | None:
        """Tokens of a text as the service counts them, where it offers that."""
        count = getattr(self.model, "count_tokens", None)
        if count is None:
            return None
        try:
            return int(self.runner.run(count(text)))
        except ModelError:
            return None

    # --- batches ----------------------------------------------------------------------------------

    async def ask_in_batches(self, missing: Sequence[Question], done: Callable[[QuestionResult], None]) -> None:
        """Collect batches that were handed over before, then hand over the rest."""
        left = {one.key: one for one in missing}
        run = QuestionRunner(
            self.model, self.settings.at_once, Patience(self.settings.tries), model_judge.check_reply, self.purse
        )
        for batch in self.store.answers.list_batches(self.model.backend):
            there = [left.pop(key) for key in batch.keys if key in left]
            if there:
                await self.collect_batch(run, there, batch.id, done)
        for portion in split_batches(list(left.values())):
            await self.collect_batch(run, portion, "", done)

    async def collect_batch(
        self, run: QuestionRunner, questions: Sequence[Question], id: str, done: Callable[[QuestionResult], None]
    ) -> None:
        """One batch, from handing it over to its last answer."""
        ids = [id] if id else []

        def save_batch(new: str, keys: tuple[str, ...]) -> None:
            at = datetime.now(UTC).isoformat(timespec="seconds")
            self.store.answers.save_batch(QuestionBatch(id=new, backend=self.model.backend, at=at, keys=keys))
            ids.append(new)

        try:
            await ask_batch(run, self.batching, questions, batch=id, begun=save_batch, done=done)
        except ModelRefused:
            if not id:
                raise
            self.forget_batches([id], [one.key for one in questions])  # nobody knows this batch any more
            await self.collect_batch(run, questions, "", done)
            return
        self.forget_batches(ids, [one.key for one in questions])

    def forget_batches(self, ids: Sequence[str], keys: Sequence[str]) -> None:
        """Forget what was collected of batches; the rest of them is collected with what it belongs to."""
        for batch in self.store.answers.list_batches(self.model.backend):
            if batch.id in ids:
                rest = tuple(key for key in batch.keys if key not in set(keys))
                self.store.answers.drop_batches([batch.id])
                if rest:
                    self.store.answers.save_batch(replace(batch, keys=rest))
