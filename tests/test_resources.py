"""Tables are the same whether they were packed when the package was built or are read as they are written."""

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay import resources

TABLES = sorted(
    file
    for file in resources.ROOT.rglob("*.toml")
    if file.parent != resources.SPEECH and resources.EXAMPLES not in file.parents
)


@pytest.fixture(autouse=True)
def nothing_loaded_yet():
    """Each test reads the tables anew, and leaves nothing behind."""
    yield
    resources.load_packed.cache_clear()
    resources.decode_table.cache_clear()


def pack_into(monkeypatch: pytest.MonkeyPatch, file: Path, content: bytes | None) -> None:
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setattr(resources, "PACKED", file)
    resources.load_packed.cache_clear()
    resources.decode_table.cache_clear()


def read_all() -> dict[str, object]:
    packages = {file: ".".join(("assay", *file.parent.relative_to(resources.ROOT).parts)) for file in TABLES}
    return {str(file): resources.load_table(package, file.name, dict[str, Any]) for file, package in packages.items()}


def test_packed_or_not_every_table_is_what_is_written(tmp_path, monkeypatch):
    written = {str(file): tomllib.loads(file.read_text("utf-8")) for file in TABLES}
    assert len(written) > 10
    for content in (resources.pack_tables(), None, b"", b"\xc1 no such thing"):
        pack_into(monkeypatch, tmp_path / f"{content and len(content)}.msgpack", content)
        assert read_all() == written


def test_a_table_that_changed_since_the_build_is_read_as_it_is_written(tmp_path, monkeypatch):
    packed = msgspec.msgpack.decode(resources.pack_tables(), type=dict[str, resources.PackedTable])
    old = {name: resources.PackedTable("another", resources.pack_table(b"is = 'old'")) for name in packed}
    pack_into(monkeypatch, tmp_path / "tables.msgpack", msgspec.msgpack.encode(old))
    assert all(table != {"is": "old"} for table in read_all().values())


def test_what_is_packed_is_what_is_used(tmp_path, monkeypatch):
    packed = msgspec.msgpack.decode(resources.pack_tables(), type=dict[str, resources.PackedTable])
    planted = resources.pack_table(b"is = 'packed'")
    other = {name: resources.PackedTable(table.version, planted) for name, table in packed.items()}
    pack_into(monkeypatch, tmp_path / "tables.msgpack", msgspec.msgpack.encode(other))
    assert all(table == {"is": "packed"} for table in read_all().values())
