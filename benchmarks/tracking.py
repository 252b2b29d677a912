"""How far assay's rework agrees with `git blame` at day 14, and why where it does not."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import correlation, median
from typing import NamedTuple

from assay.types import ReworkResult
from benchmarks.blame import WAYS, Blame, plain
from benchmarks.chronicle import History, Session
from benchmarks.history import DAY, WINDOW_DAYS
from benchmarks.made_code import FATES, GONE, HAS_TWIN

MIN_LINES, SHARE, LONG = 10, 0.5, 300
APART = 0.1
"""Shares that differ by more are listed."""
FEW, PART = 3, 0.05
"""Lines, and their share, by which a count may be off without a reason: lines that stand in a file twice."""
STATES = ("yes", "no", "open", "unknown", "not_judged")


class Case(NamedTuple):
    """A session whose window has ended."""

    session: Session
    lines: int
    """Lines of code and tests that reached the main branch, without those that tell nothing."""
    fates: Counter[str]
    """What became of them, as the history itself knows."""
    left: Mapping[str, int]
    """Those still its own, by way of blaming."""
    ours: ReworkResult

    @property
    def gone(self) -> float:
        return self.ours.share or 0.0

    @property
    def truly(self) -> float:
        return (self.fates[GONE] + self.fates[HAS_TWIN]) / self.lines

    def blamed(self, way: str) -> float:
        """The share that is not its own any more."""
        return 1 - self.left[way] / self.lines

    @property
    def is_right(self) -> bool:
        """Whether assay counts as gone what is gone; of a line that stood or stands elsewhere too nobody can tell."""
        slack = max(FEW, PART * self.lines)
        least = self.fates[GONE] - slack
        return least <= self.gone * self.lines <= least + self.fates[HAS_TWIN] + 2 * slack

    @property
    def tolerated(self) -> dict[str, int]:
        """Lines that are changed but not gone, by what happened to them."""
        return {name: self.fates[name] for name in (*FATES.values(), "lost in a merge") if self.fates[name]}

    def aside(self, way: str) -> tuple[float, float]:
        """Both shares of the lines that were not edited, moved, wrapped or brought back."""
        others = sum(self.tolerated.values())
        lines = max(1, self.lines - others)
        return min(1.0, self.gone * self.lines / lines), max(0.0, self.lines - self.left[way] - others) / lines


@dataclass(frozen=True)
class Agreement:
    """Two opinions on the same sessions; `None` where nothing varies."""

    n: int
    r: float | None
    median_difference: float
    within: int
    """Sessions whose shares differ by at most 0.1."""
    both: int
    ours_only: int
    other_only: int
    neither: int


def cases(history: History, said: Mapping[str, ReworkResult]) -> list[Case]:
    """Sessions that can be judged, each with all opinions."""
    blame = Blame(history.repo)
    found = []
    for session in history.sessions:
        telling = texts_of(session)
        if session.fates is None or len(telling) < MIN_LINES:
            continue
        commits = {history.ids[mark] for mark in session.landed}
        texts, until = Counter(telling.values()), session.landed_at + WINDOW_DAYS * DAY
        left = {way: blame.left(until, commits, texts, way) for way in WAYS}
        fates = Counter(session.fates[root] for root in telling)
        found.append(Case(session, len(telling), fates, left, said[session.id]))
    return found


def texts_of(session: Session) -> dict[int, str]:
    """Lines that reached the main branch, without white space; those that tell nothing are left out."""
    lines = ((root, plain(text)) for lines in session.lines.values() for root, text in lines.items())
    return {root: text for root, text in lines if text and root in session.reached}


def agreement(pairs: Sequence[tuple[float, float]]) -> Agreement:
    """Of two shares of lines gone, ours first."""
    ours, others = [a for a, _ in pairs], [b for _, b in pairs]
    varies = len(set(ours)) > 1 and len(set(others)) > 1
    above = Counter((a >= SHARE, b >= SHARE) for a, b in pairs)
    return Agreement(
        n=len(pairs),
        r=correlation(ours, others) if varies else None,
        median_difference=median(a - b for a, b in pairs),
        within=sum(abs(a - b) <= APART for a, b in pairs),
        both=above[True, True],
        ours_only=above[True, False],
        other_only=above[False, True],
        neither=above[False, False],
    )


def disagreements(found: Sequence[Case], way: str) -> list[Case]:
    """Sessions whose shares lie apart, or on the two sides of one half."""
    return [
        case
        for case in found
        if abs(case.gone - case.blamed(way)) > APART or (case.gone >= SHARE) != (case.blamed(way) >= SHARE)
    ]


def reasons(case: Case, way: str) -> dict[str, int]:
    """Lines that blame gives to others although they stand in some form, by what happened to them.

    `unexplained` counts lines by which assay is off from what the history knows.
    """
    if not case.is_right:
        return {"unexplained": round(abs(case.gone - case.truly) * case.lines)}
    tolerated = case.tolerated
    if case.gone < case.truly and case.fates[HAS_TWIN]:
        tolerated[HAS_TWIN] = case.fates[HAS_TWIN]
    rest = case.lines - case.left[way] - round(case.truly * case.lines) - sum(case.tolerated.values())
    if rest > max(FEW, PART * case.lines):
        return {**tolerated, "unchanged, but another commit's to blame": rest}
    if -rest > max(FEW, PART * case.lines):
        return {**tolerated, "changed, but the session's own to blame": -rest}
    return tolerated


def expected(session: Session, final: float) -> str:
    """The state by DESIGN's rule, from what the history knows of each line."""
    telling = texts_of(session)
    if not telling:
        wrote = [text for lines in session.lines.values() for root, text in lines.items() if root in session.counted]
        return "unknown" if sum(map(bool, map(plain, wrote))) >= MIN_LINES else "not_judged"
    if session.is_reverted:
        return "yes"
    if len(telling) < MIN_LINES:
        return "not_judged"
    if session.fates is None or session.landed_at + WINDOW_DAYS * DAY > final:
        return "open"
    parts = [telling.keys(), *(session.steps if len(telling) > LONG else ())]
    return "yes" if any(is_gone(part & telling.keys(), session.fates) for part in parts) else "no"


def is_gone(roots: set[int], fates: Mapping[int, str]) -> bool:
    gone = sum(fates[root] in (GONE, HAS_TWIN) for root in roots)
    return len(roots) >= MIN_LINES and gone >= SHARE * len(roots)
