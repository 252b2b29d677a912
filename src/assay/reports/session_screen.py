"""One session, or one stream, on one screen: how it ended and why, what happened, and a line for each prompt."""

from collections.abc import Iterator, Sequence
from datetime import tzinfo

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.reports.format import (
    format_duration,
    format_end,
    format_line,
    format_time,
    format_words,
    sanitize_text,
)
from assay.reports.json import TranscriptPlace
from assay.reports.rework import explain_rework
from assay.reports.score import render_section
from assay.reports.session import (
    format_language,
    list_facts,
    list_reasons,
    name_evidence,
    render_outcome,
    render_reason,
    render_signal,
    render_verdict,
)
from assay.reports.streams import render_stream_head
from assay.scores.measures import PILLARS
from assay.types import Session, Stream, StreamSummary, Turn

MOST_REASONS, MOST_SIGNALS, MOST_PROMPTS, MOST_STREAM_PROMPTS = 5, 2, 8, 24
NAMES, MARGIN, BEFORE_KIND = 15, 2, 24
"""Room for names, and before what a reason is called, with spaces and quotes."""
FACTS = ("turns", "calls", "git", "lines", "files", "checks run", "trouble", "pull requests", "cost", "rework")
WORDING = "a check of the prompts, not of success"
"""What a grade is."""
SIGNS = "Evidence: + for a completed goal, − against it, ✓ shows it"


def render_screen(one: Session, turns: Sequence[Turn], zone: tzinfo, width: int) -> Group:
    """What a person wants to know first of a session."""
    evidence = [*render_evidence(one, len(turns), width), *render_signals(one, len(turns))]
    return Group(
        *render_place(one, zone, width),
        *render_outcome(one),
        *render_section("Why", render_verdict(one, in_full=False)),
        *render_section(SIGNS, evidence),
        *render_section("What became of its lines", [Text(line) for line in explain_rework(one.facts, zone)[:3]]),
        *render_section("Facts", [render_facts(one, width)]),
        *render_section("Prompts", render_prompts(turns, MOST_PROMPTS, width)),
    )


def render_place(one: Session, zone: tzinfo, width: int) -> Iterator[Text]:
    """What it was about, which one it is, when it was and how long it took."""
    yield Text(format_words(one.title, width) or "(nobody said anything)", "bold")
    known = [sanitize_text(one.id), format_line(one.agent, 20), format_line(one.branch, 30)]
    room = width - sum(len(word) + 2 for word in known if word)
    known.insert(2, format_end(one.project, max(20, room)))
    yield Text("  ".join(filter(None, known)), "cyan")
    active = one.facts.get("active_s")
    worked = f" · {format_duration(active)} of work" if active is not None else ""
    yield Text(f"{format_span(one.started_at, one.ended_at, zone)}{worked}{format_language(one)}", "dim")


def format_span(began: str, ended: str, zone: tzinfo) -> str:
    """From when to when; of a day that both have, once."""
    first, last = format_time(began, zone), format_time(ended, zone)
    return f"{first} to {last[11:] if last[:11] == first[:11] and last[11:] else last}"


def render_evidence(one: Session, turns: int, width: int) -> list[RenderableType]:
    """The heaviest reasons, a line each."""
    found = list_reasons(one)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    for _ in range(3):
        table.add_column(no_wrap=True)
    named = max((len(name_evidence(one)) for one in found[:MOST_REASONS]), default=0)
    for reason in found[:MOST_REASONS]:
        table.add_row(*render_reason(reason, turns, max(20, width - BEFORE_KIND - named)))
    more = len(found) - MOST_REASONS
    return [*([table] if found else []), *([Text(f"and {more} more with --full", "dim")] if more > 0 else [])]


def render_signals(one: Session, turns: int) -> list[Text]:
    return [render_signal(found, turns) for found in one.facts.get("failure_signals", [])[:MOST_SIGNALS]]


def render_facts(one: Session, width: int) -> Table:
    """What was established without a judge, and how it was asked, a line each."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    known = dict(list_facts(one.facts, one.project))
    known["wording"] = describe_wording(one)
    if (one.facts.get("rework") or {}).get("state") == "not_judged":
        del known["rework"]
    for name in (*FACTS, "wording"):
        if words := known.get(name):
            table.add_row(Text(name), Text(format_words(words, max(20, width - MARGIN - NAMES))))
    return table


def describe_wording(one: Session) -> str:
    """The grade of the prompts, called what it is, and what they lack."""
    if not one.grade:
        return ""
    lacking = [name for name, checks in PILLARS.items() if any(one.checks.get(check) is False for check in checks)]
    weak = f"; weak in {', '.join(lacking)}" if lacking else ""
    return f"{format_line(one.grade, 3)}: {WORDING}{weak}"


def render_prompts(turns: Sequence[Turn], most: int, width: int) -> list[Text]:
    """What was asked, a line each; of many, the first and the last."""
    asked = [(n, turn.prompt) for n, turn in enumerate(turns, 1) if turn.prompt and turn.prompt.text.strip()]
    digits = len(str(len(turns)))
    lines = []
    for n, prompt in asked:
        kind = "" if prompt.kind == "typed" else f"[{prompt.kind}] "
        lines.append(Text.assemble((f"{n:>{digits}}  ", "bold"), fit_prompt(kind + prompt.text, width - digits - 4)))
    if len(lines) <= most:
        return lines
    first, last = most // 2, most - most // 2 - 1
    return [*lines[:first], Text(f"{' ' * digits}  … {len(lines) - first - last} more …", "dim"), *lines[-last:]]


def fit_prompt(text: str, room: int) -> Text:
    """A prompt on one line; wide characters take the room of two."""
    found = Text(format_words(text, max(20, room)))
    found.truncate(max(20, room), overflow="ellipsis")
    return found


def render_places(places: Sequence[TranscriptPlace], in_full: str = "") -> list[Text]:
    """Where it is kept, how to go on with it, and the command that shows the rest; lines to copy, never broken."""
    lines = [Text(""), Text("Transcript", "bold")]
    for one in places:
        gone = " (deleted since; what was read of it is kept)" if one.is_gone else ""
        lines.append(Text(f"  {sanitize_text(one.file)}{gone}"))
        lines += [Text(f"  {sanitize_text(one.resume)}", "cyan")] if one.resume else []
    return [*lines, Text(f"\n`{sanitize_text(in_full)}` has all of it, turn by turn", "dim")] if in_full else lines


def render_stream_screen(
    one: StreamSummary, whole: Stream, sessions: Sequence[RenderableType], zone: tzinfo, width: int
) -> Group:
    """A stream with its sessions and a line for each prompt."""
    prompts = render_section("Prompts", render_prompts(whole.turns, MOST_STREAM_PROMPTS, width))
    return Group(render_stream_head(one, msgspec.json.decode(one.facts), zone), *sessions, *prompts)
