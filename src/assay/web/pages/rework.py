"""What became of lines: how long they stay, and the sessions whose lines were later replaced."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from assay.reports.format import format_count, format_line, format_percent
from assay.reports.rework import SHORT_COMMIT, describe_curve, describe_losses, list_rework_notes
from assay.scores.report import Report
from assay.scores.survival import Survival
from assay.types import Session
from assay.web.charts import CurveChart
from assay.web.context import PageContext
from assay.web.frame import Page
from assay.web.html import Element, Node, h, say
from assay.web.links import to_session, to_sessions
from assay.web.marks import render_card, render_doubt, render_empty, render_figure, render_list
from assay.web.tables import Choice, Column, render_chart, render_filters, render_table

WINDOW = (
    Choice(name="since", words="Since", hint="90d, 2026-11-01"),
    Choice(name="until", words="Until", hint="2026-11-08"),
    Choice(name="project", words="Project", hint="a word in its path"),
)
HOW = "run `assay score` where the repositories of your sessions are, or name them with `assay score --repo FOLDER`"
NO_LINES = ("No lines could be followed yet", f"Lines are followed once they reach a commit: {HOW}.")


class ReworkShown(Struct, frozen=True, kw_only=True):
    """A report, and sessions whose lines were later replaced, the newest first."""

    report: Report
    replaced: Sequence[Session]
    has_more: bool = False
    onward: str = ""


def render_rework(shown: ReworkShown, given: Mapping[str, str], context: PageContext) -> Page:
    """The whole page."""
    found = shown.report
    body: list[Node] = [render_filters("/rework", WINDOW, given)]
    if found.survival is None and not shown.replaced:
        body.append(render_empty(*NO_LINES))
    else:
        body.append(h.div(".columns")[render_curve(found.survival, context), render_figures(found, context)])
        body.append(render_replaced(shown, context))
    body.append(render_lost(found, context))
    lead = "Whether what sessions wrote is still there; later replaced is not to say that it was wrong"
    return Page(name="rework", title="Rework", lead=lead, body=body)


def render_curve(found: Survival | None, context: PageContext) -> Element:
    """The share of lines that is still there, by days."""
    points = [(float(one.days), 100 * one.alive) for one in (found.points if found else ()) if one.alive is not None]
    if found is None or not points:
        return render_card("How long lines stay", render_doubt(say(NO_LINES[1])))
    told = [f"{words} after {days} (of {lines} followed so long)" for days, _, words, lines in describe_curve(found)]
    chart = CurveChart(
        title="Lines still there", along="days", name="still there", points=[(0.0, 100.0), *points],
        said=f"{found.removed:,} of {format_count(found.lines, 'line')} are gone by now",
    )  # fmt: skip
    lead = "share of lines still there, by days since they reached a commit (Kaplan–Meier)"
    return render_card("How long lines stay", render_chart(chart, context), render_list(told), lead=lead)


def render_figures(found: Report, context: PageContext) -> Element:
    score, lost = found.score, sum(found.losses.get("crushed", {}).values())
    crushed, gone = to_sessions(left="crushed"), to_sessions(lost="crushed")
    figures = [
        render_figure("crushed", context.link(crushed, f"{score.crushed:,}"), "lines still there, or unknown"),
        render_figure("later replaced", context.link(gone, f"{lost:,}"), "completed, and not crushed for it"),
    ]
    notes = [f"{one[:1].upper()}{one[1:]}." for one in list_rework_notes(score, found.rework_unknown)]
    return render_card("What it does to the score", h.div(".figures")[figures], render_list(notes))


def render_replaced(shown: ReworkShown, context: PageContext) -> Element:
    """Sessions whose lines are gone: how many, by which commit, in which later session."""
    if not shown.replaced:
        return render_card("Later replaced", h.p["No session's lines were replaced."])
    columns = [
        Column(words="session", kind="main"), Column(words="lines gone", kind="number"), Column(words="commit"),
        Column(words="by"), Column(words="when", kind="time minor"),
    ]  # fmt: skip
    rows = [list_replaced(one, context) for one in shown.replaced]
    more = context.link(shown.onward, "All of them") if shown.has_more else None
    return render_card(
        "Later replaced", render_table(columns, rows, "Later replaced", context, "list"), more, lead="the newest first"
    )


def list_replaced(one: Session, context: PageContext) -> list[Node]:
    found = one.facts.get("rework") or {}
    share, commit, later = found.get("share"), found.get("commit") or "", found.get("session") or ""
    gone = "–" if share is None else f"{format_percent(100 * share)} %"
    if share is not None and found.get("lines") is not None and found.get("gone") is not None:
        gone = f"{found['gone']:,} of {found['lines']:,} ({gone})"
    return [
        context.link(to_session(one.id), one.title or one.id),
        gone,
        h.code[format_line(commit, 40)[:SHORT_COMMIT]] if commit else "–",
        context.link(to_session(later), found.get("by") or later) if later else found.get("by") or "–",
        context.show_time(found["at"]) if found.get("at") else "–",
    ]


def render_lost(found: Report, context: PageContext) -> Element | None:
    """Sessions that lost their crush since the last report."""
    if not found.lost:
        return None
    told = describe_losses(found.lost)
    lines = [
        h.li[context.link(to_session(one.id), name), f": {what}"]
        for one, (name, what) in zip(found.lost, told, strict=True)
    ]
    return render_card("Lost their crush since the last report", h.ul(".lines")[lines])
