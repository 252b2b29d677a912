"""Charts: one value gives a drawing, the rows behind it, a sentence and a picture."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.web.charts import (
    BarChart,
    Chart,
    ChartPoint,
    CountBar,
    CurveChart,
    IntervalChart,
    TrendChart,
    describe_chart,
    list_chart_rows,
)
from assay.web.context import PageContext
from assay.web.drawing import NAMED, draw_chart
from assay.web.pictures import load_light_style, render_png, render_svg
from assay.web.tables import render_chart

POINTS = [
    ChartPoint(label="2026-11-02", value=71.4, low=35.9, high=91.8, note="5 of 7"),
    ChartPoint(label="2026-11-09", value=None),
    ChartPoint(label="2026-11-16", value=80.0, low=70.0, high=88.0, note="80 of 100"),
]
CHARTS: dict[str, Chart] = {
    "trend": TrendChart(title="Score by week", along="week", points=POINTS, said="no trend"),
    "intervals": IntervalChart(title="Projects", along="project", points=POINTS),
    "curve": CurveChart(title="Lines", along="days", name="still there", points=[(1, 98.0), (14, 81.5)]),
    "bars": BarChart(title="Steps", along="step", bars=[CountBar(label="all", count=9), CountBar(label="x", count=0)]),
    "empty": TrendChart(title="Score by week", along="week", points=[]),
    "no bars": BarChart(title="Steps", along="step", bars=[]),
}


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize("width", NAMED)
def test_a_drawing_is_sound_and_stays_inside(name: str, width: int):
    drawn = ElementTree.fromstring(str(draw_chart(CHARTS[name], width)))
    *_, right, bottom = map(float, drawn.attrib["viewBox"].split())
    for one in drawn.iter():
        for way, end in (("x", right), ("cx", right), ("y", bottom), ("cy", bottom), ("x2", right), ("y2", bottom)):
            assert -1 <= float(one.attrib.get(way, 0)) <= end + 1
        assert "style" not in one.attrib


@pytest.mark.parametrize("name", CHARTS)
def test_the_rows_behind_a_drawing_have_all_of_it(name: str):
    chart = CHARTS[name]
    heads, rows = list_chart_rows(chart)
    there = chart.bars if isinstance(chart, BarChart) else chart.points
    assert len(rows) == len(there)
    assert all(len(row) == len(heads) for row in rows)
    assert describe_chart(chart).endswith(".")


def test_a_period_in_which_nothing_counted_is_a_gap_and_no_zero():
    drawn = ElementTree.fromstring(str(draw_chart(CHARTS["trend"])))
    assert len(list(drawn.iter("polyline"))) == 2
    assert len(list(drawn.iter("circle"))) == 2
    assert list_chart_rows(CHARTS["trend"])[1][1] == ["2026-11-09", "–", "–", ""]


@pytest.mark.parametrize("width", NAMED)
@pytest.mark.parametrize("points", [1, 7, 26])
def test_no_label_sticks_out(width: int, points: int):
    chart = TrendChart(
        title="x", along="week", points=[ChartPoint(label="2026-11-02", value=50, low=40, high=60)] * points
    )
    for one in ElementTree.fromstring(str(draw_chart(chart, width))).iter("text"):
        half = len(one.text or "") * 5.5 / 2
        right = float(one.attrib["x"]) + {"tick middle": half, "tick end": 0}[one.attrib["class"]]
        assert right <= width


def test_what_is_uncertain_looks_uncertain():
    drawn = ElementTree.fromstring(str(draw_chart(CHARTS["trend"])))
    assert [one.attrib["class"] for one in drawn.iter("circle")] == ["dot vague", "dot"]


def test_a_screen_reader_is_told_the_drawing_in_words():
    shown = str(render_chart(CHARTS["trend"], PageContext()))
    assert "2 weeks with a value, from 71 % (2026-11-02) to 80 % (2026-11-16)" in shown
    assert shown.count('aria-hidden="true"') == len(NAMED)


def test_a_picture_has_the_light_colours_written_out():
    sheet = load_light_style()
    assert "var(" not in sheet
    assert "light-dark" not in sheet
    assert "container" not in sheet
    svg = render_svg(CHARTS["trend"]).decode()
    ElementTree.fromstring(svg)
    assert "<title>Score by week</title>" in svg


def test_a_picture_is_a_png_with_something_in_it():
    png = render_png(CHARTS["trend"])
    assert png.startswith(b"\x89PNG")
    assert len(png) > 5_000


@settings(deadline=None)
@given(st.text(max_size=30), st.floats(0, 100), st.floats(0, 100))
def test_no_label_breaks_a_drawing(label: str, one: float, other: float):
    low, high = sorted((one, other))
    points = [ChartPoint(label=label, value=(low + high) / 2, low=low, high=high, note=label)]
    for chart in (
        TrendChart(title=label, along="week", points=points),
        IntervalChart(title=label, along="x", points=points),
    ):
        ElementTree.fromstring(render_svg(chart))
