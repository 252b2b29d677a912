"""`lock.json`: what a run was begun with. A run that goes on goes on with the same, or not at all."""

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import msgspec

from assay.errors import BadInput
from assay.evals.running import run_folder
from assay.evals.sandbox.bubblewrap import Sandbox
from assay.evals.tasks.config import AgentConfig
from assay.evals.tasks.folders import Listing
from assay.evals.tasks.task import Suite
from assay.files import write_atomically
from assay.types.evals import Arm
from assay.types.value import Row

VERSION = 1


class PinnedArm(Row, frozen=True):
    """One arm as it was when the run began."""

    config: str
    sha256: str
    agent: str
    version: str
    """What the agent's program says of itself; empty for a `command`."""
    model: str
    files: Listing
    commit: str = ""


class RunLock(Row, frozen=True):
    """What a run was begun with."""

    tasks: dict[str, str]
    arms: dict[Arm, PinnedArm]
    sandbox: str
    assay: str
    more: dict[str, str] = {}
    """Whatever else was decided before the first trial: thresholds, judge, repeats."""
    version: int = VERSION


def pin_arm(config: AgentConfig, says: str) -> PinnedArm:
    return PinnedArm(
        config=config.name, sha256=config.sha256, agent=config.agent, version=says, model=config.model,
        files=config.files, commit=config.commit,
    )  # fmt: skip


def build_lock(suite: Suite, arms: Mapping[Arm, PinnedArm], sandbox: Sandbox, more: Mapping[str, str]) -> RunLock:
    return RunLock(
        tasks={task.name: task.sha256 for task in suite.tasks}, arms=dict(arms), sandbox=sandbox.name,
        assay=version("assay"), more=dict(more),
    )  # fmt: skip


def hold_lock(run: Path, now: RunLock) -> RunLock:
    """Write the lock of a new run, or make sure that an old one is about the same things."""
    file = run / run_folder.LOCK
    if not file.exists():
        write_atomically(file, msgspec.json.format(msgspec.json.encode(now), indent=1))
        return now
    before = load_lock(run)
    changed = describe_differences(before, now)
    if changed:
        raise BadInput(f"{run}: since this run began, {'; '.join(changed)}; begin another one in a new folder")
    return before


def load_lock(run: Path) -> RunLock:
    """The lock of a run, from its folder."""
    try:
        return msgspec.json.decode((run / run_folder.LOCK).read_bytes(), type=RunLock)
    except FileNotFoundError:
        why = f"no run was begun here, there is no {run_folder.LOCK}" if run.is_dir() else "no such file or folder"
        raise BadInput(f"{run}: {why}; give the folder that `assay eval run` named") from None
    except msgspec.DecodeError as error:
        raise BadInput(f"{run / run_folder.LOCK}: can't be read: {error}") from None


def describe_differences(before: RunLock, now: RunLock) -> list[str]:
    """What changed between two locks, in words."""
    tasks = [name for name in sorted(before.tasks | now.tasks) if before.tasks.get(name) != now.tasks.get(name)]
    found = [f"tasks changed ({', '.join(tasks[:5])})"] if tasks else []
    for arm in sorted(before.arms | now.arms):
        old, new = before.arms.get(arm), now.arms.get(arm)
        if old is None or new is None or old.sha256 != new.sha256:
            found.append(f"the {arm} changed")
        elif old.version != new.version:
            found.append(f"{old.agent} of the {arm} went from {old.version} to {new.version}")
    found += [
        f"{name} changed" for name in sorted(before.more | now.more) if before.more.get(name) != now.more.get(name)
    ]
    if before.sandbox != now.sandbox:
        found.append(f"the sandbox went from {before.sandbox} to {now.sandbox}")
    return found


@contextmanager
def claim_run(run: Path) -> Iterator[None]:
    """Make sure that nobody else works on a run; the claim ends with the process, however that ends."""
    run.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (run / run_folder.BUSY).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(
                f"{run}: another process is at work on this run; wait for it, or choose a new folder"
            ) from None
        yield
