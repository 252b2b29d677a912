"""Sessions of a store by their ids, and the turns of one."""

from collections.abc import Callable, Sequence

from assay.config import Config
from assay.pipeline import privacy
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.judge_stream import list_turns_in
from assay.pipeline.score import open_run
from assay.sessions.links import LinkedSession
from assay.stores import Store
from assay.types import Segment, Session, Turn

SessionSelector = Callable[[Sequence[LinkedSession]], Sequence[LinkedSession]]

LAST = "last"
"""What people call the session that ended last."""


def find_sessions(store: Store, config: Config, prefix: str) -> list[Session]:
    """All sessions of the store whose id begins so; the one whose id it is alone."""
    if prefix == LAST:
        return select_sessions(store, config, find_last)
    found = select_sessions(store, config, lambda linked: [one for one in linked if has_id(one, prefix)])
    return [one for one in found if one.id == prefix] or found


def has_id(linked: LinkedSession, prefix: str) -> bool:
    return linked.segments[0].id.startswith(prefix)


def find_last(linked: Sequence[LinkedSession]) -> list[LinkedSession]:
    """The session that ended last, if there is any."""
    return [max(linked, key=lambda one: max(part.ended_at for part in one.segments))] if linked else []


def find_session_of(store: Store, config: Config, segment: str) -> Session:
    """The session that a segment, given by its id, belongs to."""
    return select_sessions(
        store, config, lambda linked: [one for one in linked if any(part.id == segment for part in one.segments)]
    )[0]


def select_sessions(store: Store, config: Config, select: SessionSelector) -> list[Session]:
    """Those of all sessions of the store that are selected, as they may be seen."""
    with open_run(store, config) as run:
        run.judge_streams()
        chosen = select(run.link_all())
        told = [privacy.redact_session(one, run.terms.privacy) for one in run.build_sessions(chosen)]
        return run.name_projects(told, chosen)


def read_turns(store: Store, config: Config, session: Session) -> list[Turn]:
    """The turns of a session, as it was judged."""
    return [turn for _, _, turn in read_placed_turns(store, config, session)]


def read_placed_turns(store: Store, config: Config, session: Session) -> list[tuple[Segment, int, Turn]]:
    """The turns of a session, each with its segment and its number in the stream."""
    rules = privacy.build_rules(config, pick_report_time(config))
    segments = store.sessions.find_segments([session.id, *(join.id for join in session.merged_from)])
    files = store.transcripts.list_stream_files({(one.agent, one.stream) for one in segments})
    streams = {
        (one.agent, one.id): privacy.redact_stream(kept, rules).stream
        for one, kept in zip(files, store.transcripts.load_pieces(files), strict=True)
    }
    return [
        (segment, n, turn)
        for segment in segments
        for n, turn in enumerate(list_turns_in(streams[segment.agent, segment.stream], segment), segment.first)
    ]
