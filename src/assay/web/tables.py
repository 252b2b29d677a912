"""Rows: tables that are sorted by links, a list as cards on a phone, filters that live in the address, pagers."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from assay.web.charts import BarChart, Chart, IntervalChart, describe_chart, list_chart_rows
from assay.web.context import PageContext
from assay.web.drawing import NAMED, draw_chart
from assay.web.html import Element, Node, h, join_nodes, say
from assay.web.marks import render_interval, render_share_bar

LONGEST_NAME = 120
"""Characters that are shown of what a row is called: whoever names a model or a branch may write anything."""


class Column(Struct, frozen=True, kw_only=True):
    """A column of a table."""

    words: Node
    kind: str = ""
    """`number` is set to the right; `main` is what a row is called; `minor` is left out on a phone."""
    sort: str = ""
    """The address that sorts by it; empty where it can't be."""
    sorted: str = ""
    """How the rows are sorted by it now: `ascending` or `descending`."""


def render_table(
    columns: Sequence[Column], rows: Iterable[Sequence[Node]], caption: str, context: PageContext, kind: str = ""
) -> Element:
    """A table; its caption is read out, and not shown."""
    heads = [
        h.th({"aria-sort": one.sorted} if one.sorted else {}, scope="col", class_=one.kind)[
            context.link(one.sort, one.words) if one.sort else one.words
        ]
        for one in columns
    ]
    return h.div(".wide", tabindex="0", role="region", aria_label=caption)[
        h.table(class_=["rows", kind])[
            h.caption(".unseen")[caption],
            h.thead[h.tr[heads]],
            h.tbody[[render_row(columns, row) for row in rows]],
        ]
    ]


def render_row(columns: Sequence[Column], row: Sequence[Node]) -> Element:
    """A row, of which the main cell is the head."""
    cells = [
        (
            h.th(scope="row", class_=one.kind)
            if one.kind == "main"
            else h.td(class_=one.kind, data_label=name_cell(one))
        )[cell]
        for one, cell in zip(columns, row, strict=True)
    ]
    return h.tr(data_row=True)[cells]


def name_cell(one: Column) -> str | None:
    """What stands before a number where there is no room for the heads of columns."""
    return one.words if "number" in one.kind and isinstance(one.words, str) and one.words else None


# --- charts -------------------------------------------------------------------------------------


def render_chart(chart: Chart, context: PageContext) -> Element:
    """A chart on a page, with its rows behind it; counts and groups are rows themselves, each number a link."""
    if isinstance(chart, BarChart):
        return render_bars(chart, context)
    if isinstance(chart, IntervalChart):
        return render_intervals(chart, context)
    heads, rows = list_chart_rows(chart)
    columns = [Column(words=word, kind="number" if n else "main") for n, word in enumerate(heads)]
    return h.figure(".drawn", role="group", aria_label=f"{chart.title}: {describe_chart(chart)}")[
        [draw_chart(chart, width) for width in NAMED],
        h.figcaption[
            h.p(".lead")[say(chart.said)] if chart.said else None,
            h.details[
                h.summary["The same as a table"],
                render_table(columns, link_rows(chart, rows, context), chart.title, context),
            ],
        ],
    ]


def link_rows(chart: Chart, rows: Sequence[Sequence[str]], context: PageContext) -> list[list[Node]]:
    """The rows behind a drawing; what a row counts is a link."""
    points = getattr(chart, "points", ())
    found: list[list[Node]] = []
    for n, row in enumerate(rows):
        address = getattr(points[n], "address", "") if n < len(points) else ""
        found.append([*row[:-1], context.link(address, row[-1]) if address else row[-1]])
    return found


def render_bars(chart: BarChart, context: PageContext) -> Element:
    most = max((one.count for one in chart.bars), default=0) or 1
    columns = [
        Column(words=chart.along, kind="main"), Column(words="", kind="drawn"), Column(words="count", kind="number"),
        Column(words="", kind="note"),
    ]  # fmt: skip
    rows = [
        (
            one.label,
            render_share_bar(one.count / most, "good" if one.is_good else "plain"),
            context.link(one.address, f"{one.count:,}") if one.address and one.count else f"{one.count:,}",
            join_nodes([context.link(address, words) if address else words for words, address in one.notes], ", "),
        )
        for one in chart.bars
    ]
    return h.div(".drawn")[render_table(columns, rows, chart.title, context, "bars"), render_said(chart.said)]


def render_intervals(chart: IntervalChart, context: PageContext) -> Element:
    columns = [
        Column(words=chart.along, kind="main"), Column(words="0 – 100", kind="drawn"),
        Column(words=chart.name, kind="number"), Column(words="95 %", kind="number minor"),
        Column(words="counted", kind="number"),
    ]  # fmt: skip
    _, told = list_chart_rows(chart)
    rows = [
        (
            [one.label, h.span(".sub")[one.said]] if one.said else one.label,
            render_interval(one),
            row[1],
            row[2],
            context.link(one.address, one.note) if one.address else one.note,
        )
        for one, row in zip(chart.points, told, strict=True)
    ]
    return h.div(".drawn")[render_table(columns, rows, chart.title, context, "bars"), render_said(chart.said)]


def render_said(said: str) -> Element | None:
    return h.p(".lead")[say(said)] if said else None


# --- filters ------------------------------------------------------------------------------------


class Choice(Struct, frozen=True, kw_only=True):
    """Something that a list can be narrowed by."""

    name: str
    """In the address."""
    words: str
    options: Sequence[tuple[str, str]] = ()
    """Values and their words; without any it is typed."""
    kind: str = "text"
    hint: str = ""


def render_filters(action: str, choices: Sequence[Choice], given: Mapping[str, str]) -> Element:
    """A form whose state is the address: what is seen can be sent to somebody else."""
    active = any(given.get(one.name) for one in choices)
    known = {one.name for one in choices}
    kept = [
        h.input(type="hidden", name=name, value=value) for name, value in given.items() if value and name not in known
    ]
    return h.form(".filters", method="get", action=action, role="search")[
        [render_choice(one, given.get(one.name, "")) for one in choices],
        kept,
        h.div(".field.send")[
            h.button(".first", type="submit")["Show"], h.a(href=action)["Clear"] if active or kept else None
        ],
    ]


def render_choice(one: Choice, value: str) -> Element:
    """A field with its words."""
    place = f"by-{one.name}"
    if one.options:
        known = [*one.options] if value in {"", *(name for name, _ in one.options)} else [*one.options, (value, value)]
        field: Node = h.select(id=place, name=one.name)[
            h.option(value="")[one.hint or "any"],
            [h.option(value=name, selected=name == value)[words] for name, words in known],
        ]
    else:
        field = h.input(
            id=place, name=one.name, type=one.kind, value=value, placeholder=one.hint or None, autocomplete="off",
            spellcheck="false", data_search=one.kind == "search",
        )  # fmt: skip
    return h.div(class_=["field", one.kind])[h.label(for_=place)[one.words], field]


def render_pager(context: PageContext, first: str = "", next: str = "", said: str = "") -> Element:
    """What comes before and after a page of a list."""
    return h.nav(".pager", aria_label="Pages of this list")[
        context.link(first, "« First") if first else None,
        h.span(".quiet")[said] if said else None,
        h.a(href=next, rel="next")["Older »"] if next else None,
    ]
