"""The plugin's hook as Claude Code runs it, and what it is told."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

PLUGIN = Path(__file__).parents[2] / "src/assay/plugin"
KEEP = PLUGIN / "hooks/keep.sh"


def say(event: str, session: str = "c-1", **more: Any) -> bytes:
    """What Claude Code tells a hook of an event."""
    told = {"session_id": session, "transcript_path": f"/nowhere/{session}.jsonl", "cwd": "/home/ada/loom"}
    return json.dumps(told | {"hook_event_name": event} | more).encode()


def keep(home: Path, event: str, told: bytes, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    """Run the hook for an event, to its end."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    command = ["sh", str(KEEP), event]
    return subprocess.run(command, input=told, env=env, capture_output=True, timeout=20, check=False, **more)


def keep_all(home: Path, *events: tuple[str, dict[str, Any]], session: str = "c-1") -> None:
    for name, more in events:
        done = keep(home, name, say(name, session, **more))
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def spool_of(home: Path) -> Path:
    return home / ".local/state/assay/spool"


def list_kept(home: Path) -> list[str]:
    """Names of the events in the spool, those that are whole."""
    return sorted(one.name.partition(".")[2] for one in spool_of(home).glob("[!.]*") if one.name != "full")
