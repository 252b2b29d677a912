"""`lock.json`: what a run was begun with. A run that goes on goes on with the same, or not at all."""

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import msgspec

from assay.errors import BadInput
from assay.evals import paths
from assay.evals.configs import Config
from assay.evals.fingerprint import Listing
from assay.evals.sandbox import Sandbox
from assay.evals.tasks import Suite
from assay.evals.types import Arm
from assay.files import write_atomically
from assay.types.value import Row

VERSION = 1


class Pinned(Row, frozen=True):
    """One arm as it was when the run began."""

    config: str
    sha256: str
    agent: str
    version: str
    """What the agent's program says of itself; empty for a `command`."""
    model: str
    files: Listing
    commit: str = ""


class Lock(Row, frozen=True):
    """What a run was begun with."""

    tasks: dict[str, str]
    arms: dict[Arm, Pinned]
    sandbox: str
    assay: str
    more: dict[str, str] = {}
    """Whatever else was decided before the first trial: thresholds, judge, repeats."""
    version: int = VERSION


def pinned(config: Config, says: str) -> Pinned:
    return Pinned(
        config=config.name, sha256=config.sha256, agent=config.agent, version=says, model=config.model,
        files=config.files, commit=config.commit,
    )  # fmt: skip


def lock_of(suite: Suite, arms: Mapping[Arm, Pinned], sandbox: Sandbox, more: Mapping[str, str]) -> Lock:
    return Lock(
        tasks={task.name: task.sha256 for task in suite.tasks}, arms=dict(arms), sandbox=sandbox.name,
        assay=version("assay"), more=dict(more),
    )  # fmt: skip


def held(run: Path, now: Lock) -> Lock:
    """Write the lock of a new run, or make sure that an old one is about the same things."""
    file = run / paths.LOCK
    if not file.exists():
        write_atomically(file, msgspec.json.format(msgspec.json.encode(now), indent=1))
        return now
    before = load(run)
    changed = differences(before, now)
    if changed:
        raise BadInput(f"{run}: since this run began, {'; '.join(changed)}; begin another one in a new folder")
    return before


def load(run: Path) -> Lock:
    """The lock of a run."""
    try:
        return msgspec.json.decode((run / paths.LOCK).read_bytes(), type=Lock)
    except FileNotFoundError:
        raise BadInput(f"{run}: no run was begun here, there is no {paths.LOCK}") from None
    except msgspec.DecodeError as error:
        raise BadInput(f"{run / paths.LOCK}: can't be read: {error}") from None


def differences(before: Lock, now: Lock) -> list[str]:
    """What is not as it was, in words."""
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
def alone(run: Path) -> Iterator[None]:
    """Make sure that nobody else works on a run; the claim ends with the process, however that ends."""
    run.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (run / paths.BUSY).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(
                f"{run}: another process is at work on this run; wait for it, or choose a new folder"
            ) from None
        yield
