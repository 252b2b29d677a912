"""Lines of ours and lines of the transcript, so that nobody takes one for the other.

Every line that quotes the transcript begins with `| `; every other line is one of ours, of few words and numbers.
The first and the last line carry a hash of all between, which nothing that stands between can know.
"""

import re
from collections.abc import Iterable
from hashlib import sha256

from assay.sessions.rendering.defusing import defused

PREFIX = "| "
OPEN = '=== transcript {} begins: {}; a line that begins with "|" quotes it, the others are ours ==='
CLOSE = "=== transcript {} ends ==="
GAP = "... {} characters left out"
HASH = 16
WORTH_CUTTING = 40
SPARE = 200
"""Characters before and behind a cut of which some may be dropped when a text is defused."""
QUIET = re.compile(r"- ([0-9]+) commands?: ended well")
BLANK = re.compile(r"\n(?:[ \t]*\n){2,}")


def framed(what: str, body: Iterable[str]) -> str:
    """All of it between the first and the last line."""
    inside = "\n".join(merged(body))
    mark = sha256(inside.encode("utf-8", "surrogatepass")).hexdigest()[:HASH]
    return "\n".join([OPEN.format(mark, what), *([inside] if inside else []), CLOSE.format(mark)])


def merged(lines: Iterable[str]) -> list[str]:
    """The lines, where quiet commands follow each other as one: it never takes more room."""
    found: list[str] = []
    for line in lines:
        before, now = QUIET.fullmatch(found[-1]) if found else None, QUIET.fullmatch(line)
        if before and now:
            found[-1] = quiet(int(before[1]) + int(now[1]))
        else:
            found.append(line)
    return found


def quiet(n: int) -> str:
    """The line for commands that ended well, checked nothing and changed nothing."""
    return f"- {n} {'command' if n == 1 else 'commands'}: ended well"


def quoted(text: str, head: int, tail: int = 0) -> list[str]:
    """A text behind the prefix: its first `head` and last `tail` characters, and how much lies between."""
    text = text.strip()
    left = len(text) - head - tail
    if left <= WORTH_CUTTING:
        return prefixed(text)
    start = prefixed(text[:head]) if head else []
    end = prefixed(text[len(text) - tail :]) if tail else []
    return [*start, GAP.format(left), *end]


def prefixed(text: str) -> list[str]:
    """Each line behind the prefix; several blank ones are one."""
    lines = BLANK.sub("\n\n", defused(text)).split("\n")
    return [(PREFIX + line).rstrip() for line in lines]


def one_line(text: str, most: int) -> str:
    """A text on one line, without the prefix."""
    flat = " ".join(defused(text[: most + SPARE].strip()).split())
    is_cut = len(flat) > most or len(text.strip()) > most + SPARE
    return flat[:most].rstrip() + "…" if is_cut else flat


def named(texts: Iterable[str], most: int) -> list[str]:
    """Short texts, a line each."""
    return [PREFIX + (one_line(text, most) or "(nameless)") for text in texts]
