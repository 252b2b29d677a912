"""How long an agent waits for a hook and for a status line: `python -m benchmarks.agent_hooks [CALLS]`.

Every program is called in turn, so that whatever else the machine does hits all of them alike; the load is printed with
the figures. The hook's spool and the status line's home are folders of their own, with a handful of conversations.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from assay.testing.claude_code import write_folder
from benchmarks import ccusage

CALLS = 200
PLUGIN = Path(__file__).parents[1] / "src" / "assay" / "plugin"
TOLD = json.dumps(
    {"session_id": "c-1", "transcript_path": "/nowhere/c-1.jsonl", "cwd": "/home/ada/loom",
     "hook_event_name": "PostToolUse", "tool_name": "Write",
     "tool_input": {"file_path": "/home/ada/loom/hat.py", "content": "row = 1\n" * 250}}
).encode()  # fmt: skip
SHOWN = json.dumps(
    {"hook_event_name": "Status", "session_id": "s1", "transcript_path": "/nowhere/s1.jsonl", "cwd": "/home/ada/loom",
     "model": {"id": "claude-sonnet-4-5", "display_name": "Sonnet"}, "version": "2.1.325",
     "workspace": {"current_dir": "/home/ada/loom", "project_dir": "/home/ada/loom"},
     "cost": {"total_cost_usd": 0.42, "total_duration_ms": 1, "total_api_duration_ms": 1,
              "total_lines_added": 1, "total_lines_removed": 1},
     "context_window": {"total_input_tokens": 12_000, "total_output_tokens": 400, "context_window_size": 200_000}}
).encode()  # fmt: skip


def list_programs(home: Path) -> dict[str, tuple[list[str], bytes]]:
    """What is called, and what it is told."""
    empty = home / "empty.sh"
    empty.write_text("#!/bin/sh\nexit 0\n")
    beside = Path(sys.executable).parent / "assay"
    found = {
        "hook: empty": (["sh", str(empty)], TOLD),
        "hook: ours, 2 KB kept": (["sh", str(PLUGIN / "hooks" / "keep.sh"), "PostToolUse"], TOLD),
        "`python -c pass`": ([sys.executable, "-c", "pass"], b""),
        "status line: `assay statusline`": ([str(beside), "statusline"], SHOWN),
    }
    if program := ccusage.binary(ccusage.VERSION):
        name = f"status line: ccusage {ccusage.VERSION}"
        found[name] = ([str(program), "statusline", "--offline"], SHOWN)
    return found


def measure(programs: dict[str, tuple[list[str], bytes]], env: dict[str, str], calls: int) -> dict[str, list[float]]:
    """Milliseconds of every call, the programs in turn."""
    took: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(calls):
        for name, (command, told) in programs.items():
            began = time.perf_counter()
            done = subprocess.run(command, input=told, env=env, capture_output=True, check=False)
            took[name].append((time.perf_counter() - began) * 1000)
            if done.returncode or (name.startswith("hook") and done.stdout + done.stderr):
                raise SystemExit(f"{name} failed: {done.stderr.decode()[-300:]}")
    return took


def main() -> None:
    calls = int(sys.argv[1]) if sys.argv[1:] else CALLS
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        env = {"HOME": folder, "PATH": os.environ["PATH"], "ASSAY_STORE": f"{folder}/s.db", "LANG": "C.UTF-8"}
        write_folder(home / ".claude" / "projects" / "loom", 10)
        subprocess.run([sys.executable, "-m", "assay", "statusline", "--look"], env=env, check=True)
        os.utime(home / ".local/state/assay/glance.json", (time.time() + 3600,) * 2)  # no look while it is measured
        programs = list_programs(home)
        measure(programs, env, 3)
        before = os.getloadavg()[0]
        took = measure(programs, env, calls)
        after = os.getloadavg()[0]
    print(f"{calls} calls each, in turn; load {before:.1f} to {after:.1f} on {os.cpu_count()} cores\n")
    print("| | least | median | p99 |\n| --- | --- | --- | --- |")
    for name, found in took.items():
        ranked = sorted(found)
        p99 = ranked[min(len(ranked) - 1, round(0.99 * len(ranked)))]
        print(f"| {name} | {ranked[0]:.1f} ms | {ranked[len(ranked) // 2]:.1f} ms | {p99:.1f} ms |")


if __name__ == "__main__":
    main()
