"""Turns of a session: what was said, calls folded, diffs shown; quotes that evidence rests on are marked."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from assay.reports.format import format_count, format_line, format_name
from assay.types import Call, Mark, Reply, Turn
from assay.web.context import PageContext
from assay.web.html import Element, Node, h
from assay.web.links import to_session
from assay.web.marks import Tone, render_chip, render_diff

LONG, LONGEST, LONGEST_OUTPUT, LONGEST_QUOTE = 3_000, 20_000, 8_000, 300
"""Characters of a text that scrolls by itself, of what is shown of one, of what is shown of an output, of a quote."""
MOST_CALLS, LAST_CALLS = 120, 40
"""Calls of a turn that are shown, and those of them that are the last."""
STATUS: dict[str, tuple[Tone, str]] = {
    "ok": ("good", "ok"),
    "error": ("bad", "failed"),
    "rejected": ("warn", "rejected"),
    "denied": ("warn", "denied"),
    "interrupted": ("warn", "interrupted"),
    "open": ("quiet", "no result"),
}
WHO = {"command": "command", "shell": "ran", "queued": "queued", "rejection": "rejected", "plan": "plan"}


class TurnShown(Struct, frozen=True, kw_only=True):
    """A turn of a session, and what is said of it."""

    number: int
    turn: Turn
    quotes: Sequence[str] = ()
    """Words that evidence rests on."""
    cited: Sequence[str] = ()
    """What cites it."""
    all_calls: bool = False


def render_turn(view: TurnShown, session: str, project: str, context: PageContext, action: Node = None) -> Element:
    """A turn with all that happened in it, in order."""
    turn = view.turn
    address = to_session(session, view.number)
    head = h.header[
        context.link(address, f"Turn {view.number}"),
        context.show_time(turn.at) if turn.at else None,
        [render_chip("warn", format_line(one[:LONG], 60), sign="◆") for one in view.cited],
        action,
    ]
    pattern = build_pattern(view.quotes)
    asked = render_prompt(turn, pattern)
    return h.article(".turn", id=f"turn-{view.number}", tabindex="-1", data_row=True)[
        head, asked, list(render_events(view, project, pattern, session, context))
    ]


def render_prompt(turn: Turn, pattern: re.Pattern[str] | None) -> Element | None:
    if turn.prompt is None:
        return None
    prompt = turn.prompt
    images = f" ({format_count(prompt.images, 'image')})" if prompt.images else ""
    return render_speech(WHO.get(prompt.kind, "you"), "person", prompt.text, pattern, images)


def render_speech(who: str, kind: str, text: str, pattern: re.Pattern[str] | None, after: str = "") -> Element:
    """What somebody said."""
    shown, more = cut_text(text, LONGEST)
    return h.div(class_=["speech", kind])[
        h.span(".who")[who],
        h.div(class_=["said", "long" if len(text) > LONG else ""], tabindex="0" if len(text) > LONG else None)[
            mark_quotes(shown, pattern), after, more
        ],
    ]


def render_events(
    view: TurnShown, project: str, pattern: re.Pattern[str] | None, session: str, context: PageContext
) -> Iterator[Node]:
    """Replies, calls and marks in the order of their time."""
    turn = view.turn
    hidden = 0 if view.all_calls else max(0, len(turn.calls) - MOST_CALLS)
    first = MOST_CALLS - LAST_CALLS
    calls = [*turn.calls[:first], *turn.calls[first + hidden :]] if hidden else turn.calls
    events: list[Call | Reply | Mark] = sorted([*turn.replies, *calls, *turn.marks], key=lambda one: one.at)
    gap = turn.calls[first + hidden] if hidden else None
    for one in events:
        if one is gap:
            words = f"{format_count(hidden, 'more call')} in between"
            address = f"/sessions/{session}?only={view.number}"
            yield h.p(".marked")[words if context.is_file else h.a(href=address)[words]]
        if isinstance(one, Reply):
            yield render_speech("agent", "agent", one.text, pattern)
        elif isinstance(one, Call):
            yield render_call(one, project, pattern)
        else:
            yield h.p(".marked")[f"⚑ {format_name(one.kind)} {format_line(one.detail[:LONG], 200)}"]


def render_call(call: Call, project: str, pattern: re.Pattern[str] | None) -> Element:
    """A call, folded; open where evidence rests on it."""
    tone, word = STATUS[call.status]
    command, more_command = cut_text(call.command, LONGEST_OUTPUT)
    target = call.target[:LONGEST_OUTPUT]
    said = (command or target)[: 2 * LONG]
    what = said.replace(f"{project.rstrip('/')}/", "") if project else said
    lines = "".join(f"+{one.added} −{one.removed} " for one in call.edits[:1])
    checks = " ".join(f"{one.purpose} {one.outcome or 'unknown'}" for one in call.runs if one.purpose)
    output, more = cut_text(call.output, LONGEST_OUTPUT)
    is_cited = bool(pattern and any(pattern.search(text) for text in (command, output)))
    failed = call.status == "error"
    return h.details(class_=["call", "failed" if failed else ""], open=is_cited)[
        h.summary[
            render_chip(tone, word),
            h.span(".tool")[format_line(call.name[:LONG], 60)],
            h.span(".what")[format_line(what, 200)],
            h.span(".after")[lines, checks, f" by {format_line(call.by[:LONG], 20)}" if call.by else ""],
        ],
        h.div(".inside")[
            h.pre(tabindex="0")[mark_quotes(command, pattern), more_command] if command else None,
            h.p(".said")[target] if target and not command else None,
            [render_edit(one.path, one.text, project) for one in call.edits],
            h.pre(tabindex="0")[mark_quotes(output, pattern), more] if output else None,
            None if output or call.edits else h.p(".quiet")["No output."],
        ],
    ]


def render_edit(path: str, text: str, project: str) -> Node:
    """The change of one file, in short as it was kept."""
    name = path.replace(f"{project.rstrip('/')}/", "") if project else path
    return [h.p(".quiet")[h.code[format_line(name[:LONG], 200)]], render_diff(text[:LONGEST_OUTPUT]) if text else None]


def cut_text(text: str, most: int) -> tuple[str, Node]:
    """As much of a text as is shown, and what is said of the rest."""
    if len(text) <= most:
        return text, None
    return text[:most], h.span(".quiet")[f"\n… {len(text) - most:,} more characters"]


# --- quotes -------------------------------------------------------------------------------------


def build_pattern(quotes: Sequence[str]) -> re.Pattern[str] | None:
    """What finds these quotes however their white space is; `None` for none."""
    parts = []
    for quote in sorted({one.strip().removesuffix("…").strip() for one in quotes}, key=len, reverse=True):
        words = quote[:LONGEST_QUOTE].split()
        if words:
            parts.append(r"\s+".join(map(re.escape, words)))
    return re.compile("|".join(parts)) if parts else None


def mark_quotes(text: str, pattern: re.Pattern[str] | None) -> Node:
    """A text with its quotes marked."""
    if pattern is None:
        return text
    found: list[Node] = []
    last = 0
    for one in pattern.finditer(text):
        found += [text[last : one.start()], h.mark[one[0]]]
        last = one.end()
    return [*found, text[last:]]


def group_quotes(pairs: Sequence[tuple[int, str]]) -> Mapping[int, list[str]]:
    """Quotes by the turn that they stand in."""
    found: dict[int, list[str]] = {}
    for turn, quote in pairs:
        if quote:
            found.setdefault(turn, []).append(quote)
    return found
