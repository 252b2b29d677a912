"""Runs a task's checks in clean copies: on what an agent left, or on the workspace as it begins and as it is solved."""

import os
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import BadInput
from assay.evals import checks
from assay.evals.checks import CheckContext, CommandResult, TaskCheck, find_caution, find_kind
from assay.evals.sandbox import workspace
from assay.evals.sandbox.bubblewrap import Mount, Sandbox, SandboxView, list_search_folders, pick_sandbox, wrap_command
from assay.evals.sandbox.launch import SupervisedCommand, Supervisors
from assay.evals.sandbox.workspace import (
    UnreadableWorkspace,
    copy_tree,
    fill_workspace,
    hand_over_folder,
    hash_entries,
    list_changes,
    make_clean_copy,
    remove_tree,
)
from assay.evals.tasks.folders import Listing, hash_files, pack_folder, unpack_folder
from assay.evals.tasks.task import CHECKS, SCRIPT, SOLUTION, Task
from assay.types import Turn
from assay.types.evals import CheckResult, Checkup

TAIL = 600
"""Characters of a command's output that are kept."""
MOST_PROOF = 8 << 10
"""Bytes from the end of its output in which a command's word must stand."""
VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ")
STEADY = {"PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
INSIDE, HOME, TMP, TESTS, REWARD = "/workspace", "/home/checks", "/tmp", "/tests", "/logs/verifier"  # noqa: S108
REWARDS = ("reward.txt", "reward.json")
Env = dict[str, str]


class CheckPlace(Struct, frozen=True, kw_only=True):
    """The folders, sandbox and variables with which checks are run."""

    task: Task
    sandbox: Sandbox
    scratch: Path
    hidden: Path
    """A copy of the task's check files that no agent ever saw."""
    supervisors: Supervisors
    env: Mapping[str, str]

    @property
    def secret(self) -> tuple[Path, Path]:
        """Folders that nothing in a workspace may lead to."""
        return self.scratch, self.task.folder


class ShellLine(Struct, frozen=True, kw_only=True):
    """A shell line that a check runs, and for how long."""

    line: str
    timeout_s: float
    aside: tuple[str, ...]
    """Files of the workspace that are not there for it."""


def run_checks(
    place: CheckPlace, left: Path, before: Listing, turns: tuple[Turn, ...] | None
) -> tuple[CheckResult, ...]:
    """Run every check of a task on what an agent left."""
    task = place.task
    clean = place.scratch / "clean"
    try:
        make_clean_copy(left, clean, place.hidden, place.secret)
        after = hash_entries(left)
    except (UnreadableWorkspace, OSError) as error:
        return tuple(build_result(check, passed=False, detail=str(error)[:TAIL]) for check in task.checks)

    steers = checks.find_steering_files(before, after)

    def run(line: str, timeout_s: float, keep: tuple[str, ...]) -> CommandResult:
        aside = tuple(path for path in steers if not checks.is_named(path, keep))
        return run_in_copy(place, left, ShellLine(line=line, timeout_s=timeout_s, aside=aside))

    context = CheckContext(workspace=clean, changed=list_changes(before, after), turns=turns, run=run)
    return tuple(run_check(check, context) for check in task.checks)


def run_check(check: TaskCheck, context: CheckContext) -> CheckResult:
    """One check; a file that can't be read is the agent's, and no pass."""
    try:
        found = find_kind(check.kind).check(check.spec, context)
    except (OSError, UnreadableWorkspace, RecursionError) as error:
        return build_result(check, passed=False, detail=str(error)[:TAIL])
    return build_result(check, passed=found.passed, detail=found.detail[:TAIL])


def build_result(check: TaskCheck, *, passed: bool | None, detail: str) -> CheckResult:
    return CheckResult(name=check.name, kind=check.kind, passed=passed, detail=detail)


def run_in_copy(place: CheckPlace, left: Path, asked: ShellLine) -> CommandResult:
    """Run a shell line in a copy of its own; whether it touched the check files is seen by their hashes."""
    here = place.scratch / f"check-{len(list(place.scratch.glob('check-*')))}"
    work, reward = here / "workspace", here / "reward"
    make_clean_copy(left, work, place.hidden, place.secret)
    for path in asked.aside:
        remove_tree(work / path)
    for folder in ("home", "tmp", "reward"):
        (here / folder).mkdir(parents=True)
    tests = here / "tests" if place.task.harbor else work / CHECKS
    if place.hidden.is_dir():  # a task may have no check files
        copy_tree(place.hidden, tests)
    first, word = hash_files(tests), secrets.token_hex(16)
    hand_over_folder(here, place.sandbox.user)
    (here / "word").touch(0o600)  # after that: the supervisor opens it, what it starts can't
    (here / "word").write_text(f"{word}\n", "utf-8")
    ended = place.supervisors.run_command(build_command(place, here, tests, asked))
    found = CommandResult(
        ended=ended.ended, code=ended.code, output=read_tail(here), is_tampered=hash_files(tests) != first,
        reward=read_reward(reward), proof=read_proof(here, word), aside=asked.aside,
    )  # fmt: skip
    if ended.ended == "lost" and place.sandbox.kind == "plain":  # only what it ran can have killed its supervisor
        found = replace(found, ended="exit", code=-9, output="the process that kept the command was killed")
    remove_tree(here)
    here.mkdir()  # its number stays taken
    return found


def build_command(place: CheckPlace, here: Path, tests: Path, asked: ShellLine) -> SupervisedCommand:
    """A shell line as the supervisor starts it: nothing of the workspace on its search path, a home of its own."""
    work, home, tmp = here / "workspace", here / "home", here / "tmp"
    is_wrapped = place.sandbox.kind == "bubblewrap"
    inside = (place.task.harbor.workdir if place.task.harbor else INSIDE) if is_wrapped else str(work)
    env = {name: place.env[name] for name in VARIABLES if name in place.env} | STEADY
    env["PATH"] = os.pathsep.join(one for one in env.get("PATH", "").split(os.pathsep) if one.startswith("/"))
    env |= {"HOME": HOME if is_wrapped else str(home), "TMPDIR": TMP if is_wrapped else str(tmp)}
    env["ASSAY_CHECKS"] = TESTS if place.task.harbor else f"{inside}/{CHECKS}"
    mounts = [
        mount_writable(work, inside),
        mount_writable(home, HOME),
        mount_writable(tmp, TMP),
        mount_writable(tmp, "/dev/shm"),  # noqa: S108
    ]
    if place.task.harbor:
        mounts += [mount_writable(tests, TESTS), mount_writable(here / "reward", REWARD)]
    room = SandboxView(
        mounts=mounts, cwd=inside, has_network=place.task.network == "full", programs=list_search_folders(env["PATH"]),
        hidden=(place.task.folder,), processes=place.task.processes,
    )  # fmt: skip
    return SupervisedCommand(
        argv=wrap_command(place.sandbox, ["/bin/sh", "-c", asked.line], room), env=env, cwd=str(work),
        stdin=str(here / "word"), stdout=str(here / "out"), stderr=str(here / "err"), timeout_s=asked.timeout_s,
        grace_s=0, most_bytes=place.task.disk_mb << 20, most_memory=place.task.memory_mb << 20,
        most_processes=place.task.processes, user=place.sandbox.user, watch=[str(here)], is_wrapped=is_wrapped,
        marker=str(here),
    )  # fmt: skip


def read_proof(here: Path, word: str) -> str | None:
    """What stands behind a word in the last line of what a command printed."""
    file = workspace.open_left_file(here, "out")
    if file is None:
        return None
    with file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - MOST_PROOF))
        said = file.read().decode("utf-8", "replace").rstrip()
    first, _, rest = said[said.rfind("\n") + 1 :].strip().partition(" ")
    return rest if first == word else None


