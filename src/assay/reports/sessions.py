"""Tables of sessions, and of the ledger that says where they begin."""

from collections.abc import Sequence
from datetime import tzinfo

from rich.table import Table
from rich.text import Text

from assay.judges.criteria import format_chance
from assay.reports.format import (
    MARKS,
    UNKNOWN,
    format_duration,
    format_end,
    format_line,
    format_name,
    format_number,
    format_time,
    measure_ids,
    sanitize_text,
    shorten_paths,
)
from assay.reports.summary import explain_outcome, format_intent
from assay.scores.breakdown import name_project
from assay.types import LedgerLine, Session, SessionMark

WIDE, WIDER = 100, 120
COLUMNS = {"began": 0, "session": 0, "project": WIDE, "intent": WIDE, "turns": 110, "wording": 110}
"""Columns before the outcome, and from which width on they are shown: what it was about needs room too."""
MOST_WHY = 24
EFFECTS = {"joined": "green", "went_on": "dim"}


BEGAN = "began"
TIMES = (BEGAN, "ended")
"""What is sorted with the newest last."""


def list_amounts(one: Session) -> dict[str, float | None]:
    """What sessions can be sorted by, the most first; `None` where it is not known."""
    facts = one.facts
    return {
        "cost": facts.get("cost_usd"),
        "tokens": sum((facts.get("tokens") or {}).values()),
        "turns": facts.get("turns"),
        "time": facts.get("active_s"),
        "lines": facts.get("lines_added", 0) + facts.get("lines_removed", 0),
        "chance": None if one.confidence is None else -one.confidence,
    }


def format_amounts(one: Session) -> dict[str, str]:
    """The same in words."""
    facts, cost, active = one.facts, one.facts.get("cost_usd"), one.facts.get("active_s")
    return {
        "cost": UNKNOWN if cost is None else f"{cost:.2f}",
        "tokens": format_number(sum((facts.get("tokens") or {}).values())),
        "turns": str(facts.get("turns", UNKNOWN)),
        "time": UNKNOWN if active is None else format_duration(active),
        "lines": f"+{facts.get('lines_added', 0)} −{facts.get('lines_removed', 0)}",
        "chance": UNKNOWN if one.confidence is None else format_chance(one.confidence),
    }


SORTS = (*TIMES, "cost", "tokens", "turns", "time", "lines", "chance")


def sort_sessions(listed: Sequence[Session], by: str) -> list[Session]:
    """Sessions by an amount, the most first, or by a time, the newest last; what is not known stands at the end."""
    if by in TIMES:
        return sorted(listed, key=lambda one: one.started_at if by == BEGAN else one.ended_at)
    known = [(list_amounts(one)[by], one) for one in listed]
    first = sorted((pair for pair in known if pair[0] is not None), key=lambda pair: -(pair[0] or 0))
    return [one for _, one in first] + [one for amount, one in known if amount is None]


def render_sessions(listed: Sequence[Session], zone: tzinfo, width: int, sort: str | None = None) -> Table:
    """A table of sessions with whole ids and what they are sorted by; a narrow terminal gets fewer other columns."""
    named = shorten_paths(map(name_project, listed))
    shown = [name for name, least in COLUMNS.items() if width >= least]
    if width < WIDER and len(named) < 2:
        shown = [name for name in shown if name != "project"]
    if sort and sort not in TIMES:
        shown = [*(name for name in shown if name != sort), sort]
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name in shown:
        least = max((len(one.id) for one in listed), default=0) if name == "session" else None
        table.add_column(name, justify="right" if name in SORTS[2:] else "left", no_wrap=True, min_width=least)
    table.add_column("crushed", no_wrap=True)
    table.add_column("what it was about", overflow="ellipsis", no_wrap=True, ratio=1)
    began = [format_time(one.started_at, zone) for one in listed]
    is_one_year = width < WIDER and len({when[:5] for when in began}) == 1
    for one, when in zip(listed, began, strict=True):
        cells = {
            BEGAN: drop_year(when) if is_one_year else when,
            "session": sanitize_text(one.id),
            "project": format_end(named[name_project(one)], 18),
            "intent": format_intent(one),
            "wording": format_line(one.grade or UNKNOWN, 5),
            **format_amounts(one),
        }
        drawn = [Text(cells[name], "cyan" if name == "session" else "") for name in shown]
        table.add_row(*drawn, render_outcome(one, width), render_title(one))
    return table


def render_marks(listed: Sequence[Session], zone: tzinfo, width: int) -> Table:
    """A table of sessions that a person gave a verdict on, beside what the judge says."""
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    whole = max((len(one.id) for one in listed), default=0)
    for name in ("said", "session", "you", "judge"):
        table.add_column(name, no_wrap=True, min_width=whole if name == "session" else None)
    table.add_column("what it was about, and why", overflow="ellipsis", no_wrap=True, ratio=1)
    for one in listed:
        if one.marked:
            when = format_time(one.marked.at, zone)
            table.add_row(
                Text(when if width >= WIDE else drop_year(when)),
                Text(sanitize_text(one.id), "cyan"),
                Text(f"{one.marked.verdict}{describe_audit(one.marked)}"),
                Text(describe_judged(one.marked), "dim"),
                Text.assemble(
                    render_title(one), (f"\n{format_line(one.marked.why, 200)}" if one.marked.why else "", "dim")
                ),
            )
    return table


def describe_audit(mark: SessionMark) -> str:
    """Whether an audit asked, and what was answered where a mark says something else since."""
    if mark.answer is None:
        return ""
    return " (audit)" if mark.answer == mark.verdict else f" (audit: {mark.answer})"


def describe_judged(mark: SessionMark) -> str:
    """What the judge says of a session that a person gave a verdict on."""
    return {True: "landed", False: "not", None: format_name(mark.judge_status)}[mark.judged]


def drop_year(when: str) -> str:
    return when[5:] if when[4:5] == "-" else when


def render_outcome(one: Session, width: int) -> Text:
    """✓, ✗ or – and why."""
    sign, style = MARKS[one.crushed]
    said = format_line(explain_outcome(one), MOST_WHY) if width >= WIDER else explain_outcome(one).split(":")[0]
    return Text.assemble((f"{sign} ", style), (format_line(said, MOST_WHY), "" if one.crushed is False else "dim"))


def render_title(one: Session) -> Text:
    return Text(format_line(one.title, 200) or ("(words stayed there)" if one.machine else "(nobody said anything)"))


def render_ledger(entries: Sequence[LedgerLine], zone: tzinfo, width: int) -> Table:
    """Where sessions begin, were joined or went on, and by what evidence."""
    is_wide = width >= WIDE
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    whole = max((len(one.session) for one in entries), default=0)
    for name in ("when", "session", "what", "stream") if is_wide else ("when", "session", "what"):
        table.add_column(name, no_wrap=True, min_width=whole if name == "session" else None)
    table.add_column("sure", justify="right", no_wrap=True)
    table.add_column("evidence", ratio=1)
    stream_length = measure_ids([one.stream for one in entries])
    for one in entries:
        cells = [
            Text(format_time(one.at, zone) if is_wide else drop_year(format_time(one.at, zone))),
            Text(sanitize_text(one.session), "cyan"),
            Text(f"{format_name(one.effect)}: {format_name(one.signal)}", EFFECTS.get(one.effect, "")),
            Text(sanitize_text(one.stream[:stream_length]), "dim"),
            Text(f"{one.confidence:.2f}"),
            Text(format_line(one.evidence, 300)),
        ]
        table.add_row(*(cells if is_wide else [*cells[:3], *cells[4:]]))
    return table
