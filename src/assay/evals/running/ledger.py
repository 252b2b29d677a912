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
from assay.evals.running import run_folder
from assay.types.value import Row

NAME = "ledger.jsonl"
ANEW = "remove those trials' folders and run again, or begin a new run with --out"


class LedgerEntry(Row, frozen=True):
    """One line of the ledger: an attempt that ended."""

    file: str
    """Of its record, below the run's folder."""
    sha256: str
    after: str
    """Hash of the line before; of the run's lock in the first line."""


def add_entry(run: Path, file: Path, content: bytes) -> None:
    """Put a record on the list; it is there for good when this returns."""
    with (run / NAME).open("a+b") as ledger:
        fcntl.flock(ledger, fcntl.LOCK_EX)
        ledger.seek(0)
        there = ledger.read()
        whole = there[: there.rfind(b"\n") + 1]
        if len(whole) < len(there):  # killed while the last line was written: its record is not there either
            ledger.truncate(len(whole))
        before = whole.splitlines()[-1] if whole else (run / run_folder.LOCK).read_bytes()
        entry = LedgerEntry(file=file.relative_to(run).as_posix(), sha256=hash_bytes(content), after=hash_bytes(before))
        ledger.write(msgspec.json.encode(entry) + b"\n")
        ledger.flush()
        os.fsync(ledger.fileno())


def load_entries(run: Path) -> list[LedgerEntry]:
    """The whole list, if no line of it was changed, added or taken away since."""
    found: list[LedgerEntry] = []
    try:
        before, there = (run / run_folder.LOCK).read_bytes(), (run / NAME).read_bytes()
    except FileNotFoundError:
        return found
    for number, line in enumerate(there[: there.rfind(b"\n") + 1].splitlines(), 1):
        try:
            entry = msgspec.json.decode(line, type=LedgerEntry)
        except msgspec.DecodeError:
            entry = None
        if entry is None or entry.after != hash_bytes(before):
            what = f"line {number}" if number > 1 else f"line 1 or {run_folder.LOCK}"
            raise InvalidRun(f"{run / NAME}: {what} is not what was written; nothing in this run can be trusted")
        found.append(entry)
        before = line
    return found


def list_altered_records(run: Path) -> list[str]:
    """Records that are there and are not what they were when their attempt ended."""
    listed = {one.file: one.sha256 for one in load_entries(run)}
    there = [*run.glob(f"trials/*/*/{run_folder.TRIAL}"), *run.glob(f"trials/*/*/*/{run_folder.FAILURE}")]
    named = {file.relative_to(run).as_posix(): file for file in there}
    return sorted(name for name, file in named.items() if hash_bytes(file.read_bytes()) != listed.get(name))


def list_missing_trials(run: Path) -> list[str]:
    """Trials that ended and are not there any more."""
    listed = {one.file for one in load_entries(run) if one.file.endswith(f"/{run_folder.TRIAL}")}
    return sorted(name for name in listed if not (run / name).is_file())


def count_ended_attempts(run: Path) -> Counter[Path]:
    """How many attempts at each trial ended, by its folder."""
    return Counter(run / Path(*Path(one.file).parts[:3]) for one in load_entries(run))


def check_records(run: Path) -> None:
    """Go on with a run only if its records are those that were written."""
    wrong = list_altered_records(run)
    if wrong:
        named = ", ".join(wrong[:5]) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        raise InvalidRun(f"trials are not what they were when they ended ({named}); {ANEW}")


def hash_bytes(content: bytes) -> str:
    return sha256(content).hexdigest()
