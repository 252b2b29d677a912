"""Is a task any good? Its checks must not all pass before anybody did anything, and must pass on its own solution."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from assay.errors import BadInput
from assay.evals.checking import Place, check_all
from assay.evals.fingerprint import Listing
from assay.evals.launching import Keepers, Order
from assay.evals.packing import pack, unpack
from assay.evals.sandbox import Mount, Room, Sandbox, pick, searched, wrapped
from assay.evals.scene import caution
from assay.evals.tasks import CHECKS, SCRIPT, SOLUTION, Task
from assay.evals.types import CheckResult
from assay.evals.workspace import begin, copy_tree, entries, hand_over, remove
from assay.types.value import Row

INSIDE = "/workspace"
Env = dict[str, str]
PASSED = ("PATH", "LANG", "LC_ALL", "TZ")


class Checkup(Row, frozen=True):
    """What became of a task's checks without an agent."""

    task: str
    untouched: tuple[CheckResult, ...]
    solved: tuple[CheckResult, ...] | None
    """On the reference solution; `None`: there is none."""
    problems: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    """What may be meant, and should be known."""

    @property
    def is_fine(self) -> bool:
        return not self.problems


def check_task(task: Task, env: Mapping[str, str], sandbox: Sandbox | None = None) -> Checkup:
    """Run a task's checks on the untouched workspace and on its reference solution."""
    chosen = sandbox or pick()
    if task.harbor and chosen.kind != "bubblewrap":
        raise BadInput(f"{task.name}: a Harbor task needs bubblewrap ({chosen.why}); install it (`bwrap`)")
    scratch = Path(tempfile.mkdtemp(prefix="assay-trial-"))
    try:
        given = {name: env[name] for name in PASSED if name in env}
        untouched = checked(task, chosen, scratch / "untouched", given)
        solved, why = None, ""
        if (task.folder / SOLUTION).is_dir() or (task.folder / SCRIPT).is_file():
            solved, why = on_solution(task, chosen, scratch / "solved", given)
    finally:
        remove(scratch)
    return Checkup(
        task=task.name, untouched=untouched, solved=solved, problems=tuple(problems(untouched, solved, why)),
        cautions=tuple(f"{check.name}: {said}" for check in task.checks if (said := caution(check))),
    )  # fmt: skip


def problems(untouched: tuple[CheckResult, ...], solved: tuple[CheckResult, ...] | None, why: str) -> list[str]:
    """What is wrong, in sentences."""
    found = [why] if why else []
    if untouched and all(check.passed for check in untouched):
        found.append("every check passes on the untouched workspace: an agent that does nothing would pass")
    for where, results in (("the untouched workspace", untouched), ("the reference solution", solved or ())):
        found += [f"{one.name}: can't be run on {where}: {one.detail}" for one in results if one.passed is None]
    failed = [one for one in solved or () if one.passed is False and one.kind != "transcript"]
    return found + [f"{one.name}: fails on the reference solution: {one.detail}" for one in failed]


def checked(task: Task, sandbox: Sandbox, scratch: Path, env: Env) -> tuple[CheckResult, ...]:
    """The checks on a workspace as it begins."""
    begin(task, None, scratch / "workspace", scratch / "mirrors")
    return looked(task, sandbox, scratch, entries(scratch / "workspace"), env)


def looked(task: Task, sandbox: Sandbox, scratch: Path, before: Listing, env: Env) -> tuple[CheckResult, ...]:
    hidden = scratch / "hidden"
    unpack(pack(task.folder / ("tests" if task.harbor else CHECKS)), hidden)
    place = Place(task=task, sandbox=sandbox, scratch=scratch, hidden=hidden, keepers=Keepers(), env=env)
    return check_all(place, scratch / "workspace", before, None)


def on_solution(task: Task, sandbox: Sandbox, scratch: Path, env: Env) -> tuple[tuple[CheckResult, ...], str]:
    """The checks after the reference solution was laid over the workspace, or run in it."""
    work = scratch / "workspace"
    begin(task, None, work, scratch / "mirrors")
    before, why = entries(work), ""
    if task.harbor:
        why = solve(task, sandbox, scratch, ["bash", "/solution/solve.sh"], env)
    elif (task.folder / SOLUTION).is_dir():
        copy_tree(task.folder / SOLUTION, work)
    else:
        place = "/solution/solution.sh" if sandbox.kind == "bubblewrap" else str(task.folder / SCRIPT)
        why = solve(task, sandbox, scratch, ["/bin/sh", place], env)
    return looked(task, sandbox, scratch, before, env), why


def solve(task: Task, sandbox: Sandbox, scratch: Path, argv: list[str], env: Env) -> str:
    """Run a solution's script in the workspace; what went wrong."""
    inside = task.harbor.workdir if task.harbor else INSIDE
    (scratch / "tmp").mkdir()
    for name in ("workspace", "tmp"):
        hand_over(scratch / name, sandbox.user)
    mine = [Mount(here=task.folder / SOLUTION, inside="/solution")] if (task.folder / SOLUTION).is_dir() else []
    mine += [Mount(here=task.folder / SCRIPT, inside=f"/solution/{SCRIPT}")] if (task.folder / SCRIPT).is_file() else []
    mounts = [
        Mount(here=scratch / "workspace", inside=inside, is_writable=True),
        Mount(here=scratch / "tmp", inside="/tmp", is_writable=True),  # noqa: S108
        *mine,
    ]
    room = Room(
        mounts=mounts,
        cwd=inside,
        has_network=task.network == "full",
        programs=searched(env.get("PATH", "")),
        processes=task.processes,
    )
    ended = Keepers().keep(
        Order(
            argv=wrapped(sandbox, argv, room), env=env | {"HOME": "/tmp"}, cwd=str(scratch / "workspace"),  # noqa: S108
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
