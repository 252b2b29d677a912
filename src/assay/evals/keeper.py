"""Keeps one command: starts it, waits, and leaves nothing of it running. A program of its own, with no imports of ours.

It is told what to do by one JSON line on its standard input and answers with one on its standard output. When its
input ends, whoever started it is gone, and so is the command. All that the command starts stays below the keeper, even
what detached itself: on Linux the keeper adopts orphans (`PR_SET_CHILD_SUBREAPER`). Elsewhere a process that left both
its parent and its group gets away.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
TICK_S = 0.05
SHARE = 10
"""At most one part in so many of the time goes into measuring."""
PROC = "/proc"
STATUS_FD = 9
ENDED = b'"exit-code"'
WRAPPER = "bwrap"
"""Ends by itself with what it wraps; asked to end, it would kill that without a warning."""
WRAPPER_S = 0.5


def adopt() -> None:
    """Become the parent of every orphan below."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def parents() -> dict[int, tuple[int, str]]:
    """Parent and name of every process."""
    found = {}
    if os.path.isdir(PROC):
        for pid in filter(str.isdigit, os.listdir(PROC)):
            try:
                with open(f"{PROC}/{pid}/stat", errors="replace") as file:  # noqa: PTH123
                    head, _, tail = file.read().rpartition(")")
            except OSError:
                continue
            state, parent = tail.split()[:2]
            if state not in "ZX":
                found[int(pid)] = (int(parent), head.partition("(")[2])
        return found
    listed = subprocess.run(["ps", "-axo", "pid=,ppid=,comm="], capture_output=True, text=True, check=False)  # noqa: S607
    for line in listed.stdout.splitlines():
        pid, parent, name = line.split(None, 2)
        found[int(pid)] = (int(parent), name)
    return found


def below(root: int) -> dict[int, str]:
    """Names of all processes below one."""
    known = parents()
    found: dict[int, str] = {}
    waiting = [root]
    while waiting:
        over = waiting.pop()
        for pid, (parent, name) in known.items():
            if parent == over and pid not in found:
                found[pid] = name
                waiting.append(pid)
    return found


def send(number: int, group: int) -> int:
    """Signal everything below us; how many there were."""
    there = below(os.getpid())
    for pid, name in there.items():
        if number == signal.SIGKILL or name != WRAPPER:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                continue
    if number == signal.SIGKILL or WRAPPER not in there.values():
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            return len(there)
    return len(there)


def reap(wanted: int) -> int | None:
    """Bury the dead; how the wanted one ended, where it is among them."""
    status = None
    while True:
        try:
            pid, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == wanted:
            status = how


def held(folders: list[str]) -> int:
    """Bytes on disk below folders."""
    total, waiting = 0, list(folders)
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue
    return total


class Watch:
    """Measures folders now and then, the less often the longer it takes."""

    def __init__(self, folders: list[str], most: int) -> None:
        self.folders, self.most = folders, most
        self.next = 0.0

    def is_over(self) -> bool:
        began = time.monotonic()
        if began < self.next:
            return False
        total = held(self.folders)
        took = time.monotonic() - began
        self.next = time.monotonic() + max(4 * TICK_S, SHARE * took)
        return total > self.most


def limit(most: int) -> None:
    """Limits of the command, set between fork and exec."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def wait(pid: int, told: dict[str, float], watch: Watch) -> tuple[str, int | None]:
    """Why waiting was over, and how the command ended if it did."""
    until = time.monotonic() + told["timeout_s"]
    ends = [os.pidfd_open(pid)] if sys.platform == "linux" else []  # readable when it has ended
    while True:
        status = reap(pid)
        if status is not None:
            return "exit", status
        if time.monotonic() > until:
            return "timeout", None
        if watch.is_over():
            return "disk", None
        if 0 in select.select([0, *ends], [], [], TICK_S)[0] and not os.read(0, 1):
            return "stopped", None


def unwrapped(pid: int) -> None:
    """Let the wrapper end, which outlives what it wraps by a moment: it is nothing that the command left running."""
    until = time.monotonic() + WRAPPER_S
    while time.monotonic() < until and set(below(os.getpid()).values()) == {WRAPPER}:
        reap(pid)
        time.sleep(TICK_S / 10)


def clear(pid: int, grace_s: float) -> tuple[int, int | None]:
    """End everything that still runs, asked first where there is time; how many, and how the first one ended."""
    status, left = None, 0
    if grace_s:
        left = send(signal.SIGTERM, pid)
        until = time.monotonic() + grace_s
        while time.monotonic() < until and below(os.getpid()):
            status = status if (found := reap(pid)) is None else found
            time.sleep(TICK_S)
    while there := send(signal.SIGKILL, pid):
        left = max(left, there)
        time.sleep(TICK_S)
        status = status if (found := reap(pid)) is None else found
    return left, status if (found := reap(pid)) is None else found


def keep(order: dict) -> dict:  # type: ignore[type-arg]  # JSON in, JSON out
    """Run one command from its start to its very end."""
    adopt()
    began = time.monotonic()
    told = os.open(f"{order['stderr']}.status", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.unlink(f"{order['stderr']}.status")
    os.dup2(told, STATUS_FD)
    with open(order["stdin"], "rb") as given, open(order["stdout"], "wb") as out, open(order["stderr"], "wb") as err:  # noqa: PTH123
        try:
            child = subprocess.Popen(  # noqa: S603
                order["argv"], cwd=order["cwd"], env=order["env"], stdin=given, stdout=out, stderr=err,
                start_new_session=True, pass_fds=[STATUS_FD] if order["is_wrapped"] else [],
                preexec_fn=lambda: limit(order["most_bytes"]),
            )  # fmt: skip
        except OSError as error:
            return {"ended": "missing", "code": None, "wall_s": 0.0, "left": 0, "why": str(error)}
    why, status = wait(child.pid, order, Watch(order["watch"], order["most_bytes"]))
    wall_s = time.monotonic() - began
    if why == "exit":
        unwrapped(child.pid)
    left, late = clear(child.pid, 0 if why in ("exit", "stopped") else order["grace_s"])
    status = late if status is None else status
    child.returncode = 0 if status is None else os.waitstatus_to_exitcode(status)
    os.lseek(told, 0, os.SEEK_SET)
    if why == "exit" and order["is_wrapped"] and ENDED not in os.read(told, 4096):
        return {"ended": "lost", "code": None, "wall_s": wall_s, "left": left, "why": "the sandbox could not be made"}
    if why == "exit" and Watch(order["watch"], order["most_bytes"]).is_over():
        why = "disk"
    return {"ended": why, "code": child.returncode, "wall_s": wall_s, "left": left, "why": ""}


def unmoved(number: int, _: object) -> None:
    """Whoever started us says when to stop, by closing our input; ignored, a signal would be so for the command too."""


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, unmoved)
    line = bytearray()
    while not line.endswith(b"\n"):
        got = os.read(0, 1)
        if not got:
            return
        line += got
    said = json.dumps(keep(json.loads(line)))
    with contextlib.suppress(BrokenPipeError):  # nobody is left to hear it
        os.write(1, said.encode() + b"\n")


if __name__ == "__main__":
    main()
