"""Which scores of which sessions go to Langfuse: how well sessions were run, and whether they landed.

Words pass redaction here, and nothing leaves of a session whose tenant's words are withheld.
`assay.langfuse.push` writes.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from assay.config import Config
from assay.langfuse import (
    FACT_CONFIGS,
    Delivery,
    Outbox,
    PulledSession,
    PushReport,
    ScoreWrite,
    build_configs,
    build_fact_scores,
    build_quality_scores,
    ensure_configs,
    explain_unknown,
    find_targets,
    find_trace_targets,
    push_scores,
)
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.models import ONLY_KEPT
from assay.pipeline.privacy import OPTED_OUT, build_rules, explain_withheld, find_named_tenant
from assay.pipeline.quality import Subject
from assay.sessions.redaction import Redactor
from assay.types import CleanText, Session
from assay.types.quality import Profile, Quality

INSUFFICIENT = "insufficient evidence"
NOTHING_SHOWN = "it shows too little of every dimension"
NOT_GRADED = "not graded"
NOT_SCORED = "the judge that is set has not judged it yet; run `assay score`"
WITHOUT_MODEL = "--judge offline scores it without a model"


def build_redactor(config: Config) -> Callable[[str], CleanText]:
    """All words on their way out go through one for each session: what stands in others makes no difference."""
    return Redactor(build_rules(config, pick_report_time(config)).options).text


def explain_silence(session: Session, config: Config) -> str:
    """Why nothing of a session may leave; nothing where it may."""
    why = explain_withheld(
        find_named_tenant(config.tenants, session.tenant), session.ended_at, pick_report_time(config)
    )
    is_silent = why or session.judge_status == "opted_out"
    return f"nothing of its tenant leaves: {why or OPTED_OUT}" if is_silent else ""


# --- how well it was run ------------------------------------------------------------------------


def push_quality(
    delivery: Delivery,
    judged: Sequence[tuple[Subject, Quality]],
    profile: Profile,
    config: Config,
    traced: Sequence[PulledSession] = (),
) -> PushReport:
    """Write the dimensions of sessions; of those that are `traced` also on the traces in which they begin."""
    setup = ensure_configs(delivery.client, build_configs(profile), dry_run=delivery.dry_run)
    targets = find_targets(delivery.store, [one.session for one, _ in judged])
    outbox, paths = Outbox(), {one.session: Path(one.path) for one in traced}
    for subject, quality in judged:
        session, target, clean = subject.session, targets[subject.session.id], build_redactor(config)
        scores = [
            score
            for one in (target, *find_trace_targets(target, paths))
            for score in build_quality_scores(quality, profile, one, setup.ids, clean)
        ]
        why, is_fault = explain_no_quality(session, quality, scores, config, is_dry_run=delivery.dry_run)
        if why:
            outbox.skip(session, target, why, is_fault=is_fault)
        else:
            outbox.add(session, target, scores, quality)
    return push_scores(delivery, outbox, setup)


def explain_no_quality(
    session: Session, quality: Quality, scores: Sequence[ScoreWrite], config: Config, *, is_dry_run: bool
) -> tuple[str, bool]:
    """Why nothing is written of a session, and whether that is a fault; empty where something is.

    Where the model that was asked for gave no answer, the offline judge's word does not take the place of what may
    stand there from the model.
    """
    if why := explain_silence(session, config):
        return why, False
    if quality.fallback and not (is_dry_run and quality.fallback == ONLY_KEPT):
        return f"{quality.fallback}; {WITHOUT_MODEL}", True
    if not scores:
        reasons = {one.ungraded for one in quality.dimensions.values()}
        return f"{INSUFFICIENT}: {reasons.pop() if len(reasons) == 1 else NOTHING_SHOWN}", False
    return "", False


# --- whether it landed --------------------------------------------------------------------------


def push_facts(delivery: Delivery, sessions: Sequence[Session], config: Config, *, to_all: bool = False) -> PushReport:
    """Write what the PRISM Score is made of; by default only on sessions that Langfuse knows."""
    setup = ensure_configs(delivery.client, FACT_CONFIGS, dry_run=delivery.dry_run)
    targets, outbox = find_targets(delivery.store, sessions), Outbox()
    unknown: dict[str, tuple[str, bool]] = {}
    for session in sessions:
        target = targets[session.id]
        scores = build_fact_scores(session, target, setup.ids, build_redactor(config))
        why, is_fault = explain_silence(session, config) or explain_not_scored(session), False
        if not why and not to_all:
            if target.session not in unknown:
                unknown[target.session] = explain_unknown(delivery, target, scores)
            why, is_fault = unknown[target.session]
        if why:
            outbox.skip(session, target, why, is_fault=is_fault)
        else:
            outbox.add(session, target, scores)
    return push_scores(delivery, outbox, setup)


def explain_not_scored(session: Session) -> str:
    """Why there is nothing to say of a session yet; nothing where there is."""
    if session.judge_status != "ok":
        reason = session.ungraded_reason or session.judge_status.replace("_", " ")
        return f"{NOT_GRADED}: {reason}"
    return NOT_SCORED if session.fallback == ONLY_KEPT else ""
