"""How good each judge is: measured on other people's sessions, and by one's own audit."""

from collections.abc import Sequence

from assay.reports.format import UNKNOWN, format_count, format_name, format_percent
from assay.reports.judges import BASE_RATE, format_ends
from assay.scores.card import Figure, JudgeCard, Measurement, OwnMeasurement, ReliabilityBand
from assay.web.context import PageContext
from assay.web.frame import Page
from assay.web.html import Element, Node, h
from assay.web.links import to_page, to_sessions
from assay.web.marks import render_card, render_doubt, render_facts, render_figure, render_note, render_share_bar
from assay.web.tables import Column, render_table

NO_AUDIT = "Not measured on your sessions yet: the audit asks you about some of them, drawn at random."


def render_judges(cards: Sequence[JudgeCard], used: str, context: PageContext) -> Page:
    """A card for each judge; `used` is the one that judges here."""
    body = [render_judge(one, is_used=one.judge == used, context=context) for one in cards]
    lead = "How often each judge is right, measured on other people's sessions and by your own audit"
    return Page(name="judges", title="Judges", lead=lead, body=body)


def render_judge(card: JudgeCard, *, is_used: bool, context: PageContext) -> Element:
    versions = ", ".join(f"{job} {version[:8]}" for job, version in sorted(card.versions.items()))
    measured = (
        render_measured(card.measured, context, is_same=card.is_measured_version)
        if card.measured
        else render_doubt(
            "Never measured against labels: its number has no interval for its own errors, and no letter."
        )
    )
    own = (
        render_own(card.own, context) if card.own else [h.p[NO_AUDIT, " ", context.link(to_page("audit"), "Begin one")]]
    )
    return render_card(
        f"{card.judge}{' · judges here' if is_used else ''}",
        h.div(".columns")[
            h.div(".card-part")[h.h3["Measured elsewhere"], measured],
            h.div(".card-part")[h.h3["By your own audit"], own],
        ],
        lead=versions,
    )


def render_measured(found: Measurement, context: PageContext, *, is_same: bool) -> Node:
    landed = format_percent(100 * (found.goals - found.failures) / found.goals)
    note = (
        f"Chances are told for a base rate of {BASE_RATE} in 100 completed goals, that of strangers; among these "
        f"labels {landed} in 100 were, so more came true than was told."
    )
    said = (
        f"On {format_count(found.goals, 'labelled goal')} ({found.failures} not completed) of {found.repositories} "
        f"repositories, each left out of every fit in turn ({found.measured_at}); they are not among your sessions."
    )
    columns = [
        Column(words="figure", kind="main"), Column(words="value", kind="number"), Column(words="95 %", kind="number"),
        Column(words="what it says", kind="note"),
    ]  # fmt: skip
    rows = [list_figure(one) for one in found.figures]
    return [
        h.p[said],
        None if is_same else render_doubt("Tables or phrases have changed since it was measured."),
        render_table(columns, rows, "Figures", context, "list"),
        render_reliability(found.reliability, context),
        render_note(note),
    ]


def list_figure(one: Figure) -> list[Node]:
    beside = ", ".join(f"{name} {value:.2f}" for name, value in one.baselines.items())
    return [
        one.name,
        f"{one.value:.2f}",
        format_ends(one) or UNKNOWN,
        [one.says, h.span(".sub")[beside] if beside else None],
    ]


def render_reliability(bands: Sequence[ReliabilityBand], context: PageContext, address: str = "") -> Node:
    """How often a chance came true; the bar is what came true. `address` leads to the sessions, where they are here."""
    if not bands:
        return None
    columns = [
        Column(words="chance told", kind="main"), Column(words="0 – 1", kind="drawn"),
        Column(words="on average", kind="number"), Column(words="came true", kind="number"),
        Column(words="goals", kind="number"),
    ]  # fmt: skip
    rows = [
        (
            f"{one.low:.1f}–{one.high:.1f}",
            render_share_bar(one.share),
            f"{one.mean:.2f}",
            f"{one.share:.2f}",
            context.link(address, f"{one.n:,}") if address else f"{one.n:,}",
        )
        for one in bands
    ]
    return render_table(columns, rows, "How often a chance came true", context, "bars")


def render_own(own: OwnMeasurement, context: PageContext) -> Node:
    unclear = own.audited - own.decided
    marked = to_sessions(marked="yes")
    kappa = UNKNOWN if own.kappa is None else context.link(marked, f"{own.kappa:.2f}")
    agreed = context.link(marked, f"{own.agreed} of {own.decided}")
    figures = [
        render_figure("agrees on", agreed, f"{unclear} it left unclear" if unclear else None),
        render_figure("kappa", kappa, "agreement beyond chance"),
        render_figure("Brier", context.link(marked, f"{own.brier:.2f}"), "0 is perfect, 0.25 a coin"),
    ]
    wrong = [one for one in own.intents if one.agreed < one.audited]
    told: list[tuple[str, Node]] = [
        (
            format_name(one.intent),
            context.link(
                to_sessions(marked="yes", by_intent=one.intent), f"wrong in {one.audited - one.agreed} of {one.audited}"
            ),
        )
        for one in wrong
    ]
    return [
        h.p["Of ", context.link(to_sessions(marked="yes"), format_count(own.audited, "session")), " that you decided:"],
        h.div(".figures")[figures],
        render_facts(told) if told else None,
        render_reliability(own.reliability, context, marked),
    ]