def mount_writable(here: Path, inside: str) -> Mount:
    return Mount(here=here, inside=inside, is_writable=True)


def read_tail(here: Path) -> str:
    """The end of what a command printed."""
    said = b""
    for name in ("out", "err"):
        if file := workspace.open_left_file(here, name):
            with file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
                said += file.read()
    return said.decode("utf-8", "replace").strip()[-TAIL:]


def read_reward(folder: Path) -> str:
    """The reward that a Harbor task's tests wrote."""
    there = (workspace.read_left_file(folder, name, TAIL) for name in REWARDS)
    return next(filter(None, there), b"").decode("utf-8", "replace")


def check_task(task: Task, env: Mapping[str, str], sandbox: Sandbox | None = None) -> Checkup:
    """Run a task's checks on the untouched workspace and on its reference solution."""
    chosen = sandbox or pick_sandbox()
    if task.harbor and chosen.kind != "bubblewrap":
        raise BadInput(f"{task.name}: a Harbor task needs bubblewrap ({chosen.why}); install it (`bwrap`)")
    scratch = Path(tempfile.mkdtemp(prefix="assay-trial-"))
    try:
        given = {name: env[name] for name in VARIABLES if name in env}
        untouched = check_untouched(task, chosen, scratch / "untouched", given)
        solved, why = None, ""
        if (task.folder / SOLUTION).is_dir() or (task.folder / SCRIPT).is_file():
            solved, why = check_solution(task, chosen, scratch / "solved", given)
    finally:
        remove_tree(scratch)
    return Checkup(
        task=task.name, untouched=untouched, solved=solved, problems=tuple(list_problems(untouched, solved, why)),
        cautions=tuple(f"{check.name}: {said}" for check in task.checks if (said := find_caution(check))),
    )  # fmt: skip


