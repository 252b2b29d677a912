"""Charts as files: SVG that stands by itself, and PNG for places that show no SVG, such as a pull request."""

import re
from importlib import import_module
from typing import Any

from markupsafe import Markup

from assay.errors import BadInput
from assay.resources import read_resource
from assay.web.charts import Chart, describe_chart
from assay.web.drawing import WIDE, lay_out_chart
from assay.web.html import draw, encode_html

MISSING = "pictures need resvg: pip install 'assay[web]'"
TOKEN = re.compile(r"(--[a-z0-9-]+):\s*([^;]+);")
BOTH = re.compile(r"light-dark\(([^,()]+),\s*([^()]+)\)")
USE = re.compile(r"var\((--[a-z0-9-]+)\)")
XMLNS = "http://www.w3.org/2000/svg"
FONT = "DejaVu Sans, Liberation Sans, Helvetica, Arial, sans-serif"


def load_light_style() -> str:
    """The style of charts with every colour written out, as it is in the light theme."""
    tokens = dict(TOKEN.findall(read_resource("assay.web", "style/tokens.css").decode()))
    plain = {name: BOTH.sub(lambda one: one[1].strip(), value) for name, value in tokens.items()}
    sheet = read_resource("assay.web", "style/charts.css").decode()
    for _ in range(2):  # a token may name another
        sheet = USE.sub(lambda one: plain.get(one[1], ""), sheet)
    return sheet.split("/* pages only */")[0]


def render_svg(chart: Chart) -> bytes:
    """A chart as an SVG file in the light theme, with its style inside."""
    height, inside = lay_out_chart(chart, WIDE)
    style = Markup(f"{load_light_style()} text {{ font-family: {FONT} }}")  # noqa: S704  our own file
    whole = draw("svg", viewBox=f"0 0 {WIDE} {height}", width=str(WIDE), height=str(height), role="img", xmlns=XMLNS)[
        draw("title")[chart.title],
        draw("desc")[describe_chart(chart)],
        draw("style")[style],
        draw("rect", width="100%", height="100%", fill="#ffffff"),
        draw("g", kind="chart")[inside],
    ]
    return encode_html(whole)


def render_png(chart: Chart, zoom: int = 2) -> bytes:
    """A chart as a PNG file."""
    try:
        resvg: Any = import_module("resvg_py")
    except ModuleNotFoundError:
        raise BadInput(MISSING) from None
    return bytes(resvg.svg_to_bytes(svg_string=render_svg(chart).decode(), zoom=zoom, font_family=FONT.split(",")[0]))
