"""Small parts of pages: chips, scores with their intervals, facts, quotes, notes, and what stands where nothing is."""

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

from assay.reports.format import UNKNOWN, format_percent
from assay.reports.summary import EXPLICIT, explain_outcome, find_doubt, name_proof
from assay.types import Session
from assay.web.context import PageContext
from assay.web.html import Element, Node, draw, h, say

Tone = Literal["good", "bad", "warn", "plain", "quiet"]
SIGNS: dict[Tone, str] = {"good": "✓", "bad": "✗", "warn": "!", "plain": "", "quiet": "–"}
"""No colour stands alone: a sign stands before the word."""
ENDED: dict[bool | None, tuple[Tone, str]] = {
    True: ("good", "crushed"),
    False: ("bad", "not crushed"),
    None: ("quiet", "not counted"),
}

AGAIN_S = "4"
"""Seconds after which a page that is not finished is shown anew, by its script."""
DOUBTFUL = 0.1
"""From which chance on that it ended otherwise a session looks uncertain."""


class ShareInterval(Protocol):
    """A share in percent with the ends of its interval."""

    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def render_chip(tone: Tone, *words: Node, sign: str | None = None, title: str | None = None, kind: str = "") -> Element:
    """A word in a coloured box, with a sign before it; `kind` names how else it looks."""
    shown = SIGNS[tone] if sign is None else sign
    return h.span(class_=["chip", tone, kind], title=title)[
        h.span(".sign", aria_hidden="true")[shown] if shown else None, h.span[words]
    ]


def render_outcome(one: Session) -> Element:
    """Whether a session landed, and why, in few words; what is uncertain looks so."""
    return h.span(".outcome")[render_ended(one), h.span(".why")[describe_why(one), describe_doubt(one)]]


def describe_why(one: Session) -> str:
    """Why it crushed, did not, or does not count: what shows it, where something does."""
    why = explain_outcome(one)
    return name_proof(one) or "shown by evidence" if why == EXPLICIT else why


def render_ended(one: Session) -> Element:
    """Whether a session landed."""
    tone, word = ENDED[one.crushed]
    if not is_doubtful(one):
        return render_chip(tone, word)
    return render_chip(tone, word, sign="≈", title="nobody and nothing says so for certain", kind="doubtful")


def is_doubtful(one: Session) -> bool:
    return (find_doubt(one) or 0.0) >= DOUBTFUL


def describe_doubt(one: Session) -> str:
    """How likely a session that is counted as missed landed after all; of others that is said already."""
    doubt = find_doubt(one)
    is_told = one.crushed is False and doubt is not None and doubt >= DOUBTFUL
    return f"; {format_percent(100 * (doubt or 0))} % that it landed" if is_told else ""


# --- scores -------------------------------------------------------------------------------------


def render_interval(found: ShareInterval, *, is_small: bool = False) -> Element | None:
    """A scale from 0 to 100 with the interval as a band and the value as a line in it."""
    if found.low is None or found.high is None:
        return None
    width = max(0.8, found.high - found.low)
    svg = h.svg(
        class_=["interval", "small" if is_small else ""],
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
    value = found.value
    return svg[
        draw("rect", kind="scale", x="0", y="4", width="100", height="2"),
        draw("rect", kind="band", x=found.low, y="1", width=float(width), height="8"),
        None if value is None else draw("line", kind="value", x1=value, x2=value, y1="0", y2="10"),
    ]


def render_share_bar(share: float, tone: Tone = "plain") -> Element:
    """A bar that is never empty for something."""
    width = max(0.6, 100 * share) if share else 0
    return h.svg(class_=["bar", tone], viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true")[
        draw("rect", kind="scale", x="0", y="0", width="100", height="10"),
        draw("rect", kind="full", x="0", y="0", width=float(width), height="10"),
    ]


def format_ends(found: ShareInterval) -> str:
    """The ends of an interval, in words that a screen reader reads well."""
    if found.low is None or found.high is None:
        return UNKNOWN
    return f"{format_percent(found.low)}–{format_percent(found.high)}"


def render_figure(words: str, value: Node, note: Node = None, extra: Node = None) -> Element:
    """A number with its name above and what it rests on below."""
    return h.div(".figure")[
        h.span(".name")[words], h.span(".number")[value], extra, h.span(".note")[note] if note else None
    ]


# --- words --------------------------------------------------------------------------------------


def render_facts(pairs: Iterable[tuple[str, Node]]) -> Element:
    """Names and values; an empty value is left out."""
    return h.dl(".facts")[[h.div[h.dt[name], h.dd[value]] for name, value in pairs if value]]


def render_note(*words: Node, tone: Tone = "plain") -> Element:
    """Something to know beside a number."""
    return h.p(class_=["note", tone])[words]


def render_doubt(*words: Node) -> Element:
    """What makes a number uncertain; it looks so."""
    return h.p(".note.doubt")[h.span(".sign", aria_hidden="true")["≈"], h.span[words]]


def render_quote(words: str, context: PageContext, address: str = "", place: str = "") -> Element:
    """Words of a session, with a link to where they stand."""
    where = context.link(address, place, kind="place") if place else None
    return h.blockquote(".quote")[h.span(".said")[words], where]


def render_empty(title: str, *what_next: str) -> Element:
    """That nothing is here, and what to do about it."""
    return h.div(".empty")[h.h2[title], [h.p[say(one)] for one in what_next]]


def render_card(title: Node, *inside: Node, id: str | None = None, lead: Node = None, kind: str = "") -> Element:
    """A part of a page under a title."""
    return h.section(class_=["card", kind], id=id)[
        h.header[h.h2[title], h.p(".lead")[lead] if lead else None] if title else None, inside
    ]


def render_list(lines: Sequence[str]) -> Element | None:
    """Sentences of ours, one below the other."""
    return h.ul(".lines")[[h.li[say(one)] for one in lines]] if lines else None


def render_diff(text: str) -> Element:
    """A change in short: lines that begin with + and - are marked so by sign and colour."""
    kinds = {"+": "added", "-": "removed", "@": "hunk"}
    return h.pre(".diff", tabindex="0")[[h.span(class_=kinds.get(line[:1]))[line, "\n"] for line in text.splitlines()]]
