"""One scoring of a store: what changed is cut and judged, what belongs together is linked, the rest is as kept.

Every stream below the roots whose cut is missing or of another version is cut, by a worker where no model is asked,
and kept as soon as it is done: a run that was killed goes on where it stopped. Cutting and judging are dialogues:
`models` answers them, a guess does for an estimate. Linking is done anew each time, on nothing but the segments of
these streams, so that what else lies in the store makes no difference.
"""

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict, replace

from assay.clock import parse_time
from assay.config import Config
from assay.errors import RunStopped
from assay.files import to_folder_prefix
from assay.llm import Answers, Question, hold_dialogue, join_dialogues
from assay.llm.dialogue import answer_nothing, take_notes
from assay.pipeline import privacy
from assay.pipeline.cluster import open_pool
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.judge_stream import (
    OFFLINE,
    CutTask,
    JoinTask,
    SessionParts,
    build_terms,
    cut_stream,
    judge_joined_sessions,
)
from assay.pipeline.judged_sessions import (
    JUDGED,
    apply_floors,
    build_session,
    find_end,
    find_pulls,
    hold_judgement,
)
from assay.pipeline.judgement import hash_values
from assay.pipeline.models import NO_MODEL, ONLY_KEPT, ModelAccess
from assay.pipeline.pool import Progress, ignore_progress
from assay.pipeline.projects import name_projects, tally_folders
from assay.pipeline.rework import Elsewhere, ReworkOutcome, add_rework, follow_rework
from assay.pipeline.spool import load_ends
from assay.pipeline.verdicts import mark_session, place_verdicts
from assay.scores.card import load_measurement
from assay.scores.prism import split_judge
from assay.scores.report import JudgeInfo, Spending
from assay.sessions import redaction, speech
from assay.sessions.links import LinkedSession, link_segments
from assay.sessions.progress import find_open_sessions
from assay.sessions.redaction import Redactor
from assay.stores import CutStream, JoinedSession, Store, StoredSegment, StreamFiles, StreamName
from assay.types import PersonCorrection, PersonVerdict, Segment, Session
from assay.types.shipping import SHIPPED_ROOT

ALONE_BYTES = 8 << 20
"""Transcripts of less are judged faster than processes are started."""
BATCH_BYTES, BATCH_STREAMS = 4 << 20, 64
ASKED_BYTES = 64 << 20
"""More at once where a model is asked: it answers many questions in the time of one."""
ALWAYS = "anew"


class Selection(Struct, frozen=True, kw_only=True):
    """Which sessions are wanted; empty is all."""

    since: str = ""
    until: str = ""
    project: str = ""

    def takes(self, linked: LinkedSession) -> bool:
        """Whether a session went on after `since`, began before `until`, and is of the project."""
        if self.since and find_end(linked) < self.since:
            return False
        if self.until and linked.segments[0].began_at >= self.until:
            return False
        return not self.project or is_in_project(linked.segments[0].project, self.project)


ALL = Selection()


