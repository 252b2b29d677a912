"""Where things are found: an address names a page of the server; inside one file it is a place in it, or nowhere."""

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import quote, urlencode

from msgspec import Struct

PAGES: tuple[tuple[str, str], ...] = (
    ("overview", "Overview"),
    ("sessions", "Sessions"),
    ("live", "Live"),
    ("audit", "Audit"),
    ("advise", "Prompts and habits"),
    ("quality", "Quality"),
    ("rework", "Rework"),
    ("compare", "Compare"),
    ("evaluations", "Evaluations"),
    ("team", "Team"),
    ("judges", "Judges"),
    ("privacy", "Privacy"),
)
"""Pages of the navigation: the name that is also the address, and words. What is not named here is linked nowhere."""
NAMES = frozenset(name for name, _ in PAGES)
CARRIED = frozenset({"/", "/sessions", "/quality", "/rework", "/compare", "/advise", "/team"})
"""Pages about a window of sessions."""
TURNS = 40
"""Turns of a session on one page."""
LONGEST_ADDRESS = 4_000
"""Characters: a server takes no more, whatever somebody calls a model or a project."""


def to_page(name: str, **wanted: str) -> str:
    """The address of a page, by its name in the navigation; `overview` is the first."""
    path = "/" if name == "overview" else f"/{name}"
    known = {key.rstrip("_"): value for key, value in wanted.items() if value}
    return f"{path}?{urlencode(known, errors='replace')}" if known else path


def to_sessions(**wanted: str) -> str:
    """The list of those sessions that a number counts."""
    return to_page("sessions", **wanted)


def to_session(id: str, turn: int = 0) -> str:
    """A session, or one turn of it, counted from 1."""
    path = f"/sessions/{quote(id, safe='', errors='replace')}"
    if turn < 1:
        return path
    page = (turn - 1) // TURNS + 1
    return f"{path}{f'?page={page}' if page > 1 else ''}#turn-{turn}"


def to_evaluation(name: str) -> str:
    """One evaluation, by the name of its run's folder."""
    return f"/evaluations/{quote(name, safe='', errors='replace')}"


class Links(Protocol):
    """Says where an address is found."""

    def find(self, address: str) -> str | None:
        """What to put into `href`; `None` where it leads nowhere."""


class ServedLinks(Struct, frozen=True):
    """A server has every page; the window that is looked at goes along."""

    window: Mapping[str, str] = {}
    """`since`, `until` and `project`, as far as they are given."""

    def find(self, address: str) -> str | None:
        path, mark, rest = address.partition("?")
        if len(address) > LONGEST_ADDRESS:
            return None
        if (path.split("/")[1] or "overview") not in NAMES:
            return None
        if path not in CARRIED or not self.window:
            return address
        query = rest.split("&") if mark else []
        given = {one.partition("=")[0] for one in query}
        added = urlencode(
            {name: one for name, one in self.window.items() if one and name not in given}, errors="replace"
        )
        return f"{path}?{'&'.join([*query, *([added] if added else [])])}" if query or added else path


class FileLinks(Struct, frozen=True):
    """One file has the places that were put into it."""

    places: Mapping[str, str]
    """Ids of places by address."""

    def find(self, address: str) -> str | None:
        place = self.places.get(address) or self.places.get(address.partition("#")[0])
        return f"#{place}" if place else None
