"""From streams to a report on their sessions."""

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing

from msgspec import Struct

from assay.config import Config, zone
from assay.pipeline import reading
from assay.pipeline.asking import NOBODY, ONLY_KEPT, Desk, from_memory
from assay.pipeline.cutting import turns_in
from assay.pipeline.given import present
from assay.pipeline.pool import cores
from assay.pipeline.running import Choice, Progress, Run
from assay.pipeline.telling import lost, remember
from assay.scores.prism import counted
from assay.scores.report import JudgeInfo, Report, Skips, Spending, report
from assay.scores.survival import Followed, survival
from assay.sessions.linking import Linked, ledger
from assay.stores.sql import Store
from assay.types import Segment, Session, Turn

PARTICULARS = re.compile(r": .*| \(.*", re.DOTALL)
"""What a reason for skipping says beyond its kind."""

Unreadable = Sequence[tuple[str, str]]
"""Paths that could not be opened, and why."""


class Scored(Struct, frozen=True, kw_only=True):
    """A report, and what it took."""

    report: Report
    judged: int
    """How often a segment or session was judged in this run."""
    reused: int
    """Sessions of the report that were judged in an earlier one."""
    histories: int = 0
    """How often a repository's history was read."""


def score_store(  # noqa: PLR0913  each is a choice of the person's
    store: Store,
    roots: Sequence[str],
    config: Config,
    *,
    since: str = "",
    until: str = "",
    project: str = "",
    jobs: int = 1,
    progress: Progress = lambda *_: None,
    unreadable: Unreadable = (),
    remembers: bool = True,
    asked: Desk = NOBODY,
) -> Report:
    """The report on all sessions of the streams below the roots that are wanted; `remembers` what it says."""
    choice = Choice(since=since, until=until, project=project)
    with Run(store, roots, config, jobs, asked, choice) as run:
        return scored(run, choice, unreadable, progress, remembers=remembers).report


def scored(
    run: Run,
    choice: Choice,
    unreadable: Unreadable = (),
    progress: Progress = lambda *_: None,
    *,
    remembers: bool = True,
) -> Scored:
    """The report, and what it took; the next one can tell what changed since a report that is remembered."""
    run.bring_up_to_date(progress)
    linked = run.linked()
    chosen = [one for one in linked if choice.takes(one)]
    sessions, outcome = run.followed(chosen, linked)
    store, roots, config = run.store, run.roots, run.config
    found = report(
        sessions,
        reading.entries(ledger(chosen), sessions, run.terms.reading),
        streams=store.count_streams(roots, choice.since, choice.until, choice.project),
        judge=who(run, sessions),
        skipped=skips(store, roots or (), unreadable),
        zone=zone(config),
        followed=Followed(survival=survival(outcome.ages), lost=lost(sessions, outcome)),
    )
    if remembers:
        remember(store, found.sessions, outcome)
    reused = sum((one.agent, one.id) not in run.fresh for one in sessions)
    return Scored(report=found, judged=run.judged, reused=reused, histories=outcome.histories)


def who(run: Run, sessions: Sequence[Session]) -> JudgeInfo:
    """Who judged, and what that took."""
    asker, names = run.asker, {one.judge: one.judge_versions for one in counted(sessions)}
    why = (asker.closed if asker else run.instead) or None
    backend, versions = run.terms.judge, run.terms.versions()
    if len(names) == 1 and backend not in names:
        (backend, versions), *_ = names.items()
    if asker is None:
        return JudgeInfo(backend=backend, versions=versions, fallback=why)
    spent = asker.spent
    return JudgeInfo(
        backend=backend,
        versions=versions,
        model=asker.model.model,
        where=asker.model.where,
        fallback=None if why == ONLY_KEPT and run.terms.judge in names else why,
        spending=Spending(
            calls=spent.calls,
            cached=spent.cached,
            input=spent.usage.input,
            output=spent.usage.output,
            cache_read=spent.usage.cache_read,
            cache_write=spent.usage.cache_write,
            cost_usd=spent.cost_usd,
            troubles=dict(spent.troubles),
        ),
    )


def find(store: Store, config: Config, prefix: str) -> list[Session]:
    """All sessions of the store whose id begins so; the one whose id it is alone."""
    found = such(store, config, lambda one: one.segments[0].id.startswith(prefix))
    return [one for one in found if one.id == prefix] or found


def holding(store: Store, config: Config, segment: str) -> Session:
    """The session that a segment, given by its id, belongs to."""
    return such(store, config, lambda one: any(part.id == segment for part in one.segments))[0]


def such(store: Store, config: Config, is_wanted: Callable[[Linked], bool]) -> list[Session]:
    """Sessions of all that the store holds."""
    with closing(kept_only(store, config)) as asked, Run(store, None, config, cores(), asked) as run:
        run.bring_up_to_date()
        found = run.sessions([one for one in run.linked() if is_wanted(one)])
        return [reading.session(one, run.terms.reading) for one in found]


def kept_only(store: Store, config: Config) -> Desk:
    """For commands that ask no model: what was answered before has to do."""
    return from_memory(store, config, os.environ)


def turns_of(store: Store, config: Config, session: Session) -> list[Turn]:
    """The turns of a session, as it was judged."""
    return [turn for _, _, turn in placed_turns(store, config, session)]


def placed_turns(store: Store, config: Config, session: Session) -> list[tuple[Segment, int, Turn]]:
    """The turns of a session, each with its segment and its number in the stream."""
    rules = reading.rules(config, present(config))
    segments = store.scored.called([session.id, *(join.id for join in session.merged_from)])
    files = store.scored.files_of({(one.agent, one.stream) for one in segments})
    streams = {
        (one.agent, one.id): reading.readable(kept, rules).stream
        for one, kept in zip(files, store.scored.pieces(files), strict=True)
    }
    return [
        (segment, n, turn)
        for segment in segments
        for n, turn in enumerate(turns_in(streams[segment.agent, segment.stream], segment), segment.first)
    ]


def skips(store: Store, roots: Sequence[str], unreadable: Unreadable) -> Skips:
    """What could not be read."""
    told = store.skipped(roots)
    lines = sum(row.lines_skipped for row in store.tally(roots) if row.gone_at is None)
    reasons = Counter(
        PARTICULARS.sub("", why) for why in (*(why for _, _, why in told), *(why for _, why in unreadable))
    )
    return Skips(
        files=sum(not line for _, line, _ in told) + len(unreadable),
        lines=lines,
        reasons=dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))),
    )
