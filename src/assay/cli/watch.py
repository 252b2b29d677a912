"""`assay watch`: what is going on in the agents at work, from their transcripts alone, drawn anew as it changes."""

import sys
import time
from datetime import UTC, datetime, tzinfo
from typing import Annotated

import typer
from msgspec import Struct
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from assay.cli.options import AsJson, StorePath, options, read_overrides
from assay.cli.output import let_pipe_close, print_json
from assay.cli.settings import load_config
from assay.cli.terminal import Console
from assay.config import Config, pick_zone
from assay.pipeline.glance import Glance, Sight, take_glance
from assay.reports.format import format_dollars, format_line, format_number, format_project, format_time
from assay.types import Document

EXAMPLE = "Example: `assay watch` in a terminal of its own; Ctrl-C ends it. `assay watch --once` prints it once."
SHOWN = 15

Every = Annotated[float, typer.Option("--every", min=1, max=3_600, metavar="SECONDS", help="How often it looks.")]
Once = Annotated[bool, typer.Option("--once", help="Look once, print it, and leave; in a pipe it does so anyway.")]


class WatchRequest(Struct, frozen=True, kw_only=True):
    """What `assay watch` takes."""

    every: Every = 5.0
    once: Once = False
    as_json: AsJson = False
    store: StorePath = None


class LiveView(Document, frozen=True, kw_only=True, tag="live"):
    """`assay watch --json`: the score of the week and the conversations of the day."""

    at: float
    value: float | None
    low: float | None
    high: float | None
    crushed: int
    counted: int
    conversations: list[Sight]


@options(WatchRequest)
def command(request: WatchRequest) -> None:
    """Show what agents are at now: every conversation of the day, how it stands, and how it is likely to end."""
    config = load_config(**read_overrides(request))
    if request.as_json:
        print_json(to_view(look(config)))
        return
    console, zone = Console(highlight=False), pick_zone(config)
    if request.once or not sys.stdout.isatty():
        let_pipe_close()
        console.print(render_glance(look(config), zone))
        return
    with Live(render_glance(look(config), zone), console=console, auto_refresh=False) as live:
        while True:
            time.sleep(request.every)
            live.update(render_glance(look(config), zone), refresh=True)


def look(config: Config) -> Glance:
    return take_glance(config, datetime.now(UTC), with_facts=True)


def to_view(found: Glance) -> LiveView:
    return LiveView(
        at=found.at, value=found.value, low=found.low, high=found.high, crushed=found.crushed, counted=found.counted,
        conversations=found.sights,
    )  # fmt: skip


def render_glance(found: Glance, zone: tzinfo) -> Group:
    """The week in a line, and a row for each conversation, the latest first."""
    parts: list[Text | Table] = [describe_week(found)]
    if found.sights:
        parts.append(build_table(found, zone))
    else:
        parts.append(Text("no conversation in the last day", style="dim"))
    if found.coaching and datetime.now(UTC).timestamp() < found.coached_until:
        parts.append(Text(found.coaching, style="yellow"))
    return Group(*parts)


def describe_week(found: Glance) -> Text:
    if found.value is None:
        return Text("no session of the last 7 days counts yet")
    spread = f" ({found.low:.0f} to {found.high:.0f})" if found.low is not None and found.high is not None else ""
    return Text(
        f"{found.value:.0f}{spread} in the last 7 days: {found.crushed} of {found.counted} landed", style="bold"
    )


def build_table(found: Glance, zone: tzinfo) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("last", "project", "state", "outcome"):
        table.add_column(name, no_wrap=True)
    for name in ("turns", "tokens", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found.sights[:SHOWN]:
        row = one.row
        tokens = sum(row.tokens.values()) if row.tokens else 0
        table.add_row(
            format_time(row.last_at, zone),
            format_line(format_project(row.project), 30),
            row.state,
            describe_outcome(one),
            str(row.turns),
            format_number(tokens) if row.tokens else "",
            "" if row.cost_usd is None else format_dollars(row.cost_usd),
        )
    return table


def describe_outcome(one: Sight) -> Text:
    """How it ended, or is likely to."""
    if one.crushed is not None:
        return Text("landed", style="green") if one.crushed else Text("did not land", style="red")
    return Text("" if one.chance is None else f"{one.chance:.0%} likely to land", style="dim")
