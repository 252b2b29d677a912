"""What agents used: dollars, tokens and active time, in all and by day, week, month, project, model or agent."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from math import fsum

from assay.scores.breakdown import NOTHING, name_period
from assay.types import Document, Row

WAYS = ("day", "week", "month", "project", "model", "agent")


class UsageTokens(Row, frozen=True):
    """Tokens by what they are billed as."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def all(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write


class UsageCell(Row, frozen=True):
    """What one model used in one project on one day; time, which is no model's alone, stands in a cell without one."""

    day: str
    """Empty where no record tells a time."""
    project: str
    agent: str
    model: str
    responses: int = 0
    tokens: UsageTokens = UsageTokens()
    cost_usd: float | None = None
    """By list price; `None`: the model has none that is known."""
    active_s: float = 0.0
    streams: tuple[str, ...] = ()


class UsageTotal(Row, frozen=True):
    """What several cells come to."""

    name: str
    streams: int
    responses: int
    """Each once, however often transcripts repeat it."""
    tokens: UsageTokens
    cost_usd: float | None
    """Of all that has a known price; `None` where nothing has."""
    unpriced_tokens: int
    """Tokens that the cost leaves out."""
    unpriced_models: list[str]
    active_s: float | None
    """Pauses over five minutes left out; streams at the same time add up. `None` by model."""


class UsageReport(Document, frozen=True, kw_only=True, tag="usage"):
    """`assay usage --json`."""

    total: UsageTotal
    by: dict[str, list[UsageTotal]]
    cells: list[UsageCell]


def build_usage(cells: Iterable[UsageCell]) -> UsageReport:
    """The report on some cells."""
    known = sorted(cells, key=lambda one: (one.day, one.project, one.agent, one.model))
    return UsageReport(total=sum_cells("total", known), by={way: total_by(known, way) for way in WAYS}, cells=known)


def total_by(cells: Sequence[UsageCell], way: str) -> list[UsageTotal]:
    """Totals by one thing: what is a time in its order, all else by cost, the dearest first."""
    name_cell: Callable[[UsageCell], str] = NAMES[way]
    groups: defaultdict[str, list[UsageCell]] = defaultdict(list)
    for one in cells:
        if way != "model" or one.responses:
            groups[name_cell(one) or NOTHING].append(one)
    totals = [sum_cells(name, some, has_time=way != "model") for name, some in groups.items()]
    if way in ("day", "week", "month"):
        return sorted(totals, key=lambda one: (one.name == NOTHING, one.name))
    return sorted(totals, key=lambda one: (-(one.cost_usd or 0), -one.tokens.all, one.name))


NAMES: dict[str, Callable[[UsageCell], str]] = {
    "day": lambda one: one.day,
    "week": lambda one: name_period(date.fromisoformat(one.day), "week") if one.day else "",
    "month": lambda one: one.day[:7],
    "project": lambda one: one.project,
    "model": lambda one: one.model,
    "agent": lambda one: one.agent,
}


def sum_cells(name: str, cells: Sequence[UsageCell], *, has_time: bool = True) -> UsageTotal:
    """Cells as one."""
    spent = [one for one in cells if one.responses]
    priced = [one.cost_usd for one in spent if one.cost_usd is not None]
    unpriced = [one for one in spent if one.cost_usd is None and one.tokens.all]
    fields = ("input", "output", "cache_read", "cache_write")
    return UsageTotal(
        name=name,
        streams=len({(one.agent, stream) for one in cells for stream in one.streams}),
        responses=sum(one.responses for one in spent),
        tokens=UsageTokens(**{field: sum(getattr(one.tokens, field) for one in spent) for field in fields}),
        cost_usd=fsum(priced) if priced else None,  # fsum: the same sum in whatever order
        unpriced_tokens=sum(one.tokens.all for one in unpriced),
        unpriced_models=sorted({one.model for one in unpriced}),
        active_s=fsum(one.active_s for one in cells) if has_time else None,
    )
