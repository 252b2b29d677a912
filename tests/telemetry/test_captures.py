"""What real agents sent is accepted whole, and tells what their own transcripts tell; runs where the captures are."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.pipeline.inputs import TELEMETRY_ROOT, find_files
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import scan
from assay.stores import open_store
from assay.telemetry.otlp import TelemetryBatch, decode_body
from assay.types import StreamSummary

CLIENTS = Path(__file__).parents[3] / "shared" / "clients"
pytestmark = pytest.mark.skipif(not CLIENTS.exists(), reason="the captures of real clients are not here")
NOT_BOTH = frozenset({"signs", "wall_s", "active_s", "interruptions"})
"""What only one side knows, or knows to the millisecond."""
ONLY_TELEMETRY = frozenset({"tokens", "tokens_by_model", "cost_usd"})
"""A transcript leaves out what a compaction took."""
CODEX_ONLY = frozenset({"files", "lines_by_file", "signals", "replies", "api_retries"})
"""Codex's telemetry tells no folder and none of its answers; its rollouts tell no retries."""


def list_captures() -> list[Path]:
    return sorted([*CLIENTS.glob("otel/*/*.json"), *CLIENTS.glob("codex/otel/*.json")])


def decode(path: Path) -> TelemetryBatch:
    kept = json.loads(path.read_text())
    return decode_body(kept["signal"], "application/json", json.dumps(kept["payload"]).encode())


def test_every_capture_is_accepted_whole():
    for path in list_captures():
        found = decode(path)
        assert found.records, path
        assert (found.rejected, found.why) == (0, ""), path


def test_json_and_protobuf_of_a_run_are_equal():
    pairs = [path for path in list_captures() if path.with_suffix(".bin").exists()]
    assert len(pairs) >= 8
    for path in pairs:
        signal = json.loads(path.read_text())["signal"]
        found = decode_body(signal, "application/x-protobuf", path.with_suffix(".bin").read_bytes())
        assert found == decode(path), path


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, StreamSummary]]:
    """Streams of all captures, the last batches first."""
    url = f"sqlite:///{tmp_path_factory.mktemp('told') / 's.db'}"
    with closing(open_store(url)) as store:
        for path in reversed(list_captures()):
            store.telemetry.save_records(decode(path).records)
        scan(store, find_files([Path(TELEMETRY_ROOT)]), 1, ignore_progress)
        yield {one.id.partition("@")[0]: one for one in store.transcripts.list_streams(None)}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, StreamSummary]]:
    """Streams of the transcripts of the same runs."""
    folders = [CLIENTS / "transcripts" / name for name in ("home", "home_otel", "home_tui")]
    with closing(open_store(f"sqlite:///{tmp_path_factory.mktemp('written') / 's.db'}")) as store:
        scan(store, find_files([*folders, CLIENTS / "codex" / "sessions"]), 1, ignore_progress)
        yield {one.id: one for one in store.transcripts.list_streams(None)}


def load_facts(stream: StreamSummary, leave_out: frozenset[str]) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(stream.facts)
    return {name: value for name, value in found.items() if name not in leave_out}


def test_telemetry_tells_the_facts_of_the_transcript(told: dict[str, StreamSummary], written: dict[str, StreamSummary]):
    both = told.keys() & written.keys()
    assert len(both) == 11
    for name in both:
        leave_out = NOT_BOTH
        if told[name].id.endswith("@codex"):
            leave_out |= CODEX_ONLY
        elif msgspec.json.decode(written[name].facts)["compactions"]:
            leave_out |= ONLY_TELEMETRY
        assert load_facts(told[name], leave_out) == load_facts(written[name], leave_out), name
        assert told[name].title == written[name].title


def test_what_a_compaction_took_is_all_that_tokens_differ_by(
    told: dict[str, StreamSummary], written: dict[str, StreamSummary]
):
    name = "7d7c54a5-025d-48a8-936c-0216144c830e"
    ours, theirs = (load_facts(one[name], frozenset())["tokens"] for one in (told, written))
    assert {kind: ours[kind] - theirs[kind] for kind in ours} == {
        "input": 157,
        "output": 39,
        "cache_read": 12_616,
        "cache_write": 120,
    }


def test_a_run_without_words_has_its_turn_tokens_and_refused_call(told: dict[str, StreamSummary]):
    stream = told["1cce0359-fdbc-4b07-bf62-9207eae3bab6"]
    facts = load_facts(stream, frozenset())
    assert (stream.title, stream.turns, facts["tokens"]["input"]) == ("", 1, 236)