class ScoringRun:
    """One scoring of a store: what every step needs, and what was judged so far."""

    def __init__(
        self,
        store: Store,
        roots: Sequence[str] | None,
        config: Config,
        jobs: int,
        models: ModelAccess = NO_MODEL,
        selection: Selection = ALL,
    ) -> None:
        self.store = store
        self.selection = selection
        self.roots = roots
        self.config = config
        self.as_of = pick_report_time(config)
        self.unavailable = models.unavailable
        self.client = client = models.client
        self.asks_again = client is not None and client.options.again
        with store.holding():
            self.corrections = store.corrections.load_corrections()
            self.verdicts = store.corrections.load_verdicts()
        self.placed_corrections = self.corrections
        self.placed_verdicts = place_verdicts(self.verdicts, ())
        self.titles: dict[str, str] = {}
        """That people gave, by the first turn of a segment."""
        splits = frozenset(one.turn for one in self.corrections if one.kind == "split")
        chosen = replace(config, judge=OFFLINE) if models.unavailable else config
        self.terms = build_terms(chosen, splits, self.as_of, client.judge_model if client else None)
        self.pool = open_pool(jobs, config.engine)
        self.open_sessions: frozenset[str] = frozenset()
        """Ids of the sessions that are still going on; found anew in every run, never kept."""
        self.ends = load_ends(os.environ, self.as_of)
        """Conversations that were left a short while ago, and when."""
        self.segments: dict[tuple[str, str, int], StoredSegment] = {}
        self.times_judged = 0
        self.newly_judged: set[StreamName] = set()
        """Agents and ids of the segments and sessions that were judged."""

    def __enter__(self) -> "ScoringRun":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.pool.close()
        if kind is KeyboardInterrupt:
            raise RunStopped from None

    def has_ended_since(self, told_at: float) -> bool:
        """Whether a conversation was left after a time at which sessions were told."""
        return any(found.timestamp() >= told_at for at in self.ends.values() if (found := parse_time(at)))

    # --- streams to segments --------------------------------------------------------------------

    def judge_streams(self, progress: Progress = ignore_progress, chosen: Container[StreamName] | None = None) -> None:
        """Cut and judge what changed, or what is chosen of it, again where another scan kept files meanwhile."""
        done: set[tuple[StreamName, int]] = set()
        while waiting := [one for one in self.find_waiting(done) if chosen is None or name_stream(one) in chosen]:
            total, finished = sum(one.size for one in waiting), 0
            self.start_pool(waiting, total)
            progress(0, total)
            sizes = {name_stream(one): one.size for one in waiting}
            for found in self.cut_batches(self.split_batches(waiting)):
                done |= self.save_cuts(found)
                finished += sum(sizes[one.name] for one in found)
                progress(finished, total)
        if done and self.client is None:
            self.store.sessions.note_cut(self.terms.cutting_version)

    def cut_batches(self, batches: Iterable[list[CutTask]]) -> Iterator[list[CutStream]]:
        """Streams cut: here where a model is asked, many at once; else in processes."""
        if self.client is None:
            yield from self.pool.each(batches, cut_streams)
            return
        for batch in batches:
            yield hold_dialogue(join_dialogues([cut_stream(one) for one in batch]), self.client.ask_questions)

    def start_pool(self, waiting: Sequence[StreamFiles], total: int) -> None:
        """Start processes where they are worth it."""
        if total > ALONE_BYTES:
            speech.prepare_phrases()
            redaction.prepare_rules(self.terms.privacy.options)
            self.pool.start(len(waiting))

    def find_waiting(self, done: set[tuple[StreamName, int]]) -> list[StreamFiles]:
        """Streams to cut; one whose judge gave no answer is left for the next run.

        Where a model is asked, only those that are wanted: what nobody looks at is not paid for.
        """
        wanted = asdict(self.selection) if self.client else {}
        found = self.store.sessions.list_uncut(
            ALWAYS if self.asks_again else self.terms.cutting_version, self.roots, **wanted
        )
        return [one for one in found if ((one.agent, one.id), one.generation) not in done]

    def split_batches(self, waiting: Sequence[StreamFiles]) -> Iterator[list[CutTask]]:
        """Tasks in portions worth handing to a process, the largest streams first."""
        most_bytes, most = (ASKED_BYTES, self.client.streams_at_once) if self.client else (BATCH_BYTES, BATCH_STREAMS)
        batch: list[StreamFiles] = []
        for stream in sorted(waiting, key=lambda one: (-one.size, one.agent, one.id)):
            batch.append(stream)
            if sum(one.size for one in batch) >= most_bytes or len(batch) >= most:
                yield self.build_tasks(batch)
                batch = []
        if batch:
            yield self.build_tasks(batch)

    def build_tasks(self, batch: Sequence[StreamFiles]) -> list[CutTask]:
        """Streams with their turns, and what is known of them."""
        known = {} if self.asks_again else self.store.sessions.load_inputs(map(name_stream, batch))
        return [
            CutTask(
                terms=self.terms,
                stream=one,
                kept=kept,
                known=known.get(name_stream(one), frozenset()),
            )
            for one, kept in zip(batch, self.store.transcripts.load_pieces(batch), strict=True)
        ]

    def save_cuts(self, found: Sequence[CutStream]) -> set[tuple[StreamName, int]]:
        """Keep streams that were cut; which ones, as they were."""
        kept = self.store.sessions.save_cuts(found)
        judged = [part for one in found for part in one.segments if part.judged]
        self.times_judged += len(judged)
        self.newly_judged |= {(part.segment.agent, part.segment.id) for part in judged}
        return {(one.name, one.generation) for one in found if one.name in kept}

    # --- segments to sessions -------------------------------------------------------------------

    def link_all(self) -> list[LinkedSession]:
        """All sessions, in order of time."""
        return self.link_segments(self.store.sessions.list_segments(self.roots))

    def link_segments(self, kept: Sequence[StoredSegment]) -> list[LinkedSession]:
        """The sessions that segments make."""
        self.segments = {locate_segment(one.segment): one for one in kept}
        self.placed_corrections = place_corrections(self.corrections, kept)
        self.placed_verdicts = place_verdicts(self.verdicts, kept)
        self.titles = {one.turn: one.title for one in self.placed_corrections if one.kind == "rename"}
        linked = link_segments((one.segment for one in kept), self.placed_corrections, self.config.boundaries)
        self.open_sessions = find_open_sessions(linked, self.as_of, self.ends)
        return linked

    def load_judged(self, chosen: Sequence[LinkedSession]) -> dict[StreamName, bytes]:
        """What was judged of sessions, as JSON; those of several segments are judged as one."""
        wholes = self.judge_joined([one for one in chosen if len(one.segments) > 1])
        return {
            (name := name_session(one)): (
                wholes[name] if len(one.segments) > 1 else self.segments[locate_segment(one.segments[0])]
            ).judged
            for one in chosen
        }

    def list_terms(self, one: LinkedSession) -> tuple[str, str | None, bool, list[PersonVerdict]]:
        """What is put around what was judged of a session: branch, title, whether it goes on, and what people say."""
        first = self.segments[locate_segment(one.segments[0])]
        said = [word for part in one.segments for word in self.placed_verdicts.get(part.id, ())]
        return first.branch, self.titles.get(first.segment.id), first.segment.id in self.open_sessions, said

    def build_sessions(
        self, chosen: Sequence[LinkedSession], judged: Mapping[StreamName, bytes] | None = None
    ) -> list[Session]:
        """Sessions with all that was judged of them."""
        judged = self.load_judged(chosen) if judged is None else judged
        found = []
        for one in chosen:
            branch, title, is_open, said = self.list_terms(one)
            session = build_session(one, JUDGED(judged[name_session(one)]), branch, title)
            if self.config.outcome.floors == "published":
                session = apply_floors(session)
            if is_open:
                session = hold_judgement(session)
            found.append(mark_session(session, said))
        return found

    def follow_sessions(
        self, chosen: Sequence[LinkedSession], linked: Sequence[LinkedSession], elsewhere: Elsewhere | None = None
    ) -> tuple[list[Session], ReworkOutcome]:
        """Sessions with what became of their lines, given all sessions there are, as they may be seen."""
        judged = self.load_judged(chosen)
        outcome = self.follow_lines(judged, linked, elsewhere)
        return self.finish_sessions(chosen, judged, outcome), outcome

    def follow_lines(
        self,
        judged: Mapping[StreamName, bytes],
        linked: Sequence[LinkedSession],
        elsewhere: Elsewhere | None = None,
    ) -> ReworkOutcome:
        """What became of the lines of sessions that were judged, given all sessions there are."""
        pulls = {name: find_pulls(body) for name, body in judged.items()}
        return follow_rework(self.store, linked, pulls, self.config.rework, self.as_of, elsewhere)

    def finish_sessions(
        self, chosen: Sequence[LinkedSession], judged: Mapping[StreamName, bytes], outcome: ReworkOutcome
    ) -> list[Session]:
        """Sessions with what became of their lines, as they may be seen."""
        return [
            privacy.redact_session(
                add_rework(replace(one, fallback=one.fallback or self.unavailable or None), outcome),
                self.terms.privacy,
            )
            for one in self.build_sessions(chosen, judged)
        ]

    def name_projects(
        self, sessions: Sequence[Session], chosen: Sequence[LinkedSession], names: Mapping[str, str] | None = None
    ) -> list[Session]:
        """Sessions as they are told, each with the folder that stands for its project, given all folders there are."""
        folders = {name_session(one): one.segments[0].project for one in chosen}
        if names is None:
            names = name_projects(tally_folders((one.segment.project, one.branch) for one in self.segments.values()))
        rules = self.terms.privacy
        text = Redactor(rules.options).text
        return [
            one  # an opt-out is told by its own folder alone
            if privacy.is_withheld(one.tenant, one.ended_at, rules)
            else replace(one, repository=text(names[folders[one.agent, one.id]]))
            for one in sessions
        ]

    def judge_joined(self, wanted: Sequence[LinkedSession]) -> dict[StreamName, JoinedSession]:
        """Sessions of several segments, judged as one where they are not yet."""
        kept = self.store.sessions.load_joined(map(name_session, wanted))
        missing = [one for one in self.list_parts(wanted) if self.asks_again or not is_saved(one, kept)]
        for wholes in self.join_parts(self.build_join_tasks(missing)):
            self.store.sessions.save_joined(wholes)
            self.times_judged += len(wholes)
            self.newly_judged |= {(one.agent, one.id) for one in wholes}
            kept |= {(one.agent, one.id): one for one in wholes}
        return kept

    def list_parts(self, wanted: Sequence[LinkedSession]) -> list[SessionParts]:
        return [SessionParts(segments=one.segments, input=self.hash_parts(one)) for one in wanted]

    def join_parts(self, tasks: Iterable[JoinTask]) -> Iterator[list[JoinedSession]]:
        """Sessions judged as one: here where a model is asked, else in processes."""
        if self.client is None:
            yield from self.pool.each(tasks, join_sessions)
            return
        for task in tasks:
            yield hold_dialogue(judge_joined_sessions(task), self.client.ask_questions)

    def hash_parts(self, linked: LinkedSession) -> str:
        """Hash of what the segments of a session were judged by; nothing where one must be judged again."""
        inputs = [self.segments[locate_segment(one)].input for one in linked.segments]
        return hash_values(*inputs) if all(inputs) else ""

    def build_join_tasks(self, missing: Sequence[SessionParts]) -> Iterator[JoinTask]:
        """Sessions that begin in the same stream together: its turns are read once."""
        groups: dict[StreamName, list[SessionParts]] = {}
        for one in missing:
            groups.setdefault(list_streams([one])[0], []).append(one)
        for wanted in groups.values():
            files = self.store.transcripts.list_stream_files(list_streams(wanted))
            kept = self.store.transcripts.load_pieces(files)
            yield JoinTask(
                terms=self.terms,
                streams={name_stream(one): pieces for one, pieces in zip(files, kept, strict=True)},
                wanted=tuple(wanted),
            )

    # --- what a report says of it ---------------------------------------------------------------

    def count_streams(self) -> int:
        """How many streams the sessions that are wanted may stand in."""
        here = self.store.transcripts.count_streams(self.roots, **asdict(self.selection))
        if self.roots is not None and SHIPPED_ROOT not in self.roots:
            return here
        return here + self.store.shipped.count_streams(**asdict(self.selection))

    def describe_judge(self, judges: Iterable[str]) -> JudgeInfo:
        """Who judged what counts, and what that took."""
        client = self.client
        names = dict(map(split_judge, sorted(judges)))
        why = (client.closed if client else self.unavailable) or None
        backend, versions = self.terms.judge, self.terms.versions()
        if len(names) == 1 and backend not in names:
            (backend, versions), *_ = names.items()
        floors = self.config.outcome.floors
        calibrated = floors == "measured" and load_measurement(backend) is not None
        if client is None:
            return JudgeInfo(backend=backend, versions=versions, fallback=why, calibrated=calibrated, floors=floors)
        spent = client.spent
        return JudgeInfo(
            backend=backend,
            versions=versions,
            floors=floors,
            model=client.model.model,
            where=client.model.where,
            fallback=None if why == ONLY_KEPT and self.terms.judge in names else why,
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

    # --- before anything is asked -----------------------------------------------------------------

    def list_questions(self) -> Iterator[Question]:
        """Every question that a run would ask, with the offline judge's word for the answers it depends on."""
        waiting = self.find_waiting(set())
        self.start_pool(waiting, sum(one.size for one in waiting))
        files = {name_stream(one): one for one in waiting}
        guessed: dict[StreamName, list[StoredSegment]] = {}
        for found in self.pool.each(self.split_batches(waiting), guess_cuts):
            for cut, questions in found:
                if self.load_answers(questions):
                    cut, questions = self.replay_cut(files[cut.name])
                yield from questions
                guessed[cut.name] = [replace(part, branch="") for part in cut.segments]
        kept = [one for one in self.store.sessions.list_segments(self.roots) if name_stream_of(one) not in guessed]
        linked = self.link_segments([*kept, *(part for parts in guessed.values() for part in parts)])
        several = [one for one in linked if len(one.segments) > 1 and self.selection.takes(one)]
        judged = self.store.sessions.load_joined(map(name_session, several))
        missing = [one for one in self.list_parts(several) if self.asks_again or not is_saved(one, judged)]
        for questions in self.pool.each(self.build_join_tasks(missing), guess_joined):
            yield from questions

    def load_answers(self, questions: Sequence[Question]) -> Answers:
        """What was answered of these before."""
        return self.client.load_answers([one.key for one in questions]) if self.client else {}

    def replay_cut(self, stream: StreamFiles) -> tuple[CutStream, list[Question]]:
        """A stream as it would be cut with all that was answered before, and what that leads to."""
        notes: list[Question] = []
        (task,) = self.build_tasks([stream])
        return hold_dialogue(cut_stream(task), take_notes(self.load_answers, notes)), notes


def place_corrections(corrections: Sequence[PersonCorrection], kept: Sequence[StoredSegment]) -> list[PersonCorrection]:
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


def cut_streams(tasks: list[CutTask]) -> list[CutStream]:
    """Cut a portion of streams, in a worker."""
    return [cut for cut, _ in guess_cuts(tasks)]


def guess_cuts(tasks: list[CutTask]) -> list[tuple[CutStream, list[Question]]]:
    """Cut a portion of streams where nobody is asked, with what would be asked, in a worker."""
    found = []
    for task in tasks:
        notes: list[Question] = []
        found.append((hold_dialogue(cut_stream(task), take_notes(answer_nothing, notes)), notes))
    return found


def join_sessions(task: JoinTask) -> list[JoinedSession]:
    """Judge sessions as one, in a worker."""
    return hold_dialogue(judge_joined_sessions(task), answer_nothing)


def guess_joined(task: JoinTask) -> list[Question]:
    """What would be asked of sessions as one, in a worker."""
    notes: list[Question] = []
    hold_dialogue(judge_joined_sessions(task), take_notes(answer_nothing, notes))
    return notes


def is_saved(parts: SessionParts, kept: dict[StreamName, JoinedSession]) -> bool:
    """Whether a session was judged from just these parts."""
    found = kept.get((parts.segments[0].agent, parts.segments[0].id))
    return found is not None and found.input == parts.input != ""


def list_streams(wanted: Iterable[SessionParts]) -> list[StreamName]:
    """The streams that sessions stand in, in order."""
    return list(dict.fromkeys((part.agent, part.stream) for one in wanted for part in one.segments))


def locate_segment(segment: Segment) -> tuple[str, str, int]:
    return segment.agent, segment.stream, segment.first


def name_session(linked: LinkedSession) -> StreamName:
    return linked.segments[0].agent, linked.segments[0].id


def name_stream(stream: StreamFiles) -> StreamName:
    return stream.agent, stream.id


def name_stream_of(kept: StoredSegment) -> StreamName:
    return kept.segment.agent, kept.segment.stream


def is_in_project(folder: str, project: str) -> bool:
    """Whether a folder is the project or inside it, or has a word in its path."""
    if project.startswith("/"):
        return folder == project or folder.startswith(to_folder_prefix(project))
    return project.lower() in folder.lower()
