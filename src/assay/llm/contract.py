"""What judges ask of a model, and what comes back."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Literal, Protocol

from msgspec import Struct

from assay.errors import ModelError, ModelRefused, ModelUnavailable
from assay.types import CleanText, Usage, Value

Trouble = Literal[
    "invalid",  # off the schema, also after guidance
    "refused",  # it won't answer this
    "busy",  # it did not answer in time, however often it was asked
    "unavailable",  # it answers nobody
    "over_budget",  # it was not asked
]
FINAL: frozenset[Trouble] = frozenset({"invalid", "refused"})
"""Troubles that the same question would meet again."""
UNASKED: frozenset[Trouble] = frozenset({"unavailable", "over_budget"})
"""Troubles of whoever should be asked, and not of the question."""


class Question(Value, frozen=True):
    """One call to make. `system` and `material` are the same for all votes on a session: a prefix to be cached."""

    job: str
    """What is asked for: topic, session, quality, trial."""
    version: str
    """Of that judge: prompt, schema, model, contract."""
    model: str
    system: CleanText
    material: CleanText
    """The transcript as rendered."""
    task: CleanText
    """What is asked of it."""
    schema: bytes
    """JSON Schema of the reply: one object, every property required, nothing else allowed."""
    most_output: int = 1_000
    """Tokens."""
    sample: int = 0
    """Which vote this is, from 0."""
    guidance: CleanText = CleanText("")
    """What was wrong with the reply before."""
    is_alone: bool = False
    """No other question has the same material: there is nothing to cache it for."""
    about: str = ""
    """The session, or the stream whose topics are asked for; it is not sent."""
    project: str = ""
    """Its folder; it is not sent."""

    @property
    def key(self) -> str:
        """Equal for the same question to the same judge: what an answer is kept by."""
        whole = sha256()
        for part in (self.job, self.version, self.model, self.system, self.material, self.task, str(self.sample)):
            whole.update(len(said := part.encode("utf-8", "surrogatepass")).to_bytes(8, "big") + said)
        return whole.hexdigest()


class Answer(Value, frozen=True):
    """What a model said to one call."""

    text: str
    usage: Usage
    model: str
    """As the service names it."""
    cost_usd: float | None = None
    """Where the service itself says so."""


class ModelCall(Value, frozen=True):
    """A call that was made, answered or not: what it cost and how it ended."""

    at: str
    model: str
    usage: Usage
    seconds: float
    outcome: Literal["ok", "invalid", "refused", "busy", "unavailable"]
    cost_usd: float | None = None
    share: float = 1.0
    """Of the list price: a call in a batch is cheaper."""
    detail: str = ""


class QuestionResult(Value, frozen=True):
    """What became of a question: a reply that fits its schema, or trouble."""

    key: str
    job: str
    version: str
    text: str = ""
    """The reply, checked; empty where there is trouble."""
    trouble: Trouble | None = None
    why: str = ""
    """The trouble in a sentence."""
    calls: tuple[ModelCall, ...] = ()
    """Every call made for it, retries too."""


class Backend(Protocol):
    """A way to a model, as `connect(settings, env)` of a backend gives it.

    One whose call may take several requests says so by `requests`, and by `overhead` what tokens it adds to each.
    """

    backend: str
    model: str
    """The model that is asked."""
    where: str
    """Where words go: an address, or a program on this machine."""
    caches_from: int | None
    """Tokens from which a shared prefix is cached at a lower price; `None`: never."""
    room: int
    """How many times `most_output` a reply may take: what a model thinks may count as output."""

    async def ask(self, question: Question) -> Answer:
        """Makes one call; raises `ModelBusy`, `ModelRefused` or `ModelUnavailable`."""

    async def close(self) -> None: ...


class AbsentModel(Struct, kw_only=True):
    """A model that nobody asks: what is known of it without a way to it."""

    backend: str
    model: str
    where: str
    caches_from: int | None = None
    room: int = 1

    async def ask(self, question: Question) -> Answer:
        raise ModelUnavailable("this command asks no model")

    async def close(self) -> None: ...


class PaidRefusal(ModelRefused):
    """A refusal that was paid for: declined or cut off after the model had begun."""

    def __init__(self, why: str, answer: Answer) -> None:
        super().__init__(why)
        self.answer = answer


class BatchBackend(Protocol):
    """A model that also takes many questions at once, answers within a day, and is cheaper for it."""

    batch_share: float
    """Of the list price."""

    async def submit(self, questions: Sequence[Question]) -> str:
        """Hands questions in, all of different keys; returns the id by which their answers are collected."""

    async def collect(self, id: str) -> dict[str, Answer | ModelError] | None:
        """The answers of a batch, by key; `None` while it runs. Raises `ModelRefused` where the batch is not known."""
