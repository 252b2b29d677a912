"""Telemetry in a store becomes streams and sessions; each conversation once, and its words can be deleted."""

import random
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.config import Config, Tenant
from assay.pipeline.inputs import TELEMETRY_ROOT, find_files, find_usual_transcripts
from assay.pipeline.pool import ignore_progress
from assay.pipeline.retention import forget_expired
from assay.pipeline.scan import Changes, scan
from assay.pipeline.score import open_run, score_run
from assay.pipeline.store_care import forget_before
from assay.pipeline.telemetry import parse_path, silence_record, to_path
from assay.reports.json import encode_json
from assay.scores.report import Report
from assay.stores import Store, open_store
from assay.testing.claude_code import write_folder
from assay.types import TelemetryRecord
from tests.telemetry.make_telemetry import (
    HIDDEN,
    ClaudeRun,
    make_codex_run,
    make_edit_run,
    make_gen_ai_span,
    make_output_event,
)

LATE = datetime(2027, 6, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as opened:
        yield opened


def read(store: Store, *folders: Path) -> Changes:
    return scan(store, find_files([Path(TELEMETRY_ROOT), *folders]), 1, ignore_progress)


def list_ids(store: Store) -> list[str]:
    return [one.id for one in store.transcripts.list_streams(None)]


def score(store: Store, config: Config | None = None) -> Report:
    with open_run(store, config or Config(as_of="2026-12-01"), None, jobs=1) as run:
        return score_run(run, remembers=False).report


def list_all() -> list[TelemetryRecord]:
    """Two conversations of Claude Code, the second begun by /clear, one of Codex, one of another agent."""
    first = make_edit_run("c-1")
    first.ask("/clear", command_name="clear", command_source="builtin")
    second = ClaudeRun("c-2", sequence=next(first.sequence), start=first.second)
    second.ask("Paint the mill")
    second.answer("Painted.")
    other = make_gen_ai_span("chat", 3, "s1", operation__name="chat", usage__input_tokens=5, prompt__0__role="user")
    return [*first.records, *second.records, *make_codex_run(), other]


def test_conversations_become_streams_of_their_own(store: Store):
    assert store.telemetry.save_records(list_all()) == len(list_all())
    assert read(store).new == 4
    assert list_ids(store) == ["x-1@codex", "c-1@claude-code", "g-1@loom-agent", "c-2@claude-code"]
    assert read(store).changed == 0


def test_telemetry_is_among_what_is_read_without_a_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert TELEMETRY_ROOT in find_usual_transcripts().roots


def test_a_clear_is_the_boundary_of_the_session_behind_it(store: Store):
    store.telemetry.save_records(list_all())
    read(store)
    signals = {one.streams[0]: one.boundary.signal for one in score(store).sessions}
    assert signals["c-2@claude-code"] == "clear"
    assert signals["c-1@claude-code"] != "clear"


def tell(store: Store) -> bytes:
    return encode_json(score(store))


@settings(max_examples=8, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 5))
def test_order_repeats_and_pieces_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, chance: random.Random, n: int
):
    folder = tmp_path_factory.mktemp("s")
    records = list_all()
    with closing(open_store(f"sqlite:///{folder / 'at-once.db'}")) as store:
        store.telemetry.save_records(records)
        read(store)
        at_once = tell(store)
    shuffled = [*records, *chance.sample(records, 10)]
    chance.shuffle(shuffled)
    with closing(open_store(f"sqlite:///{folder / 'in-pieces.db'}")) as store:
        size = len(shuffled) // n + 1
        for start in range(0, len(shuffled), size):
            store.telemetry.save_records(shuffled[start : start + size])
            read(store)
        assert tell(store) == at_once


def test_a_span_that_is_named_later_leaves_no_stream_behind(store: Store):
    child = make_gen_ai_span("chat", 2, "s2", "s1", conversation="", operation__name="chat", usage__input_tokens=5)
    store.telemetry.save_records([child])
    read(store)
    assert list_ids(store) == ["trace-t1@loom-agent"]
    store.telemetry.save_records([make_gen_ai_span("invoke_agent", 1, "s1", operation__name="invoke_agent")])
    read(store)
    assert list_ids(store) == ["g-1@loom-agent"]
    assert [one.turns for one in store.transcripts.list_streams(None)] == [1]


