"""Where a run keeps what: one folder, one folder per trial in it, one per attempt in that."""

from pathlib import Path

from assay.evals.tasks.folders import hash_values
from assay.types.evals import Arm, Stage, Trial
from assay.types.value import Row

LOCK, BUSY, TRIAL, FAILURE = "lock.json", "busy", "trial.json", "failure.json"
TRANSCRIPTS, DIFF, CHECKS, LOADED, ENDED = "transcript", "workspace.diff", "checks.json", "loaded.json", "ended.json"
OUT, ERR = "stdout", "stderr"
SCRATCH = "scratch"
ROOT = Path(".assay/runs")
"""Where runs lie unless a person says otherwise."""


class TrialSlot(Row, frozen=True):
    """The place of one trial in a run: task, arm, stage and repeat."""

    task: str
    arm: Arm
    repeat: int
    stage: Stage = "main"


def find_run_folder(root: Path, suite_sha256: str, baseline_sha256: str, candidate_sha256: str) -> Path:
    """Where a run is kept by default: the same contents find the same folder, other ones another."""
    return root / hash_values(suite_sha256, baseline_sha256, candidate_sha256)[:16]


def hash_slot(slot: TrialSlot, task_sha256: str, config_sha256: str) -> str:
    """Identity of a trial: what is run, with what, and which repeat it is."""
    return hash_values(slot, task_sha256, config_sha256)


def find_trial_folder(run: Path, slot: TrialSlot, key: str) -> Path:
    return run / "trials" / slot.task / f"{slot.stage}-{slot.repeat:02}-{slot.arm}-{key[:8]}"


def list_attempts(folder: Path) -> list[Path]:
    """Folders of the attempts at a trial, oldest first."""
    return sorted(folder.glob("attempt-*"), key=parse_attempt_number) if folder.is_dir() else []


def parse_attempt_number(attempt: Path) -> int:
    return int(attempt.name.rpartition("-")[2])


def make_attempt_folder(folder: Path) -> Path:
    """Make the folder of one more attempt at a trial."""
    number = parse_attempt_number(list_attempts(folder)[-1]) + 1 if list_attempts(folder) else 1
    made = folder / f"attempt-{number:02}"
    made.mkdir(parents=True, mode=0o700)
    return made


def build_failed_trial(run: Path, folder: Path, slot: TrialSlot) -> Trial:
    """A trial of which there are only attempts that infrastructure broke."""
    made = list_attempts(folder)
    return Trial(
        task=slot.task, arm=slot.arm, repeat=slot.repeat, stage=slot.stage, state="failed_infrastructure",
        attempts=len(made), folder=made[-1].relative_to(run).as_posix(),
    )  # fmt: skip
