"""Conversations as they go on: what was last seen of each, and whether its session is open, sealed or judged."""

from collections.abc import Container, Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.pipeline.judged_sessions import find_end
from assay.pipeline.scoring_run import ScoringRun, name_session
from assay.sessions.links import LinkedSession
from assay.sessions.progress import Seal, find_seal, was_active
from assay.sessions.redaction import Redactor
from assay.stores import KeptSeal, Store, StreamName
from assay.types import LiveRow, LiveState, Segment, StreamSummary

RECENT = timedelta(hours=24)
MOST = 500
"""Conversations that are looked at."""
FACTS = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
TOKENS = msgspec.json.Decoder(dict[str, int] | None).decode
COST = msgspec.json.Decoder(float | None).decode


class SeenConversation(Struct, frozen=True, kw_only=True):
    """A conversation that was active of late, with the session it is in."""

    stream: StreamSummary
    session: LinkedSession | None
    """`None`: it was never cut."""
    seal: Seal | None
    is_fresh: bool

    @property
    def name(self) -> StreamName:
        return self.stream.agent, self.stream.id


def list_seen(run: ScoringRun, most: int = MOST) -> list[SeenConversation]:
    """The conversations that were active in the last day, the latest first."""
    since = f"{run.as_of - RECENT:%Y-%m-%dT%H:%M:%S}"
    found = run.store.work.list_recent(since, most)
    kept = run.store.sessions.list_segments(None, [(one.agent, one.id) for one in found])
    linked = run.link_segments(kept)
    segments = [one.segment for one in kept]
    by_stream: dict[StreamName, LinkedSession] = {}
    for one in linked:
        for part in one.segments:
            name = part.agent, part.stream
            before = by_stream.get(name)
            if before is None or part.first > find_last_place(before, name):
                by_stream[name] = one
    return [see_conversation(one, by_stream.get((one.agent, one.id)), segments, run.as_of) for one in found]


def find_last_place(linked: LinkedSession, name: StreamName) -> int:
    return max(part.first for part in linked.segments if (part.agent, part.stream) == name)


def see_conversation(
    stream: StreamSummary, session: LinkedSession | None, segments: Sequence[Segment], now: datetime
) -> SeenConversation:
    """What is to be seen of one conversation."""
    is_cut = session is not None and find_end(session) >= stream.ended_at
    return SeenConversation(
        stream=stream,
        session=session,
        seal=find_seal(session, segments) if session and is_cut else None,
        is_fresh=was_active(stream.ended_at, now),
    )


# --- what was sealed, and went on -----------------------------------------------------------------


def note_seals(store: Store, seen: Sequence[SeenConversation]) -> None:
    """Remember which sessions are sealed by now, and which of those that were went on."""
    sessions = {name_session(one.session): one for one in seen if one.session}
    kept = store.work.load_seals(sessions)
    found = [update_seal(kept.get(name), name, one) for name, one in sessions.items()]
    store.work.save_seals([one for one in found if one is not None and one != kept.get(one.name)])


def update_seal(before: KeptSeal | None, name: StreamName, one: SeenConversation) -> KeptSeal | None:
    """What is known of a session's seal now; nothing where it was never sealed."""
    assert one.session
    ended_at = find_end(one.session)
    went_on = before is not None and bool(before.signal) and ended_at > before.ended_at
    opened = (before.opened if before else 0) + went_on
    if one.seal is None:
        return replace(before, signal="", opened=opened) if before else None
    return KeptSeal(agent=name[0], id=name[1], signal=one.seal.signal, at=one.seal.at, ended_at=ended_at, opened=opened)


# --- as it is told --------------------------------------------------------------------------------


def list_live(run: ScoringRun, waiting: Container[StreamName], most: int) -> list[LiveRow]:
    """Conversations of the last day as they may be told, the latest first; given those that are not judged yet."""
    seen = list_seen(run, most)
    kept = run.store.work.load_seals(name_session(one.session) for one in seen if one.session)
    text = Redactor(run.terms.privacy.options).text
    return [
        replace(
            tell_conversation(one, kept, one.name in waiting),
            stream=text(one.stream.id),
            project=text(one.stream.project),
        )
        for one in seen
    ]


def tell_conversation(one: SeenConversation, kept: dict[StreamName, KeptSeal], is_waiting: bool) -> LiveRow:
    """A conversation as it stands, before its names are redacted."""
    name = name_session(one.session) if one.session else None
    facts = FACTS(one.stream.facts) if one.stream.facts else {}
    before = kept.get(name) if name else None
    return LiveRow(
        agent=one.stream.agent,
        stream=one.stream.id,
        session=name[1] if name else None,
        project=one.stream.project,
        began_at=one.stream.began_at,
        last_at=one.stream.ended_at,
        turns=one.stream.turns,
        tokens=TOKENS(facts["tokens"]) if "tokens" in facts else None,
        cost_usd=COST(facts["cost_usd"]) if "cost_usd" in facts else None,
        state=name_state(one, is_waiting),
        sealed_by=one.seal.signal if one.seal else None,
        sealed_at=one.seal.at if one.seal else None,
        opened_again=before.opened if before else 0,
    )


def name_state(one: SeenConversation, is_waiting: bool) -> LiveState:
    """Where a conversation is on its way to a score."""
    if one.seal:
        return "sealed" if is_waiting else "judged"
    return "open" if one.is_fresh else "provisional"
