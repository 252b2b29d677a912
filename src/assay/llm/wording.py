"""The words around a question, and a reply without its wrapping."""

import re

from assay.llm.contract import Question

FENCED = re.compile(r"\s*```[a-zA-Z]*[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL)
TEMPERATURE = 0.0
"""Of every call, further votes too: what flips at 0 is what a vote is there to show."""


def task(question: Question, *, schema: bool) -> str:
    """What is asked, with the schema in words where nothing else tells it, and what was wrong before."""
    parts: list[str] = [question.task]
    if schema:
        parts.append(
            f"Reply with nothing but one JSON object, the {question.job}, that fits this JSON Schema:\n"
            + question.schema.decode("utf-8")
        )
    if question.guidance:
        parts.append(question.guidance)
    return "\n\n".join(parts)


def unwrapped(reply: str) -> str:
    """A reply without a code fence around all of it; an object somewhere inside prose is left there."""
    fenced = FENCED.fullmatch(reply)
    return (fenced[1] if fenced else reply).strip()
