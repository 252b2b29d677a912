"""Files that hold others: compressed, in tar archives, in Parquet tables; each gives what it would give by itself."""

import gzip
import io
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from assay.pipeline import bundles
from assay.pipeline.inputs import find_files
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import Changes, scan
from assay.stores import Store, open_store

EXAMPLES = Path(__file__).parents[2] / "src/assay/examples"
FILES = sorted(EXAMPLES.rglob("*.jsonl"))
SOURCES = Path(__file__).parents[1] / "sources"
DOCUMENTS = [SOURCES / "atif/trajectory.json", SOURCES / "swe_agent/full.traj", SOURCES / "inspect_log/archive.eval"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path}/store.db")) as opened:
        yield opened


def read(store: Store, path: Path) -> Changes:
    return scan(store, find_files([path]), 1, ignore_progress)


def tell(store: Store) -> list[object]:
    """What is known of the streams, wherever they lie."""
    found = store.transcripts.list_streams(None)
    return sorted((one.agent, one.id, one.facts, one.prompts_at, one.turns, one.is_gone) for one in found)


def list_reasons(store: Store, path: Path) -> list[str]:
    return [why for _, _, why in store.transcripts.list_skips([str(path)])]


def pack_tar(files: dict[str, bytes], mode: str = "w") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def pack_each(folder: Path, ending: str) -> None:
    """The examples, compressed one by one."""
    for file in FILES:
        there = folder / file.relative_to(EXAMPLES)
        there.parent.mkdir(parents=True, exist_ok=True)
        content = file.read_bytes()
        packed = gzip.compress(content) if ending == ".gz" else zstandard.compress(content)
        there.with_name(there.name + ending).write_bytes(packed)


def pack(folder: Path, how: str) -> None:
    """The examples in one of the ways in which they may lie."""
    folder.mkdir()
    contents = {str(file.relative_to(EXAMPLES)): file.read_bytes() for file in FILES}
    if how in (".gz", ".zst"):
        pack_each(folder, how)
    elif how == ".parquet":
        table = pyarrow.table({"n": range(len(FILES)), "title": ["x"] * len(FILES), "log": [*contents.values()]})
        pyarrow.parquet.write_table(table, folder / "all.parquet", row_group_size=3)
    elif how == ".gz in .tar":
        (folder / "all.tar").write_bytes(pack_tar({f"{one}.gz": gzip.compress(text) for one, text in contents.items()}))
    else:
        (folder / f"all{how}").write_bytes(pack_tar(contents, "w:gz" if how == ".tar.gz" else "w"))


@pytest.mark.parametrize("how", [".gz", ".zst", ".tar", ".tar.gz", ".gz in .tar", ".parquet"])
@pytest.mark.parametrize("at_once", [bundles.MOST_AT_ONCE, 20_000], ids=["one task", "many tasks"])
def test_however_transcripts_are_packed_the_same_is_read_once(
    store: Store, tmp_path: Path, how: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "MOST_AT_ONCE", at_once)
    pack(tmp_path / "in", how)
    first, again = read(store, tmp_path / "in"), read(store, tmp_path / "in")
    assert first.new
    assert (again.new, again.changed, again.gone, again.bytes_read) == (0, 0, 0, 0)
    with closing(open_store(f"sqlite:///{tmp_path}/plain.db")) as plain:
        read(plain, EXAMPLES)
        assert tell(store) == tell(plain)
    assert list_reasons(store, tmp_path) == []


def test_documents_in_an_archive_are_read_as_if_they_lay_there(store: Store, tmp_path: Path) -> None:
    for folder in ("plain", "in"):
        (tmp_path / folder).mkdir()
    for one in DOCUMENTS:
        shutil.copy(one, tmp_path / "plain")
    (tmp_path / "in/all.tar").write_bytes(pack_tar({f"plain/{one.name}": one.read_bytes() for one in DOCUMENTS}))
    read(store, tmp_path / "in")
    with closing(open_store(f"sqlite:///{tmp_path}/plain.db")) as plain:
        read(plain, tmp_path / "plain")
        assert tell(store) == tell(plain) != []
    assert list_reasons(store, tmp_path) == []


def test_what_an_archive_no_longer_holds_is_gone_and_comes_back(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "in/all.tar"
    path.parent.mkdir()
    both = pack_tar({"a.jsonl": FILES[-1].read_bytes(), "b.jsonl": FILES[0].read_bytes()})
    path.write_bytes(both)
    read(store, path.parent)
    path.write_bytes(pack_tar({"a.jsonl": FILES[-1].read_bytes()}))
    assert read(store, path.parent).gone == 1
    path.write_bytes(both)
    assert read(store, path.parent).gone == 0
    assert not [one for one in store.transcripts.list_streams(None) if one.is_gone]


def test_damage_in_one_member_leaves_the_others_alone(store: Store, tmp_path: Path) -> None:
    good = FILES[-1].read_bytes()
    members = {"a.jsonl.gz": gzip.compress(good)[:90], "b.jsonl": good, "c.jsonl.zst": b"\x28\xb5\x2f\xfd" + b"?" * 50}
    (tmp_path / "all.tar").write_bytes(pack_tar(members))
    read(store, tmp_path)
    assert len(tell(store)) == 1
    assert [one.partition(":")[0] for one in list_reasons(store, tmp_path)] == [
        "damaged gzip data",
        "damaged Zstandard data",
    ]


def test_an_archive_that_was_cut_off_keeps_what_was_whole(store: Store, tmp_path: Path) -> None:
    whole = pack_tar({"a.jsonl": FILES[-1].read_bytes(), "b.jsonl": FILES[0].read_bytes()})
    (tmp_path / "all.tar").write_bytes(whole[: len(whole) // 2])
    read(store, tmp_path)
    assert [one.partition(":")[0] for one in list_reasons(store, tmp_path)] == ["a damaged tar archive"]


def test_a_bomb_is_left_at_its_limit(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "MOST_UNPACKED", 1 << 20)
    (tmp_path / "bomb.jsonl.gz").write_bytes(gzip.compress(b'{"a": "' + b" " * (64 << 20)))
    shutil.copy(FILES[-1], tmp_path / "good.jsonl")
    read(store, tmp_path)
    assert len(tell(store)) == 1
    assert list_reasons(store, tmp_path) == ["data that unpacks to more than 1 MB"]


def test_archives_in_archives_end_somewhere(store: Store, tmp_path: Path) -> None:
    packed = FILES[-1].read_bytes()
    for _ in range(9):
        packed = gzip.compress(packed)
    (tmp_path / "deep.jsonl.gz").write_bytes(packed)
    read(store, tmp_path)
    assert list_reasons(store, tmp_path) == ["an archive in an archive in an archive"]


def test_a_table_of_other_things_is_said_to_be_one(store: Store, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "a.parquet")
    read(store, tmp_path)
    assert list_reasons(store, tmp_path) == ["a Parquet table without a column of transcripts"]
