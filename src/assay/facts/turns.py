"""How much was said: turns, human prompts, replies."""

from collections.abc import Sequence

from assay.types import Fact, Turn

VERSION = 1


class Turns(Fact, frozen=True):
    turns: int
    """Turns that a person began."""
    queued_prompts: int
    """Prompts typed while the agent worked."""
    replies: int
    images: int


def fact(turns: Sequence[Turn]) -> Turns:
    prompts = [turn.prompt for turn in turns if turn.prompt]
    return Turns(
        turns=len(prompts),
        queued_prompts=sum(prompt.kind == "queued" for prompt in prompts),
        replies=sum(len(turn.replies) for turn in turns),
        images=sum(prompt.images for prompt in prompts),
    )
