"""A judge as a plugin brings it: its word depends on nothing but the prompts, so tests can steer it.

A prompt that begins with "Now" (or with what `TOPICS` says) is a new topic; "hm" is no goal; at "unanswerable" the
judge fails; "failed" was not completed; "unquoted" cites what nobody said. While the file `REFUSES` is there, it
answers nothing.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from assay import plugins
from assay.errors import JudgeError
from assay.pipeline import judgement
from assay.types import (
    Citation,
    Failure,
    Gap,
    Intent,
    LanguageJudgement,
    OutcomeJudgement,
    Prompt,
    Reason,
    RubricJudgement,
    Stream,
    Turn,
)

REFUSES = "PLAIN_JUDGE_REFUSES"
VERSION = "PLAIN_JUDGE_VERSION"
TOPICS = "PLAIN_JUDGE_TOPICS"


def install(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the judge `plain` be found, as that of an installed package is."""
    about = folder / "plain_judge-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plain-judge\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[assay.judges]\nplain = tests.plain_judge\n")
    patch.syspath_prepend(str(folder))
    plugins.forget_plugins()
    judgement.find_judge.cache_clear()


def said(turns: Sequence[Turn]) -> list[str]:
    return [turn.prompt.text for turn in turns if turn.prompt]


def versions() -> dict[str, str]:
    return dict.fromkeys(("topic", "language", "rubric", "outcome"), os.environ.get(VERSION, "1"))


def topic(stream: Stream) -> tuple[Gap, ...]:
    asked = [(n, turn.prompt.text) for n, turn in enumerate(stream.turns) if turn.prompt]
    return tuple(
        Gap(turn=n, is_shift=text.startswith(os.environ.get(TOPICS, "Now")), confidence=0.5, evidence=text[:20])
        for n, text in asked[1:]
    )


def language(turns: Sequence[Turn]) -> LanguageJudgement:
    return LanguageJudgement(natural="en", programming="Python")


def rubric(turns: Sequence[Turn]) -> RubricJudgement:
    texts = said(turns)
    intent = "small_change" if texts and texts[0] != "hm" else None
    return RubricJudgement(intent=intent, checks={}, grade="B", title=" / ".join(texts)[:60], summary="")


def outcome(
    turns: Sequence[Turn], intent: Intent, failures: Sequence[Failure], after: Prompt | None
) -> OutcomeJudgement:
    texts = said(turns)
    refuses = os.environ.get(REFUSES)
    if "unanswerable" in texts[0] or (refuses and os.path.exists(refuses)):
        raise JudgeError("the judge is out to lunch")
    quote = "nobody said this" if "unquoted" in texts[0] else texts[0]
    n = next(n for n, turn in enumerate(turns, 1) if turn.prompt)
    reasons = (Reason(kind="next", turn=len(turns), quote=after.text, weight=0.1),) if after else ()
    return OutcomeJudgement(
        goal_complete="failed" not in texts[0],
        confidence=0.9,
        evidence="explicit",
        citations=(Citation(turn=n, quote=quote),),
        reasons=reasons,
    )
