"""Models: the only way to one, with every wait and retry in between.

- `contract`: a question, its answer, every call made for it, and what a backend must offer;
- `dialogue`: how questions are put one after the other, whoever answers them;
- `client`: asks many questions at once or in a batch, patiently and within a budget, and guides a reply that is off
  its schema once;
- `wire`: what goes through a vendor's SDK, and what its errors mean;
- `egress`: what would be sent, as a report tells it;
- `anthropic`, `openai`, `claude_cli`: the backends, each with `connect(settings, env) -> Backend`, and
  `describe_model`, which needs no key and no SDK; others come as entry points `assay.llm`.

Takes questions made of clean text; gives what became of them; imports `types`, `errors`, `config` and `retry`.
"""

from assay.llm.contract import (
    FINAL,
    UNASKED,
    AbsentModel,
    Answer,
    Backend,
    BatchBackend,
    ModelCall,
    PaidRefusal,
    Question,
    QuestionResult,
    Trouble,
)
from assay.llm.dialogue import Answers, Dialogue, hold_dialogue, join_dialogues

__all__ = [
    "FINAL",
    "UNASKED",
    "AbsentModel",
    "Answer",
    "Answers",
    "Backend",
    "BatchBackend",
    "Dialogue",
    "ModelCall",
    "PaidRefusal",
    "Question",
    "QuestionResult",
    "Trouble",
    "hold_dialogue",
    "join_dialogues",
]
