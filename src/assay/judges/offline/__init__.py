"""The judge that needs no model and no network: deterministic, every conclusion a sum of named evidence."""

from collections.abc import Sequence

from assay.judges.formula import goal_complete
from assay.types import (
    Citation, Fact, Failure, Gap, Intent, LanguageJudgement, OutcomeJudgement, Prompt, RubricJudgement, Turn,
)  # fmt: skip

CHECKS = ("goal_explicit", "scope_bounded", "references_concrete", "context_sufficient", "verification_requested", "root_cause_oriented", "plan_first")  # fmt: skip


def versions() -> dict[str, str]:
    return dict.fromkeys(("topic", "language", "rubric", "outcome"), "0")


def topic(turns: Sequence[Turn]) -> tuple[Gap, ...]:
    asked = [n for n, turn in enumerate(turns) if turn.prompt]
    return tuple(Gap(turn=n, is_shift=False, confidence=0.1, evidence="goes on") for n in asked[1:])


def language(turns: Sequence[Turn]) -> LanguageJudgement:
    return LanguageJudgement(natural="en", programming=None)


def rubric(turns: Sequence[Turn], facts: dict[str, Fact]) -> RubricJudgement:
    first = next((turn.prompt.text for turn in turns if turn.prompt), "")
    return RubricJudgement(
        intent="small_change" if first else None, checks=dict.fromkeys(CHECKS), grade=None, title=first[:60], summary=""
    )


def outcome(
    turns: Sequence[Turn], intent: Intent, failures: Sequence[Failure], after: Prompt | None
) -> OutcomeJudgement:
    kind = "failure" if failures else "silent"
    first = next((turn.prompt.text for turn in turns if turn.prompt), "")
    return OutcomeJudgement(
        goal_complete=goal_complete(intent, kind, 0.7, failures),
        confidence=0.7,
        evidence=kind,
        citations=(Citation(turn=1, quote=first[:80]),),
    )
