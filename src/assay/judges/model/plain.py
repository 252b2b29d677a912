"""A model's own words made fit to be kept and shown: it may have been told to write anything."""

from unicodedata import category

DROPPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def plain(text: str) -> str:
    """One line, without controls, unseen characters and halves of characters."""
    flat = " ".join(text.split())
    return flat if flat.isascii() and flat.isprintable() else "".join(c for c in flat if category(c) not in DROPPED)
