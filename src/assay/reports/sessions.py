"""Tables of sessions, and of the ledger that says where they begin."""

from collections.abc import Iterable, Sequence
from datetime import tzinfo

from rich.table import Table
from rich.text import Text

from assay.reports.format import (
    MARKS,
    UNKNOWN,
    format_end,
    format_line,
    format_name,
    format_time,
    measure_ids,
    sanitize_text,
    shorten_paths,
)
from assay.reports.summary import explain_outcome, format_intent
from assay.scores.breakdown import name_project
from assay.types import LedgerLine, Session, SessionMark

WIDE, WIDER = 100, 120
COLUMNS = {"began": 0, "session": 0, "project": WIDE, "intent": WIDE, "turns": 110, "grade": 110}
"""Columns before the outcome, and from which width on they are shown: what it was about needs room too."""
MOST_WHY = 24
EFFECTS = {"joined": "green", "went_on": "dim"}


def measure_session_ids(sessions: Iterable[Session]) -> int:
    """How much of the ids tells the sessions apart."""
    return measure_ids([one.id for one in sessions])


def render_sessions(listed: Sequence[Session], zone: tzinfo, width: int, length: int = 0) -> Table:
    """A table of sessions, ids cut to a length; a narrow terminal gets fewer columns."""
    named = shorten_paths(map(name_project, listed))
    shown = [name for name, least in COLUMNS.items() if width >= least]
    if width < WIDER and len(named) < 2:
        shown = [name for name in shown if name != "project"]
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name in shown:
        table.add_column(name, justify="right" if name == "turns" else "left", no_wrap=True)
    table.add_column("crushed", no_wrap=True)
    table.add_column("what it was about", overflow="ellipsis", no_wrap=True, ratio=1)
    length = length or measure_session_ids(listed)
    began = [format_time(one.started_at, zone) for one in listed]
    is_one_year = width < WIDER and len({when[:5] for when in began}) == 1
    for one, when in zip(listed, began, strict=True):
        cells = {
            "began": Text(drop_year(when) if is_one_year else when),
            "session": Text(sanitize_text(one.id[:length]), "cyan"),
            "project": Text(format_end(named[name_project(one)], 18)),
            "intent": Text(format_intent(one)),
            "turns": Text(str(one.facts.get("turns", UNKNOWN))),
            "grade": Text(format_line(one.grade or UNKNOWN, 5)),
        }
        table.add_row(*(cells[name] for name in shown), render_outcome(one, width), render_title(one))
    return table


def render_marks(listed: Sequence[Session], zone: tzinfo, width: int) -> Table:
    """A table of sessions that a person gave a verdict on, beside what the judge says."""
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name in ("said", "session", "you", "judge"):
        table.add_column(name, no_wrap=True)
    table.add_column("what it was about, and why", overflow="ellipsis", no_wrap=True, ratio=1)
    length = measure_session_ids(listed)
    for one in listed:
        if one.marked:
            when = format_time(one.marked.at, zone)
            table.add_row(
                Text(when if width >= WIDE else drop_year(when)),
                Text(sanitize_text(one.id[:length]), "cyan"),
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
    return Text(format_line(one.title, 200) or "(nobody said anything)")


def render_ledger(entries: Sequence[LedgerLine], zone: tzinfo, width: int) -> Table:
    """Where sessions begin, were joined or went on, and by what evidence."""
    is_wide = width >= WIDE
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name in ("when", "session", "what", "stream") if is_wide else ("when", "session", "what"):
        table.add_column(name, no_wrap=True)
    table.add_column("sure", justify="right", no_wrap=True)
    table.add_column("evidence", ratio=1)
    length = measure_ids([one.session for one in entries])
    stream_length = measure_ids([one.stream for one in entries])
    for one in entries:
        cells = [
            Text(format_time(one.at, zone) if is_wide else drop_year(format_time(one.at, zone))),
            Text(sanitize_text(one.session[:length]), "cyan"),
            Text(f"{format_name(one.effect)}: {format_name(one.signal)}", EFFECTS.get(one.effect, "")),
            Text(sanitize_text(one.stream[:stream_length]), "dim"),
            Text(f"{one.confidence:.2f}"),
            Text(format_line(one.evidence, 300)),
        ]
        table.add_row(*(cells if is_wide else [*cells[:3], *cells[4:]]))
    return table
