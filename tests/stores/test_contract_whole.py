"""A store as a whole: counted, checked, and taken over by another one, of whatever kind."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from assay.config import Config
from assay.errors import BadInput, StoreError
from assay.pipeline.inputs import find_transcripts
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import scan
from assay.pipeline.score import open_run, score_run
from assay.pipeline.store_care import copy_store, forget_before
from assay.reports.json import encode_document
from assay.stores import Store, has_store, open_store
from assay.testing.claude_code import write_folder
from assay.types import PersonCorrection, PersonVerdict, TelemetryRecord
from tests.postgres import start_server

TOLD = TelemetryRecord(id="t1", agent="loom", conversation="c", order=5, attributes={"prompt": "the \x00 loom"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("in"), files=5, turns=4)


@pytest.fixture
def full(store: Store, folder: Path) -> Store:
    """A store that holds something of everything."""
    scan(store, find_transcripts([folder], Config()), 1, ignore_progress, with_facts=True)
    tell(store)
    store.corrections.save_correction(PersonCorrection(kind="rename", turn="a" * 12, title="the \x00 loom", at="2026"))
    store.corrections.save_verdicts([PersonVerdict(turn="a", verdict="not", at="2026-11-09T09:00:00+00:00")])
    store.telemetry.save_records([TOLD])
    return store


def tell(store: Store) -> bytes:
    with open_run(store, Config(), None, jobs=1) as run:
        return b"".join(encode_document(score_run(run, remembers=False).report))


@pytest.fixture(params=["sqlite", "postgresql"])
def other_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'other.db'}"
    else:
        yield start_server().url(f"other-{abs(hash(str(tmp_path))):x}"[:40])


def test_what_it_holds_is_counted(full: Store):
    found = full.measure()
    assert (found.files, found.streams, found.segments, found.corrections, found.verdicts) == (5, 5, 5, 1, 1)
    assert found.first_at < found.last_at
    assert full.count_bytes() > 10_000


def test_a_store_is_sound(full: Store):
    assert full.check() == []


def test_all_of_it_is_taken_over_by_a_store_of_any_kind(full: Store, other_url: str):
    copy_store(full, other_url, ignore_progress)
    with closing(open_store(other_url)) as other:
        assert (other.measure(), tell(other)) == (full.measure(), tell(full))
        assert other.corrections.load_corrections() == full.corrections.load_corrections()
        assert other.telemetry.load_records("loom", "c") == [TOLD]
        assert other.telemetry.save_records([TOLD]) == 0
        other.corrections.save_correction(PersonCorrection(kind="rename", turn="b", title="next", at="2027"))
        assert [one.title for one in other.corrections.load_corrections()] == ["the \x00 loom", "next"]


def test_a_copy_goes_on_as_the_store_would(full: Store, folder: Path, other_url: str):
    copy_store(full, other_url, ignore_progress)
    with closing(open_store(other_url)) as other:
        assert scan(other, find_transcripts([folder], Config()), 1, ignore_progress).changed == 0


def test_a_copy_that_was_broken_off_can_be_begun_again(full: Store, other_url: str):
    def break_off(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_store(full, other_url, break_off)
    assert copy_store(full, other_url, ignore_progress)


def test_what_else_lies_beside_a_copy_is_left_alone(full: Store, tmp_path: Path):
    (tmp_path / "other.db.part").write_bytes(b"somebody's own")
    copy_store(full, f"sqlite:///{tmp_path / 'other.db'}", ignore_progress)
    assert (tmp_path / "other.db.part").read_bytes() == b"somebody's own"
    assert (tmp_path / "other.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_no_copy_is_put_beside_the_log_of_a_store_that_was_there(full: Store, tmp_path: Path, ending: str):
    (tmp_path / f"other.db{ending}").write_bytes(b"")
    with pytest.raises(BadInput, match="belongs to a store that was here"):
        copy_store(full, f"sqlite:///{tmp_path / 'other.db'}", ignore_progress)


def test_nothing_is_taken_into_a_store_that_holds_something(full: Store):
    with pytest.raises(StoreError, match="is not empty"):
        full.load_tables(full.dump_tables())
    assert full.check() == []


def test_a_copy_that_breaks_off_leaves_nothing_that_looks_like_one(
    full: Store, fresh_url: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
):
    url = fresh_url("half")
    tables = full.dump_tables()

    def stop() -> Iterator[object]:
        yield next(tables)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(full, "dump_tables", stop)
    with pytest.raises((StoreError, OSError), match="No space"):
        copy_store(full, url, ignore_progress)
    if url.startswith("sqlite"):
        assert not has_store(url)
    else:
        with closing(open_store(url)) as other:
            assert other.measure().files == 0


def test_old_words_are_forgotten_on_purpose_and_numbers_stay(full: Store):
    assert b"weave row" in tell(full).lower()
    assert forget_before(full, datetime.fromisoformat("2100-01-01T00:00:00+00:00")) == 5
    found = full.measure()
    assert (found.forgotten, found.streams) == (5, 5)
    assert b"weave row" not in tell(full).lower()
