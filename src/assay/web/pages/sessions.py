"""Sessions: a list that is narrowed and searched by its address, so that a view can be kept and sent."""

import math
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from assay.reports.format import (
    UNKNOWN,
    format_count,
    format_duration,
    format_line,
    format_name,
    format_project,
    format_time,
)
from assay.reports.summary import find_doubt, format_intent, name_models, name_reason
from assay.scores.breakdown import WAYS, name_project
from assay.scores.reasons import REASONS
from assay.types import Session
from assay.web.context import PageContext
from assay.web.frame import Page
from assay.web.html import Element, Node, h, join_nodes
from assay.web.links import to_session, to_sessions
from assay.web.marks import render_chip, render_empty, render_outcome
from assay.web.tables import Choice, Column, render_filters, render_pager, render_table

OUTCOMES = (("yes", "crushed"), ("no", "not crushed"), ("none", "not counted"))
ORDERS = (
    ("doubt", "the least certain first"),
    ("turns", "the most turns first"),
    ("lines", "the most lines first"),
    ("work", "the longest work first"),
    ("cost", "the dearest first"),
)
INTENTS = "question investigation review plan small_change bug_fix feature refactor".split()
CHOICES = (
    Choice(name="search", words="Search titles and prompts", kind="search", hint='words, or "a phrase"'),
    Choice(name="crushed", words="Outcome", options=OUTCOMES),
    Choice(name="by_intent", words="Intent", options=[(one, format_name(one)) for one in INTENTS]),
    Choice(name="since", words="Since", hint="30d, 2026-11-01"),
    Choice(name="until", words="Until", hint="2026-11-08"),
    Choice(name="project", words="Project", hint="a word in its path"),
    Choice(name="sort", words="Order", hint="the newest first", options=ORDERS),
)
NAMES = (
    *("left", "lost", "why", "but", "obstacle", "status", "marked", "judge", "side", "beside"),
    *(f"by_{by}" for by in WAYS),
)
"""What else narrows the list, by links from numbers."""
SORTS: dict[str, Callable[[Session], float | None]] = {
    "doubt": find_doubt,
    "turns": lambda one: one.facts.get("turns"),
    "lines": lambda one: count_lines(one),
    "work": lambda one: one.facts.get("active_s"),
    "cost": lambda one: one.facts.get("cost_usd"),
}
"""What is compared in each of `ORDERS`; what is not known stands last."""
VIEWS: tuple[tuple[str, dict[str, str]], ...] = (
    ("All", {}),
    ("Not crushed", {"crushed": "no"}),
    ("Unclear", {"status": "unclear"}),
    ("Later replaced", {"obstacle": "reworked"}),
    ("Still going on", {"status": "in_progress"}),
    ("Your word", {"marked": "yes"}),
)
COLUMNS = (
    ("session", "main", ""),
    ("outcome", "", "doubt"),
    ("intent", "minor", ""),
    ("turns", "number minor", "turns"),
    ("lines", "number minor", "lines"),
    ("work", "number minor", "work"),
    ("USD", "number minor", "cost"),
    ("began", "time", "time"),
)
"""Words, kind, and the order that the head of a column leads to."""


class SessionsShown(Struct, frozen=True, kw_only=True):
    """A page of the list."""

    sessions: Sequence[Session]
    next: str = ""
    """The address of the page behind it."""
    is_first: bool = True
    looked: int = 0
    is_cut: bool = False
    """There was no time to look at all."""
    sorted: int = 0
    """How many of the newest were put into order, where there are more."""


def sort_sessions(sessions: Sequence[Session], by: str) -> list[Session]:
    """Sessions by one of `SORTS`, the largest first; what is not known behind, each in the order it had."""
    value = SORTS[by]
    return sorted(sessions, key=lambda one: -math.inf if (found := value(one)) is None else found, reverse=True)


def count_lines(one: Session) -> int | None:
    changed = [one.facts.get("lines_added"), one.facts.get("lines_removed")]
    return None if changed == [None, None] else sum(n or 0 for n in changed)


def render_sessions(found: SessionsShown, given: Mapping[str, str], context: PageContext) -> Page:
    """The list with what narrows it."""
    wanted = {name: value for name, value in given.items() if value and name != "cursor"}
    body: Node = [
        None if context.is_file else render_filters("/sessions", CHOICES, wanted),
        None if context.is_file else render_views(wanted),
        render_narrowed(wanted),
        render_session_rows(found.sessions, context, wanted) if found.sessions else render_none(found, wanted),
        render_pager(
            context,
            first="" if found.is_first else to_sessions(**wanted),
            next=found.next,
            said=describe_looking(found),
        ),
    ]
    order = dict(ORDERS).get(wanted.get("sort", ""), "the newest first")
    return Page(name="sessions", title="Sessions", lead=order, body=body)


