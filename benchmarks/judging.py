"""What a model judge takes: `python -m benchmarks.judging [CORPUS]`, by default `../shared/corpus`; nothing is sent.

Every question that a first `assay score --judge anthropic` would ask, sized as the estimate sizes it: tokens by
characters, replies of the usual length, and the offline judge's word where a question depends on an answer. Served from
the cache is the prefix of the second and later questions about the same material, from 4,096 tokens on.
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from statistics import median, quantiles

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.config import Config, Model
from assay.facts.tokens import Price, compute_cost
from assay.pipeline.cost import QuestionSize, add_usage, estimate_usage, measure_question
from assay.pipeline.inputs import find_files
from assay.pipeline.models import AskOptions, ModelAccess, ModelClient, describe_model
from assay.pipeline.pool import count_cores
from assay.pipeline.scan import scan
from assay.pipeline.score import open_run
from assay.stores import open_store
from assay.types import Usage
from benchmarks.tables import table

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
JOBS = ("topic", "session")
MODEL = "claude-haiku-4-5"
BATCH_SHARE = 0.5


@dataclass(frozen=True)
class Put:
    """A question, and what it takes by itself and in a batch."""

    about: str
    sized: QuestionSize
    usage: Usage
    alone: Usage


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judging", description=__doc__)
    parser.add_argument("corpus", nargs="?", type=Path, default=CORPUS)
    corpus = parser.parse_args().corpus
    if not corpus.is_dir():
        sys.exit(f"{corpus}: no such folder; give one with transcripts")
    console = Console(width=120)
    with tempfile.TemporaryDirectory() as scratch:
        found, price, streams = put(corpus, Path(scratch))
    console.print(by_job(found))
    console.print(by_session(found, price))
    console.print(Text(told(found, price, streams), "dim"))


def put(corpus: Path, scratch: Path) -> tuple[list[Put], Price, int]:
    """All questions of a first run, the price list's entry, and how many streams there are."""
    config = Config(judge="anthropic", timezone="UTC", model=Model(name=MODEL))
    with closing(open_store(f"sqlite:///{scratch / 's.db'}")) as store:
        changes = scan(store, find_files([corpus]), count_cores(), lambda *_: None)
        client = ModelClient(store, config, describe_model(config, {}), AskOptions(only_kept=True))
        with closing(client), open_run(store, config, changes.roots, models=ModelAccess(client=client)) as run:
            wanted = [(one.about, measure_question(one)) for one in run.list_questions()]
        streams = store.transcripts.count_streams(changes.roots, "", "", "")
    if client.price is None:
        sys.exit(f"{MODEL} is in no price list")
    seen: set[str] = set()
    found = []
    for about, one in wanted:
        usage = estimate_usage(one, None if one.is_alone else client.model.caches_from, one.of in seen)
        found.append(Put(about, one, usage, estimate_usage(one, None, is_warm=False)))
        seen.add(one.of)
    return found, client.price, streams


def tokens(usage: Usage) -> int:
    return usage.input + usage.cache_read + usage.cache_write


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Median and 95th percentile."""
    several = values if len(values) > 1 else [*values, *values]
    return median(several), quantiles(several, n=20, method="inclusive")[-1]


def by_job(found: Sequence[Put]) -> Table:
    rows = []
    for job in JOBS:
        some = [one for one in found if one.sized.job == job]
        if some:
            middle, high = spread([tokens(one.usage) for one in some])
            cached = sum(one.usage.cache_read for one in some) / sum(tokens(one.usage) for one in some)
            output = some[0].usage.output
            rows.append([job, f"{len(some):,}", f"{middle:,.0f}", f"{high:,.0f}", f"{output:,}", f"{cached:.0%}"])
    head = ["judge", "questions", "tokens in, median", "p95", "out, usually", "from the cache"]
    return table("One question: the topics of a stream, or a session", head, rows)


def by_session(found: Sequence[Put], price: Price) -> Table:
    """Of sessions, and of the topics of streams."""
    sums: dict[str, dict[str, list[Put]]] = {"session": defaultdict(list), "stream": defaultdict(list)}
    for one in found:
        sums["stream" if one.sized.job == "topic" else "session"][one.about].append(one)
    rows = []
    for name, groups in sums.items():
        if not groups:
            continue
        usages = [total(one.usage for one in some) for some in groups.values()]
        alone = [total(one.alone for one in some) for some in groups.values()]
        cells: list[str] = [f"a {name}", f"{len(groups):,}"]
        cells += [f"{value:,.0f}" for value in spread([tokens(one) for one in usages])]
        cells.append(f"{sum(one.cache_read for one in usages) / sum(map(tokens, usages)):.0%}")
        for costs in (
            [compute_cost(one, price) for one in usages],
            [compute_cost(one, price) * BATCH_SHARE for one in alone],
        ):
            cells += [f"{value:.4f}" for value in (*spread(costs), sum(costs) / len(costs))]
        rows.append(cells)
    head = ["", "n", "tokens in", "p95", "cached", "USD", "p95", "mean", "--batch USD", "p95", "mean"]
    return table(f"All questions of a session, and of a stream's topics; {MODEL} at list price", head, rows)


def total(usages: Iterable[Usage]) -> Usage:
    return reduce(add_usage, usages, Usage())


def told(found: Sequence[Put], price: Price, streams: int) -> str:
    """All together."""
    whole = total([one.usage for one in found])
    plain = compute_cost(total([one.alone for one in found]), price)
    sessions = len({one.about for one in found if one.sized.job != "topic"})
    cost = compute_cost(whole, price)
    shared = {one.sized.of for one in found if one.usage.cache_read}
    return (
        f"{streams} streams, {sessions} sessions that a model is asked about, {len(found):,} questions, "
        f"{tokens(whole):,} tokens in and about {whole.output:,} out.\n"
        f"{len(shared)} sessions have a prefix long enough to be cached; {whole.cache_read / tokens(whole):.0%} of all "
        "input is served from the cache.\n"
        f"At once USD {cost:.2f} ({cost / sessions:.4f} a session, topics included; without a cache {plain:.2f}), "
        f"with --batch USD {plain * BATCH_SHARE:.2f} ({plain * BATCH_SHARE / sessions:.4f} a session)."
    )


if __name__ == "__main__":
    main()
