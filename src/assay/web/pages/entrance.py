"""Logging in with a key, and what is said where a page is refused."""

from assay.web.frame import Page
from assay.web.html import h, say
from assay.web.marks import render_card, render_note

TITLES = {403: "Not allowed", 404: "Not found", 405: "Not like this", 429: "Too many requests", 503: "Busy"}
NEXT = {
    403: "`assay keys add NAME --scope admin` makes a key that may change things, `--scope read` one that may look.",
    404: "The link may be old, or the session was cut differently since; the list of sessions has what there is.",
    429: "Wait a moment, then reload the page.",
    503: "Wait a moment, then reload the page; the server's log says more.",
}


def render_login(wanted: str, why: str = "") -> Page:
    """Ask for a key; then go on to what was wanted."""
    form = h.form(".login", method="post", action="/login")[
        h.input(type="hidden", name="next", value=wanted),
        h.label(for_="key")["Key"],
        h.input("#key", name="key", type="password", required=True, autocomplete="current-password", autofocus=True),
        render_note(why, tone="warn") if why else None,
        h.button(".first")["Log in"],
        render_note(
            say("A key of the scope read or admin; `assay keys add NAME --scope read` makes one on the server.")
        ),
    ]
    return Page(name="", title="Log in", body=render_card(None, form))


def render_refusal(status: int, why: str) -> Page:
    """That a page is not shown, why, and what to do."""
    said = [h.p[f"{why[:1].upper()}{why[1:]}."], h.p(".quiet")[say(NEXT.get(status, ""))] if status in NEXT else None]
    return Page(
        name="",
        title=TITLES.get(status, "Something is wrong"),
        body=render_card(None, said, h.p[h.a(href="/")["Overview"]]),
    )
