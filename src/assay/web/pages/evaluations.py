"""Evaluations that were run: verdict, gain and why, the newest first."""

from collections.abc import Sequence

from msgspec import Struct

from assay.reports.evaluation import MAY_GO_IN, format_difference
from assay.reports.format import format_count, format_line
from assay.types.evals import Comparison
from assay.web.context import PageContext
from assay.web.frame import Page
from assay.web.html import Node, h, say
from assay.web.links import to_evaluation
from assay.web.marks import render_card, render_chip, render_empty, render_note
from assay.web.pages.evaluation import TONES
from assay.web.tables import Column, render_table

WHY_NONE = {
    "folder": (
        "No folder of evaluations",
        "Start the server with `assay serve --runs .assay/runs`, or wherever your runs lie.",
    ),
    "runs": (
        "No evaluation yet",
        "`assay eval run --tasks tasks --baseline main --candidate .` tells whether a change makes an agent better.",
    ),
    "stranger": (
        "Evaluations are not shown to you",
        "They lie on the server's own disk; whoever runs it sees them without a key, or with one of its own tenant.",
    ),
}


class EvaluationRow(Struct, frozen=True, kw_only=True):
    """One run that has ended."""

    name: str
    ended_at: str
    found: Comparison


def render_evaluations(rows: Sequence[EvaluationRow], unreadable: int, why_none: str, context: PageContext) -> Page:
    """The list; where there is nothing, why and what to do."""
    lead = format_count(len(rows), "evaluation") if rows else "Is a changed configuration better, and may it go in?"
    body: list[Node] = []
    if rows:
        columns = [
            Column(words="run", kind="main"), Column(words="verdict"), Column(words="gain", kind="number"),
            Column(words="95 %", kind="number minor"), Column(words="tasks × repeats", kind="number minor"),
            Column(words="why", kind="note"),
        ]  # fmt: skip
        table = render_table(columns, [list_cells(one, context) for one in rows], "Evaluations", context, "list")
        body.append(render_card(None, table))
    else:
        body.append(render_empty(*WHY_NONE[why_none]))
    if unreadable:
        left = f"{format_count(unreadable, 'run')} left out, for what can't be read or trusted"
        body.append(render_note(say(f"{left}; `assay eval compare` says why."), tone="warn"))
    return Page(name="evaluations", title="Evaluations", lead=lead, body=body)


def list_cells(one: EvaluationRow, context: PageContext) -> list[Node]:
    found = one.found
    known = found.statistics
    ends = (
        ""
        if known.low is None or known.high is None
        else f"{format_difference(known.low)} to {format_difference(known.high)}"
    )
    return [
        [context.link(to_evaluation(one.name), one.name), h.span(".sub")[context.show_time(one.ended_at)]],
        [render_chip(TONES[found.verdict], found.verdict), h.span(".sub")[MAY_GO_IN[found.promote]]],
        format_difference(found.net_gain),
        ends or "–",
        f"{known.tasks} × {known.repeats}",
        format_line(found.reasons[0], 200) if found.reasons else "",
    ]
