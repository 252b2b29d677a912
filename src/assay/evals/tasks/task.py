"""Tasks as folders: what is asked, where it begins, and how the result is checked."""

import math
import re
import tomllib
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from assay.errors import BadInput
from assay.evals.checks import TaskCheck, parse_check
from assay.evals.tasks import harbor
from assay.evals.tasks.folders import hash_files, hash_values
from assay.evals.tasks.harbor import HarborLayout
from assay.types.value import Row

FILE, WORKSPACE, CHECKS, SOLUTION, SCRIPT = "task.toml", "workspace", "checks", "solution", "solution.sh"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
MOST = 1 << 30
"""Of anything that a task limits."""
Network = Literal["none", "full"]
T = TypeVar("T")


class Task(Row, frozen=True):
    """One task of a suite, ready to run."""

    name: str
    folder: Path
    prompt: str
    checks: tuple[TaskCheck, ...]
    sha256: str
    """Of all that can change its result; not of its reference solution."""
    timeout_s: float = 900.0
    network: Network = "none"
    """What the sandbox lets through: nothing but the agent's own service, or everything."""
    rubric: str = ""
    repo: str = ""
    ref: str = ""
    must_pass: bool = False
    """The guard always looks at it."""
    disk_mb: int = 2048
    """What workspace, home and temporary files may hold together."""
    memory_mb: int = 4096
    """What all processes of a command may use together."""
    processes: int = 1024
    """How many there may be, threads included."""
    harbor: HarborLayout | None = None


class Suite(Row, frozen=True):
    """The tasks that are run together, and a hash of them all."""

    tasks: tuple[Task, ...]
    sha256: str


class RubricTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: str


class TaskFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of `task.toml`."""

    prompt: str
    timeout_s: float = 900.0
    network: Network = "none"
    checks: tuple[dict[str, Any], ...] = ()
    rubric: RubricTable | None = None
    repo: str = ""
    ref: str = ""
    must_pass: bool = False
    disk_mb: int = 2048
    memory_mb: int = 4096
    processes: int = 1024


def load_suite(folder: Path) -> Suite:
    """All tasks of a folder, or the one task that it is."""
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder of tasks")
    places = [folder] if is_task(folder) else sorted(one for one in folder.iterdir() if one.is_dir() and is_task(one))
    if not places:
        raise BadInput(f"{folder}: no tasks in it; a task is a folder with a {FILE}, or with an {harbor.INSTRUCTION}")
    tasks = tuple(load_task(place) for place in places)
    return Suite(tasks=tasks, sha256=hash_values([(task.name, task.sha256) for task in tasks]))


def is_task(folder: Path) -> bool:
    return (folder / FILE).is_file() or (folder / harbor.INSTRUCTION).is_file()


def load_task(folder: Path) -> Task:
    """One task; what is wrong with it is said with its place."""
    folder = folder.resolve()
    if not NAME.fullmatch(folder.name):
        raise BadInput(f"{folder}: a task's folder is named by letters, digits, '.', '_' and '-'")
    if (folder / harbor.INSTRUCTION).is_file():
        return load_harbor_task(folder)
    file = folder / FILE
    told = load_toml(file, TaskFile)
    wrong = find_problem(told, folder)
    if wrong:
        raise BadInput(f"{file}: {wrong}")
    checks = tuple(parse_check(table, number, str(file)) for number, table in enumerate(told.checks, 1))
    names = [check.name for check in checks]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise BadInput(f"{file}: two checks are called {twice!r}; give each a name of its own")
    return Task(
        name=folder.name, folder=folder, prompt=told.prompt, checks=checks, sha256=hash_task(folder, told),
        timeout_s=told.timeout_s, network=told.network, rubric=told.rubric.text if told.rubric else "",
        repo=told.repo, ref=told.ref, must_pass=told.must_pass, disk_mb=told.disk_mb,
        memory_mb=told.memory_mb, processes=told.processes,
    )  # fmt: skip


def load_toml(file: Path, kind: type[T]) -> T:
    """A TOML file, checked against a type."""
    try:
        return msgspec.convert(tomllib.loads(file.read_text("utf-8")), kind)
    except FileNotFoundError:
        raise BadInput(f"{file}: no such file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{file}: no TOML: {error}") from None
    except RecursionError:
        raise BadInput(f"{file}: nested too deeply; use fewer brackets in brackets") from None
    except msgspec.ValidationError as error:
        raise BadInput(f"{file}: {error}") from None


def find_problem(told: TaskFile, folder: Path) -> str:
    """The first thing that is wrong with a task."""
    has_tree = (folder / WORKSPACE).is_dir()
    wrong = {
        "prompt is empty": not told.prompt.strip(),
        "no [[checks]] and no [rubric]: nothing could tell a good result from a bad one": not (
            told.checks or told.rubric
        ),
        "timeout_s must be above 0, and a number": not 0 < told.timeout_s < math.inf,
        **{
            f"{name} must be above 0, and at most {MOST}": not 0 < getattr(told, name) <= MOST
            for name in ("disk_mb", "memory_mb", "processes")
        },
        f"both repo and {WORKSPACE}/: keep one of them": bool(told.repo) and has_tree,
        f"neither repo nor {WORKSPACE}/: say where the work begins": not told.repo and not has_tree,
        "repo without ref: name the commit, a branch moves on": bool(told.repo) and not told.ref,
        f"{WORKSPACE}/{CHECKS} is there: the folder of that name is for the task's own check files": (
            (folder / WORKSPACE / CHECKS).exists() and (folder / CHECKS).exists()
        ),
    }
    return next((why for why, holds in wrong.items() if holds), "")


def hash_task(folder: Path, told: TaskFile) -> str:
    """Hash of all that can change a task's result."""
    return hash_values(told, hash_files(folder / WORKSPACE), hash_files(folder / CHECKS))


def load_harbor_task(folder: Path) -> Task:
    """A task from a folder in Harbor's form."""
    found = harbor.read_harbor_task(folder)
    check = parse_check({"kind": "reward", "name": "tests", "timeout_s": found.verifier_s}, 1, str(folder))
    parts = [hash_files(folder / part) for part in ("tests", "environment")]
    return Task(
        name=folder.name, folder=folder, prompt=found.prompt, checks=(check,), sha256=hash_values(found, *parts),
        timeout_s=found.agent_s, network="full" if found.has_internet else "none", harbor=found.layout,
    )  # fmt: skip
