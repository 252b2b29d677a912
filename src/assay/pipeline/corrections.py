"""A person's word on sessions: split, merge, rename. It is kept for good and wins over every later run."""

from assay.config import Config
from assay.errors import BadInput
from assay.pipeline.lookup import find_session_of, find_sessions, read_placed_turns
from assay.reports.format import format_line
from assay.sessions.boundaries import hash_turn
from assay.stores import Store
from assay.types import PersonCorrection, Segment, Session, Turn

LONGEST_TITLE = 60
MOST_LISTED = 10
ID_LENGTH = 12

Placed = list[tuple[Segment, int, Turn]]


def find_one_session(store: Store, config: Config, prefix: str) -> Session:
    """The session whose id begins so; none or several are told."""
    found = find_sessions(store, config, prefix.lower()) if prefix else []
    if not found:
        said = format_line(prefix, 60)
        raise BadInput(f"no session begins with {said!r}; `assay sessions` lists them, `assay score` reads what is new")
    if len(found) > 1:
        listed = "\n  ".join(
            f"{one.id}  {one.started_at[:16]}  {format_line(one.title, 60)}" for one in found[:MOST_LISTED]
        )
        more = f"\n  and {len(found) - MOST_LISTED} more" if len(found) > MOST_LISTED else ""
        raise BadInput(f"{len(found)} sessions begin with {prefix!r}; give more of the id:\n  {listed}{more}")
    return found[0]


def split_session(store: Store, config: Config, session: Session, turn: str, at: str) -> tuple[Session, Session]:
    """Let a new session begin with a turn of another, given by its number in there or its id."""
    placed = read_placed_turns(store, config, session)
    n = find_turn(placed, session, turn)
    segment, _, chosen = placed[n]
    if chosen.prompt is None:
        raise BadInput(f"turn {n + 1} of {session.id} has no prompt; a session begins with what a person says")
    is_inside = any(one.prompt for there, _, one in placed[:n] if there == segment)
    if not is_inside and segment == placed[0][0]:
        raise BadInput(f"{session.id} begins with turn {n + 1}; there is nothing before it to split off")
    new = hash_turn(segment.agent, segment.stream, chosen) if is_inside else segment.id
    store.corrections.save_correction(PersonCorrection(kind="split", turn=new, at=at), (segment.agent, segment.stream))
    return find_session_of(store, config, session.id), find_session_of(store, config, new)


def find_turn(placed: Placed, session: Session, turn: str) -> int:
    """Which turn is meant, counted from 0."""
    if turn.isdecimal() and len(turn) < ID_LENGTH:
        found = [int(turn) - 1] if 1 <= int(turn) <= len(placed) else []
    else:
        ids = [hash_turn(segment.agent, segment.stream, one) for segment, _, one in placed]
        found = [n for n, one in enumerate(ids) if one == turn.lower()]
    if not found:
        last = f"it has turns 1 to {len(placed)}" if len(placed) > 1 else "it has one turn"
        raise BadInput(
            f"there is no turn {format_line(turn, 60)} in {session.id}: {last}, `assay show {session.id}` shows them"
        )
    return found[0]


def merge_sessions(store: Store, config: Config, session: Session, other: Session, at: str) -> Session:
    """Let a session go on with another."""
    if session.id == other.id:
        raise BadInput(f"{session.id} can't be merged with itself; give the ids of two sessions")
    if session.tenant != other.tenant:
        raise BadInput(f"{session.id} and {other.id} belong to different tenants; their sessions stay apart")
    store.corrections.save_correction(PersonCorrection(kind="merge", turn=other.id, into=session.id, at=at))
    return find_session_of(store, config, session.id)


def rename_session(store: Store, config: Config, session: Session, title: str, at: str) -> Session:
    """Give a session a title."""
    said = " ".join(title.encode("utf-8", "replace").decode().split())
    if not said:
        raise BadInput("the new title is empty; give some words")
    if len(said) > LONGEST_TITLE:
        raise BadInput(f"the title has {len(said)} characters; give at most {LONGEST_TITLE}")
    store.corrections.save_correction(PersonCorrection(kind="rename", turn=session.id, title=said, at=at))
    return find_session_of(store, config, session.id)
