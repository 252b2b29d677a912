"""How pages are answered, and what they know of whoever looks."""

from collections.abc import Mapping, Sequence
from typing import Any

from litestar import Response

from assay.config import pick_zone
from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.hall import Hall
from assay.server.pages.refusals import PAGE_HEADERS
from assay.server.replies import Refusal
from assay.server.seals import build_tag, matches_tag
from assay.stores import Store
from assay.web.context import PageContext
from assay.web.frame import Page, render_page
from assay.web.html import HTML
from assay.web.links import ServedLinks

LONGEST = 2_000
"""Characters of one value in an address."""


def build_context(hall: Hall, visitor: Visitor, window: Mapping[str, str] | None = None) -> PageContext:
    """Who looks, at which window."""
    return PageContext(
        links=ServedLinks({name: one for name, one in (window or {}).items() if one}),
        zone=pick_zone(hall.settings.config),
        may_change=visitor.may("admin"),
        has_key=bool(visitor.key),
    )


def answer_page(request: AnyRequest, store: Store, page: Page, context: PageContext) -> Response[Any]:
    """A page, unless the browser has the same already."""
    body = render_page(page, context)
    tag = build_tag(store.keys.load_secret(), body)
    headers = {"etag": tag, "cache-control": "private, no-cache", **PAGE_HEADERS}
    if matches_tag(request.headers.get("if-none-match", ""), tag):
        return Response(b"", status_code=304, headers=headers)
    return Response(body, media_type=HTML, headers=headers)


def read_given(request: AnyRequest, names: Sequence[str]) -> dict[str, str]:
    """What an address says, by name; what it does not say is empty, what nobody asks for is left out."""
    given = {name: request.query_params.get(name, "") for name in names}
    if too_long := [name for name, value in given.items() if len(value) > LONGEST]:
        raise Refusal(400, f"{too_long[0]} is too long")
    return {name: value.replace("\0", "") for name, value in given.items()}


def read_number(value: str) -> int:
    """A count in an address; 0 where there is none."""
    if value and not (value.isascii() and value.isdecimal() and len(value) < 9):
        raise Refusal(400, "this takes a number")
    return int(value or 0)


def go_to(address: str, headers: Mapping[str, str] | None = None) -> Response[Any]:
    """Where to look next, after something was done."""
    return Response(b"", status_code=303, headers={"location": address, **PAGE_HEADERS, **(headers or {})})


def is_own_address(address: str) -> bool:
    """Whether an address that came with a form leads to this server, whatever browsers make of it."""
    return address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
