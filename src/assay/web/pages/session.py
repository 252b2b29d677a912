"""One session: how it ended and why, with evidence that leads to its turn; facts, what became of it, and all turns."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.judges.criteria import SHOWS
from assay.reports.format import format_count, format_duration, format_line, format_name, format_time
from assay.reports.json import TranscriptPlace
from assay.reports.rework import describe_rework, explain_rework
from assay.reports.session import (
    OF_MODELS,
    VOTES,
    WEIGHTS,
    describe_boundary,
    describe_evidence,
    group_citations,
    is_quoted,
    list_facts,
    list_reasons,
    render_verdict,
)
from assay.scores.measures import PILLARS
from assay.scores.reasons import advise_session
from assay.types import LedgerLine, Reason, Session, Turn
from assay.types.quality import Quality
from assay.web.context import PageContext
from assay.web.conversation import TurnShown, group_quotes, render_turn
from assay.web.frame import Page
from assay.web.html import Element, Node, h, join_nodes, say
from assay.web.links import TURNS, to_session, to_sessions
from assay.web.marks import (
    Tone,
    describe_doubt,
    describe_why,
    render_card,
    render_chip,
    render_ended,
    render_facts,
    render_list,
    render_note,
)
from assay.web.pages.deeds import render_deeds, render_split

MOST_REASONS, ID = 12, 12
HELD: dict[bool | None, tuple[Tone, str]] = {
    True: ("good", "yes"),
    False: ("bad", "no"),
    None: ("quiet", "does not apply"),
}
KEYS = (("j k", "next, previous turn"), ("e", "fold or unfold all calls"))


class SessionShown(Struct, frozen=True, kw_only=True):
    """What a page tells of a session."""

    session: Session
    turns: Sequence[Turn]
    """Those of this page."""
    first: int = 1
    """The number of the first of them."""
    total: int
    places: Sequence[TranscriptPlace] = ()
    ledger: Sequence[LedgerLine] = ()
    quality: Quality | None = None
    before: str = ""
    """Id of the session before it in the same stream."""
    only: bool = False
    """One turn is shown with all its calls."""
    later: str = ""
    """Where the turns are, when they are not waited for."""


def render_session(view: SessionShown, context: PageContext) -> Page:
    """The page."""
    one = view.session
    title = format_line(one.title, 200) or "(nobody said anything)"
    body: Node = [
        render_ending(view, context),
        h.div(".columns.hero")[
            h.div(".stack")[render_why(view, context), render_rework(one, context), render_quality(view, context)],
            h.div(".stack")[
                render_session_facts(one),
                render_beginning(view, context),
                render_wording(one),
                render_places(view.places),
            ],
        ],
        render_conversation(view, context),
    ]
    return Page(name="sessions", title=title, lead=describe_place(one, context), body=body, keys=KEYS[1:])


def describe_place(one: Session, context: PageContext) -> Node:
    """Which one it is, where and when it was."""
    active = one.facts.get("active_s")
    return join_nodes(
        [
            h.code[one.id],
            context.link(to_sessions(by_agent=one.agent), one.agent),
            format_line(one.project, 100),
            format_line(one.branch, 40),
            [context.show_time(one.started_at), " to ", format_time(one.ended_at, context.zone)],
            f"{format_duration(active)} of work" if active is not None else "",
        ]
    )


def render_ending(view: SessionShown, context: PageContext) -> Element:
    """How it ended, what would have made it crush, and what a person may say of it."""
    one = view.session
    helpful = advise_session(one)
    return render_card(
        None,
        h.p(".chips")[
            render_ended(one), h.strong[describe_why(one)], describe_doubt(one).replace("; ", "a chance of ")
        ],
        h.p[one.summary] if one.summary else None,
        h.p(".note")[h.strong["What would have made it crush: "], say(helpful)] if helpful else None,
        render_deeds(one, view.before) if context.may_change else None,
        h.p(".note")[h.a(href="#turns")["Read the conversation"]] if not context.is_file else None,
    )


# --- why ----------------------------------------------------------------------------------------


def render_why(view: SessionShown, context: PageContext) -> Element:
    """What the judge and the person say, and every piece of evidence, each leading to its turn."""
    one = view.session
    reasons = list_reasons(one)
    how = VOTES if any(reason.kind in OF_MODELS for reason in reasons) else WEIGHTS
    known = [(reason.turn, reason.quote) for reason in reasons]
    signals = [
        Reason(found["kind"], found["turn"], forget_known(found["quote"], found["turn"], known), -1.0)
        for found in one.facts.get("failure_signals", [])
    ]
    told = [*known, *((found.turn, found.quote) for found in signals)]
    cited = [
        Reason("cited", cite.turn, cite.quote, 0.0)
        for cite in one.citations
        if not is_quoted(cite.quote, cite.turn, told)
    ]
    rows = [render_reason(reason, view, context) for reason in (*forget_repeats(reasons), *cited)]
    return render_card(
        "Why",
        render_list([line.plain for line in render_verdict(one)]),
        [h.h3["Evidence"], render_note(how.plain), h.ul(".evidence")[rows[:MOST_REASONS]]] if rows else None,
        h.details[h.summary[f"{len(rows) - MOST_REASONS} more"], h.ul(".evidence")[rows[MOST_REASONS:]]]
        if len(rows) > MOST_REASONS
        else None,
        [h.h3["Failure signals"], h.ul(".evidence")[[render_reason(one, view, context, "✗") for one in signals]]]
        if signals
        else None,
    )


def forget_known(quote: str, turn: int, known: Sequence[tuple[int, str]]) -> str:
    """A quote, unless the same words are shown already: said twice they prove no more."""
    return "" if is_quoted(quote, turn, known) else quote


def forget_repeats(reasons: Sequence[Reason]) -> list[Reason]:
    """The reasons, each quote with the first that has it."""
    known: list[tuple[int, str]] = []
    found: list[Reason] = []
    for one in reasons:
        found.append(replace(one, quote=forget_known(one.quote, one.turn, known)))
        known.append((one.turn, one.quote))
    return found


def render_reason(found: Reason, view: SessionShown, context: PageContext, sign: str = "") -> Element:
    """A piece of evidence: what it weighs, what it is, its words and where they stand."""
    shown = sign or ("✓" if found.kind in SHOWS else f"{found.weight:+.2f}".replace("-", "−") if found.weight else "")
    tone = "bad" if found.weight < 0 else "good"
    is_here, named = 1 <= found.turn <= view.total, f"turn {found.turn}"
    address = to_session(view.session.id, found.turn)
    place = context.link(address, named, kind="place") if is_here and (view.turns or view.later) else None
    place = h.span(".place")[named] if is_here and place is None else place  # its turns are not on this page
    after = h.span(".place")["said next"] if found.turn > view.total else None
    return h.li[
        h.span(class_=["weight", tone])[shown],
        h.div[
            h.span(".kind")[describe_evidence(found)],
            " ",
            place,
            after,
            h.blockquote(".quote")[h.span(".said")[f"“{format_line(found.quote, 400)}”"]] if found.quote else None,
        ],
    ]


def render_rework(one: Session, context: PageContext) -> Element:
    """What became of its lines: by which commit and in which later session."""
    found = one.facts.get("rework") or {}
    later = found.get("session")
    told = explain_rework(one.facts, context.zone)
    said = [line for line in told if not line.startswith("`assay show")] or [describe_rework(one.facts)]
    return render_card(
        "What became of its lines",
        render_list([f"{line[:1].upper()}{line[1:]}" for line in said]),
        h.p[context.link(to_session(later), f"The session that replaced them: {later[:ID]}")] if later else None,
    )


def render_quality(view: SessionShown, context: PageContext) -> Element | None:
    """How well it was run, each dimension with its reason; asked for by a link, for it takes a moment."""
    one = view.session
    if view.quality is None:
        if context.is_file:
            return None
        asked = h.a(href=f"/sessions/{one.id}?quality=enhanced")["Judge how well it was run"]
        return render_card(
            "Quality", h.p[asked], render_note("by the profile “enhanced”; nothing new is asked of a model")
        )
    found = view.quality
    overall = "not judged" if found.overall_quality is None else f"{found.overall_quality:.2f}"
    rows: list[tuple[str, Node]] = [
        (
            format_name(name),
            [
                h.strong["not judged" if of.score is None else format_value(of.score)],
                f" {of.label}" if of.label else "",
                h.p(".note")[of.rationale or of.ungraded],
            ],
        )
        for name, of in found.dimensions.items()
    ]
    return render_card(
        "Quality", render_facts([("overall", h.strong[overall]), *rows]), lead=f"by the profile “{found.profile}”"
    )


def format_value(score: float) -> str:
    """A share with two decimals, a category without."""
    return f"{score:.2f}" if score % 1 else f"{score:g}"


# --- facts --------------------------------------------------------------------------------------


def render_session_facts(one: Session) -> Element:
    shown = [(name, words) for name, words in list_facts(one.facts, one.project) if name != "rework"]
    spoken = ", ".join(filter(None, (one.language, one.programming_language)))
    models = format_line(", ".join(one.models), 300)
    return render_card("Facts", render_facts([*shown, ("models", models), ("language", format_line(spoken, 60))]))


def render_beginning(view: SessionShown, context: PageContext) -> Element:
    """Why it begins where it does, and what was joined to it."""
    one = view.session
    joins: list[tuple[str, Node]] = [
        ("joined", [context.link(to_session(join.id), join.id[:ID]), f": {describe_boundary(join)}"])
        for join in one.merged_from
    ]
    went_on = [line for line in view.ledger if line.effect == "went_on"]
    before = context.link(to_session(view.before), view.before[:ID]) if view.before else None
    return render_card(
        "Where it begins",
        render_facts(
            [
                ("begins by", describe_boundary(one.boundary)),
                ("before it", before),
                *joins,
                *(
                    ("went on after", f"{format_name(line.signal)}: {format_line(line.evidence, 160)}")
                    for line in went_on[:6]
                ),
                ("streams", ", ".join(format_line(stream, 60) for stream in one.streams[:4])),
            ]
        ),
    )


def render_wording(one: Session) -> Element | None:
    """The checks of the prompts, by pillar."""
    rows = [
        (
            pillar,
            h.ul(".lines.plain")[
                [
                    h.li[render_chip(*HELD[one.checks[name]]), f" {format_name(name)}"]
                    for name in names
                    if name in one.checks
                ]
            ],
        )
        for pillar, names in PILLARS.items()
        if any(name in one.checks for name in names)
    ]
    if not rows:
        return None
    lead = "how it was asked, not how it ended"
    return render_card(f"Wording{f': {one.grade}' if one.grade else ''}", render_facts(rows), lead=lead)


def render_places(places: Sequence[TranscriptPlace]) -> Element | None:
    """Where it is kept, and how to go on with it."""
    rows: list[tuple[str, Node]] = []
    for one in places:
        rows.append(("file", [h.code[one.file], " (deleted since)" if one.is_gone else ""]))
        rows.append(("go on with", h.code[one.resume] if one.resume else None))
    return render_card("Transcript", render_facts(rows)) if rows else None


# --- turns --------------------------------------------------------------------------------------


def render_conversation(view: SessionShown, context: PageContext) -> Element:
    """The turns of this page, and the way to the others."""
    one = view.session
    if view.later:
        return render_later(view)
    pairs = [(found.turn, found.quote) for found in one.reasons]
    pairs += [(found.turn, found.quote) for found in one.citations]
    pairs += [(found["turn"], found["quote"]) for found in one.facts.get("failure_signals", [])]
    quotes, cited = group_quotes(pairs), group_citations(one)
    turns = [
        render_turn(
            TurnShown(number=n, turn=turn, quotes=quotes.get(n, ()), cited=cited.get(n, ()), all_calls=view.only),
            one.id,
            one.project,
            context,
            render_split(one.id, n) if context.may_change and n > 1 and turn.prompt else None,
        )
        for n, turn in enumerate(view.turns, view.first)
    ]
    fold = h.button(type="button", hidden=True, data_do="fold")["Fold or unfold all calls (e)"]
    if not turns:
        turns = [h.p(".quiet")["Its words are not shown: they were withheld, or deleted when their time had passed."]]
    return render_card(
        "Conversation",
        h.div(".actions")[fold],
        render_turns_pager(view, context),
        turns,
        render_turns_pager(view, context),
        id="turns",
        lead=f"{format_count(view.total, 'turn')}; calls are folded, words that evidence rests on are marked",
    )


def render_later(view: SessionShown) -> Element:
    """What stands where a long conversation is going to be; without script it is a link."""
    said = f"{format_count(view.total, 'turn')}: reading them takes a moment."
    return render_card(
        "Conversation",
        h.div(data_load=view.later)[
            h.p(".quiet", role="status")[said], h.p[h.a(href=f"{view.later}#turns")["Show the conversation"]]
        ],
        id="turns",
    )


def render_turns_pager(view: SessionShown, context: PageContext) -> Element | None:
    """The way to other turns."""
    if context.is_file or (view.total <= TURNS and not view.only):
        return None
    page, last = (view.first - 1) // TURNS + 1, (view.total - 1) // TURNS + 1
    address = f"/sessions/{view.session.id}"
    return h.nav(".pager", aria_label="Turns")[
        h.a(href=f"{address}?page={page - 1}#turns")["« Earlier"] if page > 1 and not view.only else h.span,
        h.span(".quiet")[f"turns {view.first} to {view.first + len(view.turns) - 1} of {view.total:,}"],
        h.a(href=f"{address}?page={page}#turn-{view.first}")["All turns"] if view.only else None,
        h.a(href=f"{address}?page={page + 1}#turns")["Later »"] if page < last and not view.only else h.span,
    ]
