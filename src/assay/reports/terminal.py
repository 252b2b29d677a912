"""What a person sees in the terminal."""

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from pathlib import PurePosixPath
from typing import Any

import msgspec
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.reports.safe import many, one_line, safe
from assay.types import Call, Stream, StreamSummary, Turn

GLYPHS = {
    "ok": ("✓", "green"),
    "error": ("✗", "red"),
    "rejected": ("⊘", "yellow"),
    "denied": ("⊘", "yellow"),
    "interrupted": ("!", "yellow"),
    "open": ("…", "dim"),
}
UNKNOWN = "–"
WIDE = 120
MOST_OF_ID = 18
COLUMNS = [
    ("began", False), ("stream", False), ("agent", False), ("project", False), ("prompts", True), ("calls", True),
    ("lines", True), ("tests", True), ("commits", True), ("tokens", True), ("USD", True),
]  # fmt: skip
"""Columns, and whether they hold numbers."""
NARROW = ("began", "stream", "lines", "tests")


def streams(listed: Sequence[StreamSummary], width: int) -> Table:
    """A table of streams; a narrow terminal gets fewer columns."""
    shown = COLUMNS if width >= WIDE else [column for column in COLUMNS if column[0] in NARROW]
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name, is_number in shown:
        table.add_column(name, justify="right" if is_number else "left", no_wrap=True)
    table.add_column("what it was about", overflow="ellipsis", no_wrap=True, ratio=1)
    length = telling_length([one.id for one in listed])
    for one in listed:
        cells = stream_cells(one, length)
        table.add_row(*(cells[name] for name, _ in shown), cells["title"])
    return table


def stream_cells(one: StreamSummary, length: int) -> dict[str, Text]:
    facts = msgspec.json.decode(one.facts)
    lines = Text.assemble((f"+{facts['lines_added']}", "green"), " ", (f"-{facts['lines_removed']}", "red"))
    title = Text(one_line(one.title, 200) or "(nobody said anything)")
    if one.is_gone:
        title = Text.assemble(("file deleted · ", "yellow"), title)
    return {
        "began": Text(moment(one.began_at)),
        "stream": Text(safe(one.id[:length]), "cyan"),
        "agent": Text(one_line(one.agent, 12)),
        "project": Text(one_line(project(one.project), 18)),
        "prompts": Text(str(one.turns)),
        "calls": Text(str(facts["tool_calls"])),
        "lines": lines if facts["lines_added"] or facts["lines_removed"] else Text(UNKNOWN, "dim"),
        "tests": tests(facts),
        "commits": Text(str(facts["commit_runs"] or UNKNOWN)),
        "tokens": Text(short(sum(facts["tokens"].values()))),
        "USD": Text(UNKNOWN if facts["cost_usd"] is None else f"{facts['cost_usd']:.2f}"),
        "title": title,
    }


def telling_length(ids: Sequence[str]) -> int:
    """How much of the ids tells them apart."""
    length = 8
    while length < MOST_OF_ID and len({one[:length] for one in ids}) < len(set(ids)):
        length += 1
    return length


def tests(facts: dict[str, Any]) -> Text:
    """How the last test run ended; a star where files were edited since."""
    runs = facts["checks"].get("test")
    if not runs:
        return Text(UNKNOWN, "dim")
    star = "*" if runs["is_stale"] else ""
    glyph, style = {"passed": ("✓", "green"), "failed": ("✗", "red")}.get(runs["last"] or "", ("?", "yellow"))
    return Text(glyph + star, style)


def moment(stamp: str, zone: tzinfo | None = None) -> str:
    """A record's time in a time zone, or in the reader's own."""
    try:
        return datetime.fromisoformat(stamp).astimezone(zone).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return one_line(stamp, 16) or UNKNOWN


def project(cwd: str) -> str:
    return PurePosixPath(cwd.replace("\\", "/")).name or UNKNOWN


def short(number: int) -> str:
    """1234567 as 1.2M."""
    for limit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.1f}{sign}"
    return str(number)


def stream(one: StreamSummary, whole: Stream) -> Group:
    """One stream, turn by turn."""
    facts = msgspec.json.decode(one.facts)
    lines = f"+{facts['lines_added']} -{facts['lines_removed']} lines in {many(len(facts['lines_by_file']), 'file')}"
    counts = [many(one.turns, "prompt"), many(facts["tool_calls"], "call"), lines]
    head = Text.assemble(
        (safe(one.id), "bold cyan"),
        f"  {safe(one.agent)}  {safe(one.project)}  {safe(one.branch)}\n",
        f"{moment(one.began_at)} to {moment(one.ended_at)} · {' · '.join(counts)} · ",
        f"{short(sum(facts['tokens'].values()))} tokens · {cost(facts)}\n",
    )
    parts: list[Any] = [head]
    for number, turn in enumerate(whole.turns, 1):
        parts += [turn_head(number, turn), Padding(turn_body(turn, one.project), (0, 0, 1, 3))]
    return Group(*parts)


def cost(facts: dict[str, Any]) -> str:
    if facts["cost_usd"] is not None:
        return f"USD {facts['cost_usd']:.2f}"
    return "unpriced: " + ", ".join(one_line(model, 40) for model in facts["unpriced_models"])


def turn_head(number: int, turn: Turn, zone: tzinfo | None = None) -> Text:
    if turn.prompt is None:
        return Text(f"{number:>2} {moment(turn.at, zone)}  (no prompt)", "dim")
    kind = "" if turn.prompt.kind == "typed" else f"[{turn.prompt.kind}] "
    return Text.assemble(
        (f"{number:>2} ", "bold"),
        (f"{moment(turn.at, zone)}  ", "dim"),
        (kind, "magenta"),
        (safe(turn.prompt.text), "bold"),
    )


def turn_body(turn: Turn, project: str) -> Group:
    """What happened, in order; of what the agent said, only its last words whole."""
    rows = [(mark.at, Text(f"⚑ {mark.kind} {one_line(mark.detail, 80)}", "yellow")) for mark in turn.marks]
    rows += [(reply.at, Text(f"  {one_line(reply.text, 100)}", "dim")) for reply in turn.replies[:-1]]
    rows += [(call.at, call_line(call, project)) for call in turn.calls]
    rows.sort(key=lambda row: row[0])
    last = [Text(safe(turn.replies[-1].text))] if turn.replies else []
    return Group(*(text for _, text in rows), *last)


def call_line(call: Call, project: str) -> Text:
    """A call on one line: how it ended, what it was."""
    glyph, style = GLYPHS[call.status]
    lines = "".join(f" +{edit.added} -{edit.removed}" for edit in call.edits[:1])
    by = f"  ({one_line(call.by, 12)})" if call.by else ""
    checks = "".join(f" {run.purpose} {run.outcome or 'unknown'}" for run in call.runs if run.purpose)
    said = call.command or call.target
    what = one_line(said.replace(f"{project.rstrip('/')}/", "") if project else said, 100)
    return Text.assemble(
        (f"{glyph} ", style),
        (f"{one_line(call.name, 30)} ", "dim"),
        what,
        (lines, "green"),
        (checks, "blue"),
        (by, "dim"),
    )


def doubts(console: Console, skipped: Iterable[tuple[str, int, str]], unreadable: Sequence[tuple[str, str]]) -> None:
    """A line about what could not be read, where there is anything."""
    count = sum(1 for _ in skipped)
    if count or unreadable:
        said = [many(count, "skip") if count else "", f"{len(unreadable)} unreadable" if unreadable else ""]
        console.print(Text(f"{', '.join(filter(None, said))}: `assay doctor` says where and why", "yellow"))
