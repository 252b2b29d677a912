"""Judges: what a session was after and whether it landed, each conclusion with its evidence.

A judge is a module or package here (or an entry point `assay.judges`) that offers what `Judge` names:

- `versions()`: a short sha256 for each job, over all that decides its answers;
- `topic(stream)`: a `Gap` for every step from one prompt to the next;
- `language(turns)`: what the person writes in, what the code is written in;
- `rubric(turns)`: intent, the seven checks, grade, title, summary;
- `outcome(turns, intent, failures, after)`: was the goal completed, how sure, by what evidence;
  `after` is what the person said next in the same stream, in another session.

There are two: `offline` needs no model, `model` asks one. They do not import each other; what both go by stands here:

- `criteria`: what no judge may decide for itself;
- `timeline`: what was said, changed, checked and handed in, in order;
- `explicit_evidence`: whether our own facts show the ground that explicit evidence names;
- `citations`: whether quoted words stand where they are said to.

Takes turns and facts; gives judgements; imports `types errors resources llm sessions facts`.
"""

from collections.abc import Sequence
from typing import Protocol

from assay.types import (
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


class Judge(Protocol):
    """What every judge offers."""

    def versions(self) -> dict[str, str]: ...
    def topic(self, stream: Stream) -> tuple[Gap, ...]: ...
    def language(self, turns: Sequence[Turn]) -> LanguageJudgement: ...
    def rubric(self, turns: Sequence[Turn]) -> RubricJudgement: ...
    def outcome(
        self, turns: Sequence[Turn], intent: Intent, failures: Sequence[Failure], after: Prompt | None
    ) -> OutcomeJudgement: ...
