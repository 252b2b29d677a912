"""Task folders in Harbor's form: `instruction.md`, `environment/Dockerfile`, `tests/test.sh` that writes a reward.

No image is built. Of the Dockerfile, `WORKDIR`, `COPY` and `ADD` say how the workspace begins; what its `RUN` lines
would install has to be on this machine, and `assay eval check` tells whether the tests can be passed here. Their
fixed paths (`/tests`, `/logs/verifier`, the `WORKDIR`) exist only in a sandbox, so such a task needs bubblewrap.
"""

import math
import shlex
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct

from assay.errors import BadInput
from assay.types.value import Row

INSTRUCTION, TESTS, DOCKERFILE = "instruction.md", "tests/test.sh", "environment/Dockerfile"
WORKDIR = "/app"


class HarborLayout(Row, frozen=True):
    """Where the files of a Harbor task lie."""

    workdir: str = WORKDIR
    copies: tuple[tuple[str, str], ...] = ()
    """From a path below `environment/` to one below the workspace."""
    is_built: bool = False
    """Whether the image would have installed something."""


class HarborTask(Row, frozen=True):
    """What a task folder in Harbor's form says."""

    prompt: str
    agent_s: float
    verifier_s: float
    has_internet: bool
    layout: HarborLayout


class TimeLimit(Struct, frozen=True, kw_only=True):
    timeout_sec: float = 900.0


class HarborEnvironment(Struct, frozen=True, kw_only=True):
    allow_internet: bool = True
    network_mode: str = ""


class HarborFile(Struct, frozen=True, kw_only=True):
    """The part of Harbor's `task.toml` that matters here; it has many more fields."""

    agent: TimeLimit = TimeLimit()
    verifier: TimeLimit = TimeLimit()
    environment: HarborEnvironment = HarborEnvironment()


def read_harbor_task(folder: Path) -> HarborTask:
    """A Harbor task, as far as it can be run without an image."""
    if not (folder / TESTS).is_file():
        raise BadInput(f"{folder}: {INSTRUCTION} without {TESTS}: nothing could tell a good result from a bad one")
    told = load_harbor_file(folder / "task.toml")
    if not all(0 < one.timeout_sec < math.inf for one in (told.agent, told.verifier)):
        raise BadInput(f"{folder / 'task.toml'}: timeout_sec must be above 0, and a number")
    prompt = (folder / INSTRUCTION).read_text("utf-8")
    if not prompt.strip():
        raise BadInput(f"{folder / INSTRUCTION}: empty")
    mode = told.environment.network_mode
    return HarborTask(
        prompt=prompt,
        agent_s=told.agent.timeout_sec,
        verifier_s=told.verifier.timeout_sec,
        has_internet=mode == "public" if mode else told.environment.allow_internet,
        layout=read_layout(folder / DOCKERFILE),
    )


def load_harbor_file(file: Path) -> HarborFile:
    """Harbor's `task.toml`; everything in it may be missing."""
    try:
        told: dict[str, Any] = tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}
        return msgspec.convert(told, HarborFile)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise BadInput(f"{file}: {error}") from None
    except RecursionError:
        raise BadInput(f"{file}: nested too deeply; use fewer brackets in brackets") from None


def read_layout(dockerfile: Path) -> HarborLayout:
    """What a Dockerfile says of the workspace."""
    workdir, copies, is_built = PurePosixPath(WORKDIR), [], False
    for words in parse_dockerfile(dockerfile):
        order, rest = words[0].upper(), [word for word in words[1:] if not word.startswith("--")]
        if order == "WORKDIR" and rest:
            workdir = workdir / rest[0]
        elif order in ("COPY", "ADD") and len(rest) > 1 and len(rest) == len(words) - 1:
            copies += [(source, str(workdir / rest[-1]) + "/" * rest[-1].endswith(("/", "."))) for source in rest[:-1]]
        is_built |= (order in ("RUN", "ADD", "COPY") and len(rest) != len(words) - 1) or order == "RUN"
    kept = [(source, find_workspace_path(target, workdir)) for source, target in copies]
    return HarborLayout(workdir=str(workdir), copies=tuple(kept), is_built=is_built)


def find_workspace_path(target: str, workdir: PurePosixPath) -> str:
    """A path of the image as one of the workspace; empty where it lies elsewhere."""
    path = PurePosixPath(target)
    if not path.is_relative_to(workdir):
        return ""
    return str(path.relative_to(workdir)) + "/" * target.endswith("/")


def parse_dockerfile(dockerfile: Path) -> list[list[str]]:
    """The orders of a Dockerfile as words; a form in brackets is read as a list."""
    if not dockerfile.is_file():
        return []
    text = dockerfile.read_text("utf-8", "replace").replace("\\\n", " ")
    found = []
    for line in text.splitlines():
        order, _, rest = line.strip().partition(" ")
        if not order or order.startswith("#"):
            continue
        try:
            words = msgspec.json.decode(rest, type=list[str]) if rest.lstrip().startswith("[") else shlex.split(rest)
        except (msgspec.DecodeError, ValueError):
            words = rest.split()
        found.append([order, *words])
    return found
