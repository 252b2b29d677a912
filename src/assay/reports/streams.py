"""Streams for the terminal: a table of many, and one turn by turn."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any

import msgspec
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.reports.format import (
    UNKNOWN,
    format_cost,
    format_count,
    format_end,
    format_line,
    format_number,
    format_project,
    format_time,
    measure_ids,
    sanitize_text,
)
from assay.types import Call, Stream, StreamSummary, Turn

GLYPHS = {
    "ok": ("✓", "green"),
    "error": ("✗", "red"),
    "rejected": ("⊘", "yellow"),
    "denied": ("⊘", "yellow"),
    "interrupted": ("!", "yellow"),
    "open": ("…", "dim"),
}
WIDE = 120
COLUMNS = [
    ("began", False), ("stream", False), ("agent", False), ("project", False), ("prompts", True), ("calls", True),
    ("lines", True), ("tests", True), ("commits", True), ("tokens", True), ("USD", True),
]  # fmt: skip
"""Columns, and whether they hold numbers."""
NARROW = ("began", "stream", "lines", "tests")


def render_streams(listed: Sequence[StreamSummary], width: int) -> Table:
    """A table of streams; a narrow terminal gets fewer columns."""
    shown = COLUMNS if width >= WIDE else [column for column in COLUMNS if column[0] in NARROW]
    length = measure_ids([one.id for one in listed])
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name, is_number in shown:
        least = length if name == "stream" else None
        table.add_column(name, justify="right" if is_number else "left", no_wrap=True, min_width=least)
    table.add_column("what it was about", overflow="ellipsis", no_wrap=True, ratio=1)
    for one in listed:
        cells = build_cells(one, length)
        table.add_row(*(cells[name] for name, _ in shown), cells["title"])
    return table


def build_cells(one: StreamSummary, length: int) -> dict[str, Text]:
    facts = msgspec.json.decode(one.facts)
    lines = Text.assemble((f"+{facts['lines_added']}", "green"), " ", (f"-{facts['lines_removed']}", "red"))
    title = Text(format_line(one.title, 200) or "(nobody said anything)")
    if one.is_gone:
        title = Text.assemble(("file deleted · ", "yellow"), title)
    return {
        "began": Text(format_time(one.began_at)),
        "stream": Text(sanitize_text(one.id[:length]), "cyan"),
        "agent": Text(format_line(one.agent, 12)),
        "project": Text(format_end(format_project(one.project), 18)),
        "prompts": Text(str(one.turns)),
        "calls": Text(str(facts["tool_calls"])),
        "lines": lines if facts["lines_added"] or facts["lines_removed"] else Text(UNKNOWN, "dim"),
        "tests": render_tests(facts),
        "commits": Text(str(facts["commit_runs"] or UNKNOWN)),
        "tokens": Text(format_tokens(facts)),
        "USD": Text(UNKNOWN if facts["cost_usd"] is None else f"{facts['cost_usd']:.2f}"),
        "title": title,
    }


def format_tokens(facts: dict[str, Any]) -> str:
    """All tokens of a stream, where its transcript tells of any."""
    return UNKNOWN if facts["tokens"] is None else format_number(sum(facts["tokens"].values()))


def render_tests(facts: dict[str, Any]) -> Text:
    """How the last test run ended; a star where files were edited since."""
    runs = facts["checks"].get("test")
    if not runs:
        return Text(UNKNOWN, "dim")
    star = "*" if runs["is_stale"] else ""
    glyph, style = {"passed": ("✓", "green"), "failed": ("✗", "red")}.get(runs["last"] or "", ("?", "yellow"))
    return Text(glyph + star, style)


def render_stream_head(one: StreamSummary, facts: dict[str, Any], zone: tzinfo) -> Text:
    """Which stream it is, when it was, and what it came to."""
    files = format_count(len(facts["lines_by_file"]), "file")
    lines = f"+{facts['lines_added']} -{facts['lines_removed']} lines in {files}"
    counts = [format_count(one.turns, "prompt"), format_count(facts["tool_calls"], "call"), lines]
    return Text.assemble(
        (sanitize_text(one.id), "bold cyan"),
        f"  {sanitize_text(one.agent)}  {sanitize_text(one.project)}  {sanitize_text(one.branch)}\n",
        f"{format_time(one.began_at, zone)} to {format_time(one.ended_at, zone)} · {' · '.join(counts)} · ",
        f"{format_tokens(facts)} tokens · {format_cost(facts)}",
    )


def render_stream(one: StreamSummary, whole: Stream, zone: tzinfo) -> Group:
    """One stream, turn by turn."""
    parts: list[Any] = [render_stream_head(one, msgspec.json.decode(one.facts), zone), Text("")]
    for number, turn in enumerate(whole.turns, 1):
        parts += [render_turn_head(number, turn, zone), Padding(render_turn_body(turn, one.project), (0, 0, 1, 3))]
    return Group(*parts)


def render_turn_head(number: int, turn: Turn, zone: tzinfo | None = None) -> Text:
    if turn.prompt is None:
        return Text(f"{number:>2} {format_time(turn.at, zone)}  (no prompt)", "dim")
    kind = "" if turn.prompt.kind == "typed" else f"[{turn.prompt.kind}] "
    return Text.assemble(
        (f"{number:>2} ", "bold"),
        (f"{format_time(turn.at, zone)}  ", "dim"),
        (kind, "magenta"),
        (sanitize_text(turn.prompt.text), "bold"),
    )


def render_turn_body(turn: Turn, project: str) -> Group:
    """What happened, in order; of what the agent said, only its last words whole."""
    rows = [(mark.at, Text(f"⚑ {mark.kind} {format_line(mark.detail, 80)}", "yellow")) for mark in turn.marks]
    rows += [(reply.at, Text(f"  {format_line(reply.text, 100)}", "dim")) for reply in turn.replies[:-1]]
    rows += [(call.at, render_call(call, project)) for call in turn.calls]
    rows.sort(key=lambda row: row[0])
    last = [Text(sanitize_text(turn.replies[-1].text))] if turn.replies else []
    return Group(*(text for _, text in rows), *last)


def render_call(call: Call, project: str) -> Text:
    """A call on one line: how it ended, what it was."""
    glyph, style = GLYPHS[call.status]
    lines = "".join(f" +{edit.added} -{edit.removed}" for edit in call.edits[:1])
    by = f"  ({format_line(call.by, 12)})" if call.by else ""
    checks = "".join(f" {run.purpose} {run.outcome or 'unknown'}" for run in call.runs if run.purpose)
    said = call.command or call.target
    what = format_line(said.replace(f"{project.rstrip('/')}/", "") if project else said, 100)
    return Text.assemble(
        (f"{glyph} ", style),
        (f"{format_line(call.name, 30)} ", "dim"),
        what,
        (lines, "green"),
        (checks, "blue"),
        (by, "dim"),
    )


def describe_doubts(skips: int, unreadable: int) -> str:
    """A line about what could not be read; nothing where all could be."""
    said = [format_count(skips, "skip") if skips else "", f"{unreadable} unreadable" if unreadable else ""]
    return f"{', '.join(filter(None, said))}: `assay doctor` says where and why" if skips or unreadable else ""
