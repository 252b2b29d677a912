"""`ledger.jsonl`: every attempt that ended, with the hash of its record; each line holds the hash of the line before.

A line is on disk before its record is put in its place. So a record without a line was put there by somebody else, and
a line without a record is an attempt whose result is gone: it is run again, and counts as a lost attempt.
"""

import fcntl
import os
from collections import Counter
from hashlib import sha256
from pathlib import Path

import msgspec

from assay.errors import InvalidRun
from assay.evals import paths
from assay.types.value import Row

NAME = "ledger.jsonl"
ANEW = "remove those trials' folders and run again, or begin a new run with --out"


class Entry(Row, frozen=True):
    """One attempt that ended."""

    file: str
    """Of its record, below the run's folder."""
    sha256: str
    after: str
    """Hash of the line before; of the run's lock in the first line."""


def add(run: Path, file: Path, content: bytes) -> None:
    """Put a record on the list; it is there for good when this returns."""
    with (run / NAME).open("a+b") as ledger:
        fcntl.flock(ledger, fcntl.LOCK_EX)
        ledger.seek(0)
        there = ledger.read()
        whole = there[: there.rfind(b"\n") + 1]
        if len(whole) < len(there):  # killed while the last line was written: its record is not there either
            ledger.truncate(len(whole))
        before = whole.splitlines()[-1] if whole else (run / paths.LOCK).read_bytes()
        entry = Entry(file=file.relative_to(run).as_posix(), sha256=digest(content), after=digest(before))
        ledger.write(msgspec.json.encode(entry) + b"\n")
        ledger.flush()
        os.fsync(ledger.fileno())


def entries(run: Path) -> list[Entry]:
    """The whole list, if no line of it was changed, added or taken away since."""
    found: list[Entry] = []
    try:
        before, there = (run / paths.LOCK).read_bytes(), (run / NAME).read_bytes()
    except FileNotFoundError:
        return found
    for number, line in enumerate(there[: there.rfind(b"\n") + 1].splitlines(), 1):
        try:
            entry = msgspec.json.decode(line, type=Entry)
        except msgspec.DecodeError:
            entry = None
        if entry is None or entry.after != digest(before):
            what = f"line {number}" if number > 1 else f"line 1 or {paths.LOCK}"
            raise InvalidRun(f"{run / NAME}: {what} is not what was written; nothing in this run can be trusted")
        found.append(entry)
        before = line
    return found


def differing(run: Path) -> list[str]:
    """Records that are there and are not what they were when their attempt ended."""
    listed = {one.file: one.sha256 for one in entries(run)}
    there = [*run.glob(f"trials/*/*/{paths.TRIAL}"), *run.glob(f"trials/*/*/*/{paths.FAILURE}")]
    named = {file.relative_to(run).as_posix(): file for file in there}
    return sorted(name for name, file in named.items() if digest(file.read_bytes()) != listed.get(name))


def gone(run: Path) -> list[str]:
    """Trials that ended and are not there any more."""
    listed = {one.file for one in entries(run) if one.file.endswith(f"/{paths.TRIAL}")}
    return sorted(name for name in listed if not (run / name).is_file())


def ended(run: Path) -> Counter[Path]:
    """How many attempts at each trial ended, by its folder."""
    return Counter(run / Path(*Path(one.file).parts[:3]) for one in entries(run))


def intact(run: Path) -> None:
    """Go on with a run only if its records are those that were written."""
    wrong = differing(run)
    if wrong:
        named = ", ".join(wrong[:5]) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        raise InvalidRun(f"trials are not what they were when they ended ({named}); {ANEW}")


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()
