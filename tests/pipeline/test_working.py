"""A worker reads what came in, judges what is due and tells it; the end is that of a score from nothing."""

from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay.config import Config
from assay.pipeline import working
from assay.pipeline.inputs import TELEMETRY_ROOT, FoundFiles
from assay.pipeline.live import list_live
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import scan
from assay.pipeline.score import open_run, score_run
from assay.pipeline.working import BUCKETS, MOST_TRIES, StoreWorker, list_waiting, pick_bucket
from assay.reports.json import encode_json
from assay.stores import Store, open_store
from assay.types import LiveRow, TelemetryRecord
from tests.make_report import hold_report
from tests.telemetry.make_telemetry import BEGAN, SECOND, ClaudeRun, make_edit_run

START = datetime.fromtimestamp(BEGAN / SECOND, UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as opened:
        yield opened


def configure(seconds: float = 600, **more: Any) -> Config:
    """Settings under which it is so many seconds after all began."""
    return Config(as_of=(START + timedelta(seconds=seconds)).isoformat(), timezone="UTC", **more)


def work(store: Store, seconds: float = 600, **more: Any) -> StoreWorker:
    worker = StoreWorker(store, configure(seconds, **more))
    worker.work()
    worker.tell()
    return worker


def see(store: Store, seconds: float = 600) -> dict[str, LiveRow]:
    worker = StoreWorker(store, configure(seconds))
    with open_run(store, worker.config, jobs=1) as run:
        return {one.stream.partition("@")[0]: one for one in list_live(run, list_waiting(worker, run), 100)}


def score_from_nothing(records: list[TelemetryRecord], tmp_path: Path, config: Config) -> bytes:
    with closing(open_store(f"sqlite:///{tmp_path / 'nothing.db'}")) as fresh:
        fresh.telemetry.save_records(records)
        scan(fresh, FoundFiles(roots=(TELEMETRY_ROOT,)), 1, ignore_progress)
        with open_run(fresh, config, jobs=1) as run:
            return encode_json(hold_report(score_run(run, remembers=False).report))


def score_kept(store: Store, config: Config) -> bytes:
    with open_run(store, config, jobs=1) as run:
        return encode_json(hold_report(score_run(run, remembers=False).report))


def make_runs(n: int = 5) -> list[list[TelemetryRecord]]:
    return [make_edit_run(f"c-{one}").records for one in range(n)]


def test_what_came_in_is_read_judged_and_told(store: Store, tmp_path: Path):
    records = [record for one in make_runs() for record in one]
    store.telemetry.save_records(records)
    worker = StoreWorker(store, configure(90_000))
    found = worker.find_pending()
    assert found.pending == 5
    assert found.buckets == {pick_bucket(("otel", f"c-{n}@claude-code")) for n in range(5)}
    assert worker.work().read == 5
    worker.tell()
    assert worker.find_pending().pending == 0
    assert score_kept(store, worker.config) == score_from_nothing(records, tmp_path, worker.config)


def test_in_whatever_order_and_however_often_it_comes_the_end_is_that_of_a_score_from_nothing(
    store: Store, tmp_path: Path
):
    runs = make_runs(4)
    for n in range(0, len(runs[0]), 3):
        for one in reversed(runs):
            store.telemetry.save_records([*one[-n - 3 : len(one) - n], *one[:2]])  # the last first, some twice
        work(store, 90_000)
    for one in runs:
        store.telemetry.save_records(one)
    records, config = [record for one in runs for record in one], configure(90_000)
    work(store, 90_000)
    assert score_kept(store, config) == score_from_nothing(records, tmp_path, config)


DAYS = 24 * 3_600


@pytest.mark.parametrize("jump", [40.0, 30 * DAYS, -30 * DAYS, -40.0])
def test_a_sender_whose_clock_jumps_and_is_set_right_loses_nothing_and_has_nobody_wait(
    store: Store, tmp_path: Path, jump: float
):
    run, worker = ClaudeRun("c-1"), StoreWorker(store, configure(90_000))
    for words, moved in (("Mend the loom", jump), ("and the reed, too", -jump), ("now weave a hem", 0)):
        run.ask(words)
        run.answer("It is done.")
        run.second += moved
    for n in range(0, len(run.records), 2):
        store.telemetry.save_records(run.records[n : n + 2])
        worker.work()
        worker.tell()
    kept = store.telemetry.load_records("claude-code", "c-1")
    assert {one.id for one in kept} == {one.id for one in run.records}
    found = worker.find_pending()
    assert (found.pending, found.failed, found.held, store.work.load_waits()) == (0, 0, 0, {})
    with open_run(store, worker.config, jobs=1) as told:
        report = hold_report(score_run(told, remembers=False).report)
    assert sum(one.facts["turns"] for one in report.sessions) == 3
    assert "in_progress" not in {one.judge_status for one in report.sessions}
    assert score_kept(store, worker.config) == score_from_nothing(run.records, tmp_path, worker.config)


def test_each_bucket_is_worked_on_by_itself(store: Store):
    for one in make_runs(8):
        store.telemetry.save_records(one)
    worker = StoreWorker(store, configure(90_000))
    read = [worker.work([bucket]).read for bucket in range(BUCKETS)]
    assert sum(read) == 8
    assert max(read) < 8
    assert worker.find_pending().pending == 0


# --- open, provisional, sealed, judged, opened again ----------------------------------------------


def test_a_conversation_is_open_until_it_is_quiet_and_then_provisional(store: Store):
    run = make_edit_run()
    store.telemetry.save_records(run.records)
    work(store, 30)
    row = see(store, 30)["c-1"]
    assert (row.state, row.sealed_by, row.opened_again) == ("open", None, 0)
    assert row.turns == 1
    assert row.tokens
    assert row.tokens["input"] == 40
    assert row.cost_usd
    assert see(store, 7_200)["c-1"].state == "provisional"


def test_a_clear_seals_what_went_on_and_a_shift_to_another_conversation_does(store: Store):
    first = make_edit_run("c-1")
    second = ClaudeRun("c-2", sequence=next(first.sequence), start=first.second)
    second.ask("Paint the mill")
    store.telemetry.save_records([*first.records, *second.records])
    work(store, 40)
    assert {name: (one.state, one.sealed_by) for name, one in see(store, 40).items()} == {
        "c-1": ("judged", "clear"),
        "c-2": ("open", None),
    }


def test_a_new_conversation_of_the_same_person_seals_and_one_that_goes_on_is_opened_again(store: Store):
    first = make_edit_run("c-1")
    store.telemetry.save_records(first.records)
    work(store, 25)
    second = ClaudeRun("c-2", start=40)
    second.ask("Paint the mill")
    store.telemetry.save_records(second.records)
    assert see(store, 60)["c-1"].state == "open"  # nobody has read of the other one yet
    work(store, 60)
    row = see(store, 60)["c-1"]
    assert (row.state, row.sealed_by, row.opened_again) == ("judged", "conversation", 0)
    first.second = 90
    first.ask("And oil the loom")
    store.telemetry.save_records(first.records)
    work(store, 100)
    row = see(store, 100)["c-1"]
    assert (row.state, row.sealed_by, row.opened_again) == ("open", None, 1)
    assert store.work.count_opened() == 1
    work(store, 100)
    assert see(store, 100)["c-1"].opened_again == 1


def test_somebody_elses_conversation_seals_nothing(store: Store):
    first, second = make_edit_run("c-1"), ClaudeRun("c-2", start=40)
    second.ask("Paint the mill")
    others = [replace(one, resource={**one.resource, "host.name": "elsewhere"}) for one in second.records]
    store.telemetry.save_records([*first.records, *others])
    work(store, 60)
    assert see(store, 60)["c-1"].state == "open"


def test_a_commit_seals_and_what_is_said_after_it_opens_again_which_the_ledger_says_too(store: Store):
    run = make_edit_run("c-1")
    run.use_tool("Bash", '{"command":"git commit -am mended"}')
    run.answer("Committed.")
    store.telemetry.save_records(run.records)
    work(store, 40)
    row = see(store, 40)["c-1"]
    assert (row.state, row.sealed_by) == ("judged", "commit")
    run.ask("Please push it too")
    run.answer("Pushed.")
    store.telemetry.save_records(run.records)
    work(store, 60)
    row = see(store, 60)["c-1"]
    assert (row.state, row.sealed_by, row.opened_again) == ("open", None, 1)
    with open_run(store, configure(60), jobs=1) as found:
        report = score_run(found, remembers=False).report
    assert [one.signal for one in report.ledger if one.effect == "went_on"] == ["commit"]
    assert report.went_on == 1


# --- what breaks a worker -------------------------------------------------------------------------


class Killed(BaseException):
    """As if by kill -9."""


def test_what_breaks_a_worker_is_tried_alone_a_few_times_and_in_nobodys_way(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    for one in make_runs(6):
        store.telemetry.save_records(one)
    said: list[str] = []
    read, begun = working.read_conversations, list[list[str]]()

    def break_down(store: Store, pool: Any, with_facts: bool, chosen: Any) -> Any:
        begun.append([one.id for one in chosen])
        if "c-3" in begun[-1]:
            raise Killed
        return read(store, pool, with_facts, chosen)

    monkeypatch.setattr(working, "read_conversations", break_down)
    now = 1_000.0
    for _ in range(12):
        worker = StoreWorker(store, configure(90_000), report=said.append)
        worker.clock = lambda at=now: at  # type: ignore[misc]
        with suppress(Killed):
            worker.work()
        now += 20
    assert [len(one) for one in begun] == [6, 1, 1, 1, 1, 1, 1, 1]
    assert sum(one == ["c-3"] for one in begun) == MOST_TRIES - 1
    assert len(store.transcripts.list_streams(None)) == 5
    assert [one for one in said if "c-3@claude-code" in one]
    found = worker.find_pending()
    assert (found.pending, found.failed) == (0, 1)
    worker.clock = lambda: now + 4_000
    run = make_edit_run("c-3")
    run.ask("And now?")
    store.telemetry.save_records(run.records)
    monkeypatch.setattr(working, "read_conversations", read)
    worker.work()
    assert worker.find_pending().failed == 0
    assert len(store.transcripts.list_streams(None)) == 6


def test_a_clock_that_is_set_back_keeps_nothing_waiting(store: Store, monkeypatch: pytest.MonkeyPatch):
    store.telemetry.save_records(make_runs(1)[0])
    worker = StoreWorker(store, configure(90_000))
    monkeypatch.setattr(working, "read_conversations", lambda *_, **__: (_ for _ in ()).throw(Killed))
    with pytest.raises(Killed):
        worker.work()
    assert worker.find_pending().pending == 0
    worker.clock = lambda: 1_000.0
    assert worker.find_pending().pending == 1
