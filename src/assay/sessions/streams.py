"""The files of one stream, joined: copies dropped, sub-agents put into the turn that started them."""

from collections.abc import Iterable, Sequence, Set

from msgspec.structs import replace

from assay.sessions.turns import TurnDraft
from assay.types import Call, Part, Spend, Stream, Turn
from assay.types.value import merge_signs

FilePiece = tuple[str, Part, Sequence[Turn]]
"""A file: its path, what it says of the stream, its turns."""

NOTHING: Set[int] = frozenset()
SAME_CHARACTERS = 100
"""Replies written at the same time that begin with the same characters are one."""


def list_keys(turns: Iterable[Turn]) -> dict[int, int]:
    """Identities by which copies of these turns are found in other files, and how complete they are here.

    A response that was cut off while it was written reports fewer output tokens than its whole copy.
    """
    found: dict[int, int] = {}
    for turn in turns:
        if turn.prompt:
            found.setdefault(turn.prompt.key, 0)
        for call in turn.calls:
            if call.of:
                found.setdefault(call.of, 0)
        for spend in turn.spends:
            found[spend.key] = max(found.get(spend.key, 0), spend.usage.output)
    return found


Precedence = tuple[bool, str, str, str]


def rank_file(path: str, part: Part) -> Precedence:
    """Who owns what several files hold: main agents before sub-agents, then the file begun first."""
    return bool(part.by), part.began_at, part.stream, path


def join_files(pieces: Iterable[FilePiece], elsewhere: Set[int] = NOTHING) -> Stream:
    """One stream of its files, without what belongs to a stream `elsewhere`."""
    ordered = sorted(pieces, key=lambda piece: rank_file(piece[0], piece[1]))
    first = ordered[0][1]
    joiner = StreamJoiner(elsewhere)
    for _, part, turns in ordered:
        if part.is_warmup:
            continue
        if part.by:
            joiner.attach_agent(part, turns)
        else:
            joiner.append_turns(turns)
    return Stream(
        id=first.stream,
        agent=first.agent,
        files=tuple(path for path, _, _ in ordered),
        about=first,
        turns=joiner.build_turns(),
    )


class StreamJoiner:
    """Puts turns together and remembers what is there already."""

    def __init__(self, elsewhere: Set[int]) -> None:
        self.drafts: list[TurnDraft] = []
        self.elsewhere = elsewhere
        self.prompts: dict[int, TurnDraft] = {}
        self.spends: dict[int, tuple[TurnDraft, int]] = {}
        self.calls: dict[str, tuple[TurnDraft, int]] = {}
        self.attached: dict[int, tuple[TurnDraft, set[str]]] = {}

    def append_turns(self, turns: Sequence[Turn]) -> None:
        """Add the turns of a main file."""
        for turn in turns:
            key = turn.prompt.key if turn.prompt else None
            if key is not None and key in self.prompts:
                self.add_turn(self.prompts[key], turn, "")
                self.add_words(self.prompts[key], turn)
                self.prompts[key].signs = merge_signs(self.prompts[key].signs, turn.signs)
                continue
            draft = TurnDraft(at=turn.at, ended_at=turn.ended_at, signs=turn.signs)
            is_copy = key is not None and key in self.elsewhere
            if turn.prompt and not is_copy:
                draft.prompt = turn.prompt
            added = self.add_turn(draft, turn, "")
            if is_copy and not added:
                continue
            self.add_words(draft, turn)
            if not is_copy and not added and turn.calls and turn.spends:
                continue  # rewritten under a fresh id, but all that it did is known
            self.drafts.append(draft)
            if key is not None and not is_copy:
                self.prompts[key] = draft

    def add_turn(self, draft: TurnDraft, turn: Turn, by: str) -> bool:
        """Put into a draft what is new in a turn; whether there was anything."""
        is_new = False
        for spend in turn.spends:
            if spend.key not in self.elsewhere:
                is_new |= self.add_spend(draft, spend, by)
        for call in turn.calls:
            if call.of not in self.elsewhere:
                is_new |= self.add_call(draft, call, by)
        return is_new

    def add_words(self, draft: TurnDraft, turn: Turn) -> None:
        """What was said and what happened; a reply that was shortened in one file is the same in the other."""
        known = {(reply.at, reply.text[:SAME_CHARACTERS]): n for n, reply in enumerate(draft.replies)}
        for reply in turn.replies:
            n = known.get((reply.at, reply.text[:SAME_CHARACTERS]))
            if n is None:
                draft.replies.append(reply)
            else:
                draft.replies[n] = reply
        draft.marks.extend(mark for mark in turn.marks if mark not in draft.marks)
        draft.ended_at = max(draft.ended_at, turn.ended_at)

    def add_spend(self, draft: TurnDraft, spend: Spend, by: str) -> bool:
        """Add tokens, or mend a report that an echo cut short."""
        if place := self.spends.get(spend.key):
            have = place[0].spends[place[1]]
            if spend.usage.output > have.usage.output:
                place[0].spends[place[1]] = replace(have, usage=spend.usage)
            return False
        self.spends[spend.key] = (draft, len(draft.spends))
        draft.spends.append(replace(spend, by=spend.by or by) if by else spend)
        return True

    def add_call(self, draft: TurnDraft, call: Call, by: str) -> bool:
        """Add a call, or the result that was missing."""
        if place := self.calls.get(call.id):
            if place[0].calls[place[1]].status == "open" and call.status != "open":
                place[0].calls[place[1]] = replace(call, by=call.by or by)
            return False
        self.calls[call.id] = (draft, len(draft.calls))
        draft.calls.append(replace(call, by=call.by or by) if by else call)
        return True

    def attach_agent(self, part: Part, turns: Sequence[Turn]) -> None:
        """Add a sub-agent's turns to the turn that started it."""
        draft = self.find_starter(part)
        for turn in turns:
            self.add_turn(draft, turn, part.by)
            draft.signs = merge_signs(draft.signs, turn.signs)
        self.attached.setdefault(id(draft), (draft, set()))[1].add(part.by)

    def build_turns(self) -> tuple[Turn, ...]:
        """The turns; what a sub-agent did stands behind the call that started it."""
        for draft, agents in self.attached.values():
            draft.calls = order_calls(draft.calls, agents)
        return tuple(draft.freeze() for draft in self.drafts)

    def find_starter(self, part: Part) -> TurnDraft:
        """The turn with the call that started the sub-agent, else the one that ran at that time."""
        earlier: TurnDraft | None = None
        for draft in self.drafts:
            if any(call.agent == part.by for call in draft.calls):
                return draft
            if draft.at <= part.began_at or earlier is None:
                earlier = draft
        if earlier is None:
            earlier = TurnDraft(at=part.began_at, ended_at=part.ended_at)
            self.drafts.append(earlier)
        return earlier


def order_calls(calls: list[Call], agents: set[str]) -> list[Call]:
    """Calls with those of each attached sub-agent behind the call that started it, else at the end."""
    by_agent: dict[str, list[Call]] = {}
    for call in calls:
        if call.by in agents:
            by_agent.setdefault(call.by, []).append(call)
    ordered: list[Call] = []
    waiting = [call for call in reversed(calls) if call.by not in agents]
    while waiting:
        call = waiting.pop()
        ordered.append(call)
        waiting.extend(reversed(by_agent.pop(call.agent, [])))
    return ordered + [call for left in by_agent.values() for call in left]
