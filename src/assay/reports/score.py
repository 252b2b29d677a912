"""The terminal report of `assay score`: the number, where sessions drop out, what stands beside it, what to do."""

from collections.abc import Iterable, Sequence
from datetime import tzinfo

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.reports.format import (
    UNKNOWN,
    fit_names,
    format_line,
    format_list,
    format_percent,
    format_sparkline,
    sanitize_text,
)
from assay.reports.rework import describe_curve, describe_losses
from assay.reports.sessions import WIDE, render_sessions
from assay.reports.summary import (
    describe_ground,
    describe_judge,
    describe_measures,
    describe_slice,
    describe_tests,
    describe_trend,
    describe_truth,
    describe_what_if,
    describe_windows,
    explain_no_score,
    format_score,
    list_notes,
    list_steps,
    name_slices,
)
from assay.scores.breakdown import NOTHING, PERIODS, Slice, place_period
from assay.scores.correction import Corrected
from assay.scores.prediction import Predicted
from assay.scores.prism import Score
from assay.scores.reasons import Obstacle
from assay.scores.report import Report

GAUGE, BARS, SMALL = 50, 32, 20
MOST_ROWS, MOST_SLICES, MOST_IDS, MOST_NAME, LEAST_NAME = 30, 12, 3, 36, 10
ROOM_FOR_NUMBERS, ROOM_TO_DIFFER, LABELS = 26, 13, 20
"""Of a slice: score, count, ends of the gauge and spaces between; how it differs; what stands behind a sparkline."""
TITLE, NOTE = "bold", "yellow"
SEVERAL = "several judges judged these: what differs between slices may be the judge"
RAW = "raw: not corrected; intervals of chance alone"


def render_score(found: Report, zone: tzinfo, width: int, ways: Sequence[str] = ()) -> Group:
    """All of it, top to bottom."""
    if not found.waterfall.sessions:
        return Group(*render_headline(found))
    shown = found.sessions[-MOST_ROWS:]
    parts: list[RenderableType] = [*render_headline(found), Text(""), render_waterfall(found, width)]
    parts += render_section("Beside it", render_measures(found, width))
    parts += render_section("Lost their crush since the last report", render_losses(found))
    parts += render_section("How long lines stay", render_curve(found, width))
    for by in dict.fromkeys(ways):
        parts += render_section(f"By {by}", render_way(found, by, width))
    if shown:
        parts += [Text(""), Text("Sessions", TITLE), render_sessions(shown, zone, width)]
    if len(shown) < found.waterfall.sessions:
        parts.append(Text(f"the last {len(shown)} of {found.waterfall.sessions}; `assay sessions` lists all", "dim"))
    parts += render_section(
        "What held sessions back", [line for one in found.obstacles for line in render_obstacle(one)]
    )
    parts += render_section("Notes", [Text(line, NOTE) for line in list_notes(found)])
    return Group(*parts)


def render_section(title: str, lines: Iterable[RenderableType]) -> list[RenderableType]:
    """A title and what stands under it; nothing where there is nothing."""
    found = [Padding(line, (0, 0, 0, 2)) for line in lines]
    return [Text(""), Text(title, TITLE), *found] if found else []


def render_headline(found: Report) -> list[Text]:
    """The number with its interval, drawn, and who judged."""
    score, judge = found.score, Text(describe_judge(found), "dim")
    if score.value is None and score.corrected is None:
        why = ", " if score.is_mixed else ", nothing counts: "
        what_if = [Text(f"{line[:1].upper()}{line[1:]}.") for line in describe_what_if(found)]
        return [Text.assemble(("PRISM Score: no score", TITLE), why, explain_no_score(found)), *what_if, judge]
    known = score.corrected or (replace(score.predicted, value=score.value) if score.predicted else score)
    return [
        Text.assemble((f"PRISM Score {format_score(found)}", TITLE), f" · {describe_ground(found)}"),
        Text.assemble(("0 ", "dim"), render_gauge(known, GAUGE), (" 100", "dim")),
        *(Text(f"{line[:1].upper()}{line[1:]}.") for line in describe_truth(found)),
        judge,
    ]


def render_gauge(score: Score | Corrected | Predicted, width: int) -> Text:
    """A scale from 0 to 100: the interval drawn thick, the value as a dot."""
    if score.value is None or score.low is None or score.high is None:
        return Text("nothing counts", "dim")
    first, last, dot = (min(width - 1, int(at / 100 * width)) for at in (score.low, score.high, score.value))
    signs = ["●" if n == dot else "━" if first <= n <= last else "─" for n in range(width)]
    text = Text("".join(signs), "dim")
    text.stylize("not dim cyan", first, last + 1)
    text.stylize("not dim bold", dot, dot + 1)
    return text


