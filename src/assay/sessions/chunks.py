"""Cuts a long session into chunks by tokens, and shortens the one turn that is larger than a chunk.

Up to 80,000 tokens a session stays whole. A larger one is cut into chunks of at most 70,000, each of which begins
with the last four turns of the one before, or as many of the four as fit, and knows the first human prompt.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from assay.sessions.calls import find_telling_line
from assay.sessions.text import clip_text
from assay.types import Call, Prompt, Reply, Turn
from assay.types.value import Value

TARGET, WHOLE, OVERLAP, SMALL = 70_000, 80_000, 4, 0.5
CLIPS = (4_000, 1_200, 400, 120)
"""Characters that are left of each text, as it gets tighter."""
FAILED = frozenset({"error", "rejected", "denied", "interrupted"})
GAP = "[… {} calls and {} messages left out …]"


class Chunk(Value, frozen=True):
    """A run of turns, by their index; what comes before `own_first` also stands in the chunk before."""

    first: int
    last: int
    own_first: int
    tokens: int
    """All it holds: its own turns, those it shares, and the task where its turn is not among them."""
    own_tokens: int
    """Without what it shares; what it weighs when scores are put together."""
    has_task: bool = False
    """The first human prompt is to be given with it."""
    shortened: int | None = None
    """Index of its one turn that is larger than a chunk, and is to be shortened."""
    room: int | None = None
    """Tokens that this turn may have."""


def cut_chunks(
    sizes: Sequence[int],
    *,
    task: int = 0,
    target: int = TARGET,
    whole: int = WHOLE,
    overlap: int = OVERLAP,
    small: float = SMALL,
) -> list[Chunk]:
    """Cut turns of these sizes (in tokens) into chunks; `task` is the size of the first human prompt."""
    total = sum(sizes)
    if not sizes:
        return []
    if total <= whole:
        return [Chunk(first=0, last=len(sizes) - 1, own_first=0, tokens=total, own_tokens=total)]
    cutter = ChunkCutter(sizes, min(task, target // 2), target, overlap)
    starts = cutter.find_starts()
    chunks = [cutter.build_chunk(first, end) for first, end in zip(starts, [*starts[1:], len(sizes)], strict=True)]
    if len(chunks) > 1 and chunks[-1].tokens < small * chunks[-2].tokens:
        merged = cutter.build_chunk(chunks[-2].own_first, len(sizes))
        if merged.tokens <= target and chunks[-2].shortened is chunks[-1].shortened is None:
            chunks[-2:] = [merged]
    return chunks


class ChunkCutter:
    """Knows how large a chunk of some turns would be."""

    def __init__(self, sizes: Sequence[int], task: int, target: int, overlap: int) -> None:
        self.task, self.target, self.overlap = task, target, overlap
        self.given = sizes
        self.sizes = [min(size, self.find_room(n)) for n, size in enumerate(sizes)]

    def find_room(self, own_first: int) -> int:
        """Tokens for turns in a chunk whose own begin there: the first chunk has the task in a turn of its own."""
        return self.target - (self.task if own_first else 0)

    def find_starts(self) -> list[int]:
        """Where chunks begin with turns of their own: each takes as many as fit beside what it shares."""
        starts, held = [0], 0
        for n, size in enumerate(self.sizes):
            if n > starts[-1] and held + size > self.find_room(starts[-1]):
                starts.append(n)
                held = sum(self.sizes[self.find_shared(n) : n])
            held += size
        return starts

    def find_shared(self, own_first: int, end: int | None = None) -> int:
        """First of the turns before that fit beside the chunk's own, at most so many as overlap."""
        held = sum(self.sizes[own_first : own_first + 1 if end is None else end])
        first = own_first
        while first > max(0, own_first - self.overlap):
            held += self.sizes[first - 1]
            if held > self.find_room(own_first):
                break
            first -= 1
        return first

    def build_chunk(self, own_first: int, end: int) -> Chunk:
        """The chunk whose own turns are these, with as many shared ones as fit."""
        first = self.find_shared(own_first, end)
        own = sum(self.sizes[own_first:end])
        large = next((n for n in range(first, end) if self.given[n] > self.sizes[n]), None)
        return Chunk(
            first=first,
            last=end - 1,
            own_first=own_first,
            tokens=sum(self.sizes[first:own_first]) + own + (self.task if first else 0),
            own_tokens=own,
            has_task=first > 0,
            shortened=large,
            room=None if large is None else self.sizes[large],
        )


def find_task(turns: Sequence[Turn]) -> Prompt | None:
    """The first human prompt that asks for something: the task, which every chunk is told."""
    asked = [turn.prompt for turn in turns if turn.prompt]
    return next((prompt for prompt in asked if prompt.kind != "shell"), asked[0] if asked else None)


# --- one giant turn ---------------------------------------------------------------------------

Size = Callable[[Turn], int]


def shorten_turn(turn: Turn, tokens: int, size: Size) -> Turn:
    """The turn in so many tokens: its prompt, its head, its tail and every error stay, and what is left out is told.

    Where the errors alone are more than that, each is cut to the line that names it, and the turn may stay larger.
    """
    if size(turn) <= tokens:
        return turn
    steps: list[Reply | Call] = sorted([*turn.replies, *turn.calls], key=lambda step: step.at)
    best = turn
    for most in CLIPS:
        low, high = 0, (len(steps) + 1) // 2
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if size(keep_ends(turn, steps, middle, most)) <= tokens else (low, middle - 1)
        best = keep_ends(turn, steps, low, most)
        if low and size(best) <= tokens:
            return best
    return min(turn, best, key=size)


def keep_ends(turn: Turn, steps: Sequence[Reply | Call], ends: int, most: int) -> Turn:
    """The turn with so many steps at each end and all errors, each text of at most so many characters."""
    inside = range(ends, len(steps) - ends)
    stays = [step for n, step in enumerate(steps) if n not in inside or has_gone_wrong(step)]
    out = [step for n, step in enumerate(steps) if n in inside and not has_gone_wrong(step)]
    replies = [clip_reply(step, most) for step in stays if isinstance(step, Reply)]
    if out:
        calls = sum(isinstance(step, Call) for step in out)
        replies.append(Reply(at=out[0].at, text=GAP.format(calls, len(out) - calls)))
    return replace(
        turn,
        prompt=turn.prompt and replace(turn.prompt, text=clip_halves(turn.prompt.text, 2 * most)),
        replies=tuple(sorted(replies, key=lambda reply: reply.at)),
        calls=tuple(clip_call(step, most) for step in stays if isinstance(step, Call)),
    )


def has_gone_wrong(step: Reply | Call) -> bool:
    """Whether a call failed, was refused or stopped, or a check in it failed."""
    if isinstance(step, Reply):
        return False
    return step.status in FAILED or any(run.outcome == "failed" for run in step.runs)


def clip_reply(reply: Reply, most: int) -> Reply:
    return replace(reply, text=clip_halves(reply.text, most))


def clip_call(call: Call, most: int) -> Call:
    """The call with less of its texts; an error keeps the line that names it."""
    output = clip_halves(call.output, most)
    if has_gone_wrong(call) and (line := find_telling_line(call)) not in output:
        output = f"{line}\n{output}"
    return replace(call, command=clip_halves(call.command, most), target=clip_halves(call.target, most), output=output)


def clip_halves(text: str, most: int) -> str:
    return clip_text(text, most // 2, most // 2)
