"""Sessions made by hand: one that crushed, and whatever a test wants to be different about it."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.judges.criteria import FLOORS
from assay.pipeline.verdicts import mark_session
from assay.scores.prism import has_crushed
from assay.types import Boundary, Failure, JudgeStatus, PersonVerdict, Reason, Session, VerdictKind

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
NUMBERS = count(1)
STATUSES: list[JudgeStatus] = [
    "ok", "ok", "ok", "unclear", "in_progress", "no_goal", "ungraded", "opted_out", "trivial", "excluded",
]  # fmt: skip
VERDICTS: list[VerdictKind | None] = [None, None, None, None, "landed", "not", "exclude", "unclear"]
BOUNDARY = Boundary(signal="conversation", confidence=1.0, evidence="a new conversation")


def facts_of(**more: Any) -> dict[str, Any]:
    """Facts as they stand in the JSON."""
    plain = {
        "turns": 4,
        "substance": True,
        "tokens": {"input": 10, "output": 20, "cache_read": 60, "cache_write": 10},
        "cost_usd": 0.5,
        "active_s": 600.0,
        "wall_s": 900.0,
        "checks": {},
        "failure_signals": [],
        "rework": {"state": "no", "by": None, "share": None},
    }
    return plain | more


def session_of(*, day: float = 0, rework: str = "no", facts: dict[str, Any] | None = None, **more: Any) -> Session:
    """A session that crushed, `day` days after the first."""
    began = (BEGAN + timedelta(days=day)).isoformat().replace("+00:00", "Z")
    known = facts_of(rework={"state": rework, "by": None, "share": None}) | (facts or {})
    plain: dict[str, Any] = {
        "id": f"{next(NUMBERS):012x}",
        "agent": "claude-code",
        "project": "loom",
        "branch": "main",
        "models": ["claude-sonnet-4-5"],
        "streams": ["s1"],
        "started_at": began,
        "ended_at": began,
        "prompts_at": [began],
        "boundary": BOUNDARY,
        "merged_from": [],
        "facts": known,
        "language": "en",
        "programming_language": "Python",
        "intent": "bug_fix",
        "judge_status": "ok",
        "ungraded_reason": None,
        "goal_complete": True,
        "confidence": 0.9,
        "evidence": "explicit",
        "citations": [],
        "reasons": [],
        "intent_reasons": [],
        "crushed": None,
        "title": "Weave the blue scarf",
        "summary": "",
        "grade": "B",
        "checks": {},
        "judge_versions": {"outcome": "1"},
    }
    made = Session(**plain | more)
    return made if "crushed" in more else replace(made, crushed=has_crushed(made))


def missed(**more: Any) -> Session:
    """A session that counts and did not crush: silence, below its floor."""
    return session_of(**{"goal_complete": False, "confidence": 0.4, "evidence": "silent"} | more)


def failing(*kinds: Any, **more: Any) -> Session:
    """A session with failure signals in its last turns."""
    signals = [{"kind": one.kind, "turn": one.turn, "quote": one.quote} for one in map(signal, kinds)]
    return missed(evidence="failure", facts={"failure_signals": signals} | more.pop("facts", {}), **more)


def signal(kind: Any) -> Failure:
    return Failure(kind=kind, turn=4, quote="no")


def reason(kind: str, weight: float) -> Reason:
    return Reason(kind=kind, turn=4, quote="no", weight=weight)


def checked(last: str | None = "passed", is_stale: bool = False, purpose: str = "test") -> dict[str, Any]:
    """Facts with one kind of check that was run."""
    counts = {"passed": int(last == "passed"), "failed": int(last == "failed"), "unknown": int(last is None)}
    return {"checks": {purpose: counts | {"last": last, "is_stale": is_stale}}}


@st.composite
def any_session(draw: st.DrawFn) -> Session:
    """A session in any state, sensible or not."""
    shares = st.floats(0, 1)
    found = session_of(
        day=draw(st.floats(0, 70)),
        rework=draw(st.sampled_from(["yes", "no", "open", "unknown", "not_judged"])),
        facts={
            "substance": draw(st.booleans()),
            "cost_usd": draw(st.none() | st.floats(0, 100)),
            "active_s": draw(st.none() | st.floats(0, 10_000)),
            "turns": draw(st.integers(0, 50)),
        },
        judge_status=draw(st.sampled_from(STATUSES)),
        ungraded_reason=draw(st.sampled_from([None, "thin evidence"])),
        intent=draw(st.none() | st.sampled_from(sorted(FLOORS))),
        goal_complete=draw(st.sampled_from([None, True, False])),
        confidence=draw(st.none() | shares),
        evidence=draw(st.sampled_from([None, "explicit", "silent", "failure"])),
        grade=draw(st.sampled_from([None, "A+", "B", "C-", "F"])),
        checks=draw(st.dictionaries(st.sampled_from(["goal_explicit", "plan_first"]), st.none() | st.booleans())),
        models=draw(st.lists(st.sampled_from(["opus", "haiku"]))),
        reasons=[reason("unheard_of", draw(st.floats(-3, 3)))],
    )
    said = draw(st.sampled_from(VERDICTS))
    if said is None:
        return found
    return mark_session(found, [PersonVerdict(turn=found.id, verdict=said, is_sampled=draw(st.booleans()))])


SESSIONS = st.lists(any_session(), max_size=8)
SHUFFLED = SESSIONS.flatmap(lambda found: st.tuples(st.just(found), st.permutations(found)))
"""The same sessions in two orders."""
QUICK = settings(max_examples=50, deadline=None)
