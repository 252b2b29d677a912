"""A file is there whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from assay.files import to_folder_prefix, write_atomically


def test_a_file_takes_the_place_of_the_one_before_and_leaves_nothing_beside_it(tmp_path: Path):
    for content in (b"old", b"new"):
        write_atomically(tmp_path / "a.json", content)
    assert (tmp_path / "a.json").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(("mode", "kept"), [(None, 0o600), (0o640, 0o640)])
def test_a_file_is_for_its_owner_alone_unless_told_otherwise(tmp_path: Path, mode: int | None, kept: int):
    write_atomically(tmp_path / "a", b"", **({} if mode is None else {"mode": mode}))
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == kept


def test_what_was_there_stays_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a").write_bytes(b"old")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(("folder", "prefix"), [("/a/b", "/a/b/"), ("/a/b/", "/a/b/"), ("/", "/")])
def test_a_folders_prefix_ends_in_one_slash(folder: str, prefix: str):
    assert to_folder_prefix(folder) == prefix