def render_views(wanted: Mapping[str, str]) -> Element:
    """Views that people come back to; each is an address."""
    here = {"aria-current": "true"}
    return h.nav(".chips", aria_label="Views")[
        [h.a(".button", here if dict(wanted) == view else {}, href=to_sessions(**view))[words] for words, view in VIEWS]
    ]


def render_narrowed(wanted: Mapping[str, str]) -> Element | None:
    """What else narrows the list, in words."""
    said = [
        describe_narrowing(name, wanted)
        for name in NAMES
        if wanted.get(name) and name not in ("why", "but", "by_intent", "beside")
    ]
    return h.p(".chips")[h.span(".quiet")["Only"], [render_chip("plain", one) for one in said]] if said else None


def describe_narrowing(name: str, wanted: Mapping[str, str]) -> str:
    value = wanted[name]
    if name == "left":
        return f"left after “{STEPS.get(value, value)}”"
    if name == "lost":
        why, but = wanted.get("why", ""), wanted.get("but", "")
        rest = f", other than {', '.join(name_reason(value, one) for one in but.split(','))}" if but else ""
        return f"lost at “{STEPS.get(value, value)}”{f': {name_reason(value, why)}' if why else ''}{rest}"
    if name == "obstacle":
        return REASONS.get(value, format_line(value, 60))
    if name == "crushed":
        return dict(OUTCOMES).get(value, format_line(value, 60))
    if name == "marked":
        return "with your word"
    if name == "side":
        but = f", not of “{format_line(wanted['beside'], 80)}”" if wanted.get("beside") else ""
        return f"of “{format_line(value, 80)}”{but}"
    return f"{format_name(name.removeprefix('by_'))}: {format_line(value, 80)}"


STEPS = {"substance": "of substance", "goal": "with a goal", "complete": "goal completed"}


def render_session_rows(
    sessions: Sequence[Session], context: PageContext, wanted: Mapping[str, str] | None = None
) -> Element:
    """A row for each session; cards on a phone. Where it is known what is `wanted`, heads of columns sort."""
    rows = [list_cells(one, context) for one in sessions]
    columns = [Column(words=words, kind=kind) for words, kind, _ in COLUMNS]
    if wanted is not None and not context.is_file:
        columns = [build_column(words, kind, sort, wanted) for words, kind, sort in COLUMNS]
    return h.div(".card")[render_table(columns, rows, "Sessions", context, "list")]


def build_column(words: str, kind: str, sort: str, wanted: Mapping[str, str]) -> Column:
    """A column whose head leads to the same list in its order."""
    if not sort:
        return Column(words=words, kind=kind)
    others = {name: value for name, value in wanted.items() if name != "sort"}
    here = wanted.get("sort") or "time"
    address = to_sessions(**others, **({} if sort == "time" else {"sort": sort}))
    return Column(words=words, kind=kind, sort=address, sorted="descending" if sort == here else "")


def list_cells(one: Session, context: PageContext) -> list[Node]:
    """What a row says."""
    facts = one.facts
    title = format_line(one.title, 160) or "(nobody said anything)"
    models = ", ".join(name_models(one.models).values())
    under = join_nodes(
        [format_project(name_project(one)), format_line(one.branch, 30), one.agent, format_line(models, 60)]
    )
    changed = facts.get("lines_added") or facts.get("lines_removed")
    cost, active = facts.get("cost_usd"), facts.get("active_s")
    return [
        [context.link(to_session(one.id), title, kind="said"), h.span(".sub")[under]],
        render_outcome(one),
        format_intent(one),
        f"{facts.get('turns', 0):,}",
        f"+{facts['lines_added']:,} −{facts['lines_removed']:,}" if changed else UNKNOWN,
        UNKNOWN if active is None else format_duration(active),
        UNKNOWN if cost is None else f"{cost:.2f}",
        h.time(datetime=one.started_at)[format_time(one.started_at, context.zone)],
    ]


def render_none(found: SessionsShown, wanted: Mapping[str, str]) -> Element:
    """That nothing was found, and what to do about it."""
    if found.is_cut:
        return render_empty("Nothing found so far", "Look further with the link below, or narrow the time.")
    if wanted:
        return render_empty("No session is like that", "Take a condition away, or clear all of them.")
    return render_empty("No sessions yet", "`assay score` reads the transcripts that your agents left on this machine.")


def describe_looking(found: SessionsShown) -> str:
    """How many are shown, and how far was looked."""
    shown = format_count(len(found.sessions), "session")
    if found.sorted:
        return (
            f"{shown} on this page, of the newest {found.sorted:,} that were put into order; narrow the time for others"
        )
    if found.is_cut:
        return f"{shown} among the {found.looked:,} newest that were looked through here; older ones may be there"
    return shown if found.is_first and not found.next else f"{shown} on this page"
