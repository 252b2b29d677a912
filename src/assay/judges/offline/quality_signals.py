"""What the quality judge reads off a session: a value, how strongly it is shown, words for it and words to quote."""

from collections.abc import Sequence
from math import log

from msgspec import Struct

from assay.facts.signals import QUOTE, Sign, SignalSigns, find_signals
from assay.judges.timeline import Timeline, read_timeline
from assay.resources import load_table
from assay.types import OutcomeJudgement, RubricJudgement, Turn


class NumberWeights(Struct, frozen=True):
    start: float
    pull: float


class CategoryWeights(Struct, frozen=True):
    steps: tuple[float, float, float]


class CommandPattern(Struct, frozen=True):
    name: str
    finds: str
    asked: str = ""
    grave: bool = False
    value: float = 1.0
    """What care is worth."""


class QualityWeights(Struct, frozen=True):
    """`quality.toml`."""

    version: int
    thin: float
    number: NumberWeights
    category: CategoryWeights
    weights: dict[str, float]
    norms: dict[str, tuple[float, float]]
    risks: list[CommandPattern]
    care: list[CommandPattern]


class SessionView(Struct, frozen=True):
    """A session as the quality judge sees it."""

    turns: Sequence[Turn]
    seen: dict[str, SignalSigns]
    timeline: Timeline
    rubric: RubricJudgement | None
    outcome: OutcomeJudgement | None


class SignalScore(Struct, frozen=True):
    """What one signal says: 1 is as good as it gets, 0 as bad."""

    value: float
    words: str
    """A clause."""
    signs: tuple[Sign, ...]
    strength: float = 1.0
    """How much there was to see, up to 1."""


def build_session_view(
    turns: Sequence[Turn], rubric: RubricJudgement | None, outcome: OutcomeJudgement | None
) -> SessionView:
    return SessionView(turns, find_signals(turns), read_timeline(turns), rubric, outcome)


def load_weights() -> QualityWeights:
    return load_table("assay.judges.offline", "quality.toml", QualityWeights)


def clamp(value: float) -> float:
    return min(1.0, max(0.0, value))


def weigh_occasions(number: float, half: float) -> float:
    """How much so many occasions show: half where there are as many as `half`."""
    return number / (number + half) if number > 0 else 0.0


def place_in_norm(value: float, norm: str) -> float:
    """Where a value stands between the two points of a norm: 1 at the good one, 0 at the bad one."""
    good, bad = load_weights().norms[norm]
    return clamp(1 - log(max(value, good) / good) / log(bad / good))


def format_count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def pick_signs(seen: SignalSigns, most: int = 3) -> tuple[Sign, ...]:
    """The signs, else an occasion for them."""
    return tuple(seen.signs[:most]) or ((seen.first,) if seen.first else ())


def quote_turn(turns: Sequence[Turn], number: int) -> Sign:
    """Words of a turn, for what has none of its own: the prompt's, else the agent's, else a call's."""
    turn = turns[number - 1]
    texts = [
        turn.prompt.text if turn.prompt else "",
        *(reply.text for reply in turn.replies),
        *(call.command or call.target or call.output for call in turn.calls),
    ]
    lines = (line.strip() for text in texts for line in text.splitlines())
    return Sign(number, next((line[:QUOTE].strip() for line in lines if line), ""))
