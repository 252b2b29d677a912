"""From streams to a report: what changed is cut and judged, what belongs together is linked, the rest is as kept.

Every stream below the roots whose cut is missing or of another version goes to a worker (`judging`), and is kept as
soon as it is done: a run that was killed goes on where it stopped. Linking is done anew each time, on nothing but
the segments of these streams, so that what else lies in the store makes no difference.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from assay.config import Config, zone
from assay.errors import Stopped
from assay.pipeline.given import present
from assay.pipeline.judging import (
    CutTask,
    Judged,
    Parts,
    WholeTask,
    cut_stream,
    hashed,
    judge,
    judge_wholes,
    stream_of,
    terms,
    turns_in,
)
from assay.pipeline.pool import Pool, cores
from assay.pipeline.reworking import Outcome, reworked
from assay.pipeline.telling import lost, remember, with_rework
from assay.scores.report import JudgeInfo, Report, Skips, report
from assay.scores.survival import Followed, survival
from assay.sessions import speech
from assay.sessions.linking import Linked, ledger, link
from assay.stores.sql import Store
from assay.stores.sql.paths import inside
from assay.stores.sql.scored import Cut, KeptSegment, Whole
from assay.stores.sql.settling import Name, StreamFiles
from assay.types import Corrected, Segment, Session, Turn

JUDGED = msgspec.json.Decoder(Judged).decode
ALONE_BYTES = 8 << 20
"""Transcripts of less are judged faster than processes are started."""
BATCH_BYTES, BATCH_STREAMS = 4 << 20, 64
PARTICULARS = re.compile(r": .*| \(.*", re.DOTALL)
"""What a reason for skipping says beyond its kind."""

Progress = Callable[[int, int], None]
"""Called with the bytes of transcripts done and the bytes there are."""
Unreadable = Sequence[tuple[str, str]]
"""Paths that could not be opened, and why."""


class Choice(Struct, frozen=True, kw_only=True):
    """Which sessions are wanted; empty is all."""

    since: str = ""
    until: str = ""
    project: str = ""

    def takes(self, linked: Linked) -> bool:
        """Whether a session went on after `since`, began before `until`, and is of the project."""
        if self.since and ended_at(linked) < self.since:
            return False
        if self.until and linked.segments[0].began_at >= self.until:
            return False
        return not self.project or is_in(linked.segments[0].project, self.project)


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
) -> Report:
    """The report on all sessions of the streams below the roots that are wanted; `remembers` what it says."""
    choice = Choice(since=since, until=until, project=project)
    with Run(store, roots, config, jobs) as run:
        return scored(run, choice, unreadable, progress, remembers=remembers).report


def scored(
    run: "Run",
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
        ledger(chosen),
        streams=store.count_streams(roots, choice.since, choice.until, choice.project),
        judge=JudgeInfo(backend=config.judge, versions=judge(config.judge).versions()),
        skipped=skips(store, roots or (), unreadable),
        zone=zone(config),
        followed=Followed(survival=survival(outcome.ages), lost=lost(sessions, outcome)),
    )
    if remembers:
        remember(store, found.sessions, outcome)
    reused = sum((one.agent, one.id) not in run.fresh for one in sessions)
    return Scored(report=found, judged=run.judged, reused=reused, histories=outcome.histories)


def find(store: Store, config: Config, prefix: str) -> list[Session]:
    """All sessions of the store whose id begins so; the one whose id it is alone."""
    found = such(store, config, lambda one: one.segments[0].id.startswith(prefix))
    return [one for one in found if one.id == prefix] or found


def holding(store: Store, config: Config, segment: str) -> Session:
    """The session that a segment, given by its id, belongs to."""
    return such(store, config, lambda one: any(part.id == segment for part in one.segments))[0]


def such(store: Store, config: Config, is_wanted: Callable[[Linked], bool]) -> list[Session]:
    """Sessions of all that the store holds."""
    with Run(store, None, config, cores()) as run:
        run.bring_up_to_date()
        return run.sessions([one for one in run.linked() if is_wanted(one)])


def turns_of(store: Store, session: Session) -> list[Turn]:
    """The turns of a session, as it was judged."""
    return [turn for _, _, turn in placed_turns(store, session)]


def placed_turns(store: Store, session: Session) -> list[tuple[Segment, int, Turn]]:
    """The turns of a session, each with its segment and its number in the stream."""
    segments = store.scored.called([session.id, *(join.id for join in session.merged_from)])
    files = store.scored.files_of({(one.agent, one.stream) for one in segments})
    streams = {
        (one.agent, one.id): stream_of(kept) for one, kept in zip(files, store.scored.pieces(files), strict=True)
    }
    return [
        (segment, n, turn)
        for segment in segments
        for n, turn in enumerate(turns_in(streams[segment.agent, segment.stream], segment), segment.first)
    ]


class Run:
    """One scoring of a store: what every step needs, and what was judged so far."""

    def __init__(self, store: Store, roots: Sequence[str] | None, config: Config, jobs: int) -> None:
        self.store = store
        self.roots = roots
        self.config = config
        self.as_of = present(config)
        self.corrections = store.scored.corrections()
        self.terms = terms(config, frozenset(one.turn for one in self.corrections if one.kind == "split"))
        self.pool = Pool(jobs)
        self.kept: dict[tuple[str, str, int], KeptSegment] = {}
        self.judged = 0
        self.fresh: set[Name] = set()
        """Agents and ids of the segments and sessions that were judged."""

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.pool.close()
        if kind is KeyboardInterrupt:
            raise Stopped from None

    # --- streams to segments --------------------------------------------------------------------

    def bring_up_to_date(self, progress: Progress = lambda *_: None) -> None:
        """Cut and judge what changed, again where another scan kept files meanwhile."""
        done: set[tuple[Name, int]] = set()
        while waiting := self.waiting(done):
            total, finished = sum(one.size for one in waiting), 0
            if total > ALONE_BYTES:
                speech.prepare()
                self.pool.start(len(waiting))
            progress(0, total)
            sizes = {(one.agent, one.id): one.size for one in waiting}
            for found in self.pool.each(self.batches(waiting), cut_streams):
                done |= self.keep(found)
                finished += sum(sizes[one.name] for one in found)
                progress(finished, total)

    def waiting(self, done: set[tuple[Name, int]]) -> list[StreamFiles]:
        """Streams to cut; one whose judge gave no answer is left for the next run."""
        found = self.store.scored.uncut(self.terms.cutting, self.roots)
        return [one for one in found if ((one.agent, one.id), one.generation) not in done]

    def batches(self, waiting: Sequence[StreamFiles]) -> Iterator[list[CutTask]]:
        """Tasks in portions worth handing to a process, the largest streams first."""
        batch: list[StreamFiles] = []
        for stream in sorted(waiting, key=lambda one: (-one.size, one.agent, one.id)):
            batch.append(stream)
            if sum(one.size for one in batch) >= BATCH_BYTES or len(batch) >= BATCH_STREAMS:
                yield self.tasks(batch)
                batch = []
        if batch:
            yield self.tasks(batch)

    def tasks(self, batch: Sequence[StreamFiles]) -> list[CutTask]:
        """Streams with their turns, and what is known of them."""
        known = self.store.scored.inputs([(one.agent, one.id) for one in batch])
        return [
            CutTask(terms=self.terms, stream=one, kept=kept, known=known.get((one.agent, one.id), frozenset()))
            for one, kept in zip(batch, self.store.scored.pieces(batch), strict=True)
        ]

    def keep(self, found: Sequence[Cut]) -> set[tuple[Name, int]]:
        """Keep streams that were cut; which ones, as they were."""
        kept = self.store.scored.keep(found)
        judged = [part for one in found for part in one.segments if part.judged]
        self.judged += len(judged)
        self.fresh |= {(part.segment.agent, part.segment.id) for part in judged}
        return {(one.name, one.generation) for one in found if one.name in kept}

    # --- segments to sessions -------------------------------------------------------------------

    def linked(self) -> list[Linked]:
        """All sessions, in order of time."""
        kept = self.store.scored.segments(self.roots)
        self.kept = {place(one.segment): one for one in kept}
        self.corrections = about_segments(self.corrections, kept)
        return link((one.segment for one in kept), self.corrections, self.config.boundaries)

    def sessions(self, chosen: Sequence[Linked]) -> list[Session]:
        """Sessions with all that was judged of them; those of several segments are judged as one."""
        wholes = self.wholes([one for one in chosen if len(one.segments) > 1])
        titles = {one.turn: one.title for one in self.corrections if one.kind == "rename"}
        found = []
        for one in chosen:
            first = self.kept[place(one.segments[0])]
            body = first.judged if len(one.segments) == 1 else wholes[name(one)].judged
            found.append(session(one, JUDGED(body), first.branch, titles.get(first.segment.id)))
        return found

    def followed(self, chosen: Sequence[Linked], linked: Sequence[Linked]) -> tuple[list[Session], Outcome]:
        """Sessions with what became of their lines, given all sessions there are."""
        sessions = self.sessions(chosen)
        outcome = reworked(self.store, linked, sessions, self.config.rework, self.as_of)
        return [with_rework(one, outcome) for one in sessions], outcome

    def wholes(self, wanted: Sequence[Linked]) -> dict[Name, Whole]:
        """Sessions of several segments, judged as one where they are not yet."""
        kept = self.store.scored.wholes(map(name, wanted))
        parts = [Parts(segments=one.segments, input=self.input_of(one)) for one in wanted]
        missing = [one for one in parts if not is_kept(one, kept)]
        for found in self.pool.each(self.whole_tasks(missing), judge_wholes):
            self.store.scored.keep_wholes(found)
            self.judged += len(found)
            self.fresh |= {(one.agent, one.id) for one in found}
            kept |= {(one.agent, one.id): one for one in found}
        return kept

    def input_of(self, linked: Linked) -> str:
        """Hash of what the segments of a session were judged by; nothing where one must be judged again."""
        inputs = [self.kept[place(one)].input for one in linked.segments]
        return hashed(*inputs) if all(inputs) else ""

    def whole_tasks(self, missing: Sequence[Parts]) -> Iterator[WholeTask]:
        """Sessions that begin in the same stream together: its turns are read once."""
        groups: dict[Name, list[Parts]] = {}
        for one in missing:
            groups.setdefault(streams_in([one])[0], []).append(one)
        for wanted in groups.values():
            files = self.store.scored.files_of(streams_in(wanted))
            kept = self.store.scored.pieces(files)
            yield WholeTask(
                terms=self.terms,
                streams={(one.agent, one.id): pieces for one, pieces in zip(files, kept, strict=True)},
                wanted=tuple(wanted),
            )


def about_segments(corrections: Sequence[Corrected], kept: Sequence[KeptSegment]) -> list[Corrected]:
    """Corrections about the segments that now hold the turns they were about: a stream may be cut otherwise by now."""
    starts = {one.segment.id for one in kept}
    if all(turn in starts for one in corrections for turn in (one.turn, one.into) if turn):
        return list(corrections)
    holder = {turn: one.segment.id for one in kept for turn in one.turns}
    return [
        replace(one, turn=holder.get(one.turn, one.turn), into=holder.get(one.into, one.into))
        if one.kind != "split"
        else one
        for one in corrections
    ]


def cut_streams(tasks: list[CutTask]) -> list[Cut]:
    """What a worker does with a portion."""
    return [cut_stream(task) for task in tasks]


def is_kept(parts: Parts, kept: dict[Name, Whole]) -> bool:
    """Whether a session was judged from just these parts."""
    found = kept.get((parts.segments[0].agent, parts.segments[0].id))
    return found is not None and found.input == parts.input != ""


def streams_in(wanted: Iterable[Parts]) -> list[Name]:
    """The streams that sessions stand in, in order."""
    return list(dict.fromkeys((part.agent, part.stream) for one in wanted for part in one.segments))


def place(segment: Segment) -> tuple[str, str, int]:
    return segment.agent, segment.stream, segment.first


def name(linked: Linked) -> Name:
    return linked.segments[0].agent, linked.segments[0].id


def ended_at(linked: Linked) -> str:
    return max(one.ended_at for one in linked.segments)


def session(linked: Linked, judged: Judged, branch: str, title: str | None) -> Session:
    """What was judged, put in its place; a title that a person gave wins."""
    first = linked.segments[0]
    fields = asdict(judged)
    fields["title"] = judged.title if title is None else title
    return Session(
        id=first.id,
        agent=first.agent,
        project=first.project,
        branch=branch,
        streams=list(dict.fromkeys(one.stream for one in linked.segments)),
        started_at=first.began_at,
        ended_at=ended_at(linked),
        boundary=first.boundary,
        merged_from=list(linked.joins),
        **fields,
    )


def is_in(folder: str, project: str) -> bool:
    """Whether a folder is the project or inside it, or has a word in its path."""
    if project.startswith("/"):
        return folder == project or folder.startswith(inside(project))
    return project.lower() in folder.lower()


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
