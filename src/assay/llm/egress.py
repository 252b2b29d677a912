"""What would be sent to a model, told before it is."""

from assay.types import Document, Row


class Estimate(Row, frozen=True):
    """How much is about to be asked, and what it costs."""

    questions: int
    cached: int
    """Questions that are answered already."""
    input: int
    output: int
    cost_usd: float | None
    """`None`: the price of the model is not known."""
    where: str
    model: str


class EgressQuestion(Row, frozen=True):
    """One question that would be asked."""

    to: str
    model: str
    job: str
    about: str
    """The session, or the stream whose topics are asked for."""
    project: str
    is_answered: bool
    """It was asked before, and would not be asked again."""
    tokens: int
    bytes: int
    redacted: dict[str, int]
    """Kinds of what was taken out of it."""
    system: str
    material: str
    task: str
    schema: dict[str, object]


class Egress(Document, frozen=True, kw_only=True, tag="egress"):
    """All that would leave this machine."""

    judge: str
    to: str | None
    model: str | None
    estimate: Estimate | None
    requests: list[EgressQuestion]
