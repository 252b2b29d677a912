"""Prompts and habits: which go with not landing, how sure that is, and a sentence for the agent."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from assay.reports.advice import describe_ground, describe_habit, format_share
from assay.reports.advice import format_ends as format_span
from assay.reports.comparison import format_points
from assay.reports.format import format_count, format_name
from assay.reports.summary import format_chance, format_rate
from assay.scores.advice import Advice, EndReason, Habit, ShownSession
from assay.scores.prism import Score
from assay.web.context import PageContext
from assay.web.frame import Page
from assay.web.html import Element, Node, h, join_nodes, say
from assay.web.links import to_session, to_sessions
from assay.web.marks import AGAIN_S, render_card, render_doubt, render_empty, render_interval, render_note
from assay.web.tables import Choice, Column, render_filters, render_table

WINDOW = (
    Choice(name="since", words="Since", hint="90d, 2026-11-01"),
    Choice(name="until", words="Until", hint="2026-11-08"),
    Choice(name="project", words="Project", hint="a word in its path"),
)
NOT_A_CAUSE = (
    "What goes with not landing need not be its cause: the work may have been harder. `assay eval mine SESSION` makes "
    "a task of a session, and `assay eval run` proves whether a sentence helps."
)


class AdviceShown(Struct, frozen=True, kw_only=True):
    """Advice, and on how many sessions it rests."""

    found: Advice
    looked: int
    """Counted sessions whose habits were looked at."""
    wanted: int
    """Of the newest of the window, those that count."""
    is_all: bool
    """The window holds no more."""


def render_advise(shown: AdviceShown, given: Mapping[str, str], context: PageContext) -> Page:
    """The whole page."""
    found = shown.found
    asked = render_filters("/advise", WINDOW, given)
    if not shown.wanted:
        body: list[Node] = [asked, explain_nothing(given)]
    else:
        advised = [one for one in found.habits if one.direction == "down"]
        body = [
            asked,
            render_progress(shown),
            render_ground(shown, advised, context),
            [render_habit(one, found, context) for one in advised],
            render_endings(found, context),
            render_others([one for one in found.habits if one.direction != "down"], context),
            render_note(say(NOT_A_CAUSE)),
        ]
    lead = "Which habits go with not landing, how sure that is, and what to tell the agent"
    return Page(name="advise", title="Prompts and habits", lead=lead, body=body)


def explain_nothing(given: Mapping[str, str]) -> Element:
    if any(given.get(name) for name in ("since", "until", "project")):
        return render_empty("No session counts in this window", "Choose another window, or clear the fields above.")
    return render_empty(
        "No session counts yet",
        "`assay score` reads what agents left on this machine; habits show from 20 sessions on.",
    )


def render_progress(shown: AdviceShown) -> Node:
    said: list[Node] = []
    if shown.looked < shown.wanted:
        some = f"{shown.looked:,} of {shown.wanted:,} sessions were looked at so far"
        said.append(h.span(data_again=AGAIN_S)[f"{some}; the others are being looked at, reload the page for more."])
    if not shown.is_all:
        newest = f"Of a long history the newest sessions are looked at, {shown.wanted:,} that count"
        said.append(f"{newest}; narrow the window for others.")
    return [render_doubt(one) for one in said]


def render_ground(shown: AdviceShown, advised: Sequence[Habit], context: PageContext) -> Element:
    """What it rests on, and whether anything is advised."""
    found = shown.found
    said: list[Node] = []
    if found.why_none:
        said.append(render_doubt(f"Of habits nothing can be said: {found.why_none}."))
    elif not advised:
        tests = sum(one.p_corrected is not None for one in found.habits)
        said.append(h.p[f"No habit is shown to go with not landing, of {tests} that could be tested."])
    if found.left_out:
        left = format_count(found.left_out, "session")
        said.append(render_doubt(f"{left} by another judge left out: what several judges say is not put together."))
    ground = context.link(to_sessions(left="judged"), describe_ground(found))
    return render_card("In short", h.p[ground], said)


def render_habit(one: Habit, found: Advice, context: PageContext) -> Element:
    """A habit with its numbers, the sessions that show it, and the sentence."""
    said = one.difference
    tests = sum(habit.p_corrected is not None for habit in found.habits)
    numbers = (
        f"{format_points(said.value or 0)} points, 95 % interval {format_span(said)}, "
        f"{format_chance(one.p_corrected or 0)} corrected for {format_count(tests, 'test')}"
    )
    looked = "The judge of outcomes looks at this too, so some of it may be its own doing." if one.is_looked_at else ""
    return render_card(
        f"{one.says[:1].upper()}{one.says[1:]}",
        render_sides([("with it", one.with_it), ("without", one.without)]),
        h.p[numbers],
        render_doubt(looked) if looked else None,
        render_examples(one.sessions, context),
        render_sentence(one.sentence, found.file),
        lead=f"{format_name(one.name)} · goes with not landing",
        kind="habit",
    )


def render_sides(sides: Sequence[tuple[str, Score]]) -> Element:
    """Shares beside each other, on one scale."""
    return h.div(".readings")[
        [
            h.div(".reading.side-by")[
                h.span(".name")[name], h.b[format_rate(score)], render_interval(score) or h.span, h.span(".ends")
            ]
            for name, score in sides
        ]
    ]


def render_examples(sessions: Sequence[ShownSession], context: PageContext) -> Element | None:
    if not sessions:
        return None
    some = [context.link(to_session(one.id), one.title or one.id) for one in sessions]
    return h.p["Such as ", join_nodes(some, ", ")]


def render_sentence(sentence: str | None, file: str) -> Element | None:
    """What to paste."""
    return h.figure(".sentence")[h.figcaption[f"For {file}"], h.code[sentence]] if sentence else None


def render_endings(found: Advice, context: PageContext) -> Element | None:
    """What ended the sessions that did not land."""
    if not found.endings:
        return None
    missed = found.counted - found.landed
    items = [render_ending(one, found.file, context) for one in found.endings]
    return render_card(
        f"What ended the {missed} that did not land", h.ol(".reasons")[items], lead="counted, not tested"
    )


def render_ending(one: EndReason, file: str, context: PageContext) -> Element:
    return h.li[
        context.link(to_sessions(obstacle=one.reason), f"{one.count:,}", kind="count"),
        h.div[
            h.h3[f"{one.says[:1].upper()}{one.says[1:]}"],
            h.p(".advice")[format_share(one)],
            render_examples(one.sessions, context),
            render_sentence(one.sentence, file),
        ],
    ]


def render_others(habits: Sequence[Habit], context: PageContext) -> Element | None:
    """The habits of which nothing is advised, each with its numbers."""
    if not habits:
        return None
    columns = [
        Column(words="habit", kind="main"), Column(words="landed with it", kind="number"),
        Column(words="without", kind="number"), Column(words="points, 95 %", kind="number"), Column(words=""),
    ]  # fmt: skip
    rows = [
        (
            one.says,
            f"{one.with_it.crushed}/{one.with_it.counted}",
            f"{one.without.crushed}/{one.without.counted}",
            format_span(one.difference),
            describe_habit(one),
        )
        for one in habits
    ]
    table = render_table(columns, rows, "Habits of which nothing is advised", context, "list")
    return render_card("Looked at too", table)