def render_waterfall(found: Report, width: int) -> Table:
    """A bar per step: how many are left, and why the others are not."""
    most = max(1, found.waterfall.sessions)
    length = BARS if width >= WIDE else SMALL
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, style="dim")
    for name, left, lost in list_steps(found):
        style = "green" if name == "crushed" else "cyan"
        table.add_row(Text(name), Text(str(left), TITLE), render_bar(left / most, length, style), Text(lost))
    return table


def render_bar(share: float, length: int, style: str) -> Text:
    """A bar that is never empty for something nor full for less than all."""
    full = round(share * length)
    full = max(1, min(full, length - 1)) if 0 < share < 1 else full
    return Text("█" * full + " " * (length - full), style)


def render_measures(found: Report, width: int) -> list[Text]:
    """Measures in a line or two, and the last days against those before."""
    lines = [Text(line) for line in wrap_parts(describe_measures(found.measures), width - 2)]
    return lines + [Text.assemble(said, (how, style)) for said, how, style in describe_windows(found.windows)]


def render_losses(found: Report) -> list[Text]:
    """Sessions whose lines were replaced since, and by whom."""
    return [Text.assemble((name, "cyan"), f"  {what}") for name, what in describe_losses(found.lost)]


def render_curve(found: Report, width: int) -> list[RenderableType]:
    """The survival curve, a bar for each day."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("right", "left", "right", "right"):
        table.add_column(justify=justify, no_wrap=True)
    for days, alive, share, lines in describe_curve(found.survival):
        drawn = render_bar(alive, BARS if width >= WIDE else SMALL, "cyan")
        table.add_row(Text(days), drawn, Text(share, TITLE), Text(lines, "dim"))
    return [table] if table.row_count else []


def wrap_parts(parts: Sequence[str], width: int) -> list[str]:
    """Parts in as few lines as fit, none broken that need not be."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 3 <= width:
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return lines


def render_way(found: Report, by: str, width: int) -> list[RenderableType]:
    """The slices of a report by one thing; by time, with a sparkline and the trend."""
    slices = found.slices.get(by, [])
    rows = render_slices(slices, by, width)
    tested = SEVERAL if found.score.is_mixed else describe_tests(slices)
    told = [Text(tested, "dim"), Text(RAW, "dim")] if rows else []
    if by not in PERIODS or not rows:
        return rows + told
    spark = draw_periods(slices, by, width)
    return [Text.assemble((spark, "cyan")), *rows, Text(describe_trend(found.trends[by], by)), *told]


def draw_periods(found: Sequence[Slice], by: str, width: int) -> str:
    """The score of each period as a bar, gaps for those without; the last ones where not all fit."""
    known = {place_period(one.name, by): one.score.value for one in found if one.name != NOTHING}
    if not known:
        return ""
    last = max(known)
    first = max(min(known), last - width + LABELS)
    return f"{format_sparkline([known.get(n) for n in range(first, last + 1)])}  0–100 by {by}"


def render_slices(found: Sequence[Slice], by: str, width: int) -> list[RenderableType]:
    """The score of each slice with its interval, drawn, and whether it differs from the rest."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "right", "left", "right", "left"):
        table.add_column(justify=justify, no_wrap=True)
    shown = found[-MOST_SLICES:] if by in PERIODS else found[:MOST_SLICES]
    names = name_slices(found, by)
    differing = ROOM_TO_DIFFER if any(one.direction for one in shown) else 0
    room = max(LEAST_NAME, min(MOST_NAME, width - SMALL - ROOM_FOR_NUMBERS - differing))
    fitted = fit_names(names.values(), room)
    for one in shown:
        value = Text(UNKNOWN if one.score.value is None else format_percent(one.score.value), TITLE)
        drawn = render_gauge(one.score, BARS if width >= WIDE else SMALL)
        how, style = describe_slice(one)
        counts = f"{one.score.crushed}/{one.score.counted}"
        table.add_row(Text(fitted[names[one.name]]), value, drawn, Text(counts), Text(how, style))
    left_out = len(found) - len(shown)
    which = "earlier" if by in PERIODS else "more"
    more = [Text(f"and {left_out} {which}; --json has them all", "dim")] if left_out > 0 else []
    return [table, *more] if table.row_count else []


def render_obstacle(one: Obstacle) -> list[RenderableType]:
    """A reason for not crushing, where it was met, and what helps."""
    ids = format_list([sanitize_text(session) for session in one.sessions], MOST_IDS)
    head = Text.assemble((f"{len(one.sessions)} × ", TITLE), format_line(one.reason, 100), (f"  {ids}", "cyan"))
    return [head, Padding(Text(format_line(one.advice, 400), "green"), (0, 0, 0, 4))]
