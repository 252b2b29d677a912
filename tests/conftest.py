"""What the tests share: the program as a person runs it."""

import ctypes
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assay.cli import program
from assay.cli.main import main
from assay.sessions import speech
from assay.sessions.redaction import RedactionOptions, prepare_rules

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


@pytest.fixture(autouse=True)
def pipes_that_close_kill_nobody() -> Iterator[None]:
    """A command that ran in this process lets a closed pipe end it, as `head` expects; the next test shall live."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    yield
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # so it is for background jobs, and then for all they start
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "last: takes much time or space, runs behind all others")
    config.addinivalue_line("markers", "first: takes long in one piece, runs before all others")
    config.addinivalue_line("markers", "outside: needs what pip does not bring; `-m outside` and CI fetch it")
    config.addinivalue_line("markers", "long: runs many processes, or keeps a core busy; CI and `-m long` run it")
    if config.getoption("markexpr") == "outside":
        os.environ["ASSAY_TEST_FETCH"] = "1"


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: a quarter of the time tests wait for processes that they started."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest go first, so that no core waits for another one at the end; where nobody waits, not at all."""
    if not (os.environ.get("CI") or "long" in config.getoption("markexpr")):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="long; CI and `python -m pytest -m long` run it"))
    items.sort(key=lambda item: bool(item.get_closest_marker("last")) - bool(item.get_closest_marker("first")))


# --- transcripts ------------------------------------------------------------------------------


def count_lines(*paths: Path) -> int:
    """Lines as the transcripts at or below the paths have them."""
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*.jsonl"))]
    total = 0
    for file in files:
        with file.open("rb") as lines:
            total += sum(1 for _ in lines)
    return total


# --- the program ------------------------------------------------------------------------------


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


def environment(**more: str) -> dict[str, str]:
    """A person's environment without anything of ours."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ") if name in os.environ}
    return {**kept, "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200", **more}


def command(*args: object) -> list[str | bytes]:
    words = [arg if isinstance(arg, bytes) else os.fsencode(str(arg)) for arg in args]
    return [sys.executable, "-m", "assay", *words]


@cache
def warm() -> None:
    """Import every command and load all that a run needs, for all the processes that are forked from this one."""
    for options in (RedactionOptions(), RedactionOptions(email=True, home=True, hosts=True)):
        prepare_rules(options)
    speech.prepare_phrases()
    for name in program.COMMANDS:
        program.load_command(name)
    for sdk in ("anthropic", "openai"):
        importlib.import_module(sdk)
    here("demo", "--json")
    gc.freeze()


def run(*args: object, env: dict[str, str] | None = None, **more: Any) -> Ran:
    """`assay ARGS` in a process of its own, forked from this one: starting Python anew takes a second."""
    warm()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        words = [os.fsdecode(word) for word in command(*args)[3:]]
        streams_ = out.fileno(), err.fileno()
        process = get_context("fork").Process(
            target=become, args=(words, environment(**env or {}), streams_), kwargs=more
        )
        process.start()
        process.join(60)
        assert process.exitcode is not None, "it does not end"
        out.seek(0)
        err.seek(0)
        return Ran(process.exitcode, out.read().decode(), err.read().decode())


def become(words: list[str], env: dict[str, str], streams_: tuple[int, int], cwd: Path | None = None) -> None:
    """Be `assay` as the shell starts it."""
    os.dup2(streams_[0], 1)
    os.dup2(streams_[1], 2)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    os.chdir(cwd or Path.cwd())
    warnings.resetwarnings()
    sys.argv = ["assay", *words]
    main()


def spawn(*args: object, env: dict[str, str] | None = None, **more: Any) -> Ran:
    """`assay ARGS` in a Python of its own, which new rights and limits need."""
    done = subprocess.run(
        command(*args), capture_output=True, env=environment(**env or {}), timeout=60, check=False, **more
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def start(*args: object, **more: Any) -> subprocess.Popen[bytes]:
    """`assay ARGS`, not waited for."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.Popen(command(*args), env=environment(), **pipes)


def streams(*args: object) -> dict[str, Any]:
    """`assay streams ARGS --json`, here and now."""
    found: dict[str, Any] = json.loads(here("streams", *args, "--json"))
    return found


def here(*args: object) -> bytes:
    """What `assay ARGS` prints in this very process, which a closed pipe must not kill afterwards."""
    handler = signal.getsignal(signal.SIGPIPE)
    try:
        done = CliRunner().invoke(program.app, [*map(str, args)], env=environment())
    finally:
        signal.signal(signal.SIGPIPE, handler)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout_bytes


def settled(listed: dict[str, Any]) -> dict[str, Any]:
    """What must be the same however it was come by."""
    return {name: value for name, value in listed.items() if name != "scan"}


def adds_up(listed: dict[str, Any], *paths: Path) -> bool:
    """Whether every line is either read or skipped, and every skip is told."""
    lines = listed["lines"]
    told = all(skip["file"] and skip["why"] and "line" in skip for skip in listed["skipped"])
    return told and lines["read"] + lines["skipped"] == lines["total"] == count_lines(*paths)


def is_one_line(text: str) -> bool:
    return text.count("\n") == 1 and text.endswith("\n") and "Traceback" not in text


def bound_by_permissions() -> None:
    """To run in a new process: root loses the power to open what it may not."""
    if os.geteuid() == 0:
        for power in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, power, 0, 0, 0)
