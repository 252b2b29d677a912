"""The street on one page: transcripts are found, read, cut, judged, linked, followed, counted, and told.

Every command and the Python API go this way: `read_transcripts` brings a store up to date with files, `open_run` is
the one way to a scoring of what a store holds, and `score_run` makes the report of it.
"""

import os
import time
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, tzinfo
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from assay.config import Config, load_own_tenants, pick_zone
from assay.errors import BadInput
from assay.listing import TELEMETRY_ROOT
from assay.pipeline import privacy
from assay.pipeline.inputs import FoundFiles, explain_no_transcripts, find_transcripts
from assay.pipeline.kept_report import gather_kept, is_kept, open_kept, remember_kept
from assay.pipeline.models import ModelAccess, check_available, find_outage, open_kept_answers
from assay.pipeline.pool import Progress, count_cores, ignore_progress
from assay.pipeline.retention import forget_expired
from assay.pipeline.rework import ReworkOutcome, find_lost, save_told
from assay.pipeline.scan import Changes, count_skips, scan
from assay.pipeline.scoring_run import ALL, ScoringRun, Selection
from assay.pipeline.shipped import list_shipped
from assay.pipeline.spool import take_spool
from assay.pipeline.standing_report import (
    SERVED,
    find_served,
    find_standing,
    load_standing,
    save_standing,
    sign_listing,
    skip_scan,
)
from assay.scores.report import Report, ToldSessions, build_report, gather_sessions
from assay.scores.survival import FollowedLines, measure_survival
from assay.scores.tally import ALL as EVERY
from assay.sessions.links import build_ledger
from assay.stores import Store, StreamName, open_store, pick_store_url


class Transcripts(Struct, frozen=True):
    """An open store that is up to date with some transcripts, and what bringing it there took."""

    store: Store
    found: FoundFiles
    changes: Changes
    seconds: float


class ScoreResult(Struct, frozen=True, kw_only=True):
    """A report, and what it took."""

    report: Report
    judged: int
    """How often a segment or session was judged in this run."""
    newly_judged: AbstractSet[StreamName]
    """Agents and ids of those segments and sessions."""
    histories: int = 0
    """How often a repository's history was read."""

    @property
    def reused(self) -> int:
        """Sessions of the report that were judged in an earlier one."""
        return sum((one.agent, one.id) not in self.newly_judged for one in self.report.sessions)


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
        if TELEMETRY_ROOT in files.roots:
            take_spool(store, files, os.environ)
        is_told = bool(store.telemetry.list_conversations())
        if files.is_empty and not (paths or may_be_empty or is_told or store.transcripts.find_files(files.roots)):
            raise BadInput(explain_no_transcripts(config))
        began = time.perf_counter()
        listing = sign_listing(files)
        if not with_facts and load_standing(store, listing):
            changes = skip_scan(files, listing)
        else:
            changes = scan(store, files, jobs or count_cores(), progress, with_facts=with_facts, engine=config.engine)
            is_whole = changes.unreadable == tuple(sorted(files.closed))
            changes = replace(changes, listing=listing if is_whole else "")
        forget_expired(store, load_own_tenants(os.environ), datetime.now(UTC))
        yield Transcripts(store, files, changes, time.perf_counter() - began)


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
    keeps: bool | None = None,
    listing: str = "",
) -> ScoreResult:
    """Score the sessions that the run selects; the next report can tell what changed since one that is remembered.

    What is told of them is kept in place of what was told by other settings where it `keeps`, else if it remembers.
    Where `listing` says that the files are what they were, a report that still stands is not made anew.
    """
    zone = pick_zone(run.config)
    if standing := find_standing(run, zone, listing):
        return ScoreResult(report=standing, judged=0, newly_judged=frozenset())
    run.judge_streams(progress)  # cut and judge
    if teller := open_kept(run, zone, may_begin=remembers if keeps is None else keeps):
        teller.update()  # link, follow and tell what changed
        state = run.store.read_state()
        told, followed = gather_kept(run.store, run.selection, zone)
        remember, histories = partial(remember_kept, run.store, run.selection), teller.histories
    else:
        listing = state = ""
        told, followed, outcome = tell_all(run, zone)
        remember, histories = partial(save_told, run.store, told.sessions, outcome), outcome.histories
    found = count_told(run, told, followed, unreadable)
    if remembers:  # so that the next report can say what changed
        remember()
        save_standing(run, found, listing, state)
    return ScoreResult(report=found, judged=run.times_judged, newly_judged=run.newly_judged, histories=histories)


def count_told(
    run: ScoringRun, told: ToldSessions, followed: FollowedLines, unreadable: Sequence[tuple[str, str]] = ()
) -> Report:
    """The report on sessions that were told."""
    judge = run.describe_judge(told.tally.slices.get(EVERY, {}).get(EVERY, {}))
    if run.client and run.client.model.backend not in told.tally.judges:
        check_available(find_outage(judge.fallback), run.config)
    return build_report(
        told,
        streams=run.count_streams(),
        judge=judge,
        skipped=count_skips(run.store, run.roots or (), unreadable),
        seed=draw.seed if (draw := run.store.corrections.load_draw()) else "",
        followed=followed,
    )


def read_kept_report(run: ScoringRun, *, keeps: bool = False) -> Report | None:
    """The report on what is kept, with nothing read, judged or told anew; `None` where none is by these settings.

    Where it `keeps`, the next one finds it made, as long as nothing changes.
    """
    zone = pick_zone(run.config)
    with run.store.holding():
        if is_kept(run, zone):
            if found := find_served(run):
                return found
        elif run.count_streams():
            return None
        state = run.store.read_state()
        found = count_told(run, *gather_kept(run.store, run.selection, zone))
    if keeps:
        save_standing(run, found, SERVED, state)
    return found


def tell_all(run: ScoringRun, zone: tzinfo) -> tuple[ToldSessions, FollowedLines, ReworkOutcome]:
    """All sessions that are selected, linked, followed and told anew, with nothing kept."""
    linked = run.link_all()
    chosen = [one for one in linked if run.selection.takes(one)]
    sessions, outcome = run.follow_sessions(chosen, linked)
    sessions = run.name_projects(sessions, chosen)
    ledger = privacy.redact_entries(build_ledger(chosen), sessions, run.terms.privacy)
    lost = find_lost(sessions, outcome)
    ages = list(outcome.ages)
    for one in list_shipped(run, run.selection):
        sessions.append(one.session)
        ledger += one.ledger
        ages += one.ages
    told = gather_sessions(sessions, ledger, zone)
    followed = FollowedLines(survival=measure_survival(ages), lost=lost)
    return told, followed, outcome
