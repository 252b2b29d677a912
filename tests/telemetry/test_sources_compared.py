"""Several sources of one conversation are laid side by side, and what disagrees is named."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from assay.config import Config
from assay.pipeline import privacy
from assay.pipeline.doctor import HealthReport, examine_store
from assay.pipeline.inputs import TELEMETRY_ROOT, find_files, pick_report_time
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import Changes, scan
from assay.pipeline.sources_compared import SourceFigures, are_different, compare_sources
from assay.reports.doctor import render_health
from assay.stores import Store, open_store
from assay.testing.claude_code import write_folder
from tests.server.serving import serve
from tests.telemetry.make_telemetry import HIDDEN, ClaudeRun, make_edit_run, make_record


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as opened:
        yield opened


def read(store: Store, *folders: Path) -> Changes:
    return scan(store, find_files([Path(TELEMETRY_ROOT), *folders]), 1, ignore_progress, with_facts=False)


def examine(store: Store, changes: Changes) -> HealthReport:
    config = Config(as_of="2026-12-01")
    return examine_store(store, changes, privacy.build_rules(config, pick_report_time(config)), {}, Path("/nowhere"))


def render(health: HealthReport) -> str:
    console = Console(width=200)
    with console.capture() as said:
        console.print(render_health(msgspec.to_builtins(health)))
    return said.get()


def count_tokens(run: ClaudeRun, kind: str, value: float) -> None:
    metric = make_record("claude-code", run.conversation, "claude_code.token.usage", 90, signal="metrics", value=value,
                         is_delta=True, type=kind, model="claude-opus-5-5")  # fmt: skip
    run.records.append(metric)


def test_a_transcript_and_telemetry_that_disagree_are_named(store: Store, tmp_path: Path):
    folder = write_folder(tmp_path / "in", files=1, turns=2)
    read(store, folder)
    (stream,) = store.transcripts.list_streams(None)
    store.telemetry.save_records(make_edit_run(stream.id).records)
    health = examine(store, read(store, folder))
    (one,) = health.conversations
    assert (one.id, one.scored, [figure.source for figure in one.sources]) == (
        stream.id,
        "transcript",
        ["transcript", "telemetry", "client"],
    )
    assert [figure.turns for figure in one.sources] == [2, 1, None]
    assert "turns" in one.differs
    assert [(tally.source, tally.conversations, tally.scored) for tally in health.sources] == [
        ("telemetry", 1, 0),
        ("transcript", 1, 1),
    ]
    assert "turns: transcript 2, telemetry 1" in render(health)


def test_metrics_are_held_against_events_and_never_added(store: Store):
    run = make_edit_run()
    for kind, value in (("input", 40.0), ("output", 39.0), ("cacheRead", 40.0)):
        count_tokens(run, kind, value)
    store.telemetry.save_records(run.records)
    read(store)
    (one,) = compare_sources(store, None).conversations
    told, counted = one.sources[:2]
    assert told.tokens == {"input": 40, "output": 40, "cache_read": 40, "cache_write": 0}
    tokens = {"input": 40, "output": 39, "cache_read": 40, "cache_write": 0}
    assert counted == SourceFigures(source="metrics", tokens=tokens)
    assert "tokens" in one.differs


def test_what_has_no_words_is_counted_as_such(store: Store):
    run = ClaudeRun("c-9")
    run.ask(HIDDEN)
    run.answer()
    store.telemetry.save_records(run.records)
    health = examine(store, read(store))
    assert [(one.source, one.scored, one.wordless) for one in health.sources] == [("telemetry", 1, 1)]
    assert "1 conversations, 1 scored from it, 1 without words" in render(health)


def test_a_store_without_telemetry_says_nothing_of_it(store: Store, tmp_path: Path):
    health = examine(store, read(store, write_folder(tmp_path / "in", files=1, turns=2)))
    assert (health.sources, health.conversations) == ([], [])
    assert TELEMETRY_ROOT not in render(health)


def test_the_api_tells_the_same(tmp_path: Path):
    url = f"sqlite:///{tmp_path / 's.db'}"
    with closing(open_store(url)) as store:
        store.telemetry.save_records(make_edit_run("ghp_R8mN2kV5xQ1wT7yB4cJ9dF3hL6pS0aZ8eU2g").records)
        read(store)
    with serve(url) as asked:
        told = asked.get("/api/v1/sources").json()
    assert [(one["source"], one["conversations"]) for one in told["sources"]] == [("telemetry", 1)]
    assert [one["source"] for one in told["conversations"][0]["sources"]] == ["telemetry", "client"]
    assert "R8mN2k" not in told["conversations"][0]["id"]


@pytest.mark.parametrize(
    ("values", "differ"),
    [
        ([1, 1], False),
        ([1, 2], True),
        ([1.0, 1.001], False),
        ([1.0, 1.1], True),
        ([], False),
        ([{"a": 1}, {"a": 2}], True),
    ],
)
def test_costs_may_differ_by_a_little_and_counts_not_at_all(values: list[object], differ: bool):
    assert are_different(values) is differ
