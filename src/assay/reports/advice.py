"""Advice in the terminal: habits that go with not landing, what ended sessions, and sentences to paste."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.reports.comparison import format_points
from assay.reports.format import UNKNOWN, format_count, format_line, format_percent, measure_ids
from assay.reports.score import TITLE
from assay.reports.summary import format_chance, format_rate
from assay.scores.advice import Advice, EndReason, Habit, ShownSession
from assay.scores.difference import Difference

MOST_TITLE = 60
INDENT = (0, 0, 0, 4)


def render_advice(found: Advice) -> Group:
    """All of it, top to bottom."""
    length = measure_ids([one.id for one in list_shown(found)])
    advised = [one for one in found.habits if one.direction == "down"]
    parts: list[RenderableType] = [Text(describe_ground(found), TITLE)]
    if found.left_out:
        left = format_count(found.left_out, "session")
        parts.append(Text(f"{left} by another judge left out: what several judges say is not put together", "yellow"))
    parts.append(Text(""))
    if found.why_none:
        parts.append(Text(f"Of habits nothing can be said: {found.why_none}.", "yellow"))
    elif not advised:
        tests = sum(one.p_corrected is not None for one in found.habits)
        parts.append(Text(f"No habit is shown to go with not landing, of {tests} that could be tested.", "yellow"))
    for habit in advised:
        parts += [*render_habit(habit, found, length), Text("")]
    parts += render_others([one for one in found.habits if one.direction != "down"])
    parts += render_endings(found, length)
    return Group(*parts, *render_proof(found))


def describe_ground(found: Advice) -> str:
    """What it all rests on."""
    judge = f", judged by the {format_line(found.judge, 40)} judge" if found.judge else ""
    return f"{found.landed} of {format_count(found.counted, 'counted session')} landed{judge}"


def render_habit(one: Habit, found: Advice, length: int) -> list[RenderableType]:
    """A habit with its numbers, the sessions that show it, and the sentence."""
    said = one.difference
    tests = sum(habit.p_corrected is not None for habit in found.habits)
    numbers = (
        f"landed {format_rate(one.with_it)} with it, {format_rate(one.without)} without: "
        f"{format_points(said.value or 0)} points, 95 % interval {format_ends(said)}, "
        f"{format_chance(one.p_corrected or 0)} corrected for {format_count(tests, 'test')}"
    )
    looked = "; the judge of outcomes looks at this too, so some of it may be its own doing" * one.is_looked_at
    return [
        Text.assemble((f"✗ {one.says}", TITLE), (f"  {format_line(one.name.replace('_', ' '), 40)}", "dim")),
        Padding(Text(f"{numbers}{looked}"), INDENT),
        *render_examples(one.sessions, length),
        *render_sentence(one.sentence, found.file),
    ]


def render_examples(sessions: Sequence[ShownSession], length: int) -> list[RenderableType]:
    return [
        Padding(
            Text.assemble((format_line(one.id[:length], 40), "cyan"), f"  {format_line(one.title, MOST_TITLE)}"), INDENT
        )
        for one in sessions
    ]


def render_sentence(sentence: str | None, file: str) -> list[RenderableType]:
    """What to paste."""
    told = Text.assemble((f"{file}  ", "dim"), (sentence or "", "green"))
    return [Padding(told, INDENT)] if sentence else []


def render_others(habits: Sequence[Habit]) -> list[RenderableType]:
    """The habits of which nothing is advised, each with its numbers."""
    if not habits:
        return []
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("looked at too", ratio=1)
    for head in ("with", "without", "points", ""):
        table.add_column(head, justify="right", no_wrap=True)
    for one in habits:
        said = one.difference
        table.add_row(
            Text(one.says),
            *(Text(f"{score.crushed}/{score.counted}") for score in (one.with_it, one.without)),
            Text(
                ""
                if said.low is None or said.high is None
                else f"{format_points(said.low)} to {format_points(said.high)}"
            ),
            Text(describe_habit(one), "dim"),
        )
    return [Text(""), table]


def format_ends(said: Difference) -> str:
    """The ends of a difference's interval."""
    return (
        UNKNOWN if said.low is None or said.high is None else f"{format_points(said.low)} to {format_points(said.high)}"
    )


def describe_habit(one: Habit) -> str:
    """Why nothing is advised because of a habit."""
    if one.p_corrected is None:
        return "too few"
    return "lands more" if one.direction == "up" else format_chance(one.p_corrected)


def render_endings(found: Advice, length: int) -> list[RenderableType]:
    """What ended the sessions that did not land."""
    if not found.endings:
        return []
    missed = found.counted - found.landed
    parts: list[RenderableType] = [Text(""), Text(f"What ended the {missed} that did not land", TITLE)]
    for one in found.endings:
        parts += [
            Text.assemble((f"  {one.count} × ", TITLE), one.says, (f"  {format_share(one)}", "dim")),
            *render_examples(one.sessions, length),
            *render_sentence(one.sentence, found.file),
        ]
    return parts


def format_share(one: EndReason) -> str:
    return f"{format_percent(one.share)} % of them ({format_percent(one.low)}–{format_percent(one.high)})"


def render_proof(found: Advice) -> list[RenderableType]:
    """How to find out whether a sentence helps: what goes with something need not be its cause."""
    shown = [one.id for one in list_shown(found)]
    if not shown:
        return []
    return [
        Text(""),
        Text("What goes with not landing need not be its cause. To prove a sentence:", "dim"),
        Text(f"  assay eval mine {format_line(shown[0], 40)}   makes a task of a session", "dim"),
        Text("  assay eval run --tasks tasks --baseline main --candidate .   without and with", "dim"),
    ]


def list_shown(found: Advice) -> list[ShownSession]:
    """The sessions that are shown: of habits that are advised about, and of endings."""
    habits = [one for habit in found.habits if habit.direction == "down" for one in habit.sessions]
    return habits + [one for ending in found.endings for one in ending.sessions]
