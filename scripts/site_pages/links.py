"""Links of a page, as the repository has them, made to lead where the site has what they mean."""

import posixpath
import re
from collections.abc import Callable

LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"(^```.*?^ *```$|^ +```.*?^ +```$)", re.MULTILINE | re.DOTALL)
Place = Callable[[str], str]
"""Where the site has a path of the repository."""


def is_elsewhere(target: str) -> bool:
    """Whether a link leads out of the repository."""
    return bool(re.match(r"[a-z]+:", target))


def list_links(text: str) -> list[str]:
    """What a page links to, code left out."""
    return [link[1] for part in FENCE.split(text)[::2] for link in LINK.findall(part)]


def lead_links(text: str, page: str, at: str, place: Place) -> str:
    """The text of a page of the repository, to stand at another path in the site."""

    def lead(found: re.Match[str]) -> str:
        target, _, anchor = found[2].partition("#")
        if is_elsewhere(found[2]) or not target:
            return found[0]
        meant = place(posixpath.normpath(posixpath.join(posixpath.dirname(page), target)))
        link = posixpath.relpath(meant, posixpath.dirname(at) or ".")
        return f"{found[1]}{link}{f'#{anchor}' if anchor else ''}{found[3]}"

    return "".join(part if n % 2 else LINK.sub(lead, part) for n, part in enumerate(FENCE.split(text)))
