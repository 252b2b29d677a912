"""Values as text for people: numbers, times, names, lists; and text from a transcript made harmless for a terminal."""

import shlex
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from pathlib import PurePath, PurePosixPath
from typing import Any

from assay.types import StreamSummary

UNKNOWN = "–"
MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: (UNKNOWN, "dim")}
MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
MOST_OF_ID = 18
KEPT = frozenset("\n\t")
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Controls (escape sequences), format characters (bidi overrides), surrogates, private use, line separators."""
JOINERS = frozenset("\u200c\u200d\ufe0f")
"""Format characters that ordinary writing and emoji need."""


def format_name(name: str) -> str:
    """A name from the code, as words."""
    return format_line(name.replace("_", " "), 60)


def format_percent(value: float) -> str:
    """A whole number; 0 and 100 only where it is exactly that."""
    return str(min(99, max(1, round(value))) if 0 < value < 100 else round(value))


def format_dollars(value: float) -> str:
    """A sum that is never shown as nothing where it is something."""
    if value and value < 0.005:
        return "under USD 0.01"
    return f"USD {value:.2f}"


def format_duration(seconds: float) -> str:
    """How long, in the unit that fits."""
    if seconds < MINUTE_S:
        return f"{seconds:.0f} s"
    if seconds < HOUR_S:
        return f"{seconds / MINUTE_S:.0f} min"
    return f"{seconds / HOUR_S:.1f} h" if seconds < 2 * DAY_S else f"{seconds / DAY_S:.1f} days"


def shorten_paths(paths: Iterable[str]) -> dict[str, str]:
    """For each folder the end of its path that tells it from the others."""
    found = {path: PurePosixPath(path.replace("\\", "/")).parts for path in set(paths)}
    named = dict.fromkeys(found, "")
    for length in range(1, 1 + max((len(parts) for parts in found.values()), default=0)):
        for path in (path for path, name in named.items() if not name):
            tail = found[path][-length:]
            if length >= len(found[path]) or sum(other[-length:] == tail for other in found.values()) == 1:
                named[path] = "/".join(tail).replace("//", "/")
    return {path: name or UNKNOWN for path, name in named.items()}


def format_list(parts: Sequence[str], most: int) -> str:
    """The first few, and how many more there are."""
    return ", ".join([*parts[:most], f"and {len(parts) - most} more"] if len(parts) > most else parts)


def measure_ids(ids: Sequence[str]) -> int:
    """How much of the ids tells them apart."""
    length = 8
    while length < MOST_OF_ID and len({one[:length] for one in ids}) < len(set(ids)):
        length += 1
    return length


def format_time(stamp: str, zone: tzinfo | None = None) -> str:
    """A record's time in a time zone, or in the reader's own."""
    try:
        return datetime.fromisoformat(stamp).astimezone(zone).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return format_line(stamp, 16) or UNKNOWN


SPARKS = "▁▂▃▄▅▆▇█"


def format_sparkline(values: Sequence[float | None]) -> str:
    """Percentages as a row of bars from 0 to 100; a gap where there is none."""
    top = len(SPARKS) - 1
    return "".join(" " if one is None else SPARKS[min(top, max(0, round(one / 100 * top)))] for one in values)


def format_project(cwd: str) -> str:
    return PurePosixPath(cwd.replace("\\", "/")).name or UNKNOWN


def format_number(number: int) -> str:
    """1234567 as 1.2M."""
    for limit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.1f}{sign}"
    return str(number)


def format_cost(facts: dict[str, Any]) -> str:
    if facts["cost_usd"] is not None:
        return f"USD {facts['cost_usd']:.2f}"
    models = ", ".join(format_line(model, 40) for model in facts["unpriced_models"])
    return f"unpriced: {models}" if models else "unpriced: no model is named"


def sanitize_text(text: str) -> str:
    """The text with every character a terminal could obey replaced by a visible one."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(sanitize_char(char) for char in text.replace("\r\n", "\n"))


def sanitize_char(char: str) -> str:
    if char in KEPT or char in JOINERS or unicodedata.category(char) not in HIDDEN:
        return char
    return "\ufffd"


def format_line(text: str, width: int) -> str:
    """The text on one line, cut to a width."""
    flat = " ".join(sanitize_text(text).split())
    return flat if len(flat) <= width else flat[: max(0, width - 1)] + "…"


def format_words(text: str, width: int) -> str:
    """The text on one line, cut behind a whole word, where that leaves most of it."""
    flat = " ".join(sanitize_text(text).split())
    if len(flat) <= width:
        return format_line(text, width)
    kept = flat[: width - 2] if flat[width - 2] == " " else flat[: width - 2].rpartition(" ")[0]
    return f"{kept.rstrip()} …" if 2 * len(kept) > width else format_line(text, width)


def format_resume(one: StreamSummary) -> str:
    """The command that goes on with a conversation; nothing for agents that have none."""
    if one.agent == "claude-code":  # finds only what was begun in the same folder
        place = f"cd {shlex.quote(one.project)} && " if one.project else ""
        return f"{place}claude --resume {shlex.quote(PurePath(one.file).stem or one.id)}"
    return f"codex resume {shlex.quote(one.id)}" if one.agent == "codex" else ""


def format_end(text: str, width: int) -> str:
    """The text on one line, cut from the left: of a path its end tells most."""
    flat = " ".join(sanitize_text(text).split())
    return flat if len(flat) <= width else "…" + flat[len(flat) - max(0, width - 1) :]


def fit_names(names: Iterable[str], width: int) -> dict[str, str]:
    """For each name as much of it as fits: its end, or its beginning and end where other names end alike."""
    fitted: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(set(names), key=lambda one: (len(one) > width, one)):
        flat = " ".join(sanitize_text(name).split())
        found = next((one for one in shorten_name(flat, width, len(fitted)) if one not in taken), None)
        fitted[name] = found or format_end(flat, width)
        taken.add(fitted[name])
    return fitted


def shorten_name(flat: str, width: int, others: int) -> Iterator[str]:
    """Ways to fit a name, the best first; at last with a number, of which there is one more than other names."""
    yield format_end(flat, width)
    for n in range(1, width):
        yield f"{flat[:n]}…{flat[len(flat) - max(0, width - 1 - n) :]}"
    for n in range(2, 2 + others):
        yield f"{flat[: max(0, width - 1 - len(str(n)))]}~{n}"


def format_count(number: int, thing: str) -> str:
    """1 file, 2 files."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
