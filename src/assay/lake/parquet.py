"""Rows as Parquet: some at a time, so that a table may be larger than the memory."""

import importlib
import types
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import asdict

from assay.errors import BadInput

MISSING = "`{}` is not installed, which lakes need; pip install 'assay[lake]'"
DIGEST = b"assay.digest"
"""Under which key a file says of which rows it was made."""
GROUP_ROWS, GROUP_BYTES = 20_000, 64 << 20
"""Of a row group: what is held at once."""
COMPRESSION = "zstd"


def import_extra(package: str) -> Any:
    """A package of the extra `assay[lake]`."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise BadInput(MISSING.format(package.partition(".")[0])) from None


def build_type(hint: Any) -> Any:
    """What a column of a Python type is stored as."""
    arrow = import_extra("pyarrow")
    simple = {str: arrow.string, int: arrow.int64, float: arrow.float64, bool: arrow.bool_, date: arrow.date32}
    if hint in simple:
        return simple[hint]()
    if get_origin(hint) is types.UnionType:
        return build_type(next(one for one in get_args(hint) if one is not type(None)))
    if get_origin(hint) is list:
        return arrow.list_(build_type(get_args(hint)[0]))
    return arrow.struct([(name, build_type(inner)) for name, inner in get_type_hints(hint).items()])


def build_schema(table: type[Struct], digest: str) -> Any:
    """The columns of a table, and of which rows a file of it is made."""
    fields = [(name, build_type(hint)) for name, hint in get_type_hints(table).items()]
    return import_extra("pyarrow").schema(fields, metadata={DIGEST: digest.encode()})


def write_parquet(path: Path, table: type[Struct], rows: Iterable[Struct], digest: str) -> int:
    """Write rows to a file, group by group; gives how many."""
    arrow, parquet = import_extra("pyarrow"), import_extra("pyarrow.parquet")
    schema = build_schema(table, digest)
    written = 0
    with parquet.ParquetWriter(path, schema, compression=COMPRESSION) as writer:
        for group in split_rows(rows):
            columns = [build_column(group, field.name, field.type) for field in schema]
            writer.write_table(arrow.Table.from_arrays(columns, schema=schema), row_group_size=len(group))
            written += len(group)
    return written


def split_rows(rows: Iterable[Struct]) -> Iterator[list[Struct]]:
    """Rows in portions that fit into the memory, whatever words they hold."""
    waiting = iter(rows)
    most = GROUP_ROWS
    while group := list(islice(waiting, most)):
        size = sum(len(value) for row in group[:50] for value in asdict(row).values() if isinstance(value, str))
        most = max(100, min(GROUP_ROWS, GROUP_BYTES * min(len(group), 50) // (size + 1)))
        yield group


def build_column(rows: Sequence[Struct], name: str, kind: Any) -> Any:
    """The values of one column."""
    arrow = import_extra("pyarrow")
    values = [to_plain(getattr(row, name)) for row in rows]
    try:
        return arrow.array(values, kind)
    except UnicodeEncodeError:  # half of a character, as some agents cut them
        return arrow.array([one and one.encode("utf-8", "replace").decode() for one in values], kind)


def to_plain(value: Any) -> Any:
    """A value without classes of ours."""
    return [asdict(one) if isinstance(one, Struct) else one for one in value] if isinstance(value, list) else value
