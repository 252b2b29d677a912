"""What is drawn, as values: each gives a drawing, a picture, a sentence for a screen reader and the rows behind it."""

from collections.abc import Sequence

from msgspec import Struct

from assay.reports.format import UNKNOWN, format_count, format_percent

WIDE_INTERVAL = 40.0
"""From so many points on an interval says little: its value is drawn hollow."""


class ChartPoint(Struct, frozen=True, kw_only=True):
    """A share in percent at one place, with its interval."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    """What it rests on: `5 of 7`."""
    said: str = ""
    """What a test says of it."""
    address: str = ""
    """Where what it counts is listed."""

    @property
    def is_vague(self) -> bool:
        return self.low is None or self.high is None or self.high - self.low >= WIDE_INTERVAL


class TrendChart(Struct, frozen=True, kw_only=True):
    """Shares along time, each with its interval."""

    title: str
    along: str
    """What the points are: day, week, month."""
    points: Sequence[ChartPoint]
    said: str = ""
    """What a test says of it."""
    name: str = "crushed"


class IntervalChart(Struct, frozen=True, kw_only=True):
    """Shares of several groups, each with its interval, one below the other."""

    title: str
    along: str
    points: Sequence[ChartPoint]
    said: str = ""
    name: str = "crushed"


class CurveChart(Struct, frozen=True, kw_only=True):
    """A share that falls or rises along a number, such as days."""

    title: str
    along: str
    name: str
    points: Sequence[tuple[float, float]]
    """Where, and the share in percent."""
    said: str = ""


class CountBar(Struct, frozen=True, kw_only=True):
    """Something counted."""

    label: str
    count: int
    notes: Sequence[tuple[str, str]] = ()
    """What stands beside it: words, and the address of what they count."""
    address: str = ""
    is_good: bool = False

    @property
    def note(self) -> str:
        return ", ".join(words for words, _ in self.notes)


class BarChart(Struct, frozen=True, kw_only=True):
    """Counts beside each other, on one scale."""

    title: str
    along: str
    bars: Sequence[CountBar]
    said: str = ""


Chart = TrendChart | IntervalChart | CurveChart | BarChart


def describe_chart(chart: Chart) -> str:
    """The drawing in a sentence or two, for whoever does not see it."""
    said = f" {chart.said}." if chart.said else ""
    if isinstance(chart, BarChart):
        told = ", ".join(f"{one.label} {one.count:,}" for one in chart.bars)
        return f"{told}.{said}"
    if isinstance(chart, CurveChart):
        told = ", ".join(f"{format_percent(share)} % at {at:g}" for at, share in chart.points)
        return f"{chart.name.capitalize()} by {chart.along}: {told}.{said}"
    known = [one for one in chart.points if one.value is not None]
    if not known:
        return f"No {chart.along} has a value.{said}"
    first, last = known[0], known[-1]
    ends = f"from {format_share(first)} ({first.label}) to {format_share(last)} ({last.label})"
    return f"{format_count(len(known), chart.along)} with a value, {ends}; each with a 95 % interval.{said}"


def format_share(one: ChartPoint) -> str:
    return UNKNOWN if one.value is None else f"{format_percent(one.value)} %"


def list_chart_rows(chart: Chart) -> tuple[list[str], list[list[str]]]:
    """The heads and rows of the table behind a drawing."""
    if isinstance(chart, BarChart):
        return [chart.along, "count", ""], [[one.label, f"{one.count:,}", one.note] for one in chart.bars]
    if isinstance(chart, CurveChart):
        return [chart.along, chart.name], [[f"{at:g}", f"{format_percent(share)} %"] for at, share in chart.points]
    return [chart.along, chart.name, "95 % interval", "counted"], [
        [one.label, format_share(one), format_span(one), one.note] for one in chart.points
    ]


def format_span(one: ChartPoint) -> str:
    if one.low is None or one.high is None:
        return UNKNOWN
    return f"{format_percent(one.low)}–{format_percent(one.high)}"
