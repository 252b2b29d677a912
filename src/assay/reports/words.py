"""What is said of a session in few words, the same in every report."""

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from assay.reports.safe import one_line
from assay.scores.prism import explain_exclusion
from assay.scores.reasons import find_obstacle
from assay.types import Session

UNKNOWN = "–"
HELD_BACK = {
    "reworked": "later replaced",
    "unresolved_error": "error unresolved",
    "iteration_loop": "went in circles",
    "frustration": "frustration",
    "scope_abandoned": "given up",
    "check_failed": "check failed",
    "stopped": "stopped midway",
    "service": "service failed",
    "unanswered": "not answered",
    "waiting": "left waiting",
    "refused": "turned down",
    "complaint": "still wrong",
    "unchanged": "nothing changed",
    "admitted": "agent gave up",
    "partial": "partly done",
    "reverted": "taken back",
    "unverified": "unverified",
    "inconclusive": "no conclusion",
    "unconfirmed": "unconfirmed",
    "incomplete": "goal missed",
}
NOT_COUNTED = {"trivial": "trivial", "no_goal": "no goal", "opted_out": "opted out"}
MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: (UNKNOWN, "dim")}
MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400


def why(session: Session) -> str:
    """Why it crushed, did not, or does not count."""
    if left_out := explain_exclusion(session):
        return NOT_COUNTED.get(left_out, left_out)
    if kind := find_obstacle(session):
        return HELD_BACK.get(kind, plainly(kind))
    if session.evidence == "explicit" or session.confidence is None:
        return "explicit"
    return f"likely, {percent(100 * session.confidence)} %"


def plainly(name: str) -> str:
    """A name from the code, as words."""
    return one_line(name.replace("_", " "), 60)


def percent(value: float) -> str:
    """A whole number; 0 and 100 only where it is exactly that."""
    return str(min(99, max(1, round(value))) if 0 < value < 100 else round(value))


def dollars(value: float) -> str:
    """A sum that is never shown as nothing where it is something."""
    if value and value < 0.005:
        return "under USD 0.01"
    return f"USD {value:.2f}"


def span(seconds: float) -> str:
    """How long, in the unit that fits."""
    if seconds < MINUTE_S:
        return f"{seconds:.0f} s"
    if seconds < HOUR_S:
        return f"{seconds / MINUTE_S:.0f} min"
    return f"{seconds / HOUR_S:.1f} h" if seconds < 2 * DAY_S else f"{seconds / DAY_S:.1f} days"


def places(paths: Iterable[str]) -> dict[str, str]:
    """For each folder the end of its path that tells it from the others."""
    found = {path: PurePosixPath(path.replace("\\", "/")).parts for path in set(paths)}
    named = dict.fromkeys(found, "")
    for length in range(1, 1 + max((len(parts) for parts in found.values()), default=0)):
        for path in (path for path, name in named.items() if not name):
            tail = found[path][-length:]
            if length >= len(found[path]) or sum(other[-length:] == tail for other in found.values()) == 1:
                named[path] = "/".join(tail).replace("//", "/")
    return {path: name or UNKNOWN for path, name in named.items()}


def listed(parts: Sequence[str], most: int) -> str:
    """The first few, and how many more there are."""
    return ", ".join([*parts[:most], f"and {len(parts) - most} more"] if len(parts) > most else parts)
