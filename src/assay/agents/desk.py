"""What an agent may ask of a person's sessions: seven questions, each answered in small pages, cited and redacted.

Nothing is changed by asking, but that transcripts are read into the store as `assay score` reads them. Sessions come
through `pipeline` as every report's do; quotes name the turn that they stand in.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from threading import Lock
from typing import Any

import msgspec
from msgspec import Struct

from assay.config import Config, pick_zone
from assay.errors import BadInput
from assay.pipeline import privacy
from assay.pipeline.habits import judge_habits
from assay.pipeline.inputs import parse_project, parse_time, pick_report_time
from assay.pipeline.lookup import find_sessions, read_turns
from assay.pipeline.pool import ignore_progress
from assay.pipeline.score import open_run, read_transcripts, score_run
from assay.pipeline.scoring_run import Selection
from assay.pipeline.search import search_sessions
from assay.pipeline.sides import parse_side
from assay.scores import profiles
from assay.scores.advice import PROFILE, build_advice
from assay.scores.comparison import compare_groups
from assay.scores.reasons import REASONS, find_obstacle
from assay.scores.report import Report
from assay.stores import Store, open_store, pick_store_url
from assay.types import Session, Turn

MOST_ROWS, MOST_TURNS = 50, 10
LONGEST_TEXT = 400
LONGEST_WORDS = 500
MOST_EVIDENCE = 12
PERIODS = ("day", "week", "month")


class SessionChoice(Struct, frozen=True, kw_only=True):
    """Which sessions are meant."""

    since: str = ""
    until: str = ""
    project: str = ""


class Desk:
    """Answers one question at a time."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.lock = Lock()

    @contextmanager
    def open_report(self, choice: SessionChoice) -> Iterator[tuple[Store, Report, list[Session]]]:
        """The report on some sessions, up to date, and the store it was made from."""
        zone = pick_zone(self.config)
        selection = Selection(
            since=parse_time(choice.since, "since", zone),
            until=parse_time(choice.until, "until", zone),
            project=parse_project(choice.project[:LONGEST_WORDS]),
        )
        with (
            self.lock,
            read_transcripts(None, self.config, 1, may_be_empty=True) as found,
            open_run(found.store, self.config, found.changes.roots, selection=selection, jobs=1) as run,
        ):
            report = score_run(run, found.changes.unreadable, remembers=False).report
            yield found.store, report, list(report.sessions)

    def list_sessions(self, choice: SessionChoice, crushed: bool | None, words: str, page: int) -> dict[str, Any]:
        """A page of sessions, the latest first; with words, those in which they were said."""
        with self.open_report(choice) as (store, _, sessions):
            rules = privacy.build_rules(self.config, pick_report_time(self.config))
            some = [one for one in sessions if crushed is None or one.crushed is crushed]
            some = search_sessions(store, some, words[:LONGEST_WORDS], rules) if words else some
        some.sort(key=lambda one: (one.started_at, one.id), reverse=True)
        first = max(page, 0) * MOST_ROWS
        more = first + MOST_ROWS < len(some)
        rows = [summarize_session(one) for one in some[first : first + MOST_ROWS]]
        return {"sessions": rows, "total": len(some), "next_page": page + 1 if more else None}

    def show_session(self, id: str, turns_from: int | None) -> dict[str, Any]:
        """One session with its evidence; with `turns_from`, a page of what was said in it."""
        with self.lock, self.open_store() as store:
            found = find_sessions(store, self.config, id[:100]) if id else []
            if len(found) != 1:
                how = "is the beginning of several" if found else "is no session"
                raise BadInput(f"{id[:100]!r} {how}; list_sessions gives their ids")
            told = explain_session(found[0])
            if turns_from is not None:
                told["turns"] = list_turns(read_turns(store, self.config, found[0]), max(turns_from, 0))
        return told

    @contextmanager
    def open_store(self) -> Iterator[Store]:
        store = open_store(pick_store_url(self.config.store, os.environ))
        try:
            yield store
        finally:
            store.close()

    def explain_score(self, choice: SessionChoice) -> dict[str, Any]:
        """The score, where sessions drop out, and the commonest reasons with an example each."""
        with self.open_report(choice) as (_, report, sessions):
            told = msgspec.to_builtins({"score": report.score, "waterfall": report.waterfall, "judge": report.judge})
        reasons: dict[str, list[str]] = {}
        for one in sessions:
            if one.crushed is False and (why := find_obstacle(one)):
                reasons.setdefault(why, []).append(one.id)
        ranked = sorted(reasons.items(), key=lambda pair: (-len(pair[1]), pair[0]))[:5]
        told["not_landed"] = [
            {"reason": name, "says": describe_reason(name), "sessions": len(ids), "examples": ids[-2:]}
            for name, ids in ranked
        ]
        return dict(told)

    def tell_trend(self, choice: SessionChoice, by: str) -> dict[str, Any]:
        """The score of each day, week or month, and whether it rises or falls."""
        if by not in PERIODS:
            raise BadInput(f"by {by!r}: give one of {', '.join(PERIODS)}")
        with self.open_report(choice) as (_, report, _sessions):
            points = report.slices[by][-60:]
            return {"by": by, "points": msgspec.to_builtins(points), "trend": msgspec.to_builtins(report.trends[by])}

    def compare_sides(self, one: str, other: str) -> dict[str, Any]:
        """Two groups of sessions beside each other, as `assay compare` names them."""
        now = datetime.now(pick_zone(self.config))
        with self.open_report(SessionChoice()) as (_, _report, sessions):
            sides = [parse_side(word[:LONGEST_WORDS], sessions, now) for word in (one, other)]
            groups = [(side.name, [each for each in sessions if side.takes(each)]) for side in sides]
        for name, some in groups:
            if not some:
                raise BadInput(f"{name!r}: no session; list_sessions gives those there are")
        found: dict[str, Any] = msgspec.to_builtins(compare_groups(groups[0], groups[1], pick_zone(self.config)))
        return found

    def advise(self, choice: SessionChoice) -> dict[str, Any]:
        """Which habits go with not landing, how sure that is, and what to tell the agent."""
        profile = profiles.load_profile(PROFILE)
        with self.open_report(choice) as (store, _, sessions):
            qualities = judge_habits(store, self.config, sessions, profile, ignore_progress)
        found: dict[str, Any] = msgspec.to_builtins(build_advice(sessions, qualities, profile))
        return found


