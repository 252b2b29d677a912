"""What asking a model costs: before it is asked, while it is, and after."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from secrets import token_hex

from msgspec import Struct, field

from assay.config import Model as Settings
from assay.errors import BadInput
from assay.facts.tokens import MILLION, Price, compute_cost, find_listed_price
from assay.llm import Backend, ModelCall, Question
from assay.llm.egress import Estimate
from assay.sessions.rendering import estimate_tokens as tokens_in
from assay.stores import WorkStore
from assay.types import Usage

REPLY_TOKENS = {"topic": 160, "session": 480}
"""What replies usually take."""
OTHER_REPLY = 300
LIMIT_HOLDS = timedelta(hours=24)
"""How long what workers spent counts against their limit."""


class QuestionSize(Struct, frozen=True, kw_only=True):
    """A question by its size alone."""

    key: str
    job: str
    prefix: int
    """Tokens of the system prompt and the transcript."""
    task: int
    of: str
    """Equal for questions that share a prefix."""
    is_alone: bool = False


class ModelSpending(Struct, kw_only=True):
    """What was asked in this run."""

    calls: int = 0
    cached: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = 0.0
    troubles: Counter[str] = field(default_factory=Counter)


def measure_question(question: Question) -> QuestionSize:
    """A question without its words."""
    return QuestionSize(
        key=question.key,
        job=question.job,
        prefix=tokens_in(question.system) + tokens_in(question.material),
        task=tokens_in(question.task) + tokens_in(question.schema.decode()),
        of=sha256((question.system + question.material).encode("utf-8", "surrogatepass")).hexdigest()[:16],
        is_alone=question.is_alone,
    )


def find_price(model: str, settings: Settings) -> Price | None:
    """Of a model: what the settings say, else the price list."""
    if settings.input_usd is not None and settings.output_usd is not None:
        return Price(
            model=model,
            since="",
            input=settings.input_usd,
            output=settings.output_usd,
            cache_read=settings.input_usd,
            cache_write=settings.input_usd,
            cache_write_1h=settings.input_usd,
        )
    return find_listed_price(model, datetime.now(UTC).date().isoformat())


def estimate_cost(
    sizes: Iterable[QuestionSize], model: Backend, known: set[str], cost: Price | None, share: float
) -> Estimate:
    """What these questions will take, given the keys of those that are answered already."""
    missing, cached, seen = [], 0, set[str]()
    for one in sizes:
        if one.key in known:
            cached += 1
        else:
            missing.append(one)
    usage = Usage()
    for one in missing:
        caches_from = None if share < 1.0 or one.is_alone else model.caches_from  # batches share no prefix
        usage = add_usage(usage, estimate_usage(one, caches_from, one.of in seen))
        seen.add(one.of)
    return Estimate(
        questions=len(missing),
        cached=cached,
        input=usage.input + usage.cache_read + usage.cache_write,
        output=usage.output,
        cost_usd=None if cost is None else compute_cost(usage, cost) * share,
        where=model.where,
        model=model.model,
    )


def estimate_usage(one: QuestionSize, caches_from: int | None, is_warm: bool) -> Usage:
    """What a question usually takes; a prefix that was sent before costs less where the service keeps it."""
    output = REPLY_TOKENS.get(one.job, OTHER_REPLY)
    if caches_from is None or one.prefix < caches_from:
        return Usage(input=one.prefix + one.task, output=output)
    if is_warm:
        return Usage(input=one.task, cache_read=one.prefix, output=output)
    return Usage(input=one.task, cache_write=one.prefix, output=output)


def add_usage(one: Usage, other: Usage) -> Usage:
    return Usage(
        input=one.input + other.input,
        output=one.output + other.output,
        cache_read=one.cache_read + other.cache_read,
        cache_write=one.cache_write + other.cache_write,
    )


class CostLimit:
    """Keeps to a limit: a call is made only if it fits even at its dearest."""

    def __init__(self, limit: float | None, cost: Price | None, share: float, model: Backend) -> None:
        if limit is not None and cost is None:
            raise BadInput(
                f"the price of {model.model} is not known, so --max-cost can't be kept to; "
                "set model.input_usd and model.output_usd in assay.toml, or leave --max-cost out"
            )
        self.limit = limit
        self.cost = cost
        self.share = share
        self.model = model
        self.spent_usd = 0.0
        self.reserved: dict[str, float] = {}
        self.is_empty = False

    def reserve(self, question: Question) -> bool:
        """Set aside what a call may cost at most; not if that is more than there is."""
        if self.limit is None or self.cost is None:
            return True
        most = self.dearest(question, self.cost)
        if self.spent_usd + sum(self.reserved.values()) + most > self.limit:
            self.is_empty = True
            return False
        self.reserved[question.key] = most
        return True

    def dearest(self, question: Question, cost: Price) -> float:
        """The whole input at the highest input price, and the longest reply, for every request that a call may take."""
        one = measure_question(question)
        dear = max(cost.input, cost.cache_write)
        output = question.most_output * self.model.room
        share = 1.0 if question.guidance else self.share
        requests, overhead = getattr(self.model, "requests", 1), getattr(self.model, "overhead", 0)
        sent = one.prefix + one.task + overhead + output * (requests - 1)  # a reply that did not fit is sent along
        return requests * (sent * dear + output * cost.output) / MILLION * share

    def record(self, question: Question, call: ModelCall) -> None:
        """What a call did cost."""
        self.reserved.pop(question.key, None)
        self.spent_usd += self.cost_of(call) or 0.0

    def release(self, question: str) -> None:
        """All calls for a question, given by its key, are kept."""

    def cost_of(self, call: ModelCall) -> float | None:
        """By what the service says, else by the price list."""
        if call.cost_usd is not None:
            return call.cost_usd
        return None if self.cost is None else compute_cost(call.usage, self.cost) * call.share


class SharedCostLimit(CostLimit):
    """Keeps to a limit with all others who ask for the same store: what a call may cost is set aside there first."""

    def __init__(self, limit: float | None, cost: Price | None, share: float, model: Backend, work: WorkStore) -> None:
        super().__init__(limit, cost, share, model)
        self.work = work
        self.name = token_hex(8)
        """Ours: whoever asks the same after we were killed does not take the place of what we set aside."""
        self.paid: dict[str, float] = {}
        """By question: calls that are over, and not kept yet."""

    def reserve(self, question: Question) -> bool:
        if self.limit is None or self.cost is None:
            return True
        most = self.dearest(question, self.cost) + self.paid.get(question.key, 0.0)
        now = datetime.now(UTC)
        since, at = ((now - ago).isoformat(timespec="milliseconds") for ago in (LIMIT_HOLDS, timedelta()))
        if not self.work.reserve_cost(f"{self.name}/{question.key}", most, self.limit, since, at):
            self.is_empty = True
            return False
        self.reserved[question.key] = most
        return True

    def record(self, question: Question, call: ModelCall) -> None:
        super().record(question, call)
        if self.limit is not None:
            self.paid[question.key] = self.paid.get(question.key, 0.0) + (self.cost_of(call) or 0.0)
            self.work.settle_cost(f"{self.name}/{question.key}", self.paid[question.key])

    def release(self, question: str) -> None:
        if self.paid.pop(question, None) is not None:
            self.work.release_costs([f"{self.name}/{question}"])
