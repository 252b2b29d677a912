"""Labelled streams, and the sessions that `assay score --json` made of them.

A goal belongs to the session that holds its first prompt. Times are compared to the millisecond.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.pipeline.read_file import read_file
from assay.sessions.calls import list_calls
from assay.sessions.endings import BROKEN_ENDINGS

ENDINGS: frozenset[str] = frozenset(BROKEN_ENDINGS) | {"stopped", "broken_after_showing"}
"""Kinds of reasons that say a session did not end properly."""
DONE = frozenset({"says_done"})
"""Kinds of reasons that say the agent called it done."""
SIGNALS = {
    "unresolved_error": "unresolved_error",
    "abandoned": "scope_abandoned",
    "frustration": "frustration",
    "iteration_loop": "iteration_loop",
}
"""Failures as labels name them, and as facts do."""
NONE, NULL = "none", "null"
"""An intent that assay does not name, and one that the readers did not."""
CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")


@dataclass(frozen=True)
class Transcript:
    """What the baselines need to know of a transcript itself."""

    commits: tuple[float, ...]
    """When something was committed."""
    cjk: frozenset[float]
    """Prompts with Chinese, Japanese or Korean in them."""


@dataclass(frozen=True)
class Goal:
    """A labelled goal and the session it fell into."""

    agent: str
    script: str
    """Of its first prompt: `CJK`, `other`, or empty where the transcript is not there."""
    intents: tuple[str, ...]
    """Any of them is right."""
    is_complete: bool | None
    failures: tuple[str | None, ...]
    """As facts name them; any of them is right, and `None` is no failure."""
    session: dict[str, Any] | None
    repository: str = ""

    @property
    def kinds(self) -> set[str]:
        """Kinds of reasons that the outcome judge gave."""
        return {reason["kind"] for reason in (self.session or {}).get("reasons") or ()}

    @property
    def ended_properly(self) -> bool:
        return not self.kinds & ENDINGS

    @property
    def is_graded(self) -> bool:
        """Both sides say whether it was completed."""
        return (
            self.is_complete is not None and self.session is not None and self.session.get("goal_complete") is not None
        )

    @property
    def signals(self) -> set[str]:
        """Failure signals that fired."""
        facts = (self.session or {}).get("facts") or {}
        return {signal["kind"] for signal in facts.get("failure_signals") or ()}


@dataclass(frozen=True)
class Stream:
    """A labelled stream: where its goals begin, and where assay's sessions do."""

    prompts: tuple[float, ...]
    found: int
    """Prompts that are in some session."""
    boundaries: frozenset[float]
    """Where a goal begins inside the stream."""
    maybe: frozenset[float]
    """What only one reader saw."""
    said: frozenset[float]
    first: float | None
    commits: tuple[float, ...] | None
    goals: tuple[Goal, ...]
    repository: str = ""

    @property
    def gaps(self) -> frozenset[float]:
        """Prompts before which a boundary could lie."""
        return frozenset(self.prompts) - {self.first}


def when(stamp: str) -> float:
    return round(datetime.fromisoformat(stamp).timestamp(), 3)


def transcript(file: Path) -> Transcript:
    """Commits that did not fail, and prompts in another script."""
    turns = read_file(file).turns
    prompts = [turn.prompt for turn in turns if turn.prompt and turn.prompt.at]
    commits = [
        when(call.at)
        for call in list_calls(turns)
        if call.at and call.status not in ("rejected", "denied", "open")
        if any(run.purpose == "commit" and run.outcome != "failed" for run in call.runs)
    ]
    return Transcript(tuple(commits), frozenset(when(one.at) for one in prompts if CJK.search(one.text)))


def transcripts(corpus: Path, names: Iterable[str]) -> dict[str, Transcript]:
    """Those of the named files that lie in the corpus."""
    wanted = set(names)
    return {file.name: transcript(file) for file in sorted(corpus.rglob("*.jsonl")) if file.name in wanted}


def match(gold: list[dict[str, Any]], sessions: list[dict[str, Any]], read: dict[str, Transcript]) -> list[Stream]:
    """Labelled streams with what assay says of them."""
    holding: dict[float, dict[str, Any]] = {}
    starts: set[float] = set()
    for session in sessions:
        times = [when(stamp) for stamp in session["prompts_at"]]
        holding.update(dict.fromkeys(times, session))
        starts.update(times[:1])
    return [stream(line, holding, starts, read.get(line["file"])) for line in gold]


def stream(
    line: dict[str, Any], holding: dict[float, dict[str, Any]], starts: set[float], text: Transcript | None
) -> Stream:
    """One line of labels."""
    stamps = [when(stamp) for stamp in line["prompts_at"]]
    begun = {when(label["at"]) for label in line["goals"]}
    first = min(begun, default=None)
    return Stream(
        prompts=tuple(sorted(stamps)),
        found=sum(stamp in holding for stamp in stamps),
        boundaries=frozenset(begun - {first}),
        maybe=frozenset(map(when, line["maybe_starts_at"])),
        said=frozenset(starts & set(stamps) - {first}),
        first=first,
        commits=text.commits if text else None,
        goals=tuple(goal(line, label, holding.get(when(label["at"])), text) for label in line["goals"]),
        repository=line.get("source", ""),
    )


def goal(line: dict[str, Any], label: dict[str, Any], session: dict[str, Any] | None, text: Transcript | None) -> Goal:
    return Goal(
        agent=line["agent"],
        script="" if text is None else "CJK" if when(label["at"]) in text.cjk else "other",
        intents=tuple(NULL if name is None else name for name in listed(label["intent"])),
        is_complete=label["goal_complete"],
        failures=tuple(SIGNALS.get(name, name) for name in listed(label["failure"])),
        session=session,
        repository=line.get("source", ""),
    )


def listed(label: Any) -> list[Any]:
    """A label on which the readers differed is a list."""
    return label if isinstance(label, list) else [label]
