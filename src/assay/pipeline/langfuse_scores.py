"""Which scores of which sessions go to Langfuse: how well sessions were run, and whether they landed.

Words pass redaction here, and nothing leaves of a session whose tenant's words are withheld.
`assay.langfuse.push` writes.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from assay.config import Config
from assay.langfuse import (
    ELSEWHERE,
    FACT_CONFIGS,
    Delivery,
    EvidenceMap,
    KnownSession,
    Locate,
    Outbox,
    PullReport,
    PushReport,
    ScoreTarget,
    ScoreWrite,
    SetupReport,
    build_configs,
    build_fact_scores,
    build_id,
    build_quality_scores,
    ensure_configs,
    find_targets,
    find_trace_targets,
    locate_nothing,
    look_up_session,
    name_file,
    push_scores,
)
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.models import ONLY_KEPT
from assay.pipeline.privacy import OPTED_OUT, build_rules, explain_withheld, find_named_tenant
from assay.pipeline.quality import Subject
from assay.sessions.redaction import Redactor
from assay.sources import find_source
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
    found: PullReport,
    *,
    on_trace: bool = False,
) -> PushReport:
    """Write the dimensions of sessions that were pulled; `on_trace` also on the traces in which they begin.

    Scores that stand on a trace since before are kept up to date.
    """
    setup = ensure_configs(delivery.client, build_configs(profile), dry_run=delivery.dry_run)
    paths = {one.session: Path(one.path) for one in found.pulled}
    places = {one.session: one.environment for one in found.pulled}
    targets = find_targets(delivery.store, delivery.project, [one.session for one, _ in judged], places)
    outbox = Outbox(f"quality:{profile.name}", targets)
    standing = {row.id for row in delivery.store.written.list_rows(delivery.project, paths)}
    for subject, quality in judged:
        if (target := targets.get(subject.session.id)) is None:
            continue  # of a file from another project that lies there too
        session, clean, locate = (
            subject.session,
            build_redactor(config),
            build_locator(delivery, subject, target, paths),
        )
        scores = build_quality_scores(quality, profile, target, setup.ids, clean, locate)
        for one in find_trace_targets(target, paths):
            traced = build_quality_scores(quality, profile, one, setup.ids, clean, locate)
            if on_trace or not standing.isdisjoint(map(build_id, traced)):
                scores += traced
        why, is_fault = explain_no_quality(session, quality, scores, config, is_dry_run=delivery.dry_run)
        if why:
            outbox.skip(session, target, why, is_fault=is_fault)
        else:
            outbox.add(session, target, scores, quality)
    return push_scores(delivery, outbox, setup, found.empty)


def withdraw_orphans(delivery: Delivery, gone: Sequence[str]) -> PushReport | None:
    """Take out what was written on sessions of which Langfuse has nothing any longer; `None` where that is nothing."""
    if not delivery.store.written.list_rows(delivery.project, gone):
        return None
    return push_scores(delivery, Outbox("", ()), SetupReport(ids={}), gone)


def build_locator(delivery: Delivery, subject: Subject, target: ScoreTarget, paths: Mapping[str, Path]) -> Locate:
    """Finds the observations that a session's evidence stands in, by its pulled file."""
    path = paths.get(target.session)
    return EvidenceMap(delivery.client, path, [turn.at for turn in subject.read()]).locate if path else locate_nothing


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


def push_facts(
    delivery: Delivery, subjects: Sequence[Subject], config: Config, alive: Iterable[str], *, to_all: bool = False
) -> PushReport:
    """Write what the PRISM Score is made of; by default only on sessions that Langfuse knows.

    `alive` are our ids of all sessions that there are.
    """
    setup = ensure_configs(delivery.client, FACT_CONFIGS, dry_run=delivery.dry_run)
    targets = find_targets(delivery.store, delivery.project, [one.session for one in subjects], {})
    outbox, paths = Outbox("facts", alive), find_pulled_files(delivery, targets.values())
    known: dict[str, KnownSession] = {}
    for subject in subjects:
        session = subject.session
        if (target := targets.get(session.id)) is None:
            outbox.skip(session, ScoreTarget(session=session.streams[0], timestamp=""), ELSEWHERE, keeps_rows=True)
        elif why := explain_silence(session, config) or explain_not_scored(session):
            outbox.skip(session, target, why, keeps_rows=why == NOT_SCORED or session.judge_status == "ungraded")
        else:
            if target.session not in known:
                known[target.session] = look_up_session(delivery, target.session)
            there = known[target.session]
            if there.why and not to_all:
                outbox.skip(session, target, there.why, is_fault=there.is_fault, keeps_rows=True)
                continue
            target = replace(target, environment=there.environment)
            locate = build_locator(delivery, subject, target, paths)
            outbox.add(session, target, build_fact_scores(session, target, setup.ids, build_redactor(config), locate))
    return push_scores(delivery, outbox, setup)


def find_pulled_files(delivery: Delivery, targets: Iterable[ScoreTarget]) -> dict[str, Path]:
    """Files of sessions that lie where pulled ones are put, by Langfuse's ids."""
    folder, project = find_source("langfuse").roots(os.environ, Path.home())[0], delivery.project
    paths = {one.session: name_file(folder, project.host, project.project, one.session) for one in targets}
    return {session: path for session, path in paths.items() if path.is_file()}


def explain_not_scored(session: Session) -> str:
    """Why there is nothing to say of a session yet; nothing where there is."""
    if session.judge_status != "ok":
        reason = session.ungraded_reason or session.judge_status.replace("_", " ")
        return f"{NOT_GRADED}: {reason}"
    return NOT_SCORED if session.fallback == ONLY_KEPT else ""
