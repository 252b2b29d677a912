"""What would leave this machine: every question, where it goes, and its very words; nothing is sent."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from assay.config import Config
from assay.llm import Backend, ModelCall, Question
from assay.llm.egress import EgressQuestion, Estimate
from assay.pipeline.cost import measure_question
from assay.pipeline.models import AskOptions, ModelAccess, ModelClient
from assay.pipeline.score import open_run
from assay.pipeline.scoring_run import Selection
from assay.reports.egress import ModelUse
from assay.stores import Store

MARKER = re.compile(r"\[redacted:([a-z0-9-]+?)(?:-\d+)?\]")


def list_egress(
    store: Store, roots: Sequence[str], config: Config, jobs: int, model: Backend, choice: Selection
) -> tuple[Estimate, list[EgressQuestion]]:
    """What a run would ask of a model."""
    client = ModelClient(store, config, model, AskOptions(only_kept=True))
    try:
        with open_run(store, config, roots, selection=choice, jobs=jobs, models=ModelAccess(client=client)) as run:
            wanted = list(run.list_questions())
        known = set(client.load_answers([one.key for one in wanted]))
        return client.estimate([measure_question(one) for one in wanted]), list(list_leaving(wanted, model, known))
    finally:
        client.close()


def list_leaving(wanted: Sequence[Question], model: Backend, known: set[str]) -> Iterator[EgressQuestion]:
    """Questions as they would go out."""
    for question in wanted:
        sized = measure_question(question)
        words = (question.system, question.material, question.task)
        yield EgressQuestion(
            to=model.where,
            model=question.model,
            job=question.job,
            about=question.about,
            project=question.project,
            is_answered=question.key in known,
            tokens=sized.prefix + sized.task,
            bytes=sum(len(text.encode("utf-8", "surrogatepass")) for text in words) + len(question.schema),
            redacted=dict(Counter(MARKER.findall(question.material)).most_common()),
            system=question.system,
            material=question.material,
            task=question.task,
            schema=msgspec.json.decode(question.schema),
        )


def add_up_calls(calls: Iterable[ModelCall]) -> list[ModelUse]:
    """What was asked of each model, those asked most first; a sum with an unpriced call is unpriced."""
    groups: dict[str, list[ModelCall]] = {}
    for one in calls:
        groups.setdefault(one.model, []).append(one)
    found = [
        ModelUse(
            model=model,
            calls=len(some),
            answered=sum(one.outcome == "ok" for one in some),
            input=sum(one.usage.input + one.usage.cache_read + one.usage.cache_write for one in some),
            output=sum(one.usage.output for one in some),
            usd=None if any(one.cost_usd is None for one in some) else sum(one.cost_usd or 0.0 for one in some),
            last_at=max(one.at for one in some),
        )
        for model, some in groups.items()
    ]
    return sorted(found, key=lambda one: (-one.calls, one.model))
