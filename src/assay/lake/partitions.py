"""Months of a table as files, each replaced as a whole, and the manifest that says what there is.

What is new is written beside the lake (`.next/`), each file under the digest of the rows it is made of, so that an
export that was killed finds again what it had finished. Only when all of it is there is it put in place, file by file,
and then the manifest. Nobody ever sees half of a file; whoever reads by the manifest sees when files and manifest do
not belong together.
"""

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import msgspec
from msgspec import Raw, Struct

from assay.errors import BadInput
from assay.files import LAKE, flush_file, hold_lock, name_finished, write_atomically
from assay.lake.parquet import write_parquet
from assay.lake.tables import FORMAT, TABLES
from assay.reports.json import encode_json

MANIFEST = LAKE
NEXT, LOCK = ".next", ".lock"
FILE = "part-0"
MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])")
UNDATED = "undated"
PARTITION = re.compile(r"(?:month=(?:\d{4}-\d{2}|undated)|run=[\w%.~-]{1,240})")
"""How partitions are called: nothing that leads out of the folder."""
READABLE = 0o644
Form = Literal["parquet", "jsonl"]


class Partition(Struct, frozen=True, kw_only=True):
    """One part of a table."""

    digest: str
    """Of the rows that it is made of."""
    rows: int


class Manifest(Struct, frozen=True, kw_only=True):
    """What a lake holds, and what a report on it says beside what is counted."""

    kind: Literal["assay-lake"] = "assay-lake"
    format: int = FORMAT
    assay: str = ""
    form: Form = "parquet"
    zone: str = ""
    """In which days begin."""
    words: bool = False
    """Whether turns have their words."""
    report: Raw = Raw(b"{}")
    tables: dict[str, dict[str, Partition]] = {}


class NewPartition(Struct, frozen=True, kw_only=True):
    """A part of a table as it shall be: its rows are asked for only where it differs from what is there."""

    table: str
    name: str
    digest: str
    list_rows: Callable[[], Iterable[Struct]]


def is_lake(path: Path) -> bool:
    """Whether a folder is a lake."""
    return (path / MANIFEST).is_file()


def find_month(at: str) -> str:
    """The partition of a time."""
    return f"month={at[:7]}" if MONTH.match(at) else f"month={UNDATED}"


def find_span(name: str) -> tuple[str, str]:
    """Between which texts the times of a month lie; of what has no date, anywhere."""
    month = name.removeprefix("month=")
    return (month, month[:-1] + chr(ord(month[-1]) + 1)) if month != UNDATED else ("", "")


def name_run(run: str) -> str:
    """The partition of a recorded run."""
    return f"run={quote(run, safe='')[:240]}"


def load_manifest(folder: Path) -> Manifest:
    """What a lake says of itself; of a later version it is refused."""
    try:
        text = (folder / MANIFEST).read_bytes()
    except OSError as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise BadInput(f"{folder}: is no lake ({MANIFEST}: {why}); `assay export -o {folder}` makes one") from None
    try:
        said = msgspec.json.decode(text, type=FormatOnly)
        found = msgspec.json.decode(text, type=Manifest) if said.format <= FORMAT else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{folder / MANIFEST}: is damaged ({error}); `assay export -o` into another folder") from None
    if found is None:
        raise BadInput(
            f"{folder}: is a lake of format {said.format}, made by Assay {said.assay[:40]!r}; this version reads "
            f"up to format {FORMAT}: update Assay"
        )
    for table, parts in found.tables.items():
        if table not in TABLES or not all(map(PARTITION.fullmatch, parts)):
            raise BadInput(f"{folder / MANIFEST}: is damaged (it names parts that no lake has)")
    return found


class FormatOnly(Struct):
    """Of a manifest, what every version says."""

    format: int
    assay: str = ""


def find_file(folder: Path, table: str, name: str, form: Form = "parquet") -> Path:
    return folder / table / name / f"{FILE}.{form}"


