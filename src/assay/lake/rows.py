"""Sessions, ledger, turns, quality and trials as rows of a lake's tables."""

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from typing import Any

import msgspec

from assay.lake.tables import (
    CitedTurn,
    JudgementColumns,
    LineAge,
    QualityColumns,
    SessionColumns,
    TrialColumns,
    TurnColumns,
    WeighedReason,
)
from assay.scores.audit import find_chance, is_answered, is_drawable
from assay.scores.breakdown import NAMES, find_day
from assay.scores.measures import count_tokens
from assay.scores.prism import explain_exclusion, find_rework_state, name_judge
from assay.scores.reasons import advise_session, find_obstacle
from assay.scores.steps import follow_steps
from assay.scores.survival import Age
from assay.scores.tally import CHECKS
from assay.types import Session, Turn
from assay.types.evals import Trial
from assay.types.quality import Quality

SAID_OF = ("project", "branch", "model", "intent", "language", "tenant", "person", "machine")
"""Ways to slice by that are columns of their own; the agent is one anyway, and periods come from the day."""
OVERALL = "overall_quality"


class RowContext(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept beside a session, in the store as in a lake."""

    folder: str
    began_at: str
    ended_at: str
    is_lost: bool
    went_on: int
    ages: Sequence[Age]
    body: bytes


def build_session(one: Session, beside: RowContext, zone: tzinfo) -> SessionColumns:
    """A session with all that reports count of it; its `crushed` must be fresh."""
    steps = follow_steps(one)
    return SessionColumns(
        id=one.id,
        agent=one.agent,
        began_at=beside.began_at,
        ended_at=beside.ended_at,
        started_at=one.started_at,
        day=find_day(one, zone),
        folder=beside.folder,
        title=one.title,
        judge=one.judge,
        judged_by=name_judge(one),
        judge_status=one.judge_status,
        goal_complete=one.goal_complete,
        crushed=one.crushed,
        confidence=one.confidence,
        exclusion=explain_exclusion(one),
        steps=" ".join(steps.reached),
        lost_at=steps.lost or None,
        lost_why=steps.why if steps.lost else None,
        obstacle=find_obstacle(one),
        advice=advise_session(one),
        fallback=one.fallback or None,
        is_drawable=is_drawable(one),
        is_answered=is_answered(one),
        is_lost=beside.is_lost,
        chance=find_chance(one),
        grade=one.grade or None,
        went_on=beside.went_on,
        ages=[LineAge(days=days, removed=removed, lines=lines) for days, removed, lines in beside.ages],
        body=beside.body.decode(),
        **list_facts(one),
    )


def list_facts(one: Session) -> dict[str, Any]:
    """Columns that are called like what they hold: names to slice by, checks of prompts, facts."""
    facts = one.facts
    named = {by: NAMES[by](one) or None for by in SAID_OF}
    checks = {check: one.checks.get(check) for check in CHECKS}
    return {
        **named,
        **checks,
        "rework": find_rework_state(one),
        "rework_detail": (facts.get("rework") or {}).get("detail") or "",
        "turns": facts["turns"],
        "tokens": None if facts["tokens"] is None else count_tokens(one),
        "cost_usd": facts["cost_usd"],
        "active_s": facts["active_s"],
        "lines_added": facts.get("lines_added"),
        "lines_removed": facts.get("lines_removed"),
    }


def build_judgement(one: Session) -> JudgementColumns:
    """What was judged of a session."""
    return JudgementColumns(
        session=one.id,
        agent=one.agent,
        judge=one.judge,
        judge_versions=msgspec.json.encode(one.judge_versions, order="sorted").decode(),
        judge_status=one.judge_status,
        ungraded_reason=one.ungraded_reason,
        goal_complete=one.goal_complete,
        confidence=one.confidence,
        evidence=one.evidence,
        intent=one.intent,
        intent_chance=one.intent_chance,
        aim=one.aim,
        second_intent=one.second_intent,
        grade=one.grade,
        marked=one.marked.verdict if one.marked else None,
        failure_signals=[signal["kind"] for signal in one.facts.get("failure_signals", ())],
        citations=[CitedTurn(turn=cited.turn, quote=cited.quote) for cited in one.citations],
        reasons=[
            WeighedReason(kind=reason.kind, turn=reason.turn, quote=reason.quote, weight=reason.weight)
            for reason in one.reasons
        ],
    )


def build_turns(one: Session, turns: Sequence[Turn], *, words: bool) -> Iterator[TurnColumns]:
    """The turns of a session, as they may be seen; without words, facts alone."""
    for n, turn in enumerate(turns, 1):
        prompt, edits = turn.prompt, [edit for call in turn.calls for edit in call.edits]
        usages = [spend.usage for spend in turn.spends]
        yield TurnColumns(
            session=one.id,
            agent=one.agent,
            turn=n,
            at=turn.at,
            ended_at=turn.ended_at,
            prompt_kind=prompt.kind if prompt else None,
            prompt_chars=len(prompt.text) if prompt else 0,
            images=prompt.images if prompt else 0,
            replies=len(turn.replies),
            reply_chars=sum(len(reply.text) for reply in turn.replies),
            calls=len(turn.calls),
            failed_calls=sum(call.status == "error" for call in turn.calls),
            edits=len(edits),
            lines_added=sum(edit.added for edit in edits),
            lines_removed=sum(edit.removed for edit in edits),
            commits=len({commit for call in turn.calls for commit in call.commits}),
            models=sorted({spend.model for spend in turn.spends if spend.model}),
            input_tokens=sum(usage.input for usage in usages) if usages else None,
            output_tokens=sum(usage.output for usage in usages) if usages else None,
            cache_read_tokens=sum(usage.cache_read for usage in usages) if usages else None,
            cache_write_tokens=sum(usage.cache_write for usage in usages) if usages else None,
            marks=[mark.kind for mark in turn.marks],
            prompt=prompt.text if words and prompt else None,
            reply="\n\n".join(reply.text for reply in turn.replies) if words and turn.replies else None,
        )


def build_quality(one: Session, found: Quality, *, words: bool) -> Iterator[QualityColumns]:
    """How well a session was run, a row for each dimension."""
    for name, said in found.dimensions.items():
        yield QualityColumns(
            session=one.id,
            agent=one.agent,
            profile=found.profile,
            profile_version=found.profile_version,
            dimension=name,
            score=said.score,
            label=said.label,
            coverage=said.coverage,
            ungraded=said.ungraded,
            judge=found.judge,
            rationale=said.rationale if words else None,
        )
    yield QualityColumns(
        session=one.id,
        agent=one.agent,
        profile=found.profile,
        profile_version=found.profile_version,
        dimension=OVERALL,
        score=found.overall_quality,
        label=None,
        coverage=None,
        ungraded="",
        judge=found.judge,
        rationale=None,
    )


def build_trial(run: str, trial: Trial) -> TrialColumns:
    """One trial of a recorded run."""
    return TrialColumns(
        run=run,
        task=trial.task,
        arm=trial.arm,
        stage=trial.stage,
        repeat=trial.repeat,
        state=trial.state,
        checks=len(trial.checks),
        checks_passed=sum(check.passed is True for check in trial.checks),
        judge01=trial.judge01,
        tokens=trial.cost.tokens,
        tool_calls=trial.cost.tool_calls,
        steps=trial.cost.steps,
        wall_s=trial.cost.wall_s,
        usd=trial.cost.usd,
        attempts=trial.attempts,
        lost=trial.lost,
    )
