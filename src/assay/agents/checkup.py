"""Whether what was installed works: the hook run for once, the settings, the spool, the server."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from assay.agents.claude_code import SCOPES, find_plugin, find_settings, is_installed
from assay.agents.delivery import KEY, load_server
from assay.agents.installation import load_record, read_settings
from assay.errors import AssayError
from assay.files import find_state_folder
from assay.pipeline.spool import FULL, find_spool

NEEDED = ("sh", "head", "mv")
TOLD = b'{"session_id": "checkup", "hook_event_name": "Stop"}'
SLOW_MS = 50.0


class InstallCheck(Struct, frozen=True, kw_only=True):
    """One thing that was looked at, and what to do where it is amiss."""

    what: str
    is_ok: bool
    says: str


def check_installation(env: Mapping[str, str], here: Path) -> list[InstallCheck]:
    """Everything that has to work for events to be kept and read."""
    return [
        *check_settings_files(env, here),
        check_hook(env),
        check_spool(env),
        *check_server(env),
        check_agent(env),
    ]


def check_settings_files(env: Mapping[str, str], here: Path) -> Iterator[InstallCheck]:
    """Each scope: readable, and with the plugin or not; and whether it leads to this very package."""
    found = 0
    for scope in SCOPES:
        path = find_settings(scope, env, here)
        try:
            is_there = is_installed(read_settings(path))
        except (AssayError, ValueError) as error:
            yield InstallCheck(what=f"{scope} settings", is_ok=False, says=f"{path}: can't be read: {error}")
            continue
        found += is_there
        if is_there:
            yield InstallCheck(what=f"{scope} settings", is_ok=True, says=f"{path}: installed")
    if not found:
        yield InstallCheck(what="settings", is_ok=False, says="installed nowhere; `assay plugin install` does it")
    old = [
        one.path
        for one in load_record(env).values()
        if str(find_plugin()) not in str(one.edits) and one.scope in SCOPES
    ]
    if old:
        says = f"{old[0]}: leads to another copy of assay; `assay plugin install` leads it here"
        yield InstallCheck(what="plugin folder", is_ok=False, says=says)


def check_hook(env: Mapping[str, str]) -> InstallCheck:
    """Run the hook once, elsewhere: it must keep what it is told, say nothing, and be quick."""
    missing = [name for name in NEEDED if shutil.which(name, path=env.get("PATH")) is None]
    if missing:
        return InstallCheck(what="hook", is_ok=False, says=f"needs {', '.join(missing)}, which are not on PATH")
    script = find_plugin() / "hooks" / "keep.sh"
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        done = subprocess.run(  # noqa: S603
            ["sh", str(script), "Stop"],  # noqa: S607
            input=TOLD,
            env={"PATH": env.get("PATH", os.defpath), "XDG_STATE_HOME": folder},
            capture_output=True,
            timeout=20,
            check=False,
        )
        took_ms = (time.perf_counter() - began) * 1000
        kept = [one.read_bytes() for one in (Path(folder) / "assay" / "spool").glob("*.Stop")]
    if done.returncode or done.stdout or done.stderr or kept != [TOLD]:
        return InstallCheck(what="hook", is_ok=False, says=f"{script}: does not keep events; install assay anew")
    slow = f", more than {SLOW_MS:.0f}: is the machine busy?" if took_ms > SLOW_MS else ""
    return InstallCheck(what="hook", is_ok=True, says=f"keeps what it is told, in {took_ms:.0f} ms{slow}")


def check_spool(env: Mapping[str, str]) -> InstallCheck:
    """How many events wait, and whether more can be kept."""
    spool = find_spool(env)
    try:
        names = [name for name in os.listdir(spool) if not name.startswith(".")]
    except FileNotFoundError:
        return InstallCheck(what="spool", is_ok=True, says=f"{spool}: nothing was kept yet")
    except OSError as error:
        return InstallCheck(what="spool", is_ok=False, says=f"{spool}: {error.strerror}; make it readable for you")
    if FULL in names:
        return InstallCheck(
            what="spool", is_ok=False, says=f"{spool}: is full, new events are dropped; run `assay score`"
        )
    return InstallCheck(what="spool", is_ok=True, says=f"{spool}: {len(names):,} events wait to be read")


def check_server(env: Mapping[str, str]) -> Iterator[InstallCheck]:
    """Where events go, and whether their key is for its owner alone."""
    try:
        server = load_server(env)
    except AssayError as error:
        yield InstallCheck(what="server", is_ok=False, says=str(error))
        return
    if server is None:
        return
    words = "with words, redacted" if server.words else "without words"
    yield InstallCheck(what="server", is_ok=True, says=f"events go to {server.url}, {words}")
    key = find_state_folder(env) / KEY
    if key.exists() and key.stat().st_mode & 0o077:
        yield InstallCheck(what="key", is_ok=False, says=f"{key}: others may read it; chmod 600")


def check_agent(env: Mapping[str, str]) -> InstallCheck:
    """Which Claude Code there is."""
    program = shutil.which("claude", path=env.get("PATH"))
    if program is None:
        return InstallCheck(what="claude", is_ok=True, says="not on PATH; its version is not known")
    try:
        done = subprocess.run(  # noqa: S603
            [program, "--version"], capture_output=True, text=True, timeout=20, check=False, env=dict(env)
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return InstallCheck(what="claude", is_ok=False, says=f"{program}: does not say its version: {error}")
    version = done.stdout.split(" ")[0].strip()
    if parse_version(version) < (2, 1):
        says = f"{version or 'unknown'}: loads no plugin by its settings; `assay plugin install --hooks` works with it"
        return InstallCheck(what="claude", is_ok=False, says=says)
    return InstallCheck(what="claude", is_ok=True, says=version)


def parse_version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())
