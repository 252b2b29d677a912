"""What sessions come to in Langfuse: score configs and scores, of a profile's dimensions and of the PRISM Score."""

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, get_args

from assay.langfuse.configs import WantedConfig
from assay.langfuse.scores import ScoreWrite
from assay.scores import profiles
from assay.types import CleanText, Intent, Session, Value
from assay.types.quality import Dimension, Profile, Quality

CRUSHED, COMPLETE, CONFIDENCE, INTENT = "assay_crushed", "assay_goal_complete", "assay_confidence", "assay_intent"
FACT_CONFIGS = (
    WantedConfig(
        name=CRUSHED, data_type="BOOLEAN", description="Whether the session landed its goal, and its lines stand"
    ),
    WantedConfig(name=COMPLETE, data_type="BOOLEAN", description="Whether the goal was reached"),
    WantedConfig(
        name=CONFIDENCE,
        data_type="NUMERIC",
        min_value=0.0,
        max_value=1.0,
        description="The judge's probability that the goal was reached",
    ),
    WantedConfig(
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
KINDS = {one.name: one.data_type for one in FACT_CONFIGS}


class ScoreTarget(Value, frozen=True):
    """The session or trace that scores are written on."""

    session: str
    """Langfuse's id of it."""
    timestamp: str
    """Best when it began: that never moves."""
    trace: str = ""
    """Written on this trace instead of on the session."""
    part: str = ""
    """Which of several goals of that session they are about; empty for all of it."""
    environment: str = ""


Locate = Callable[[int, str], Mapping[str, str]]
"""Where in Langfuse the words of a turn stand."""
PLAIN = "enhanced"
"""The profile whose scores have plain names; those of others name their profile, for both may stand on one session."""
LONGEST = 35


def locate_nothing(_turn: int, _quote: str) -> Mapping[str, str]:
    return {}


def name_score(profile: str, name: str) -> str:
    """The name of a score in Langfuse, where 35 characters are the most."""
    if profile == PLAIN:
        return name
    if len(whole := f"{name} ({profile})") <= LONGEST:
        return whole
    mark = blake2b(whole.encode(), digest_size=2).hexdigest()
    room = LONGEST - len(mark) - 4
    kept = min(len(profile), max(room - len(name), 8))
    return f"{name[: room - kept]} ({profile[:kept]}.{mark})"


def build_configs(profile: Profile) -> list[WantedConfig]:
    """The score configs of a profile's dimensions and of its overall quality."""
    return [
        WantedConfig(
            name=name_score(profile.name, one.name),
            data_type=one.type,
            min_value=one.min,
            max_value=one.max,
            categories=tuple(label for label, _ in sorted(one.categories, key=lambda category: category[1])),
            description=one.description,
        )
        for one in profiles.list_score_definitions(profile)
    ]


def build_quality_scores(
    quality: Quality,
    profile: Profile,
    target: ScoreTarget,
    ids: Mapping[str, str],
    clean: Callable[[str], CleanText],
    locate: Locate = locate_nothing,
) -> list[ScoreWrite]:
    """A score for each dimension that was graded, and one for the whole; `ids` are those of the configs, by name.

    What is ungraded gives no score. A dimension without a config (it was mismatched) gives one without a config.
    """
    of = "/".join(part for part in (profile.name, target.part) if part)
    told: dict[str, Any] = {"profile": profile.name, "profile_version": quality.profile_version, "judge": quality.judge}
    told |= {"judge_version": quality.judge_versions, "assay_session": quality.session}
    found = []
    for scale in profile.dimensions:
        one = quality.dimensions.get(scale.name)
        if one is None or one.score is None:
            continue
        is_label, name = scale.kind == "categorical", name_score(profile.name, scale.name)
        found.append(
            ScoreWrite(
                session=target.session,
                trace=target.trace,
                environment=target.environment,
                name=name,
                of=of,
                data_type="CATEGORICAL" if is_label else "NUMERIC",
                value=(scale.label(one.score) or "") if is_label else one.score,
                timestamp=target.timestamp,
                comment=clean(one.rationale),
                metadata=told | build_evidence(one, clean, locate),
                config_id=ids.get(name, ""),
            )
        )
    return [*found, *build_overall(quality, target, of, told, ids)]


def build_evidence(one: Dimension, clean: Callable[[str], CleanText], locate: Locate) -> dict[str, Any]:
    """The turns a dimension's score rests on, with words that stand there, and where that is in Langfuse."""
    cited = [{"turn": it.turn, "quote": clean(it.quote), **locate(it.turn, it.quote)} for it in one.evidence]
    told: dict[str, Any] = {"label": one.label, "evidence": cited}
    return told | ({"chunk_scores": one.chunk_scores, "coverage": one.coverage} if one.chunk_scores else {})


def build_overall(
    quality: Quality, target: ScoreTarget, of: str, told: dict[str, Any], ids: Mapping[str, str]
) -> Iterator[ScoreWrite]:
    """The overall quality if there is one, and what it was computed from."""
    if quality.overall_quality is None:
        return
    missing = f"; without {', '.join(quality.missing)}" if quality.missing else ""
    name = name_score(quality.profile, profiles.OVERALL)
    yield ScoreWrite(
        session=target.session,
        trace=target.trace,
        environment=target.environment,
        name=name,
        of=of,
        data_type="NUMERIC",
        value=quality.overall_quality,
        timestamp=target.timestamp,
        comment=CleanText(f"Weighted mean of {', '.join(quality.computed_from)}{missing}"),
        metadata=told | {"computed_from": quality.computed_from, "missing": quality.missing},
        config_id=ids.get(name, ""),
    )


# --- of the PRISM Score: whether it landed, how sure that is, and what it was for --------------------


def build_fact_scores(
    session: Session,
    target: ScoreTarget,
    ids: Mapping[str, str],
    clean: Callable[[str], CleanText],
    locate: Locate = locate_nothing,
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
    told, comments = build_metadata(session, clean, locate), write_comments(session)
    return [
        ScoreWrite(
            session=target.session,
            trace=target.trace,
            environment=target.environment,
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


def build_metadata(session: Session, clean: Callable[[str], CleanText], locate: Locate) -> dict[str, Any]:
    """Who judged, and the words on which it rests; who changed the lines later is nobody's business there."""
    rework = session.facts.get("rework") or {}
    return {
        "assay_session": session.id,
        "judge": session.judge,
        "judge_version": session.judge_versions,
        "fallback": clean(session.fallback) if session.fallback else None,
        "evidence": session.evidence,
        "citations": [
            {"turn": one.turn, "quote": clean(one.quote), **locate(one.turn, one.quote)} for one in session.citations
        ],
        "marked": session.marked and {"verdict": session.marked.verdict, "why": clean(session.marked.why)},
        "rework": rework.get("state"),
        "rework_share": rework.get("share"),
    }


def write_comments(session: Session) -> dict[str, str]:
    """Why each is as it is, in our own words."""
    by = {"explicit": "explicit evidence", "silent": "silent evidence", "failure": "a failure signal"}
    grounds = f"By {by[session.evidence]}." if session.evidence else "No evidence is told."
    if session.marked:
        said = f"A person said: {'landed' if session.goal_complete else 'not landed'}."
        return {CRUSHED: said, COMPLETE: said, CONFIDENCE: grounds, INTENT: f"Judged by {session.judge}."}
    rework = (session.facts.get("rework") or {}).get("state")
    landed = "The goal was reached." if session.goal_complete else "The goal was not reached."
    return {
        CRUSHED: f"{landed} {LINES.get(str(rework), LINES['unknown'])}",
        COMPLETE: grounds,
        CONFIDENCE: grounds,
        INTENT: f"Judged by {session.judge}.",
    }
