"""The street on one page: transcripts are found, read, cut, judged, linked, followed, counted, and told.

Every command and the Python API go this way: `read_transcripts` brings a store up to date with files, `open_run` is
the one way to a scoring of what a store holds, and `score_run` makes the report of it.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from assay.config import Config, load_own_tenants, pick_zone
from assay.errors import BadInput
from assay.pipeline import privacy
from assay.pipeline.inputs import explain_no_transcripts, find_transcripts
from assay.pipeline.models import ModelAccess, check_available, find_outage, open_kept_answers
from assay.pipeline.pool import Progress, count_cores, ignore_progress
from assay.pipeline.retention import forget_expired
from assay.pipeline.rework import find_lost, save_told
from assay.pipeline.scan import Changes, count_skips, scan
from assay.pipeline.scoring_run import ALL, ScoringRun, Selection
from assay.scores.report import Report, build_report
from assay.scores.survival import FollowedLines, measure_survival
from assay.sessions.links import build_ledger
from assay.stores import Store, open_store, pick_store_url


class Transcripts(Struct, frozen=True):
    """An open store that is up to date with some transcripts, and what bringing it there took."""

    store: Store
    changes: Changes
    seconds: float


class ScoreResult(Struct, frozen=True, kw_only=True):
    """A report, and what it took."""

    report: Report
    judged: int
    """How often a segment or session was judged in this run."""
    reused: int
    """Sessions of the report that were judged in an earlier one."""
    histories: int = 0
    """How often a repository's history was read."""


@contextmanager
def read_transcripts(
    paths: Sequence[Path] | None,
    config: Config,
    jobs: int = 0,
    progress: Progress = ignore_progress,
    *,
    may_be_empty: bool = False,
    with_facts: bool = False,
) -> Iterator[Transcripts]:
    """Find the transcripts at the paths, or where the agents keep them, and read what is new into the store."""
    files = find_transcripts(paths, config)
    with closing(open_store(pick_store_url(config.store, os.environ))) as store:
        if not (files.files or paths or may_be_empty or store.transcripts.find_files(files.roots)):
            raise BadInput(explain_no_transcripts(config))
        began = time.perf_counter()
        changes = scan(store, files, jobs or count_cores(), progress, with_facts=with_facts)
        forget_expired(store, load_own_tenants(os.environ), datetime.now(UTC))
        yield Transcripts(store, changes, time.perf_counter() - began)


@contextmanager
def open_run(
    store: Store,
    config: Config,
    roots: Sequence[str] | None = None,
    *,
    selection: Selection = ALL,
    jobs: int = 0,
    models: ModelAccess | None = None,
) -> Iterator[ScoringRun]:
    """A scoring of the streams below the roots, or of all; without models, what they answered before has to do."""
    with ExitStack() as stack:
        asked = models or stack.enter_context(closing(open_kept_answers(store, config, os.environ)))
        yield stack.enter_context(ScoringRun(store, roots, config, jobs or count_cores(), asked, selection))


def score_run(
    run: ScoringRun,
    unreadable: Sequence[tuple[str, str]] = (),
    progress: Progress = ignore_progress,
    *,
    remembers: bool = True,
) -> ScoreResult:
    """Score the sessions that the run selects; the next report can tell what changed since one that is remembered."""
    run.judge_streams(progress)  # cut and judge
    linked = run.link_all()  # link
    chosen = [one for one in linked if run.selection.takes(one)]
    sessions, outcome = run.follow_sessions(chosen, linked)  # follow
    sessions = run.name_projects(sessions, chosen)
    judge = run.describe_judge(sessions)
    if run.client and not any(one.judge == run.client.model.backend for one in sessions):
        check_available(find_outage(judge.fallback), run.config)
    found = build_report(  # count
        sessions,
        privacy.redact_entries(build_ledger(chosen), sessions, run.terms.privacy),
        streams=run.count_streams(),
        judge=judge,
        skipped=count_skips(run.store, run.roots or (), unreadable),
        zone=pick_zone(run.config),
        seed=draw.seed if (draw := run.store.corrections.load_draw()) else "",
        followed=FollowedLines(survival=measure_survival(outcome.ages), lost=find_lost(sessions, outcome)),
    )
    if remembers:  # tell, so that the next report can say what changed
        save_told(run.store, found.sessions, outcome)
    reused = sum((one.agent, one.id) not in run.newly_judged for one in sessions)
    return ScoreResult(report=found, judged=run.times_judged, reused=reused, histories=outcome.histories)
