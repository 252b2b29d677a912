"""A report as one file: the overview, the lists that its numbers lead to, and the sessions of these lists."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from itertools import islice
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from assay.reports.comparison import NO_EXPERIMENT, describe_difference, list_compared
from assay.reports.format import format_count, format_line
from assay.scores.comparison import ScoreComparison
from assay.scores.conditions import fits_conditions
from assay.scores.report import Report
from assay.types import Session
from assay.web.context import PageContext
from assay.web.frame import Page
from assay.web.html import Element, Node, h, join_nodes
from assay.web.links import FileLinks, to_page, to_session
from assay.web.marks import render_card, render_facts, render_note
from assay.web.pages.overview import render_overview
from assay.web.pages.session import (
    SessionShown,
    describe_place,
    render_ending,
    render_rework,
    render_session_facts,
    render_why,
)
from assay.web.pages.sessions import NAMES, describe_narrowing, render_narrowed, render_session_rows
from assay.web.single import Place, render_file
from assay.web.tables import Column, render_table

LOOKED_AT, MOST_ROWS, MOST_SESSIONS = 5_000, 150, 300
"""The newest sessions that lists are made of, rows of a list, and sessions that are told one by one."""
FINDABLE = 10
"""Rows from which on a list can be searched."""
SESSIONS = to_page("sessions")
WORDS: Sequence[tuple[str, Node]] = (
    ("session", "a run of prompts after one goal; a conversation holds one or more"),
    ("crushed", "its goal was reached, and its code was not replaced soon after"),
    ("counted", "of substance, with a goal, and judged: what the score is a share of"),
    ("raw", "the share as counted; its interval knows chance alone, not the judge's errors"),
    ("predicted", "where the truth lies by how far this judge was off in other people's repositories"),
    ("corrected", "by a person's own word on a random sample, which is the best there is"),
    ("of substance", "at least three turns, ten lines, one change, or a full answer"),
    (
        "a check passed",
        "what shows that the goal was reached; or the person said so, a conclusion, what failed run again",
    ),
    ("≈ likely", "nobody and nothing says so for certain; the share is the chance that the goal was reached"),
    ("unclear", "too close to tell, so nothing is claimed"),
)


TITLED = frozenset({*NAMES, "crushed"}) - {"why", "but"}


class WantedLinks:
    """Notes which addresses a page leads to."""

    def __init__(self) -> None:
        self.wanted: dict[str, None] = {}

    def find(self, address: str) -> str | None:
        self.wanted.setdefault(address)
        return "#"


class ListedSessions(Struct, frozen=True):
    """A list in the file: what it is about, its first rows and how many there are."""

    address: str
    conditions: Mapping[str, str]
    rows: Sequence[Session]
    total: int


def render_report(found: Report, zone: tzinfo, made: str = "") -> bytes:
    """The whole file; `made` is the day."""
    looked = list(islice(reversed(found.sessions), LOOKED_AT))
    wanted = WantedLinks()
    render_overview(found, {}, PageContext(links=wanted, zone=zone, is_file=True))
    lists = [list_sessions(address, looked, zone) for address in find_lists(wanted.wanted)]
    told = pick_sessions(wanted.wanted, lists, looked)
    places = {to_page("overview"): "overview", SESSIONS: "sessions"}
    places |= {to_page("compare"): "compare"} if found.comparison else {}
    places |= {one.address: f"list-{n}" for n, one in enumerate(lists, 1) if one.address != SESSIONS}
    places |= {to_session(one.id): f"session-{n}" for n, one in enumerate(told, 1)}
    context = PageContext(links=FileLinks(places), zone=zone, is_file=True)
    titles = {one.id: one.title for one in told}
    shown = [Place(id="overview", page=complete_overview(render_overview(found, {}, context, titles), made))]
    shown += [Place(id="compare", page=render_compared(found.comparison, context))] if found.comparison else []
    shown += [Place(id=places[one.address], page=render_list_page(one, len(looked), found, context)) for one in lists]
    shown += [Place(id=places[to_session(one.id)], page=render_told(one, context)) for one in told]
    return render_file("PRISM Score", shown, context)


def complete_overview(page: Page, made: str) -> Page:
    """The overview with what somebody needs to know who got the file from another: what it holds, and the words."""
    lead = join_nodes(
        [page.lead, f"made {made}" if made else "", "it holds titles, quotes and paths of these sessions"]
    )
    words = render_card("Words", render_facts(WORDS), lead="in the order in which they are met above")
    return replace(page, lead=lead, body=[page.body, words])


def find_lists(wanted: Iterable[str]) -> list[str]:
    """The lists that numbers lead to, that of all sessions first."""
    lists = [address for address in wanted if urlsplit(address).path == SESSIONS]
    return [*dict.fromkeys([SESSIONS, *lists])]


def list_sessions(address: str, looked: Sequence[Session], zone: tzinfo) -> ListedSessions:
    """The sessions that an address means, among those that are looked at."""
    conditions = dict(parse_qsl(urlsplit(address).query))
    fitting = [one for one in looked if fits_conditions(one, conditions, zone)]
    return ListedSessions(address, conditions, fitting[:MOST_ROWS], len(fitting))


def pick_sessions(wanted: Iterable[str], lists: Sequence[ListedSessions], looked: Sequence[Session]) -> list[Session]:
    """Sessions that are told one by one: those that the overview names, then those in which something went wrong."""
    by_id = {one.id: one for one in looked}
    named = [unquote(address.rsplit("/", 1)[1]) for address in wanted if address.startswith(f"{SESSIONS}/")]
    listed = [one.id for some in lists for one in some.rows]
    first = [name for name in listed if by_id[name].crushed is False]
    ids = dict.fromkeys(name for name in (*named, *first, *listed) if name in by_id)
    return [by_id[name] for name in islice(ids, MOST_SESSIONS)]


def render_compared(found: ScoreComparison, context: PageContext) -> Page:
    """Two groups of sessions beside each other, and whether they differ."""
    columns = [Column(words="", kind="main"), *(Column(words=one.name, kind="number") for one in found.sides)]
    rows = [[name, *cells] for name, cells in list_compared(found)]
    body: Node = render_card(
        "; ".join(line for line, _ in describe_difference(found)),
        render_table(columns, rows, "Two groups of sessions", context),
        render_note(f"{NO_EXPERIMENT[:1].upper()}{NO_EXPERIMENT[1:]}."),
    )
    return Page(name="compare", title="Two sides compared", body=body)


def render_list_page(one: ListedSessions, looked: int, found: Report, context: PageContext) -> Page:
    """A list of the file; what is left out of it is said."""
    said = [format_count(one.total, "session")]
    if one.total > len(one.rows):
        said.append(f"the newest {len(one.rows)} are shown; whoever made the file lists all with `assay sessions`")
    if found.waterfall.sessions > looked:
        said.append(f"of the newest {looked:,} of {found.waterfall.sessions:,} sessions")
    body: Node = [
        render_narrowed(one.conditions),
        h.div[
            render_finder((context.links.find(one.address) or "").lstrip("#")) if len(one.rows) >= FINDABLE else None,
            render_session_rows(one.rows, context) if one.rows else h.p(".quiet")["None."],
        ],
        render_back(context),
    ]
    title = "Sessions" if one.address == SESSIONS else name_list(one)
    return Page(name="sessions", title=title, lead="; ".join(said).replace("`", ""), body=body)


def render_finder(place: str) -> Element:
    """A field that leaves rows of the list out; it works by script alone, and is not there without."""
    name = f"find-{place}"
    return h.div(".filters", hidden=True, data_narrow=True, role="search")[
        h.div(".field.search")[
            h.label(for_=name)["Find in this list"],
            h.input(
                id=name, type="search", placeholder="words of a title, project, outcome …", autocomplete="off",
                spellcheck="false", data_search=True,
            ),
        ],
        h.p(".quiet", role="status"),
    ]  # fmt: skip


def name_list(one: ListedSessions) -> str:
    """What the sessions of a list have in common."""
    said = [describe_narrowing(name, one.conditions) for name in one.conditions if name in TITLED]
    return f"Sessions: {', '.join(said)}" if said else "Sessions that this number counts"


def render_told(one: Session, context: PageContext) -> Page:
    """One session: how it ended, why, what became of it, and its facts."""
    view = SessionShown(session=one, turns=(), total=len(one.prompts_at))
    body: Node = [
        render_ending(view, context),
        h.div(".columns.hero")[
            h.div(".stack")[render_why(view, context), render_rework(one, context)], render_session_facts(one)
        ],
        h.p(".quiet")[
            "The whole conversation, for whoever made the file: ",
            h.code[f"assay show {one.id} --full"],
            " or ",
            h.code["assay open"],
        ],
        render_back(context),
    ]
    title = format_line(one.title, 200) or "(nobody said anything)"
    return Page(name="sessions", title=title, lead=describe_place(one, context), body=body)


def render_back(context: PageContext) -> Node:
    return h.p(".back")[context.link(to_page("overview"), "Overview"), " · ", context.link(SESSIONS, "All sessions")]
