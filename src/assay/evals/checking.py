"""Runs a task's checks after the agent has left: in clean copies, with check files it has never seen."""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from assay.evals import remains, steering
from assay.evals.fingerprint import Listing, listing
from assay.evals.launching import Keepers, Order
from assay.evals.sandbox import Mount, Room, Sandbox, searched, wrapped
from assay.evals.scene import Check, Ran, Scene, kind
from assay.evals.tasks import CHECKS, Task
from assay.evals.types import CheckResult
from assay.evals.workspace import Unreadable, changes, clean_copy, copy_tree, entries, hand_over, remove
from assay.types import Turn

TAIL = 600
"""Characters of a command's output that are kept."""
MOST_PROOF = 8 << 10
"""Bytes from the end of its output in which a command's word must stand."""
ENV = ("PATH", "LANG", "LC_ALL", "TZ")
STEADY = {"PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
WORKSPACE, HOME, TMP, TESTS, REWARD = "/workspace", "/home/checks", "/tmp", "/tests", "/logs/verifier"  # noqa: S108
REWARDS = ("reward.txt", "reward.json")


class Place(Struct, frozen=True, kw_only=True):
    """Where checks are run."""

    task: Task
    sandbox: Sandbox
    scratch: Path
    hidden: Path
    """A copy of the task's check files that no agent ever saw."""
    keepers: Keepers
    env: Mapping[str, str]

    @property
    def secret(self) -> tuple[Path, Path]:
        """Folders that nothing in a workspace may lead to."""
        return self.scratch, self.task.folder


def check_all(place: Place, left: Path, before: Listing, turns: tuple[Turn, ...] | None) -> tuple[CheckResult, ...]:
    """Every check of a task, on what an agent left."""
    task = place.task
    clean = place.scratch / "clean"
    try:
        clean_copy(left, clean, place.hidden, place.secret)
        after = entries(left)
    except (Unreadable, OSError) as error:
        return tuple(result(check, passed=False, detail=str(error)[:TAIL]) for check in task.checks)

    steers = steering.added(before, after)

    def run(line: str, timeout_s: float, keep: tuple[str, ...]) -> Ran:
        aside = tuple(path for path in steers if not steering.fits(path, keep))
        return run_in_copy(place, left, Line(line=line, timeout_s=timeout_s, aside=aside))

    scene = Scene(workspace=clean, changed=changes(before, after), turns=turns, run=run)
    return tuple(look(check, scene) for check in task.checks)


def look(check: Check, scene: Scene) -> CheckResult:
    """One check; a file that can't be read is the agent's, and no pass."""
    try:
        found = kind(check.kind).check(check.spec, scene)
    except (OSError, Unreadable, RecursionError) as error:
        return result(check, passed=False, detail=str(error)[:TAIL])
    return result(check, passed=found.passed, detail=found.detail[:TAIL])


def result(check: Check, *, passed: bool | None, detail: str) -> CheckResult:
    return CheckResult(name=check.name, kind=check.kind, passed=passed, detail=detail)


class Line(Struct, frozen=True, kw_only=True):
    """A shell line to run."""

    line: str
    timeout_s: float
    aside: tuple[str, ...]
    """Files of the workspace that are not there for it."""


def run_in_copy(place: Place, left: Path, asked: Line) -> Ran:
    """Run a shell line in a copy of its own; whether it touched the check files is seen by their hashes."""
    here = place.scratch / f"check-{len(list(place.scratch.glob('check-*')))}"
    work, reward = here / "workspace", here / "reward"
    clean_copy(left, work, place.hidden, place.secret)
    for path in asked.aside:
        remove(work / path)
    for folder in ("home", "tmp", "reward"):
        (here / folder).mkdir(parents=True)
    tests = here / "tests" if place.task.harbor else work / CHECKS
    if place.hidden.is_dir():  # a task may have no check files
        copy_tree(place.hidden, tests)
    first, word = listing(tests), secrets.token_hex(16)
    hand_over(here, place.sandbox.user)
    (here / "word").touch(0o600)  # after that: the keeper opens it, what it starts can't
    (here / "word").write_text(f"{word}\n", "utf-8")
    ended = place.keepers.keep(order(place, here, tests, asked))
    found = Ran(
        ended=ended.ended, code=ended.code, output=tail(here), is_tampered=listing(tests) != first,
        reward=reward_of(reward), proof=proof_of(here, word), aside=asked.aside,
    )  # fmt: skip
    if ended.ended == "lost" and place.sandbox.kind == "plain":  # only what it ran can have killed its keeper
        found = replace(found, ended="exit", code=-9, output="the process that kept the command was killed")
    remove(here)
    here.mkdir()  # its number stays taken
    return found


def order(place: Place, here: Path, tests: Path, asked: Line) -> Order:
    """A shell line as the keeper starts it: nothing of the workspace on its search path, a home of its own."""
    work, home, tmp = here / "workspace", here / "home", here / "tmp"
    is_wrapped = place.sandbox.kind == "bubblewrap"
    inside = (place.task.harbor.workdir if place.task.harbor else WORKSPACE) if is_wrapped else str(work)
    env = {name: place.env[name] for name in ENV if name in place.env} | STEADY
    env["PATH"] = os.pathsep.join(one for one in env.get("PATH", "").split(os.pathsep) if one.startswith("/"))
    env |= {"HOME": HOME if is_wrapped else str(home), "TMPDIR": TMP if is_wrapped else str(tmp)}
    env["ASSAY_CHECKS"] = TESTS if place.task.harbor else f"{inside}/{CHECKS}"
    mounts = [mount(work, inside), mount(home, HOME), mount(tmp, TMP), mount(tmp, "/dev/shm")]  # noqa: S108
    if place.task.harbor:
        mounts += [mount(tests, TESTS), mount(here / "reward", REWARD)]
    room = Room(
        mounts=mounts, cwd=inside, has_network=place.task.network == "full", programs=searched(env["PATH"]),
        hidden=(place.task.folder,), processes=place.task.processes,
    )  # fmt: skip
    return Order(
        argv=wrapped(place.sandbox, ["/bin/sh", "-c", asked.line], room), env=env, cwd=str(work),
        stdin=str(here / "word"), stdout=str(here / "out"), stderr=str(here / "err"), timeout_s=asked.timeout_s,
        grace_s=0, most_bytes=place.task.disk_mb << 20, most_memory=place.task.memory_mb << 20,
        most_processes=place.task.processes, user=place.sandbox.user, watch=[str(here)], is_wrapped=is_wrapped,
        marker=str(here),
    )  # fmt: skip


def proof_of(here: Path, word: str) -> str | None:
    """What stands behind a word in the last line of what a command printed."""
    file = remains.opened(here, "out")
    if file is None:
        return None
    with file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - MOST_PROOF))
        said = file.read().decode("utf-8", "replace").rstrip()
    first, _, rest = said[said.rfind("\n") + 1 :].strip().partition(" ")
    return rest if first == word else None


def mount(here: Path, inside: str) -> Mount:
    return Mount(here=here, inside=inside, is_writable=True)


def tail(here: Path) -> str:
    """The end of what a command said."""
    said = b""
    for name in ("out", "err"):
        if file := remains.opened(here, name):
            with file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
                said += file.read()
    return said.decode("utf-8", "replace").strip()[-TAIL:]


def reward_of(folder: Path) -> str:
    """What the tests of a Harbor task wrote."""
    there = (remains.read(folder, name, TAIL) for name in REWARDS)
    return next(filter(None, there), b"").decode("utf-8", "replace")
