"""What would leave this machine: every question, where it goes, and its very words; nothing is sent."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from assay.config import Config
from assay.llm import Backend
from assay.llm.egress import EgressRequest, Estimate
from assay.pipeline.asking import Asker, Desk, Manner, connect
from assay.pipeline.cutting import Wanted
from assay.pipeline.running import Choice
from assay.pipeline.score import open_run
from assay.pipeline.spending import size
from assay.stores import Store

MARKER = re.compile(r"\[redacted:([a-z0-9-]+?)(?:-\d+)?\]")
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
NO_KEY = "not-set"


def reach(config: Config, env: dict[str, str]) -> Backend:
    """The way to the model, also for somebody who has no key yet: nothing is sent."""
    return connect(config, env | {name: env.get(name) or NO_KEY for name in KEYS})


def egress(
    store: Store, roots: Sequence[str], config: Config, jobs: int, model: Backend, choice: Choice
) -> tuple[Estimate, list[EgressRequest]]:
    """What a run would ask of a model."""
    asker = Asker(store, config, model, Manner(only_kept=True))
    try:
        with open_run(store, config, roots, selection=choice, jobs=jobs, models=Desk(asker=asker)) as run:
            wanted = list(run.rehearsed())
        known = set(asker.known([one.question.key for one in wanted]))
        return asker.estimate([size(one.question) for one in wanted]), list(leaving(wanted, model, known))
    finally:
        asker.close()


def leaving(wanted: Sequence[Wanted], model: Backend, known: set[str]) -> Iterator[EgressRequest]:
    """Questions as they would go out."""
    for one in wanted:
        question, sized = one.question, size(one.question)
        words = (question.system, question.material, question.task)
        yield EgressRequest(
            to=model.where,
            model=question.model,
            job=question.job,
            about=one.about,
            project=one.project,
            is_answered=question.key in known,
            tokens=sized.prefix + sized.task,
            bytes=sum(len(text.encode("utf-8", "surrogatepass")) for text in words) + len(question.schema),
            redacted=dict(Counter(MARKER.findall(question.material)).most_common()),
            system=question.system,
            material=question.material,
            task=question.task,
            schema=msgspec.json.decode(question.schema),
        )
