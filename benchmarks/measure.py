"""Runs one command as its own process and measures it from outside; Linux only.

Peak memory is `VmHWM`, polled for the process and its descendants, of which the largest counts:
`ru_maxrss` would start from the size of whoever forked. Bytes read are `rchar`, taken while the
ended process is still a zombie, so those of its reaped children are in it.
"""

import os
import re
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

POLL_S = 0.01


@dataclass(frozen=True)
class Sample:
    """One run of one row."""

    wall_s: float
    cpu_s: float
    """User and system time of the process and of every child it waited for."""
    rss_mb: float
    read_mb: float | None
    """Bytes asked for through read calls, Python's own modules included; None where the kernel does not say."""
    code: int
    complaint: str = ""
    """The last line on stderr of a run that failed."""


class Peak(threading.Thread):
    """Watches a process tree and keeps the largest resident size any one process reached."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.kb, self.ended = pid, 0, threading.Event()

    def run(self) -> None:
        while not self.ended.is_set():
            for pid in tree(self.pid):
                self.kb = max(self.kb, _number(Path(f"/proc/{pid}/status"), "VmHWM"))
            self.ended.wait(POLL_S)


def tree(pid: int) -> list[int]:
    """The process and all its descendants; one that has just gone is left out."""
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        try:
            for listing in Path(f"/proc/{found[-1]}/task").glob("*/children"):
                todo += map(int, listing.read_text().split())
        except OSError:
            continue
    return found


def run(argv: list[str], env: dict[str, str], cwd: Path, out: Path = Path(os.devnull)) -> Sample:
    """Run to the end and measure; output goes to `out`."""
    complaints = Path(env["HOME"]) / "stderr"
    with out.open("wb") as stdout, complaints.open("wb") as stderr:
        began = time.perf_counter()
        process = subprocess.Popen(argv, env=env, cwd=cwd, stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL)
        peak = Peak(process.pid)
        peak.start()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        wall_s = time.perf_counter() - began
    peak.ended.set()
    read = _number(Path(f"/proc/{process.pid}/io"), "rchar")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    peak.join()
    said = complaints.read_text(errors="replace").strip().splitlines()
    return Sample(
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        rss_mb=peak.kb * 1024 / 1e6,
        read_mb=read / 1e6 if read else None,
        code=process.returncode,
        complaint=said[-1] if said and process.returncode else "",
    )


def _number(file: Path, field: str) -> int:
    """A field of a /proc file; 0 when the process or the field is gone."""
    try:
        found = re.search(rf"^{field}:\s*(\d+)", file.read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0
