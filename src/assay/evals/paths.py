"""Where a run keeps what: one folder, one folder per trial in it, one per attempt in that."""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from assay.errors import BadInput
from assay.evals.fingerprint import sealed
from assay.evals.types import Arm, Stage
from assay.types.value import Row

LOCK, BUSY, TRIAL, FAILURE = "lock.json", "busy", "trial.json", "failure.json"
TRANSCRIPTS, DIFF, CHECKS, LOADED, ENDED = "transcript", "workspace.diff", "checks.json", "loaded.json", "ended.json"
OUT, ERR = "stdout", "stderr"
SCRATCH = "scratch"


class Slot(Row, frozen=True):
    """One trial to run."""

    task: str
    arm: Arm
    repeat: int
    stage: Stage = "main"


def run_folder(root: Path, suite_sha256: str, baseline_sha256: str, candidate_sha256: str) -> Path:
    """Where a run is kept by default: the same contents find the same folder, other ones another."""
    return root / sealed(suite_sha256, baseline_sha256, candidate_sha256)[:16]


def key_of(slot: Slot, task_sha256: str, config_sha256: str) -> str:
    """Identity of a trial: what is run, with what, and which repeat it is."""
    return sealed(slot, task_sha256, config_sha256)


def trial_folder(run: Path, slot: Slot, key: str) -> Path:
    return run / "trials" / slot.task / f"{slot.stage}-{slot.repeat:02}-{slot.arm}-{key[:8]}"


def attempts(folder: Path) -> list[Path]:
    """Folders of the attempts at a trial, oldest first."""
    return sorted(folder.glob("attempt-*"), key=number_of) if folder.is_dir() else []


def number_of(attempt: Path) -> int:
    return int(attempt.name.rpartition("-")[2])


def next_attempt(folder: Path) -> Path:
    """A folder for one more attempt."""
    number = number_of(attempts(folder)[-1]) + 1 if attempts(folder) else 1
    made = folder / f"attempt-{number:02}"
    made.mkdir(parents=True, mode=0o700)
    return made


def scratch_home() -> Path:
    """The folder of all attempts' folders, which no agent sees but for its own; nobody else can put anything there."""
    home = Path(tempfile.gettempdir()) / f"assay-trials-{os.getuid()}"
    with suppress(FileExistsError):
        home.mkdir(mode=0o700)
    known = home.lstat()
    if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.getuid() or known.st_mode & 0o022:
        raise BadInput(f"{home} is not a private folder of yours; move it away, or set TMPDIR to another place")
    return home
