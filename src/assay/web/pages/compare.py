"""Two groups of sessions beside each other, and whether they differ beyond chance, in words of `assay compare`."""

from collections.abc import Mapping, Sequence

from assay.reports.comparison import NO_EXPERIMENT, describe_difference, list_compared
from assay.reports.format import UNKNOWN, format_count
from assay.scores.comparison import ComparedSide, ScoreComparison
from assay.web.charts import ChartPoint, IntervalChart
from assay.web.context import PageContext
from assay.web.frame import Page
from assay.web.html import Element, Node, h, say
from assay.web.links import to_page, to_sessions
from assay.web.marks import render_card, render_chip, render_doubt, render_empty, render_note
from assay.web.tables import Choice, Column, render_chart, render_filters, render_table

FORM = (
    Choice(name="a", words="This", hint="last-week, model:opus"),
    Choice(name="b", words="with", hint="this-week, model:sonnet"),
    Choice(name="at", words="or before and after", hint="2026-11-03, 30d"),
    Choice(name="since", words="Since", hint="90d"),
    Choice(name="until", words="Until", hint="2026-11-08"),
    Choice(name="project", words="Project", hint="a word in its path"),
)
WORDS = (
    "Time: `last-week`, `this-month`, `7d`, `14d..7d`, `2026-11`, `2026-11-01..2026-11-14`.",
    "Or `project:X`, `model:X`, `branch:X`, `agent:X`, `intent:X`, `language:X`, `tenant:X`; or just a word.",
)
IDEAS = (
    ("last week with this week", {"a": "last-week", "b": "this-week"}),
    ("the week before last with the last seven days", {"a": "14d..7d", "b": "7d"}),
    ("last month with this month", {"a": "last-month", "b": "this-month"}),
    ("before and after the last 30 days began", {"at": "30d"}),
)
DAYS = ("first began", "last began")
TONES = {"green": "good", "red": "bad"}


def render_compare(
    found: ScoreComparison | None,
    trouble: str,
    cut: int,
    given: Mapping[str, str],
    context: PageContext,
    words: Sequence[str] = ("", ""),
) -> Page:
    """The whole page: `trouble` says why there is no comparison, `cut` that only so many of the newest were taken.

    By `words` a list of sessions names both sides, so that every number leads to what it counts.
    """
    asked = render_filters("/compare", FORM, given)
    body: list[Node] = [asked]
    if found is not None:
        sides = [{"side": words[0], "beside": words[1]}, {"side": words[1], "beside": words[0]}]
        body += [render_sides(found, sides, cut, context), render_beside(found, sides, context)]
    elif trouble:
        body.append(h.div(".empty")[h.h2["Nothing to compare"], h.p[f"{trouble[:1].upper()}{trouble[1:]}."]])
    else:
        body.append(
            render_empty("Which two?", "Name two groups of sessions above, or a day to compare before and after.")
        )
    if found is None:
        body.append(render_ideas(context))
    lead = "Two windows or slices beside each other, and whether they differ beyond chance"
    return Page(name="compare", title="Compare", lead=lead, body=body)


def render_ideas(context: PageContext) -> Element:
    links = [h.li[context.link(to_page("compare", **wanted), words)] for words, wanted in IDEAS]
    return render_card("What can be named", h.ul(".lines")[[h.li[say(one)] for one in WORDS], links])


def render_sides(found: ScoreComparison, sides: Sequence[Mapping[str, str]], cut: int, context: PageContext) -> Element:
    """Both scores on one scale, and what a test says."""
    points = [place_side(one, named) for one, named in zip(found.sides, sides, strict=True)]
    chart = IntervalChart(title="Both sides", along="side", points=points)
    notes = (
        [render_note(f"{format_count(found.on_both, 'session')} on both sides: left out", tone="warn")]
        if found.on_both
        else []
    )
    if cut:
        notes.append(
            render_doubt(f"Of a long history the newest {cut:,} sessions were compared; narrow the window for others.")
        )
    return render_card(
        "Do they differ?",
        render_chart(chart, context),
        [render_line(line, style) for line, style in describe_difference(found)],
        notes,
        render_note(say(f"{NO_EXPERIMENT[:1].upper()}{NO_EXPERIMENT[1:]}.")),
    )


def place_side(one: ComparedSide, named: Mapping[str, str]) -> ChartPoint:
    score = one.score
    address = to_sessions(**named, left="judged") if named["side"] else ""
    note = f"{score.crushed} of {score.counted}"
    return ChartPoint(label=one.name, value=score.value, low=score.low, high=score.high, note=note, address=address)


def render_line(line: str, style: str) -> Element:
    if style == "yellow":
        return render_doubt(f"{line[:1].upper()}{line[1:]}.")
    if style in TONES:
        said, _, word = line.rpartition(": ")
        return h.p[said, " ", render_chip("good" if style == "green" else "bad", word.lstrip("↑↓ "), sign=word[:1])]
    return h.p(class_="quiet" if style == "dim" else None)[f"{line[:1].upper()}{line[1:]}"]


def render_beside(found: ScoreComparison, sides: Sequence[Mapping[str, str]], context: PageContext) -> Element:
    """What else is known of both sides; none of it is tested."""
    columns = [Column(words="", kind="main"), *(Column(words=one.name, kind="number") for one in found.sides)]
    rows = [
        (name, *(link_cell(name, cell, named, context) for cell, named in zip(cells, sides, strict=True)))
        for name, cells in list_compared(found)[1:]
    ]
    return render_card("Beside it", render_table(columns, rows, "Beside it", context), lead="none of it is tested")


def link_cell(name: str, cell: str, named: Mapping[str, str], context: PageContext) -> Node:
    """A number of one side, which leads to the sessions that it is made of."""
    if cell == UNKNOWN or not named["side"] or name in DAYS:
        return cell
    left = "" if name == "sessions" else "crushed" if "crush" in name else "judged"
    return context.link(to_sessions(**named, left=left), cell)
