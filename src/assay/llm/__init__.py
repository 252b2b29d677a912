"""The only way to a model: one question, one answer, every wait and retry in between.

A backend is a file here (or an entry point `assay.llm`) with `connect(settings, env) -> Model`: `anthropic`,
`claude_cli`, `openai`. `patience` asks again when a service is busy; `asking` asks many questions at once, guides a
reply that is off its schema once, and keeps to a budget; `batches` hands them in together. Takes questions made of
clean text; gives what became of them; imports types, errors and config.
"""

from assay.llm.contract import FINAL, Answer, Asked, Batching, Call, Model, PaidRefusal, Question, Trouble

__all__ = ["FINAL", "Answer", "Asked", "Batching", "Call", "Model", "PaidRefusal", "Question", "Trouble"]
