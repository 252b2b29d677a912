"""Which addresses are pages, what headers they have, and what is shown where one is refused."""

from collections.abc import Mapping

from assay.server.replies import RawReply, Refusal
from assay.web.assets import SERVED_POLICY
from assay.web.context import PageContext
from assay.web.frame import Page, render_page
from assay.web.html import HTML
from assay.web.links import PAGES
from assay.web.pages.entrance import render_login, render_refusal

PAGE_HEADERS = {
    "content-security-policy": SERVED_POLICY,
    "referrer-policy": "same-origin",  # with none at all a browser would not say from where a form was sent
}
NO_PAGES = ("/api/", "/v1/", "/healthz", "/readyz", "/metrics")
PAGE_NAMES = frozenset({"", "login", "logout", "assets", *(name for name, _ in PAGES)})
"""First words of addresses, as the log names them."""


def is_page(path: str) -> bool:
    """Whether an address is for people."""
    return not path.startswith(NO_PAGES)


def wants_page(path: str, headers: Mapping[str, str]) -> bool:
    """Whether whoever asks is a browser that shows what comes."""
    return is_page(path) and "text/html" in headers.get("accept", "")


def build_page_refusal(refusal: Refusal, path: str) -> RawReply:
    """What is shown where a page is refused: without a key, the way in."""
    page = render_login(path) if refusal.status == 401 else render_refusal(refusal.status, refusal.why)
    return RawReply(status=refusal.status, media_type=HTML, body=show_bare(page))


def show_bare(page: Page) -> bytes:
    """A page for somebody of whom nothing is known."""
    return render_page(page, PageContext())