@contextmanager
def open_lake(folder: Path, form: Form) -> Iterator[Manifest]:
    """A folder that nobody else writes to meanwhile, with what it holds; a new one is made."""
    try:
        if folder.exists() and not is_lake(folder) and not is_begun(folder):
            raise BadInput(f"{folder}: holds something else; give a folder that is empty, or a lake")
        folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(folder / LOCK) as is_held:
            if not is_held:
                raise BadInput(f"{folder}: another export is writing to this lake; wait for it")
            known = load_manifest(folder) if is_lake(folder) else Manifest(form=form)
            if known.form != form:
                raise BadInput(f"{folder}: is a lake of {known.form} files; give --format {known.form}, or another one")
            yield known
    except OSError as error:
        raise BadInput(
            f"{folder}: can't be written to: {error.strerror or error}; what the lake held is still there, "
            "and the same command goes on"
        ) from None


def is_begun(folder: Path) -> bool:
    """Whether there is nothing in a folder but what an export may have left."""
    return folder.is_dir() and {one.name for one in folder.iterdir()} <= {NEXT, LOCK, *TABLES}


def stage_partition(folder: Path, known: Manifest, one: NewPartition) -> Partition:
    """Write a part beside the lake, unless it is there as it shall be; gives what is to be said of it."""
    before = known.tables.get(one.table, {}).get(one.name)
    if before and before.digest == one.digest and find_file(folder, one.table, one.name, known.form).exists():
        return before
    staged = find_staged(folder, one.table, one.name, one.digest)
    noted = staged.with_suffix(".rows")
    if staged.exists() and noted.exists():
        return Partition(digest=one.digest, rows=int(noted.read_text()))
    staged.parent.mkdir(parents=True, exist_ok=True)
    beside = staged.with_suffix(".part")
    rows = write_part(beside, one, known.form)
    flush_file(beside)
    write_atomically(noted, str(rows).encode())
    name_finished(beside, staged)
    return Partition(digest=one.digest, rows=rows)


def write_part(path: Path, one: NewPartition, form: Form) -> int:
    """Write the rows of a part to a file of its own; gives how many."""
    if form == "parquet":
        return write_parquet(path, TABLES[one.table], one.list_rows(), one.digest)
    written = 0
    with path.open("wb") as file:
        for row in one.list_rows():
            file.write(encode_json(row) + b"\n")
            written += 1
    return written


def find_staged(folder: Path, table: str, name: str, digest: str) -> Path:
    return folder / NEXT / table / name / f"{digest}.file"


def commit_lake(folder: Path, known: Manifest, new: Manifest) -> list[str]:
    """Put all that is staged in place, and drop what is there no longer; gives the parts that changed."""
    changed = []
    for table, parts in new.tables.items():
        for name, part in parts.items():
            staged = find_staged(folder, table, name, part.digest)
            if staged.exists():
                final = find_file(folder, table, name, new.form)
                final.parent.mkdir(parents=True, exist_ok=True)
                name_finished(staged, final)
                changed.append(f"{table}/{name}")
    gone = [(table, name) for table, parts in known.tables.items() for name in parts.keys() - new.tables.get(table, {})]
    for table, name in gone:
        shutil.rmtree(folder / table / name, ignore_errors=True)
        changed.append(f"{table}/{name}")
    said = msgspec.json.format(msgspec.json.encode(new), indent=1) + b"\n"
    if not is_lake(folder) or (folder / MANIFEST).read_bytes() != said:
        write_atomically(folder / MANIFEST, said, READABLE)
    shutil.rmtree(folder / NEXT, ignore_errors=True)
    return sorted(changed)


def list_files(folder: Path, known: Manifest, table: str) -> Mapping[str, Path]:
    """The files of a table by partition, in order of time; what has no date comes first."""
    parts = sorted(known.tables.get(table, {}), key=lambda name: (name != f"month={UNDATED}", name))
    return {name: find_file(folder, table, name) for name in parts}
