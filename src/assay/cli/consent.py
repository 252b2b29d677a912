"""Before money is spent and words leave: what it will take, and the person's yes."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

import typer
from msgspec import Struct

from assay.cli.output import print_note
from assay.cli.progress import ProgressBar
from assay.config import Config
from assay.errors import BadInput
from assay.llm import Question
from assay.llm.egress import Estimate
from assay.pipeline.cost import measure_question
from assay.pipeline.models import (
    OVER_BUDGET,
    AskOptions,
    ModelAccess,
    check_available,
    find_outage,
    open_kept_answers,
    open_models,
)
from assay.reports.format import format_count, format_dollars, sanitize_text
from assay.stores import Store

YES = ("y", "yes")
STOPPED_CODE = 5
"""Exit code of a run that stopped at its limit; the report is printed."""
INCOMPLETE_CODE = 2
STOPPED_SHORT = "stopped at --max-cost; what was answered is kept, the same command with a higher limit goes on"


QuestionLister = Callable[[ModelAccess], Iterable[Question]]
"""Lists all questions that a command would ask, without asking them."""


class AskingRequest(Protocol):
    """The options of every command that may ask a model."""

    @property
    def yes(self) -> bool: ...
    @property
    def batch(self) -> bool: ...
    @property
    def again(self) -> bool: ...


class Consent(Struct, frozen=True, kw_only=True):
    """What the person allowed on the command line; without it no model is asked."""

    yes: bool
    batch: bool
    again: bool
    words: str
    """The command that shows what would be sent."""


def read_consent(request: AskingRequest, words: str = "assay egress") -> Consent:
    """What a request allows."""
    return Consent(yes=request.yes, batch=request.batch, again=request.again, words=words)


@contextmanager
def open_allowed_models(
    store: Store, config: Config, consent: Consent | None, list_questions: QuestionLister
) -> Iterator[ModelAccess]:
    """The models to ask, once the person agreed to what would be asked; without consent, only what they said before."""
    with ProgressBar("asking", "items") as bar:
        manner = AskOptions(
            batch=bool(consent and consent.batch), again=bool(consent and consent.again), heard=bar.show
        )
        found = (
            open_models(store, config, os.environ, manner) if consent else open_kept_answers(store, config, os.environ)
        )
        try:
            if found.unavailable and consent:
                check_available(found.unavailable, config)
            if found.unavailable:
                print(f"assay: {sanitize_text(found.unavailable)}; the offline judge judges instead", file=sys.stderr)
            if found.client and consent:
                check_consent(
                    found.client.estimate([measure_question(one) for one in list_questions(found)]), config, consent
                )
            yield found
        finally:
            found.close()


def check_complete(closed: str | None, config: Config) -> None:
    """Say why a model that was asked did not judge all; where nobody allowed for that, it is no success."""
    if closed == OVER_BUDGET:
        print_note(STOPPED_SHORT)
        raise typer.Exit(STOPPED_CODE)
    if why := find_outage(closed):
        print_note(f"{why}; the offline judge judged what was not answered")
        if config.fallback == "none":
            raise typer.Exit(INCOMPLETE_CODE)


def check_consent(found: Estimate, config: Config, consent: Consent) -> None:
    """Go on, or raise: a terminal is asked, a pipe must have said `--yes`."""
    if not found.questions:
        return
    told = f"{describe_estimate(found)}{describe_limit(config)}"
    if consent.yes:
        print(f"assay: asking {sanitize_text(told)}", file=sys.stderr)
    elif not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(
            f"this would ask {told}; nothing was sent. Add --yes to go on, `{consent.words}` shows every word"
        )
    elif ask_person(f"This asks {sanitize_text(told)}. Go on? [y/N] ").strip().lower() not in YES:
        raise BadInput(f"nothing was sent; --judge offline asks nobody, `{consent.words}` shows what would be sent")


def describe_estimate(found: Estimate) -> str:
    """What is about to be asked, in a phrase."""
    cost = "price not known" if found.cost_usd is None else f"about {format_dollars(found.cost_usd)}"
    asked = f"{found.model} at {found.where} {format_count(found.questions, 'question')}"
    kept = f", {found.cached:,} more are answered already" if found.cached else ""
    return f"{asked}: about {found.input:,} tokens in and {found.output:,} out, {cost}{kept}"


def describe_limit(config: Config) -> str:
    return "" if config.model.max_cost is None else f"; stops at {format_dollars(config.model.max_cost)}"


def ask_person(question: str) -> str:
    """What the person types; the question goes to stderr, for stdout is the report's."""
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline()
