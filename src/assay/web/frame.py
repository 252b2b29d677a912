"""What stands around every page: navigation, title, the theme's switch, and the keys."""

from collections.abc import Sequence

from msgspec import Struct

from assay import __version__
from assay.web.assets import load_icon, load_script, load_style
from assay.web.context import PageContext
from assay.web.html import Element, Node, encode_html, h
from assay.web.links import PAGES, to_page

FILE_KEYS = (("j k", "next, previous row"), ("/", "find in a list"), ("t", "light or dark"), ("?", "these keys"))
"""Keys of one file, which has nothing to go to or to fold."""
KEYS = (
    ("j k", "next, previous row or turn"),
    ("/", "search sessions"),
    ("g then o s l", "go to overview, sessions, live"),
    ("e", "fold or unfold all calls"),
    ("t", "light or dark"),
    ("?", "these keys"),
)


class Page(Struct, frozen=True, kw_only=True):
    """One page, without what stands around it."""

    name: str
    """Of its place in the navigation; empty for none."""
    title: str
    body: Node
    lead: Node = None
    """A line under the title."""
    keys: Sequence[tuple[str, str]] = ()
    """Keys of its own, and what they do."""
    is_live: bool = False
    """It is shown anew when something changes; others only say that something did."""


def render_page(page: Page, context: PageContext) -> bytes:
    """A page as a server sends it."""
    head = h.head[
        h.meta(charset="utf-8"),
        h.meta(name="viewport", content="width=device-width, initial-scale=1"),
        h.meta(name="color-scheme", content="light dark"),
        h.title[f"{page.title} · Assay"],
        h.link(rel="icon", href=load_icon().address, type="image/svg+xml"),
        h.link(rel="stylesheet", href=load_style().address),
        h.script(src=load_script().address),
    ]
    events = "reload" if page.is_live else "tell"
    body = h.body(data_events=events if page.name else None)[
        h.a(".skip", href="#main")["Skip to content"],
        render_side(page.name, context),
        h.main("#main", tabindex="-1")[render_head(page), page.body],
        render_news(),
        render_keys([*KEYS, *page.keys]),
    ]
    return encode_html(h.html(lang="en")[head, body])


def render_head(page: Page) -> Element:
    return h.header(".head")[h.h1[page.title], h.p(".lead")[page.lead] if page.lead else None]


def render_side(current: str, context: PageContext) -> Element:
    """The navigation; in a file, of what is in it."""
    known = [(name, words, context.links.find(to_page(name))) for name, words in PAGES]
    here = {"aria-current": "page"}
    return h.header(".side")[
        h.a(".brand", href=context.links.find(to_page("overview")))["Assay"],
        h.nav(aria_label="Pages")[
            h.ul[
                [
                    h.li[h.a(here if name == current else {}, href=target)[words]]
                    for name, words, target in known
                    if target
                ]
            ]
        ],
        h.div(".tools")[
            h.button(type="button", hidden=True, data_do="theme", title="Light or dark (t)")["Theme"],
            h.button(type="button", hidden=True, data_do="keys", title="Keys (?)")["Keys"],
            h.form(method="post", action="/logout")[h.button["Log out"]] if context.has_key else None,
            h.span(".version")[f"Assay {__version__}"],
        ],
    ]


def render_news() -> Element:
    """What tells that something changed since the page was made."""
    return h.p("#news.news", role="status", hidden=True)[
        "Something changed. ", h.button(type="button", data_do="reload")["Show it"]
    ]


def render_keys(keys: Sequence[tuple[str, str]]) -> Element:
    return h.dialog("#keys", aria_labelledby="keys-title")[
        h.h2("#keys-title")["Keys"],
        h.dl(".facts")[[h.div[h.dt[[[h.kbd[one], " "] for one in key.split()]], h.dd[does]] for key, does in keys]],
        h.form(method="dialog")[h.button["Close"]],
    ]
