"""What the PRISM Score says of a session, as scores: whether it landed, how sure that is, and what it was for."""

from collections.abc import Callable, Mapping
from typing import Any, get_args

from assay.langfuse.configs import ScoreConfig
from assay.langfuse.deriving import Target
from assay.langfuse.scores import ScoreWrite
from assay.types import Clean, Intent, Session

CRUSHED, COMPLETE, CONFIDENCE, INTENT = "assay_crushed", "assay_goal_complete", "assay_confidence", "assay_intent"
CONFIGS = (
    ScoreConfig(
        name=CRUSHED, data_type="BOOLEAN", description="Whether the session landed its goal, and its lines stand"
    ),
    ScoreConfig(name=COMPLETE, data_type="BOOLEAN", description="Whether the goal was reached"),
    ScoreConfig(
        name=CONFIDENCE,
        data_type="NUMERIC",
        min_value=0.0,
        max_value=1.0,
        description="The judge's probability that the goal was reached",
    ),
    ScoreConfig(
        name=INTENT, data_type="CATEGORICAL", categories=get_args(Intent), description="What the session was for"
    ),
)
LINES = {
    "yes": "Its lines were later replaced.",
    "no": "Its lines stand.",
    "open": "Its lines stand so far.",
    "not_judged": "Its lines are too few to follow.",
    "unknown": "What became of its lines is not known.",
}
KINDS = {one.name: one.data_type for one in CONFIGS}


def facts_of(
    session: Session, target: Target, ids: Mapping[str, str], clean: Callable[[str], Clean]
) -> list[ScoreWrite]:
    """The scores of a session that was graded; none of one that was not."""
    if session.judge_status != "ok":
        return []
    values: dict[str, bool | float | str | None] = {
        CRUSHED: session.crushed,
        COMPLETE: session.goal_complete,
        CONFIDENCE: session.confidence,
        INTENT: session.intent,
    }
    told, comments = metadata(session, clean), comments_on(session)
    return [
        ScoreWrite(
            session=target.session,
            trace=target.trace,
            name=name,
            of=target.part,
            data_type=KINDS[name],
            value=value,
            timestamp=target.timestamp,
            comment=clean(comments[name]),
            metadata=told,
            config_id=ids.get(name, ""),
        )
        for name, value in values.items()
        if value is not None
    ]


def metadata(session: Session, clean: Callable[[str], Clean]) -> dict[str, Any]:
    """Who judged, and the words on which it rests; who changed the lines later is nobody's business there."""
    rework = session.facts.get("rework") or {}
    return {
        "assay_session": session.id,
        "judge": session.judge,
        "judge_version": session.judge_versions,
        "fallback": clean(session.fallback) if session.fallback else None,
        "evidence": session.evidence,
        "citations": [{"turn": one.turn, "quote": clean(one.quote)} for one in session.citations],
        "rework": rework.get("state"),
        "rework_share": rework.get("share"),
    }


def comments_on(session: Session) -> dict[str, str]:
    """Why each is as it is, in our own words."""
    by = {"explicit": "explicit evidence", "silent": "silent evidence", "failure": "a failure signal"}
    grounds = f"By {by[session.evidence]}." if session.evidence else "No evidence is told."
    rework = (session.facts.get("rework") or {}).get("state")
    landed = "The goal was reached." if session.goal_complete else "The goal was not reached."
    return {
        CRUSHED: f"{landed} {LINES.get(str(rework), LINES['unknown'])}",
        COMPLETE: grounds,
        CONFIDENCE: grounds,
        INTENT: f"Judged by {session.judge}.",
    }
