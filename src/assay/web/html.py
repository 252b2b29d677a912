"""How HTML is written and leaves: elements of htpy, which escapes every text; no character in it is obeyed."""

import re
from collections.abc import Sequence

import htpy as h
from htpy import Element, Node

from assay.reports.format import sanitize_char

__all__ = ["Element", "Node", "draw", "encode_html", "h", "join_nodes", "say"]

CODE = re.compile(r"`([^`\n]+)`")
HTML = "text/html; charset=utf-8"


def encode_html(page: Element) -> bytes:
    """A page as it leaves: controls, direction marks and halves of characters are replaced in all of it."""
    text = str(page).replace("\r\n", "\n")
    return text.translate({ord(one): "\ufffd" for one in set(text) if sanitize_char(one) != one}).encode()


def say(text: str) -> Node:
    """A sentence of ours; what stands in backticks is shown as something to type."""
    parts = CODE.split(text)
    return [h.code[part] if n % 2 else part for n, part in enumerate(parts) if part]


def join_nodes(parts: Sequence[Node], between: str = " · ") -> Node:
    """Parts one behind the other, those that are empty left out."""
    there = [part for part in parts if part]
    return [[between, part] if n else part for n, part in enumerate(there)]


def draw(name: str, *, kind: str = "", **attributes: str | float) -> Element:
    """An element of SVG; numbers with few decimals, `_` in a name is `-`."""
    told: dict[str, str | None] = {
        key.replace("_", "-"): f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
        for key, value in attributes.items()
    }
    return Element(name)({"class": kind or None} | told)
