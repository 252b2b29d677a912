"""Tables of sessions, and of the ledger that says where they begin."""

from collections.abc import Iterable, Sequence
from datetime import tzinfo

from rich.table import Table
from rich.text import Text

from assay.reports.safe import one_line, safe
from assay.reports.terminal import moment, telling_length
from assay.reports.words import MARKS, UNKNOWN, places, plainly, why
from assay.types import LedgerLine, Session

WIDE, WIDER = 100, 120
COLUMNS = {"began": 0, "session": 0, "project": WIDE, "intent": WIDE, "turns": 110, "grade": 110}
"""Columns before the outcome, and from which width on they are shown: what it was about needs room too."""
MOST_WHY = 24
EFFECTS = {"joined": "green", "went_on": "dim"}


def id_length(sessions: Iterable[Session]) -> int:
    """How much of the ids tells the sessions apart."""
    return telling_length([one.id for one in sessions])


def sessions(listed: Sequence[Session], zone: tzinfo, width: int, length: int = 0) -> Table:
    """A table of sessions, ids cut to a length; a narrow terminal gets fewer columns."""
    named = places(one.project for one in listed)
    shown = [name for name, least in COLUMNS.items() if width >= least]
    if width < WIDER and len(named) < 2:
        shown = [name for name in shown if name != "project"]
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name in shown:
        table.add_column(name, justify="right" if name == "turns" else "left", no_wrap=True)
    table.add_column("crushed", no_wrap=True)
    table.add_column("what it was about", overflow="ellipsis", no_wrap=True, ratio=1)
    length = length or id_length(listed)
    began = [moment(one.started_at, zone) for one in listed]
    is_one_year = width < WIDER and len({when[:5] for when in began}) == 1
    for one, when in zip(listed, began, strict=True):
        cells = {
            "began": Text(without_year(when) if is_one_year else when),
            "session": Text(safe(one.id[:length]), "cyan"),
            "project": Text(one_line(named[one.project], 18)),
            "intent": Text(plainly(one.intent) if one.intent else UNKNOWN),
            "turns": Text(str(one.facts.get("turns", UNKNOWN))),
            "grade": Text(one_line(one.grade or UNKNOWN, 5)),
        }
        table.add_row(*(cells[name] for name in shown), outcome(one, width), title(one))
    return table


def without_year(when: str) -> str:
    return when[5:] if when[4:5] == "-" else when


def outcome(one: Session, width: int) -> Text:
    """✓, ✗ or – and why."""
    sign, style = MARKS[one.crushed]
    said = one_line(why(one), MOST_WHY) if width >= WIDER else why(one).split(":")[0]
    return Text.assemble((f"{sign} ", style), (one_line(said, MOST_WHY), "" if one.crushed is False else "dim"))


def title(one: Session) -> Text:
    return Text(one_line(one.title, 200) or "(nobody said anything)")


def ledger(entries: Sequence[LedgerLine], zone: tzinfo, width: int) -> Table:
    """Where sessions begin, were joined or went on, and by what evidence."""
    is_wide = width >= WIDE
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name in ("when", "session", "what", "stream") if is_wide else ("when", "session", "what"):
        table.add_column(name, no_wrap=True)
    table.add_column("sure", justify="right", no_wrap=True)
    table.add_column("evidence", ratio=1)
    length = telling_length([one.session for one in entries])
    stream_length = telling_length([one.stream for one in entries])
    for one in entries:
        cells = [
            Text(moment(one.at, zone) if is_wide else without_year(moment(one.at, zone))),
            Text(safe(one.session[:length]), "cyan"),
            Text(f"{plainly(one.effect)}: {plainly(one.signal)}", EFFECTS.get(one.effect, "")),
            Text(safe(one.stream[:stream_length]), "dim"),
            Text(f"{one.confidence:.2f}"),
            Text(one_line(one.evidence, 300)),
        ]
        table.add_row(*(cells if is_wide else [*cells[:3], *cells[4:]]))
    return table
