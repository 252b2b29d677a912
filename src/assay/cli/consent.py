"""Before money is spent and words leave: what it will take, and the person's yes."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from msgspec import Struct
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from assay.config import Config
from assay.errors import BadInput
from assay.llm import Question
from assay.llm.egress import Estimate
from assay.pipeline.cost import measure_question
from assay.pipeline.models import AnswerProgress, AskOptions, ModelAccess, open_kept_answers, open_models
from assay.reports.safe import many, safe
from assay.reports.words import dollars
from assay.stores import Store

YES = ("y", "yes")


WouldAsk = Callable[[ModelAccess], Iterable[Question]]
"""All questions that a command would ask, without asking them."""


class Consent(Struct, frozen=True, kw_only=True):
    """What the person allowed on the command line; without it no model is asked."""

    yes: bool = False
    batch: bool = False
    again: bool = False
    words: str = "assay egress"
    """The command that shows what would be sent."""


@contextmanager
def asking(store: Store, config: Config, consent: Consent | None, would_ask: WouldAsk) -> Iterator[ModelAccess]:
    """Whom to ask, once the person agreed to what would be; nobody new where no consent could be given."""
    with answered() as heard:
        manner = AskOptions(batch=bool(consent and consent.batch), again=bool(consent and consent.again), heard=heard)
        found = (
            open_models(store, config, os.environ, manner) if consent else open_kept_answers(store, config, os.environ)
        )
        try:
            if found.instead:
                print(f"assay: {safe(found.instead)}; the offline judge judges instead", file=sys.stderr)
            if found.asker and consent:
                agree(found.asker.estimate([measure_question(one) for one in would_ask(found)]), config, consent)
            yield found
        finally:
            found.close()


def agree(found: Estimate, config: Config, consent: Consent) -> None:
    """Go on, or raise: a terminal is asked, a pipe must have said `--yes`."""
    if not found.questions:
        return
    told = f"{told_of(found)}{limit(config)}"
    if consent.yes:
        print(f"assay: asking {safe(told)}", file=sys.stderr)
    elif not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(
            f"this would ask {told}; nothing was sent. Add --yes to go on, `{consent.words}` shows every word"
        )
    elif input_line(f"This asks {safe(told)}. Go on? [y/N] ").strip().lower() not in YES:
        raise BadInput(f"nothing was sent; --judge offline asks nobody, `{consent.words}` shows what would be sent")


def told_of(found: Estimate) -> str:
    """What is about to be asked, in a phrase."""
    cost = "price not known" if found.cost_usd is None else f"about {dollars(found.cost_usd)}"
    asked = f"{found.model} at {found.where} {many(found.questions, 'question')}"
    kept = f", {found.cached:,} more are answered already" if found.cached else ""
    return f"{asked}: about {found.input:,} tokens in and {found.output:,} out, {cost}{kept}"


def limit(config: Config) -> str:
    return "" if config.model.max_cost is None else f"; stops at {dollars(config.model.max_cost)}"


def input_line(question: str) -> str:
    """What the person types; the question goes to stderr, for stdout is the report's."""
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline()


@contextmanager
def answered() -> Iterator[AnswerProgress]:
    """A bar of answers on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    columns = (TextColumn("asking"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    shown = Progress(*columns, console=Console(stderr=True), transient=True)
    task = shown.add_task("asking", total=None)

    def heard(done: int, total: int) -> None:
        if not shown.live.is_started:
            shown.start()
        shown.update(task, completed=done, total=total)
        if done == total:
            shown.stop()

    try:
        yield heard
    finally:
        shown.stop()
