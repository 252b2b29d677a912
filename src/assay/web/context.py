"""What every page is told beside its values."""

from datetime import UTC, tzinfo

from msgspec import Struct

from assay.reports.format import format_time
from assay.web.html import Element, Node, h
from assay.web.links import Links, ServedLinks


class PageContext(Struct, frozen=True, kw_only=True):
    """Who looks, and where things are found."""

    links: Links = ServedLinks()
    zone: tzinfo = UTC
    may_change: bool = False
    """Actions are offered."""
    is_file: bool = False
    """It is one file, without a server."""
    has_key: bool = False
    """Whoever looks came in with a key, and can leave."""

    def link(self, address: str, *words: Node, kind: str | None = None) -> Element:
        """Words that lead to an address; only words, where that is nowhere."""
        target = self.links.find(address)
        return h.a(href=target, class_=kind)[words] if target else h.span(class_=kind)[words]

    def show_time(self, stamp: str) -> Element:
        """A time, for people and for machines."""
        return h.time(datetime=stamp)[format_time(stamp, self.zone)]