def summarize_session(one: Session) -> dict[str, Any]:
    """A session in a row."""
    why = find_obstacle(one) if one.crushed is False else None
    return {
        "id": one.id,
        "title": one.title[:LONGEST_TEXT],
        "started_at": one.started_at,
        "agent": one.agent,
        "project": one.project[:LONGEST_TEXT],
        "intent": one.intent,
        "status": one.judge_status,
        "crushed": one.crushed,
        "why_not": describe_reason(why) if why else None,
        "turns": one.facts.get("turns"),
        "cost_usd": one.facts.get("cost_usd"),
    }


def describe_reason(name: str) -> str:
    found = REASONS.get(name)
    return str(getattr(found, "says", found)) if found else name


def explain_session(one: Session) -> dict[str, Any]:
    """A session with what speaks for and against it, each with its turn."""
    wanted = ("turns", "lines_added", "lines_removed", "tool_calls", "mutating_calls", "tokens", "cost_usd", "files",
              "failure_signals", "rework", "commits")  # fmt: skip
    facts = {name: shorten(value) for name in wanted if (value := one.facts.get(name)) is not None}
    told = {
        "summary": one.summary[:LONGEST_TEXT],
        "boundary": one.boundary,
        "merged_from": one.merged_from,
        "goal_complete": one.goal_complete,
        "confidence": one.confidence,
        "evidence": one.evidence,
        "citations": one.citations[:MOST_EVIDENCE],
        "reasons": sorted(one.reasons, key=lambda reason: -abs(reason.weight))[:MOST_EVIDENCE],
        "judge": one.judge,
        "fallback": one.fallback,
    }
    found: dict[str, Any] = summarize_session(one) | msgspec.to_builtins(told) | {"facts": msgspec.to_builtins(facts)}
    return found


def shorten(value: Any) -> Any:
    return value[:MOST_EVIDENCE] if isinstance(value, list) else value


def list_turns(turns: Sequence[Turn], first: int) -> dict[str, Any]:
    """A page of turns in short, with their numbers."""
    some = turns[first : first + MOST_TURNS]
    rows = [
        {
            "turn": first + n,
            "prompt": turn.prompt.text[:LONGEST_TEXT] if turn.prompt else None,
            "reply": turn.replies[-1].text[-LONGEST_TEXT:] if turn.replies else None,
            "calls": len(turn.calls),
            "failed": sum(call.status == "error" for call in turn.calls),
        }
        for n, turn in enumerate(some)
    ]
    more = first + MOST_TURNS < len(turns)
    return {"rows": rows, "total": len(turns), "next": first + MOST_TURNS if more else None}
