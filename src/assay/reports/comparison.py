"""Two groups of sessions in the terminal: both scores drawn, whether they differ, and what stands beside them."""

from collections.abc import Callable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.reports.format import (
    UNKNOWN,
    fit_names,
    format_count,
    format_dollars,
    format_duration,
    format_number,
    format_percent,
)
from assay.reports.score import BARS, RAW, ROOM_FOR_NUMBERS, SMALL, TITLE, render_gauge
from assay.reports.sessions import WIDE
from assay.reports.summary import format_chance, format_interval
from assay.scores.comparison import ComparedSide, ScoreComparison
from assay.scores.difference import FEWEST_COUNTED
from assay.scores.measures import Measures

LEAST_NAME, MOST_NAME = 12, 36
NO_EXPERIMENT = "the work may have been other work: what a change is worth, `assay eval` proves"


def format_known(show: Callable[[float], str], value: float | None) -> str:
    return UNKNOWN if value is None else show(value)


BESIDE: dict[str, Callable[[Measures], str]] = {
    "crushed a week": lambda one: format_known("{:.1f}".format, one.crushed_per_week),
    "work to crush, median": lambda one: format_known(format_duration, one.median_time_to_crush_s),
    "prompts worded": lambda one: one.average_prompt_grade or UNKNOWN,
    "tokens a turn": lambda one: format_known(lambda n: format_number(round(n)), one.tokens_per_turn),
    "a crushed session costs": lambda one: format_known(format_dollars, one.usd_per_crushed),
}


def render_comparison(found: ScoreComparison, width: int) -> Group:
    """Both sides and what is to be said of them."""
    room = max(LEAST_NAME, min(MOST_NAME, width - SMALL - ROOM_FOR_NUMBERS - 10))
    names = fit_names((one.name for one in found.sides), room)
    parts: list[RenderableType] = [render_scores(found, names, width), Text("")]
    parts += [Text(line, style) for line, style in describe_difference(found)]
    parts += [Text(""), Text("Beside it", TITLE), render_beside(found, names)]
    if found.on_both:
        parts.append(Text(f"{format_count(found.on_both, 'session')} on both sides: left out", "yellow"))
    return Group(*parts, Text(RAW, "dim"), Text(NO_EXPERIMENT, "dim"))


def render_scores(found: ScoreComparison, names: dict[str, str], width: int) -> Table:
    """The score of each side with its interval, drawn."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "right", "left", "right", "left"):
        table.add_column(justify=justify, no_wrap=True)
    for one in found.sides:
        score = one.score
        table.add_row(
            Text(names[one.name]),
            Text(UNKNOWN if score.value is None else format_percent(score.value), TITLE),
            render_gauge(score, BARS if width >= WIDE else SMALL),
            Text(f"{score.crushed}/{score.counted}"),
            Text(format_interval(score), "dim"),
        )
    return table


def describe_difference(found: ScoreComparison) -> list[tuple[str, str]]:
    """Whether the second side differs from the first, in lines with their style."""
    told = found.difference
    if told.value is None or told.low is None or told.high is None or told.p_value is None:
        empty = " and ".join(f"“{one.name}”" for one in found.sides if not one.score.counted)
        return [(f"nothing counts in {empty}: there is no difference to speak of", "yellow")]
    ends = f"{format_points(told.low)} to {format_points(told.high)}"
    said = f"{format_points(told.value)} points, 95 % interval {ends}, {format_chance(told.p_value)}"
    if not told.is_one_judge:
        return [(said, ""), ("not comparable: judged in different ways", "yellow")]
    if told.direction:
        sign, style = {"up": ("↑ better", "green"), "down": ("↓ worse", "red")}[told.direction]
        return [(f"{said}: {sign}", style)]
    lines = [(f"{said}: no difference shown", "")]
    if min(one.score.counted for one in found.sides) < FEWEST_COUNTED:
        lines.append((f"a side with fewer than {FEWEST_COUNTED} counted sessions shows nothing", "dim"))
    elif found.detectable is not None:
        lines.append((f"so many sessions mostly show a difference from about {found.detectable:.0f} points on", "dim"))
    return lines


def format_points(value: float) -> str:
    """A difference, with its sign."""
    return f"{value:+.0f}".replace("-0", "0").replace("+0", "0").replace("-", "−")


def render_beside(found: ScoreComparison, names: dict[str, str]) -> Table:
    """What else is known of both sides; none of it is tested."""
    table = Table.grid(padding=(0, 3, 0, 2))
    for n in range(1 + len(found.sides)):
        table.add_column(justify="right" if n else "left", no_wrap=True)
    table.add_row(Text(""), *(Text(names[one.name], TITLE) for one in found.sides))
    for name, cells in list_compared(found)[1:]:
        table.add_row(Text(name), *map(Text, cells))
    return table


def list_compared(found: ScoreComparison) -> list[tuple[str, list[str]]]:
    """What is known of both sides: the score first, then what stands beside it, which is not tested."""
    sides = found.sides
    rows = [
        ("raw score", [describe_side(one) for one in sides]),
        ("sessions", [str(one.sessions) for one in sides]),
        ("first began", [one.began or UNKNOWN for one in sides]),
        ("last began", [one.ended or UNKNOWN for one in sides]),
        ("asked for a change", [format_changes(one) for one in sides]),
    ]
    return rows + [(name, [show(one.measures) for one in sides]) for name, show in BESIDE.items()]


def describe_side(side: ComparedSide) -> str:
    """The score of a side with its interval and count."""
    if side.score.value is None:
        return UNKNOWN
    counts = f"{side.score.crushed} of {side.score.counted}"
    return f"{format_percent(side.score.value)} ({format_interval(side.score)}), {counts}"


def format_changes(side: ComparedSide) -> str:
    """How much of the work was to have something changed."""
    total = sum(side.aims.values())
    return f"{format_percent(100 * side.aims.get('change', 0) / total)} %" if total else UNKNOWN
