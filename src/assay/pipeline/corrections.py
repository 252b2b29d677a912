"""A person's word on sessions: split, merge, rename, mark. It is kept for good and wins over every later run."""

from collections.abc import Iterable, Sequence

from assay.config import Config
from assay.errors import BadInput
from assay.pipeline.lookup import find_session_of, find_sessions, read_placed_turns
from assay.pipeline.lookup import list_marked as find_marked
from assay.pipeline.verdicts import TAKEN_BACK, pick_standing
from assay.reports.format import format_line
from assay.sessions.boundaries import hash_turn
from assay.stores import Store
from assay.types import PersonCorrection, PersonVerdict, Segment, Session, Turn, VerdictKind

LONGEST_TITLE = 60
LONGEST_WHY = 500
MOST_LISTED = 10
ID_LENGTH = 12

Placed = list[tuple[Segment, int, Turn]]


def find_one_session(store: Store, config: Config, prefix: str) -> Session:
    """The session whose id begins so; none or several are told."""
    return pick_session(find_sessions(store, config, prefix.lower()) if prefix else [], prefix)


def pick_session(found: Sequence[Session], prefix: str) -> Session:
    """The only one of what was found by the beginning of an id."""
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


def refuse_shipped(*sessions: Session) -> None:
    """What another machine shipped is cut, joined and named there."""
    for one in sessions:
        if one.machine:
            raise BadInput(f"{one.id} was shipped from another machine; correct it there, and ship it again")


def split_session(store: Store, config: Config, session: Session, turn: str, at: str) -> tuple[Session, Session]:
    """Let a new session begin with a turn of another, given by its number in there or its id."""
    refuse_shipped(session)
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
    """Let a session go on with another; gives the whole."""
    save_merge(store, session, other, at)
    return find_session_of(store, config, session.id)


def save_merge(store: Store, session: Session, other: Session, at: str) -> None:
    """Keep that a session goes on with another, by a person's word."""
    refuse_shipped(session, other)
    if session.id == other.id:
        raise BadInput(f"{session.id} can't be merged with itself; give the ids of two sessions")
    if session.tenant != other.tenant:
        raise BadInput(f"{session.id} and {other.id} belong to different tenants; their sessions stay apart")
    store.corrections.save_correction(PersonCorrection(kind="merge", turn=other.id, into=session.id, at=at))


def rename_session(store: Store, config: Config, session: Session, title: str, at: str) -> Session:
    """Give a session a title; gives it as it is told then."""
    save_title(store, session, title, at)
    return find_session_of(store, config, session.id)


def save_title(store: Store, session: Session, title: str, at: str) -> None:
    """Keep the title that a person gives a session."""
    refuse_shipped(session)
    said = flatten_words(title)
    if not said:
        raise BadInput("the new title is empty; give some words")
    if len(said) > LONGEST_TITLE:
        raise BadInput(f"the title has {len(said)} characters; give at most {LONGEST_TITLE}")
    store.corrections.save_correction(PersonCorrection(kind="rename", turn=session.id, title=said, at=at))


def withdraw_title(store: Store, config: Config, session: Session, at: str) -> Session:
    """Take back the title that somebody gave a session; gives it as it is told then."""
    take_back_title(store, session, at)
    return find_session_of(store, config, session.id)


def take_back_title(store: Store, session: Session, at: str) -> None:
    """Keep that a session is called as the judge calls it again."""
    given = [one for one in store.corrections.load_corrections() if one.kind == "rename" and one.turn == session.id]
    if not given or not given[-1].title:
        raise BadInput(f"nobody renamed {session.id}; it has its own title")
    store.corrections.save_correction(PersonCorrection(kind="rename", turn=session.id, title="", at=at))


def flatten_words(text: str) -> str:
    """What somebody typed, on one line, as a store can keep it."""
    return " ".join(text.encode("utf-8", "replace").decode().split())


# --- how it ended -------------------------------------------------------------------------------


def mark_landing(store: Store, config: Config, session: Session, verdict: VerdictKind, why: str, at: str) -> Session:
    """Say how a session ended; gives it as it is told then."""
    save_mark(store, session, verdict, why, at)
    return find_session_of(store, config, session.id)


def save_mark(store: Store, session: Session, verdict: VerdictKind, why: str, at: str) -> None:
    """Keep how a session ended, by a person's word."""
    said = flatten_words(why)
    if len(said) > LONGEST_WHY:
        raise BadInput(f"--why has {len(said)} characters; give at most {LONGEST_WHY}")
    word = PersonVerdict(turn=session.id, verdict=verdict, why=said, at=at, turns=session.facts["turns"])
    store.corrections.save_verdicts([word])


def withdraw_verdict(store: Store, config: Config, session: Session, at: str) -> Session:
    """Take back what a person said last of how a session ended; gives it as it is told then."""
    take_back_mark(store, session, at)
    return find_session_of(store, config, session.id)


def take_back_mark(store: Store, session: Session, at: str) -> None:
    """Keep that a person takes back what they said last: a session's marks, or the answer to an audit after them."""
    segments = [session.id, *(join.id for join in session.merged_from)]
    there = store.sessions.list_segments(None, [(session.agent, one) for one in session.streams])
    turns = {turn for one in there if one.segment.id in segments for turn in one.turns}
    standing = [
        one for one in pick_standing(store.corrections.load_verdicts()) if one.turn in turns or one.turn in segments
    ]
    if not standing:
        raise BadInput(f"nobody marked {session.id}; `assay session marks` lists what is marked")
    taken = [one for one in standing if one.is_sampled is standing[-1].is_sampled]
    later = max(at, *(one.at for one in taken))
    store.corrections.save_verdicts(
        [PersonVerdict(turn=one.turn, verdict=TAKEN_BACK, at=later, is_sampled=one.is_sampled) for one in taken]
    )


def list_marked(store: Store, config: Config) -> list[Session]:
    """All sessions of which a person said how they ended, by when they said it."""
    return sort_marked(find_marked(store, config))


def sort_marked(sessions: Iterable[Session]) -> list[Session]:
    return sorted(sessions, key=lambda one: (one.marked.at if one.marked else "", one.id))


def count_strangers(store: Store) -> int:
    """How many verdicts are about sessions that are not here, or not any more."""
    standing = {one.turn for one in pick_standing(store.corrections.load_verdicts())}
    if not standing:
        return 0
    return len(standing - {turn for one in store.sessions.list_segments(None) for turn in (one.segment.id, *one.turns)})
