"""What left, to whom, what may not, and what was done: all that bears on whose words these are."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from assay.reports.egress import ModelUse
from assay.reports.format import format_count, format_dollars, format_name, format_number
from assay.types import Deed
from assay.web.context import PageContext
from assay.web.frame import Page
from assay.web.html import Element, Node, h, say
from assay.web.links import to_session, to_sessions
from assay.web.marks import render_card, render_chip, render_doubt, render_figure, render_note
from assay.web.tables import Column, render_table

OF_SESSIONS = ("session_marked", "audit_answered")


class TenantRule(Struct, frozen=True, kw_only=True):
    """What may become of a tenant's words."""

    name: str
    opt_out: bool
    retention_days: float | None
    judges: Sequence[str] | None
    models: Sequence[str] | None
    takes_words: bool


class PrivacyShown(Struct, frozen=True, kw_only=True):
    """What left, to whom, and what may not."""

    judge: str
    to: str | None
    """Where the judge that is set asks; `None`: it asks nobody."""
    uses: Sequence[ModelUse]
    rules: Sequence[TenantRule]
    withheld: Mapping[str, int]
    """Sessions of which nobody is shown a word, by why."""
    deeds: Sequence[Deed] | None
    """The audit log, the newest first; `None` for whoever may not see it."""
    machines: Sequence[tuple[str, int, str]]
    """Machines that ship sessions here: name, sessions, when last."""


def render_privacy(shown: PrivacyShown, context: PageContext) -> Page:
    """The whole page."""
    body = [
        h.div(".columns")[render_now(shown), render_withheld(shown, context)],
        render_uses(shown, context),
        render_rules(shown, context),
        render_machines(shown, context),
        render_log(shown, context),
    ]
    lead = "What left this machine, to whom, whose words stay, and what was done"
    return Page(name="privacy", title="Privacy", lead=lead, body=body)


def render_now(shown: PrivacyShown) -> Element:
    """Where words go by the settings as they are."""
    if shown.to is None:
        said: Node = [
            h.p[render_chip("good", "nothing leaves")],
            h.p[f"The {shown.judge} judge asks no model: it reads on this machine alone."],
            render_note(say("`assay egress --judge anthropic` shows what that one would be sent, word for word.")),
        ]
    else:
        said = [
            h.p[render_chip("warn", "words leave")],
            h.p[f"The {shown.judge} judge asks ", h.b[shown.to], ". Every text is redacted before it goes."],
            render_note(say("`assay egress --words` shows every word of what would be sent next.")),
        ]
    return render_card("As it is set now", said)


def render_withheld(shown: PrivacyShown, context: PageContext) -> Element:
    """Sessions of which nobody is shown a word."""
    figures = [
        render_figure(format_name(why), context.link(to_sessions(status=why), f"{n:,}"), "told in numbers alone")
        for why, n in shown.withheld.items()
    ]
    return render_card(
        "Withheld", h.div(".figures")[figures] if figures else h.p["No session is withheld from judges and reports."]
    )


def render_uses(shown: PrivacyShown, context: PageContext) -> Element:
    """What was asked of models up to now."""
    if not shown.uses:
        return render_card("What left", h.p["No model was ever asked anything about these sessions."])
    columns = [
        Column(words="model", kind="main"), Column(words="calls", kind="number"),
        Column(words="answered", kind="number"), Column(words="tokens in", kind="number minor"),
        Column(words="out", kind="number minor"),
        Column(words="cost", kind="number"), Column(words="last", kind="time minor"),
    ]  # fmt: skip
    rows = [
        (
            one.model, f"{one.calls:,}", f"{one.answered:,}", format_number(one.input), format_number(one.output),
            "unpriced" if one.usd is None else format_dollars(one.usd), context.show_time(one.last_at),
        )
        for one in shown.uses
    ]  # fmt: skip
    return render_card("What left", render_table(columns, rows, "Models that were asked", context), lead="by model")


def render_rules(shown: PrivacyShown, context: PageContext) -> Element:
    """Opt-outs, retention, and who may be asked."""
    how = "`[tenants.NAME]` in `assay.toml` with `projects`, `opt_out`, `retention_days`, `judges`, `models`"
    if not shown.rules:
        return render_card(
            "Whose words stay",
            h.p["Nobody opted out, and words are kept for good."],
            render_note(say(f"{how} says otherwise.")),
        )
    columns = [
        Column(words="tenant", kind="main"), Column(words="words"), Column(words="kept for"), Column(words="judges"),
        Column(words="models"),
    ]  # fmt: skip
    rows = [
        (
            one.name,
            render_chip("good", "opted out") if one.opt_out else "redacted, then judged",
            "for good" if one.retention_days is None else f"{one.retention_days:g} days",
            "all" if one.judges is None else ", ".join(one.judges) or "none",
            "all" if one.models is None else ", ".join(one.models) or "none",
        )
        for one in shown.rules
    ]
    return render_card(
        "Whose words stay", render_table(columns, rows, "Tenants", context), render_note(say(f"{how} says so."))
    )


def render_machines(shown: PrivacyShown, context: PageContext) -> Element | None:
    """Who ships sessions here."""
    if not shown.machines:
        return None
    columns = [
        Column(words="machine", kind="main"), Column(words="sessions", kind="number"),
        Column(words="last", kind="time"),
    ]  # fmt: skip
    rows = [
        (name, context.link(to_sessions(by_machine=name), f"{n:,}"), context.show_time(at))
        for name, n, at in shown.machines
    ]
    return render_card("What came in from other machines", render_table(columns, rows, "Machines", context))


def render_log(shown: PrivacyShown, context: PageContext) -> Element:
    """The audit log."""
    if shown.deeds is None:
        return render_card("Audit log", render_doubt(say("It takes a key with the scope admin to see it.")))
    if not shown.deeds:
        return render_card("Audit log", h.p["Nothing was done yet: no key made, no word deleted, no session marked."])
    columns = [
        Column(words="when", kind="time"), Column(words="what", kind="main"), Column(words="about"),
        Column(words="who"),
    ]  # fmt: skip
    rows = [
        (
            context.show_time(one.at),
            f"{format_name(one.kind)}{f' × {one.count:,}' if one.count != 1 else ''}",
            context.link(to_session(one.about), one.about) if one.kind in OF_SESSIONS else one.about,
            one.who,
        )
        for one in shown.deeds
    ]
    said = f"the newest {format_count(len(shown.deeds), 'line')}; it only grows"
    return render_card("Audit log", render_table(columns, rows, "Audit log", context), lead=said)