def test_a_transcript_of_the_same_conversation_is_scored_in_its_place(store: Store, tmp_path: Path):
    folder = write_folder(tmp_path / "in", files=1, turns=2)
    read(store, folder)
    (name,) = list_ids(store)
    before = tell(store)
    store.telemetry.save_records(make_edit_run(name).records)
    read(store, folder)
    assert list_ids(store) == [name]
    assert tell(store) == before


def test_a_transcript_that_comes_later_takes_over(store: Store, tmp_path: Path):
    folder = write_folder(tmp_path / "in", files=1, turns=2)
    with closing(open_store(f"sqlite:///{tmp_path / 'alone.db'}")) as alone:
        read(alone, folder)
        (name,) = list_ids(alone)
        wanted = tell(alone)
    store.telemetry.save_records(make_edit_run(name).records)
    read(store)
    assert [one.agent for one in score(store).sessions] == ["otel"]
    read(store, folder)
    assert tell(store) == wanted


def test_whose_telemetry_it_is_is_known_by_its_attributes(store: Store):
    store.telemetry.save_records(make_edit_run().records)
    read(store)
    tenants = {"weavers": Tenant(attributes={"team": "weavers"}, opt_out=True)}
    (session,) = score(store, Config(as_of="2026-12-01", tenants=tenants)).sessions
    assert (session.judge_status, session.title) == ("opted_out", "")
    (session,) = score(store).sessions
    assert session.judge_status != "opted_out"


@pytest.mark.parametrize("how", ["by retention", "on purpose"])
def test_deleted_words_are_in_no_byte_of_the_store_and_do_not_come_back(store: Store, tmp_path: Path, how: str):
    run = make_edit_run()
    run.show_span("tool", tool_use_id="k9", tool_name="Read", events=make_output_event(content="crimson thread"))
    run.ask("Find the velvet")
    store.telemetry.save_records(run.records)
    read(store)
    kept = (tmp_path / "s.db-wal").read_bytes() + (tmp_path / "s.db").read_bytes()
    assert b"velvet" in kept
    assert b"crimson" in kept
    tenants = {"weavers": Tenant(attributes={"team": "weavers"}, retention_days=1)}
    assert (forget_expired(store, tenants, LATE) if how == "by retention" else forget_before(store, LATE)) == 1
    store.telemetry.save_records(run.records)
    read(store)
    assert [one.turns for one in store.transcripts.list_streams(None)] == [2]
    kept = (tmp_path / "s.db-wal").read_bytes() + (tmp_path / "s.db").read_bytes()
    for word in (b"velvet", b"crimson", b"Mend the loom", b"pytest"):
        assert word not in kept


def test_words_of_a_transcript_are_deleted_with_those_of_its_telemetry(store: Store, tmp_path: Path):
    folder = write_folder(tmp_path / "in", files=1, turns=2)
    read(store, folder)
    (stream,) = store.transcripts.list_streams(None)
    run = make_edit_run(stream.id)
    run.ask("Find the velvet")
    store.telemetry.save_records([*run.records, *make_edit_run("c-7").records])
    read(store, folder)
    tenants = {"own": Tenant(projects=(stream.project,), retention_days=1)}
    assert forget_expired(store, tenants, LATE) == 2
    assert b"velvet" not in (tmp_path / "s.db-wal").read_bytes() + (tmp_path / "s.db").read_bytes()
    assert [one.title for one in store.transcripts.list_streams(None)] == ["", "Mend the loom in loom.py"]
    assert forget_expired(store, tenants, LATE) == 0


def test_a_silent_record_still_tells_numbers_and_how_things_went():
    run = make_edit_run()
    silent = [silence_record(one) for one in run.records]
    assert [one.attributes.get("input_tokens") for one in silent] == [
        one.attributes.get("input_tokens") for one in run.records
    ]
    assert {one.attributes.get("success") for one in silent} == {None, "true", "false"}
    assert b"loom.py" not in msgspec.json.encode(silent)


@pytest.mark.parametrize("name", [("claude-code", "c-1"), ("a/b", "c/d@e"), ("", "%2F"), ("é", "\x00")])
def test_a_path_tells_its_conversation(name: tuple[str, str]):
    assert parse_path(to_path(*name)) == name
    assert parse_path("/home/user/a.jsonl") is None


def test_words_that_were_held_back_leave_facts(store: Store):
    run = ClaudeRun()
    for _ in range(3):
        run.ask(HIDDEN)
        run.answer()
        run.use_tool("Edit")
    store.telemetry.save_records(run.records)
    read(store)
    (session,) = score(store).sessions
    assert (session.facts["turns"], session.facts["mutating_calls"]) == (3, 3)
