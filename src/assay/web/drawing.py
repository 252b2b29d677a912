"""Charts as SVG, drawn for a width: colours are those of the style sheet, so that light, dark and print all fit."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from assay.reports.format import format_end, format_percent
from assay.web.charts import BarChart, Chart, ChartPoint, CurveChart, IntervalChart, TrendChart, format_share
from assay.web.html import Element, Node, draw

WIDE, MEDIUM, NARROW = 720, 480, 320
NAMED = {WIDE: "wide", MEDIUM: "medium", NARROW: "narrow"}
"""Widths that charts are drawn for; a page has all of them and shows the one that fits."""
LEFT, RIGHT, TOP, BOTTOM = 34.0, 10.0, 10.0, 24.0
TALL = {WIDE: 220, MEDIUM: 200, NARROW: 170}
ROW = 24
LABEL = {WIDE: 200, MEDIUM: 140, NARROW: 100}
NUMBERS = {WIDE: 120, MEDIUM: 100, NARROW: 70}
LETTER = 6.4
"""Room that a letter takes, for cutting names."""
GRID = (0, 25, 50, 75, 100)


def draw_chart(chart: Chart, width: int = WIDE) -> Element:
    """A chart as SVG for a page, of one of the widths that are named."""
    height, inside = lay_out_chart(chart, width)
    return draw(
        "svg",
        kind=f"chart {NAMED[width]}",
        viewBox=f"0 0 {width} {height}",
        width=str(width),
        height=str(height),
        aria_hidden="true",
    )[inside]


def lay_out_chart(chart: Chart, width: int) -> tuple[int, list[Node]]:
    """How high a chart is, and what is drawn."""
    if isinstance(chart, TrendChart):
        return TALL[width], list(draw_trend(chart, width))
    if isinstance(chart, CurveChart):
        return TALL[width], list(draw_curve(chart, width))
    if isinstance(chart, IntervalChart):
        return ROW * max(1, len(chart.points)) + 8, list(draw_intervals(chart, width))
    return ROW * max(1, len(chart.bars)) + 8, list(draw_bars(chart, width))


def place_share(share: float, height: float) -> float:
    """How far down a share in percent stands."""
    return TOP + (height - TOP - BOTTOM) * (1 - share / 100)


def draw_grid(width: int, height: int) -> Iterator[Node]:
    for share in GRID:
        y = place_share(share, height)
        yield draw("line", kind="grid", x1=LEFT, x2=width - RIGHT, y1=y, y2=y)
        yield draw("text", kind="tick end", x=LEFT - 6, y=y + 4)[str(share)]


def draw_trend(chart: TrendChart, width: int) -> Iterator[Node]:
    """Values joined by a line, each with its interval; labels only as many as fit."""
    height = TALL[width]
    yield from draw_grid(width, height)
    room = width - LEFT - RIGHT
    step = room / max(1, len(chart.points))
    places = [(LEFT + step * (n + 0.5), one) for n, one in enumerate(chart.points)]
    yield from draw_bands(places, height, min(14.0, step * 0.6))
    for known, some in groupby(places, key=lambda place: place[1].value is not None):
        if known:
            run = " ".join(f"{x:.1f},{place_share(one.value or 0, height):.1f}" for x, one in some)
            yield draw("polyline", kind="line", points=run)
    for x, one in places:
        if one.value is not None:
            dot = draw(
                "circle", kind="dot vague" if one.is_vague else "dot", cx=x, cy=place_share(one.value, height), r="3.5"
            )
            yield dot[draw("title")[f"{one.label}: {format_share(one)} {one.note}"]]
    every = max(1, round(len(places) * 72 / room + 0.5))
    for x, one in places[every // 2 :: every]:
        room_after = width - x - len(one.label) * LETTER / 2
        end = "middle" if room_after >= 0 else "end"
        yield draw("text", kind=f"tick {end}", x=x if room_after >= 0 else float(width), y=height - 6.0)[one.label]


def draw_bands(places: Sequence[tuple[float, ChartPoint]], height: float, thick: float) -> Iterator[Node]:
    for x, one in places:
        if one.low is not None and one.high is not None:
            top, end = place_share(one.high, height), place_share(one.low, height)
            yield draw("rect", kind="band", x=x - thick / 2, y=top, width=thick, height=max(1.0, end - top), rx="2")


def draw_curve(chart: CurveChart, width: int) -> Iterator[Node]:
    """A line over a number."""
    height = TALL[width]
    yield from draw_grid(width, height)
    last = max((at for at, _ in chart.points), default=0) or 1
    room = width - LEFT - RIGHT
    line = " ".join(f"{LEFT + room * at / last:.1f},{place_share(share, height):.1f}" for at, share in chart.points)
    yield draw("polyline", kind="line", points=line)
    for at, share in chart.points:
        dot = draw("circle", kind="dot", cx=LEFT + room * at / last, cy=place_share(share, height), r="3")
        yield dot[draw("title")[f"{at:g} {chart.along}: {format_percent(share)} %"]]
    for at in (0, last / 2, last):
        side = "middle" if 0 < at < last else "end" if at else "start"
        yield draw("text", kind=f"tick {side}", x=LEFT + room * at / last, y=height - 6.0)[f"{at:g}"]


def draw_intervals(chart: IntervalChart, width: int) -> Iterator[Node]:
    """A row for each group: its name, the interval on a scale from 0 to 100, its value."""
    left, right = LABEL[width], NUMBERS[width]
    room = width - left - right
    for n, one in enumerate(chart.points):
        middle = ROW * n + ROW / 2 + 4
        yield draw("text", kind="label end", x=left - 8.0, y=middle + 4)[format_end(one.label, int(left / LETTER))]
        yield draw("line", kind="grid", x1=float(left), x2=float(left + room), y1=middle, y2=middle)
        if one.low is not None and one.high is not None:
            begin, wide = left + room * one.low / 100, room * (one.high - one.low) / 100
            yield draw("rect", kind="band", x=begin, y=middle - 5, width=max(1.0, wide), height=10.0, rx="2")
        if one.value is not None:
            x = left + room * one.value / 100
            yield draw("circle", kind="dot vague" if one.is_vague else "dot", cx=x, cy=middle, r="3.5")
        yield draw("text", kind="label start", x=left + room + 8.0, y=middle + 4)[f"{format_share(one)}  {one.note}"]


def draw_bars(chart: BarChart, width: int) -> Iterator[Node]:
    """A bar for each count, all on the scale of the largest."""
    left, right = LABEL[width], NUMBERS[width]
    most = max((one.count for one in chart.bars), default=0) or 1
    room = width - left - right
    for n, one in enumerate(chart.bars):
        top = ROW * n + 4.0
        yield draw("text", kind="label end", x=left - 8.0, y=top + 16)[format_end(one.label, int(left / LETTER))]
        long = max(1.0, room * one.count / most) if one.count else 0.0
        yield draw(
            "rect",
            kind="full good" if one.is_good else "full",
            x=float(left),
            y=top + 4,
            width=long,
            height=ROW - 8.0,
            rx="2",
        )
        yield draw("text", kind="label start", x=left + long + 6.0, y=top + 16)[f"{one.count:,}"]
