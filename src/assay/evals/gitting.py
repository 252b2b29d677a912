"""Git, asked for single answers; nothing of a repository runs here: no hook, no prompt, nobody's settings."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Literal, overload

from assay.errors import BadInput

QUIET = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ADVICE": "0",
    "LC_ALL": "C.UTF-8",
}
SETTINGS = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "safe.directory=*")
PASSED = ("PATH", "HOME", "SSH_AUTH_SOCK", "HTTPS_PROXY", "SSL_CERT_FILE")
PATIENCE_S = 600


@overload
def git(folder: Path, *words: str, may_fail: bool = ..., is_binary: Literal[False] = ...) -> str: ...
@overload
def git(folder: Path, *words: str, may_fail: bool = ..., is_binary: Literal[True]) -> bytes: ...
def git(folder: Path, *words: str, may_fail: bool = False, is_binary: bool = False) -> str | bytes:
    """What git prints; empty where it fails and that is an answer too."""
    program = shutil.which("git")
    if program is None:
        raise BadInput("git is not installed; it is needed for tasks with a repo and configurations at a git ref")
    env = {name: os.environ[name] for name in PASSED if name in os.environ} | QUIET
    done = subprocess.run(  # noqa: S603
        [program, *SETTINGS, *words], cwd=folder, env=env, capture_output=True, timeout=PATIENCE_S, check=False
    )
    if done.returncode and not may_fail:
        raise BadInput(f"git {words[0]} in {folder}: {done.stderr.decode(errors='replace').strip()[-300:]}")
    out = b"" if done.returncode else done.stdout
    return out if is_binary else out.decode("utf-8", "replace").strip()
