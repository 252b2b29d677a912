"""What agents used, in the terminal: dollars, tokens and active time."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.reports.format import (
    HOUR_S,
    UNKNOWN,
    fit_names,
    format_count,
    format_duration,
    format_line,
    format_list,
    format_number,
    shorten_paths,
)
from assay.reports.score import TITLE
from assay.reports.summary import name_models
from assay.scores.usage import UsageReport, UsageTotal

FIRST = {"model": 8, "project": 8, "day": 7}
"""What is shown where nobody asked for one table, and how many rows of it."""
PERIODS = ("day", "week", "month")
NUMBERS = 54
"""What the numbers of a row take."""
LEAST_NAME, MOST_NAME = 10, 40
ONCE = "each response counts once, however often resumed or forked transcripts repeat it"
PRICES = "by list prices; a subscription is billed otherwise"


def render_usage(found: UsageReport, width: int, by: str | None = None) -> Group:
    """The sum of all, and tables by what it is asked for, else by model, project and day."""
    parts: list[RenderableType] = [Text(describe_total(found.total), TITLE)]
    if not found.total.streams:
        return Group(*parts)
    for way, most in ({by: 0} if by else FIRST).items():
        rows = found.by[way]
        shown = rows if not most else rows[-most:] if way in PERIODS else rows[:most]
        parts += [Text(""), render_totals(shown, way, width)]
        if len(shown) < len(rows):
            which = "earlier" if way in PERIODS else "more"
            parts.append(Text(f"and {len(rows) - len(shown)} {which}: --by {way}", "dim"))
    if told := describe_unpriced(found.total):
        parts += [Text(""), Text(told, "yellow")]
    return Group(*parts, Text(""), Text(ONCE, "dim"), Text(PRICES, "dim"))


def describe_total(total: UsageTotal) -> str:
    """All of it in a line."""
    cost = UNKNOWN if total.cost_usd is None else f"USD {total.cost_usd:,.2f}"
    active = "" if not total.active_s else f" · {format_active(total.active_s)} active"
    return f"{cost} · {format_number(total.tokens.all)} tokens · {format_count(total.streams, 'stream')}{active}"


def describe_unpriced(total: UsageTotal) -> str:
    """What the cost leaves out, and why."""
    if not total.unpriced_tokens:
        return ""
    named = [format_line(one, 40) for one in total.unpriced_models if one]
    models = [f"no price is known of {format_list(named, 4)}"] if named else []
    nameless = ["some responses name no model"] if "" in total.unpriced_models else []
    return f"{' and '.join(models + nameless)}: {format_number(total.unpriced_tokens)} tokens are left out of the cost"


def format_active(seconds: float) -> str:
    """How long, in hours from the first on."""
    return f"{seconds / HOUR_S:,.1f} h" if seconds >= HOUR_S else format_duration(seconds)


def render_totals(rows: Sequence[UsageTotal], way: str, width: int) -> Table:
    """A row for each total."""
    room = max(LEAST_NAME, min(MOST_NAME, width - NUMBERS))
    names = name_rows([one.name for one in rows], way)
    fitted = fit_names(names.values(), room)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(f"by {way}", no_wrap=True)
    for head in ("USD", "in", "out", "cached", "to cache", *(("active",) if way != "model" else ())):
        table.add_column(head, justify="right", no_wrap=True)
    for one in rows:
        cells = [format_cost(one), *(format_number(n) for n in (one.tokens.input, one.tokens.output))]
        cells += [format_number(n) for n in (one.tokens.cache_read, one.tokens.cache_write)]
        if way != "model":
            cells.append(UNKNOWN if one.active_s is None else format_active(one.active_s))
        table.add_row(Text(fitted[names[one.name]]), *map(Text, cells))
    return table


def name_rows(names: Sequence[str], way: str) -> dict[str, str]:
    if way == "project":
        return shorten_paths(names)
    return name_models(names) if way == "model" else {name: name for name in names}


def format_cost(one: UsageTotal) -> str:
    """Dollars; with a sign where some of it has no known price."""
    if one.cost_usd is None:
        return UNKNOWN
    return f"{'> ' if one.unpriced_tokens else ''}{one.cost_usd:,.2f}"