def list_problems(untouched: tuple[CheckResult, ...], solved: tuple[CheckResult, ...] | None, why: str) -> list[str]:
    """What is wrong with a task, in sentences."""
    found = [why] if why else []
    if untouched and all(check.passed for check in untouched):
        found.append("every check passes on the untouched workspace: an agent that does nothing would pass")
    for where, results in (("the untouched workspace", untouched), ("the reference solution", solved or ())):
        found += [f"{one.name}: can't be run on {where}: {one.detail}" for one in results if one.passed is None]
    failed = [one for one in solved or () if one.passed is False and one.kind != "transcript"]
    return found + [f"{one.name}: fails on the reference solution: {one.detail}" for one in failed]


def check_untouched(task: Task, sandbox: Sandbox, scratch: Path, env: Env) -> tuple[CheckResult, ...]:
    """Run the checks on a workspace as it begins."""
    fill_workspace(task, None, scratch / "workspace", scratch / "mirrors")
    return check_workspace(task, sandbox, scratch, hash_entries(scratch / "workspace"), env)


def check_workspace(task: Task, sandbox: Sandbox, scratch: Path, before: Listing, env: Env) -> tuple[CheckResult, ...]:
    hidden = scratch / "hidden"
    unpack_folder(pack_folder(task.folder / ("tests" if task.harbor else CHECKS)), hidden)
    place = CheckPlace(task=task, sandbox=sandbox, scratch=scratch, hidden=hidden, supervisors=Supervisors(), env=env)
    return run_checks(place, scratch / "workspace", before, None)


def check_solution(task: Task, sandbox: Sandbox, scratch: Path, env: Env) -> tuple[tuple[CheckResult, ...], str]:
    """The checks after the reference solution was laid over the workspace, or run in it."""
    work = scratch / "workspace"
    fill_workspace(task, None, work, scratch / "mirrors")
    before, why = hash_entries(work), ""
    if task.harbor:
        why = run_solution(task, sandbox, scratch, ["bash", "/solution/solve.sh"], env)
    elif (task.folder / SOLUTION).is_dir():
        copy_tree(task.folder / SOLUTION, work)
    else:
        place = "/solution/solution.sh" if sandbox.kind == "bubblewrap" else str(task.folder / SCRIPT)
        why = run_solution(task, sandbox, scratch, ["/bin/sh", place], env)
    return check_workspace(task, sandbox, scratch, before, env), why


def run_solution(task: Task, sandbox: Sandbox, scratch: Path, argv: list[str], env: Env) -> str:
    """Run a solution's script in the workspace, and say what went wrong."""
    inside = task.harbor.workdir if task.harbor else INSIDE
    (scratch / "tmp").mkdir()
    for name in ("workspace", "tmp"):
        hand_over_folder(scratch / name, sandbox.user)
    mine = [Mount(here=task.folder / SOLUTION, inside="/solution")] if (task.folder / SOLUTION).is_dir() else []
    mine += [Mount(here=task.folder / SCRIPT, inside=f"/solution/{SCRIPT}")] if (task.folder / SCRIPT).is_file() else []
    mounts = [
        Mount(here=scratch / "workspace", inside=inside, is_writable=True),
        Mount(here=scratch / "tmp", inside="/tmp", is_writable=True),  # noqa: S108
        *mine,
    ]
    room = SandboxView(
        mounts=mounts,
        cwd=inside,
        has_network=task.network == "full",
        programs=list_search_folders(env.get("PATH", "")),
        processes=task.processes,
    )
    ended = Supervisors().run_command(
        SupervisedCommand(
            argv=wrap_command(sandbox, argv, room), env=env | {"HOME": "/tmp"}, cwd=str(scratch / "workspace"),  # noqa: S108
            stdout=str(scratch / "out"), stderr=str(scratch / "err"), timeout_s=task.timeout_s, grace_s=0,
            most_bytes=task.disk_mb << 20, most_memory=task.memory_mb << 20, most_processes=task.processes,
            user=sandbox.user, watch=[str(scratch)],
            is_wrapped=sandbox.kind == "bubblewrap",
        )
    )  # fmt: skip
    said = (scratch / "err").read_text("utf-8", "replace").strip()[-300:]
    return (
        ""
        if (ended.ended, ended.code) == ("exit", 0)
        else f"the reference solution {ended.ended}s {ended.code}: {said}"
    )
