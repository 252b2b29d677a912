"""Sessions of a store by their ids, and the turns of one."""

from collections.abc import Callable

from assay.config import Config
from assay.pipeline import privacy
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.judge_stream import list_turns_in
from assay.pipeline.score import open_run
from assay.sessions.links import LinkedSession
from assay.stores import Store
from assay.types import Segment, Session, Turn


def find_sessions(store: Store, config: Config, prefix: str) -> list[Session]:
    """All sessions of the store whose id begins so; the one whose id it is alone."""
    found = select_sessions(store, config, lambda one: one.segments[0].id.startswith(prefix))
    return [one for one in found if one.id == prefix] or found


def find_session_of(store: Store, config: Config, segment: str) -> Session:
    """The session that a segment, given by its id, belongs to."""
    return select_sessions(store, config, lambda one: any(part.id == segment for part in one.segments))[0]


def select_sessions(store: Store, config: Config, is_wanted: Callable[[LinkedSession], bool]) -> list[Session]:
    """Those of all sessions of the store that are wanted, as they may be seen."""
    with open_run(store, config) as run:
        run.judge_streams()
        found = run.build_sessions([one for one in run.link_all() if is_wanted(one)])
        return [privacy.redact_session(one, run.terms.privacy) for one in found]


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
