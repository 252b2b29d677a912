"""Sessions of a store by their ids, and the turns of one."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import msgspec

from assay.config import Config, pick_zone
from assay.pipeline import privacy
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.judge_stream import list_turns_in
from assay.pipeline.judged_sessions import find_end
from assay.pipeline.kept_report import open_kept
from assay.pipeline.score import open_run
from assay.pipeline.scoring_run import ALL, ScoringRun, name_session
from assay.pipeline.shipped import list_shipped
from assay.scores.prism import refresh_crushed
from assay.sessions.links import LinkedSession
from assay.stores import Store, StreamName, ToldChoice
from assay.types import Segment, Session, Turn

SESSION = msgspec.json.Decoder(Session).decode
LAST = "last"
"""What people call the session that ended last."""


class SessionIndex(Protocol):
    """Finds sessions as a report tells them."""

    def find_begun(self, prefix: str) -> list[tuple[StreamName, str]]:
        """Sessions with a segment whose id begins so, in order of time, each with the id of that segment."""

    def find_in_stream(self, stream: StreamName) -> list[StreamName]:
        """Sessions that stand in a stream, wholly or in part."""

    def find_last(self) -> StreamName | None:
        """The session that ended last."""

    def list_marked(self) -> list[StreamName]:
        """Sessions of which a person said how they ended."""

    def load_sessions(self, names: Iterable[StreamName]) -> list[Session]:
        """Sessions of these names, in order of time."""


def index_sessions(run: ScoringRun) -> SessionIndex:
    """All sessions of a run: as they were kept, or linked anew."""
    run.judge_streams()
    teller = open_kept(run, pick_zone(run.config), may_begin=not run.store.told.load_view())
    if teller is None:
        return LinkedIndex(run)
    teller.update()
    return KeptIndex(run)


class KeptIndex:
    """Sessions as they were kept."""

    def __init__(self, run: ScoringRun) -> None:
        self.run = run
        self.told = run.store.told
        self.find_begun = self.told.find_begun
        self.find_in_stream = self.told.find_in_stream
        self.find_last = self.told.find_last

    def list_marked(self) -> list[StreamName]:
        turns = {one.turn for one in self.run.verdicts}
        shipped = self.run.store.shipped.find_sessions(turns)
        streams = set(self.told.find_streams(turns - {one[1] for one in shipped}).values())
        here = [name for one in sorted(streams) for name in self.told.find_in_stream(one)]
        return list(dict.fromkeys([*here, *shipped]))

    def load_sessions(self, names: Iterable[StreamName]) -> list[Session]:
        return [SESSION(body) for body in self.told.list_bodies(ToldChoice(names=tuple(names)))]


class LinkedIndex:
    """Sessions that are linked anew, and told when they are wanted."""

    def __init__(self, run: ScoringRun) -> None:
        self.run = run
        self.linked = run.link_all()
        self.by_name = {name_session(one): one for one in self.linked}
        self.shipped = {(one.session.agent, one.session.id): one.session for one in list_shipped(run, ALL)}

    def find_begun(self, prefix: str) -> list[tuple[StreamName, str]]:
        return [
            (name, part.id)
            for name, one in self.by_name.items()
            for part in sorted(one.segments, key=lambda part: part.id)
            if part.id.startswith(prefix)
        ] + [(name, name[1]) for name in self.shipped if name[1].startswith(prefix)]

    def find_in_stream(self, stream: StreamName) -> list[StreamName]:
        here = [name for name, one in self.by_name.items() if is_in_stream(one, stream)]
        return here + [name for name, one in self.shipped.items() if name[0] == stream[0] and stream[1] in one.streams]

    def find_last(self) -> StreamName | None:
        ends = [(find_end(one), name) for name, one in self.by_name.items()]
        ends += [(one.ended_at, name) for name, one in self.shipped.items()]
        return max(ends, key=lambda pair: pair[0])[1] if ends else None

    def list_marked(self) -> list[StreamName]:
        placed = self.run.placed_verdicts
        here = [name for name, one in self.by_name.items() if any(part.id in placed for part in one.segments)]
        return here + [name for name, one in self.shipped.items() if one.marked]

    def load_sessions(self, names: Iterable[StreamName]) -> list[Session]:
        wanted = set(names)
        chosen = [one for name, one in self.by_name.items() if name in wanted]
        sessions = self.run.follow_sessions(chosen, self.linked)[0]
        elsewhere = [one for name, one in self.shipped.items() if name in wanted]
        return [*refresh_crushed(self.run.name_projects(sessions, chosen)), *elsewhere]


def is_in_stream(one: LinkedSession, stream: StreamName) -> bool:
    return any((part.agent, part.stream) == stream for part in one.segments)


def find_sessions(store: Store, config: Config, prefix: str) -> list[Session]:
    """All sessions of the store whose id begins so; the one whose id it is alone."""
    with open_run(store, config) as run:
        index = index_sessions(run)
        if prefix == LAST:
            last = index.find_last()
            return index.load_sessions([last] if last else [])
        names = [name for name, _ in index.find_begun(prefix) if name[1].startswith(prefix)]
        found = index.load_sessions(names)
    return [one for one in found if one.id == prefix] or found


def find_session_of(store: Store, config: Config, segment: str) -> Session:
    """The session that a segment, given by its id, belongs to."""
    with open_run(store, config) as run:
        index = index_sessions(run)
        return index.load_sessions([name for name, part in index.find_begun(segment) if part == segment])[0]


def list_marked(store: Store, config: Config) -> list[Session]:
    """All sessions of which a person said how they ended."""
    with open_run(store, config) as run:
        return load_marked(index_sessions(run))


def load_marked(index: SessionIndex) -> list[Session]:
    """The same, as an index has them."""
    return [one for one in index.load_sessions(index.list_marked()) if one.marked]


def read_turns(store: Store, config: Config, session: Session) -> list[Turn]:
    """The turns of a session, as it was judged."""
    return [turn for _, _, turn in read_placed_turns(store, config, session)]


def build_segment(session: Session, turns: int) -> Segment:
    """A session of another machine, as if it were one segment."""
    return Segment(
        id=session.id,
        agent=session.agent,
        stream=session.streams[0],
        project=session.project,
        first=0,
        last=max(turns - 1, 0),
        began_at=session.started_at,
        ended_at=session.ended_at,
        boundary=session.boundary,
    )


def read_placed_turns(store: Store, config: Config, session: Session) -> list[tuple[Segment, int, Turn]]:
    """The turns of a session, each with its segment and its number in the stream."""
    [found] = list_placed_turns(store, privacy.build_rules(config, pick_report_time(config)), [session])
    return found


def list_placed_turns(
    store: Store, rules: privacy.PrivacyRules, sessions: Sequence[Session]
) -> Iterator[list[tuple[Segment, int, Turn]]]:
    """The same of several sessions, one after the other; every stream is read once."""
    ids = {one.id: {one.id, *(join.id for join in one.merged_from)} for one in sessions if not one.machine}
    segments = store.sessions.find_segments(set().union(*ids.values()))
    files = store.transcripts.list_stream_files({(one.agent, one.stream) for one in segments})
    streams = {
        (one.agent, one.id): privacy.redact_stream(kept, rules).stream
        for one, kept in zip(files, store.transcripts.load_pieces(files), strict=True)
    }
    for session in sessions:
        if session.machine:
            sent = privacy.redact_sent_turns(store.shipped.load_words((session.agent, session.id)), session, rules)
            yield [(build_segment(session, len(sent)), n, turn) for n, turn in enumerate(sent)]
            continue
        yield [
            (segment, n, turn)
            for segment in segments
            if segment.id in ids[session.id]
            for n, turn in enumerate(list_turns_in(streams[segment.agent, segment.stream], segment), segment.first)
        ]
