"""The team: shares with their intervals by project, model, agent and intent; people only where that was switched on."""

from collections.abc import Mapping, Sequence

from assay.reports.format import format_count, format_line
from assay.reports.summary import describe_slice, describe_tests, name_slices
from assay.scores.breakdown import NOTHING, Slice
from assay.scores.report import Report
from assay.web.charts import ChartPoint, IntervalChart
from assay.web.context import PageContext
from assay.web.frame import Page
from assay.web.html import Element, Node, h, say
from assay.web.links import to_sessions
from assay.web.marks import render_card, render_empty, render_note
from assay.web.tables import LONGEST_NAME, Choice, render_chart, render_filters

WAYS = {"project": "Projects", "model": "Models", "agent": "Agents", "intent": "What they were after"}
FEWEST = 5
"""Sessions, and people, below which a group is not shown: few sessions say nothing, and point at somebody."""
MOST = 30
WINDOW = (
    Choice(name="since", words="Since", hint="30d, 2026-11-01"),
    Choice(name="until", words="Until", hint="2026-11-08"),
    Choice(name="project", words="Project", hint="a word in its path"),
)
PEOPLE_OFF = (
    "People are not told apart here. Whoever runs the server can switch it on with `people = true` in `[tenants.NAME]` "
    "of their own `assay.toml`; even then nobody is ranked, and nobody with fewer than 5 counted sessions is shown."
)


def render_team(found: Report, given: Mapping[str, str], context: PageContext, *, has_people: bool = False) -> Page:
    """The whole page; `has_people`: the tenant wants people told apart."""
    body: list[Node] = [render_filters("/team", WINDOW, given)]
    if not found.score.counted:
        body.append(
            render_empty(
                "No session counts here yet", "`assay score` reads what agents left; `assay ship` sends it to a server."
            )
        )
    else:
        body.append(h.div(".masonry")[[render_way(found, way, words, context) for way, words in WAYS.items()]])
        body.append(render_people(found, context) if has_people else render_note(say(PEOPLE_OFF)))
    lead = f"{format_count(found.score.counted, 'counted session')}; the smaller a group, the wider its interval"
    return Page(name="team", title="Team", lead=lead, body=body)


def split_groups(slices: Sequence[Slice]) -> tuple[list[Slice], list[Slice]]:
    """Groups that may be shown, and those with too few sessions."""
    named = [one for one in slices if one.score.counted]
    return [one for one in named if one.score.counted >= FEWEST], [one for one in named if one.score.counted < FEWEST]


def render_way(found: Report, way: str, words: str, context: PageContext) -> Element | None:
    """The share of each group, with its interval; the largest groups first."""
    shown, few = split_groups(found.slices.get(way, ()))
    if not shown and not few:
        return None
    return render_card(words, render_groups(shown[:MOST], way, words, context), render_left_out(shown, few))


def render_groups(shown: Sequence[Slice], way: str, words: str, context: PageContext) -> Node:
    if not shown:
        return None
    names = name_slices(shown, way)
    points = [
        ChartPoint(
            label=format_line(names[one.name], LONGEST_NAME),
            value=one.score.value, low=one.score.low, high=one.score.high,
            note=" ".join(filter(None, (f"{one.score.crushed}/{one.score.counted}", describe_slice(one)[0]))),
            address=to_sessions(**{f"by_{way}": one.name, "left": "judged"}),
        )
        for one in shown
    ]  # fmt: skip
    said = describe_tests(shown) if way != "person" else ""
    return render_chart(IntervalChart(title=words, along=way, points=points, said=said), context)


def render_left_out(shown: Sequence[Slice], few: Sequence[Slice]) -> Node:
    said = []
    if few:
        sessions = sum(one.score.counted for one in few)
        groups = format_count(len(few), "group")
        said.append(
            f"{groups} with fewer than {FEWEST} counted sessions not shown ({format_count(sessions, 'session')})."
        )
    if len(shown) > MOST:
        said.append(f"The {MOST} largest of {len(shown)}.")
    return render_note(" ".join(said)) if said else None


def render_people(found: Report, context: PageContext) -> Element:
    """People by name, never by score; nothing where there are too few to be a group."""
    known = [one for one in found.slices.get("person", ()) if one.name != NOTHING and one.score.counted]
    if len(known) < FEWEST:
        said = f"{format_count(len(known), 'person')} with counted sessions: people are shown from {FEWEST} on."
        return render_card("People", render_note(said.replace("persons", "people")))
    shown, few = split_groups(known)
    ordered = sorted(shown, key=lambda one: (one.name.casefold(), one.name))
    left = f"{len(few)} with fewer than {FEWEST} counted sessions not shown." if few else ""
    return render_card(
        "People",
        render_groups(ordered, "person", "People", context),
        render_note(left) if left else None,
        lead="by name; what people were given to do differs, so these are no marks",
    )
