"""Live: sessions that go on now, and those that ended last; shown anew whenever something comes in."""

from collections.abc import Sequence

from assay.reports.format import format_count
from assay.types import Session
from assay.web.context import PageContext
from assay.web.frame import Page
from assay.web.html import Node, h
from assay.web.links import to_sessions
from assay.web.marks import render_card, render_empty, render_figure, render_note
from assay.web.pages.sessions import render_session_rows

GOING_ON = "in_progress"
QUIET = (
    "A session goes on for as long as its conversation was written to in the last ten minutes and nothing closed it.",
    "Agents that send telemetry here appear by themselves: set `OTEL_EXPORTER_OTLP_ENDPOINT` to this server's address.",
    "Transcripts on this machine are read by `assay score`.",
)


def render_live(sessions: Sequence[Session], context: PageContext) -> Page:
    """What goes on, of the sessions of the last day."""
    now = [one for one in sessions if one.judge_status == GOING_ON]
    done = [one for one in sessions if one.judge_status != GOING_ON]
    crushed, counted = sum(one.crushed is True for one in done), sum(one.crushed is not None for one in done)
    figures = h.div(".figures")[
        render_figure("going on", context.link(to_sessions(status=GOING_ON), str(len(now)))),
        render_figure("ended in the last day", context.link(to_sessions(since="1d"), str(len(done)))),
        render_figure(
            "of them crushed", f"{crushed} of {counted}", "too few for a score" if counted < 20 else "see overview"
        ),
    ]
    body: Node = [
        render_card(None, figures),
        [h.h2["Going on"], render_session_rows(now, context)]
        if now
        else render_empty("Nothing goes on right now", *QUIET),
        [h.h2["Ended in the last day"], render_session_rows(done, context)] if done else None,
        render_note(
            f"{format_count(len(sessions), 'session')} of the last day, the newest first; this page changes by itself"
        ),
    ]
    return Page(name="live", title="Live", lead="sessions of the last day", body=body, is_live=True)
