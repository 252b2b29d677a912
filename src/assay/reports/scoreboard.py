"""The terminal report of `assay score`: the number, where sessions drop out, what stands beside it, what to do."""

from collections.abc import Iterable, Sequence
from datetime import tzinfo

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.reports import gist, later, listing
from assay.reports.safe import one_line, safe
from assay.reports.words import UNKNOWN, listed, percent
from assay.scores.breakdown import Slice
from assay.scores.prism import Score
from assay.scores.reasons import Obstacle
from assay.scores.report import Report

GAUGE, BARS, SMALL = 50, 32, 20
MOST_ROWS, MOST_SLICES, MOST_IDS, MOST_NAME, LEAST_NAME = 30, 12, 3, 36, 10
ROOM_FOR_NUMBERS = 26
"""Of a slice: the score, the count, the ends of the gauge and the spaces between."""
TITLE, NOTE = "bold", "yellow"


def report(found: Report, zone: tzinfo, width: int, by: str | None = None) -> Group:
    """All of it, top to bottom."""
    if not found.sessions:
        return Group(*headline(found))
    shown = found.sessions[-MOST_ROWS:]
    length = listing.id_length(found.sessions)
    parts: list[RenderableType] = [*headline(found), Text(""), waterfall(found, width)]
    parts += section("Beside it", beside(found, width))
    parts += section("Lost their crush since the last report", losses(found, length))
    parts += section("How long lines stay", curve(found, width))
    if by:
        parts += section(f"By {by}", slices(found.slices.get(by, []), by, width))
    if shown:
        parts += [Text(""), Text("Sessions", TITLE), listing.sessions(shown, zone, width, length)]
    if len(shown) < len(found.sessions):
        parts.append(Text(f"the last {len(shown)} of {len(found.sessions)}; `assay sessions` lists all", "dim"))
    parts += section("What held sessions back", [line for one in found.obstacles for line in obstacle(one, length)])
    parts += section("Notes", [Text(line, NOTE) for line in gist.notes(found)])
    return Group(*parts)


def section(title: str, lines: Iterable[RenderableType]) -> list[RenderableType]:
    """A title and what stands under it; nothing where there is nothing."""
    found = [Padding(line, (0, 0, 0, 2)) for line in lines]
    return [Text(""), Text(title, TITLE), *found] if found else []


def headline(found: Report) -> list[Text]:
    """The number with its interval, drawn, and who judged."""
    score, judge = found.score, Text(gist.judged_by(found), "dim")
    if score.value is None:
        why = ", " if score.is_mixed else ", nothing counts: "
        return [Text.assemble(("PRISM Score: no score", TITLE), why, gist.nothing(found)), judge]
    words = f" · 95 % interval {gist.interval(score)} · {gist.tally(score)}"
    return [
        Text.assemble((f"PRISM Score {gist.number(found)}", TITLE), words),
        Text.assemble(("0 ", "dim"), gauge(score, GAUGE), (" 100", "dim")),
        judge,
    ]


def gauge(score: Score, width: int) -> Text:
    """A scale from 0 to 100: the interval drawn thick, the value as a dot."""
    if score.value is None or score.low is None or score.high is None:
        return Text("nothing counts", "dim")
    first, last, dot = (min(width - 1, int(at / 100 * width)) for at in (score.low, score.high, score.value))
    signs = ["●" if n == dot else "━" if first <= n <= last else "─" for n in range(width)]
    text = Text("".join(signs), "dim")
    text.stylize("not dim cyan", first, last + 1)
    text.stylize("not dim bold", dot, dot + 1)
    return text


def waterfall(found: Report, width: int) -> Table:
    """A bar per step: how many are left, and why the others are not."""
    most = max(1, found.waterfall.sessions)
    length = BARS if width >= listing.WIDE else SMALL
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, style="dim")
    for name, left, lost in gist.steps(found):
        style = "green" if name == "crushed" else "cyan"
        table.add_row(Text(name), Text(str(left), TITLE), bar(left / most, length, style), Text(lost))
    return table


def bar(share: float, length: int, style: str) -> Text:
    """A bar that is never empty for something nor full for less than all."""
    full = round(share * length)
    full = max(1, min(full, length - 1)) if 0 < share < 1 else full
    return Text("█" * full + " " * (length - full), style)


def beside(found: Report, width: int) -> list[Text]:
    """Measures in a line or two, and the last days against those before."""
    lines = [Text(line) for line in flow(gist.measures(found.measures), width - 2)]
    return lines + [Text.assemble(said, (how, style)) for said, how, style in gist.windows(found.windows)]


def losses(found: Report, length: int) -> list[Text]:
    """Sessions whose lines were replaced since, and by whom."""
    return [Text.assemble((name, "cyan"), f"  {what}") for name, what in later.losses(found.lost, length)]


def curve(found: Report, width: int) -> list[RenderableType]:
    """The survival curve, a bar for each day."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("right", "left", "right", "right"):
        table.add_column(justify=justify, no_wrap=True)
    for days, alive, share, lines in later.curve(found.survival):
        drawn = bar(alive, BARS if width >= listing.WIDE else SMALL, "cyan")
        table.add_row(Text(days), drawn, Text(share, TITLE), Text(lines, "dim"))
    return [table] if table.row_count else []


def flow(parts: Sequence[str], width: int) -> list[str]:
    """Parts in as few lines as fit, none broken that need not be."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 3 <= width:
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return lines


def slices(found: Sequence[Slice], by: str, width: int) -> list[RenderableType]:
    """The score of each slice with its interval, drawn."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for _ in range(2):
        table.add_column(no_wrap=True)
    names = gist.slice_names(found, by)
    room = max(LEAST_NAME, min(MOST_NAME, width - SMALL - ROOM_FOR_NUMBERS))
    for one in found[:MOST_SLICES]:
        value = Text(UNKNOWN if one.score.value is None else percent(one.score.value), TITLE)
        drawn = gauge(one.score, BARS if width >= listing.WIDE else SMALL)
        name = Text(one_line(names[one.name], room))
        table.add_row(name, value, drawn, Text(f"{one.score.crushed}/{one.score.counted}"))
    left_out = len(found) - MOST_SLICES
    return [table, Text(f"and {left_out} more; --json has them all", "dim")] if left_out > 0 else [table]


def obstacle(one: Obstacle, length: int) -> list[RenderableType]:
    """A reason for not crushing, where it was met, and what helps."""
    ids = listed([safe(session[:length]) for session in one.sessions], MOST_IDS)
    head = Text.assemble((f"{len(one.sessions)} × ", TITLE), one_line(one.reason, 100), (f"  {ids}", "cyan"))
    return [head, Padding(Text(one_line(one.advice, 400), "green"), (0, 0, 0, 4))]
