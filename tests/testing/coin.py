"""A judge as the how-to has it: it tosses a coin that always falls on the same side."""

from collections.abc import Sequence

from assay.types import (
    Citation,
    Failure,
    Gap,
    Intent,
    LanguageJudgement,
    OutcomeJudgement,
    Prompt,
    RubricJudgement,
    Stream,
    Turn,
)


def versions() -> dict[str, str]:
    return dict.fromkeys(("topic", "language", "rubric", "outcome"), "1")


def topic(stream: Stream) -> tuple[Gap, ...]:
    prompts = [n for n, turn in enumerate(stream.turns) if turn.prompt]
    return tuple(Gap(turn=n, is_shift=False, confidence=1.0, evidence="") for n in prompts[1:])


def language(turns: Sequence[Turn]) -> LanguageJudgement:
    return LanguageJudgement(natural="en", programming=None)


def rubric(turns: Sequence[Turn]) -> RubricJudgement:
    return RubricJudgement(intent="small_change", checks={}, grade="B", title="A toss", summary="")


def outcome(
    turns: Sequence[Turn], intent: Intent, failures: Sequence[Failure], after: Prompt | None
) -> OutcomeJudgement:
    said = next((n, turn.prompt.text) for n, turn in enumerate(turns, 1) if turn.prompt)
    return OutcomeJudgement(
        goal_complete=True, confidence=0.5, evidence="silent", citations=(Citation(turn=said[0], quote=said[1]),)
    )
