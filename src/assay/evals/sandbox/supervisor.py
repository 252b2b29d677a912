"""Keeps one command: starts it, waits, and leaves nothing of it running. A program of its own, with no imports of ours.

It is told what to do by one JSON line on its standard input and answers with one on its standard output. When its
input ends, whoever started it is gone, and so is the command. All that the command starts stays below the supervisor,
even what detached itself: on Linux the supervisor adopts orphans (`PR_SET_CHILD_SUBREAPER`). Elsewhere a process that
left both its parent and its group gets away.
"""

import contextlib
import ctypes
import errno
import json
import os
import resource
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

PR_SET_CHILD_SUBREAPER = 36
TICK_S = 0.05
SHARE = 10
"""At most one part in so many of the time goes into measuring."""
PROC = "/proc"
STATUS_FD, LOST_FD = 9, 8
ENDED = b'"exit-code"'
WRAPPER = "bwrap"
"""Ends by itself with what it wraps; asked to end, it would kill that without a warning."""
WRAPPER_S = 0.5
LOST = b'"lost": '
PAGE = os.sysconf("SC_PAGE_SIZE")
DEEPEST, LONGEST, MOST_ENTRIES = 200, 3000, 500_000
"""Folders in folders, bytes of a path, files and folders: what a command may leave, all of it copied and hashed."""
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
MEMORY_ONLY = ("/memfd:", "/dev/zero", "/SYSV", "/[")


def adopt_orphans() -> None:
    """Become the parent of every orphan below this process."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Process(NamedTuple):
    """A process as the system tells of it."""

    parent: int
    name: str
    threads: int = 1
    held: int = 0
    """Bytes of memory, those that it shares with others too."""


def list_processes() -> dict[int, Process]:
    """Every process of this machine, by its id."""
    found = {}
    if os.path.isdir(PROC):
        for pid in filter(str.isdigit, os.listdir(PROC)):
            try:
                with open(f"{PROC}/{pid}/stat", errors="replace") as file:  # noqa: PTH123
                    head, _, tail = file.read().rpartition(")")
            except OSError:
                continue
            words = tail.split()
            if words[0] not in "ZX":
                found[int(pid)] = Process(
                    int(words[1]), head.partition("(")[2], int(words[17]), max(0, int(words[21])) * PAGE
                )
        return found
    listed = subprocess.run(["ps", "-axo", "pid=,ppid=,rss=,comm="], capture_output=True, text=True, check=False)  # noqa: S607
    for line in listed.stdout.splitlines():
        pid, parent, held, name = line.split(None, 3)
        found[int(pid)] = Process(int(parent), name, 1, int(held) << 10)
    return found


def list_descendants(root: int) -> dict[int, Process]:
    """All processes that one started, and those that they started."""
    inner: dict[int, list[int]] = {}
    known = list_processes()
    for pid, one in known.items():
        inner.setdefault(one.parent, []).append(pid)
    found: dict[int, Process] = {}
    waiting = [root]
    while waiting:
        for pid in inner.get(waiting.pop(), ()):
            if pid not in found:
                found[pid] = known[pid]
                waiting.append(pid)
    return found


def list_names(there: dict[int, Process]) -> set[str]:
    return {one.name for one in there.values()}


def send_signal(number: int, group: int) -> int:
    """Signal every process below this one, and count them."""
    there = list_descendants(os.getpid())
    for pid, one in there.items():
        if number == signal.SIGKILL or one.name != WRAPPER:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                continue
    if number == signal.SIGKILL or WRAPPER not in list_names(there):
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            return len(there)
    return len(there)


def reap_children(wanted: int) -> int | None:
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


class LimitPassed(Exception):
    """A command passed a limit: which one, and why, in words."""

    def __init__(self, which: str, why: str) -> None:
        super().__init__(why)
        self.which, self.why = which, why


def open_folder(name: str, within: int | None) -> int | None:
    """A folder, opened without following a link; one that its owner locked is unlocked. `None`: there is none."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(name, flags, dir_fd=within)
    except PermissionError:
        try:
            bare = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=within)
        except OSError:
            return None
        try:
            os.chmod(f"{PROC}/self/fd/{bare}", 0o700)  # by its handle: the name may lead elsewhere by now
            return os.open(".", flags, dir_fd=bare)
        except OSError:
            return None
        finally:
            os.close(bare)
    except OSError as error:
        if error.errno in GONE:
            return None
        raise LimitPassed("disk", f"left what can't be read: {error.strerror}") from None


def walk_folder(folder: str) -> Iterator[os.stat_result]:
    """Everything below a folder, however long its path; each folder is entered from the one it lies in."""
    first = open_folder(folder, None)
    open_ones: list[tuple[int, list[str], int]] = [] if first is None else [(first, [], 0)]
    fresh = True
    try:
        while open_ones:
            here, inner, length = open_ones[-1]
            if fresh:
                with os.scandir(here) as entries:
                    for entry in entries:
                        with contextlib.suppress(FileNotFoundError):
                            yield entry.stat(follow_symlinks=False)
                            if length + len(os.fsencode(entry.name)) > LONGEST:
                                raise LimitPassed("disk", f"made a path of more than {LONGEST} bytes")
                            if entry.is_dir(follow_symlinks=False):
                                inner.append(entry.name)
            fresh = False
            if not inner:
                os.close(open_ones.pop()[0])
                continue
            if len(open_ones) >= DEEPEST:
                raise LimitPassed("disk", f"made folders more than {DEEPEST} deep")
            name = inner.pop()
            deeper = open_folder(name, here)
            if deeper is not None:
                open_ones.append((deeper, [], length + len(os.fsencode(name)) + 1))
                fresh = True
    finally:
        for one in open_ones:
            os.close(one[0])


def measure_deleted_files(pids: list[int]) -> int:
    """Bytes on disk of files that are deleted and still open, or mapped."""
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"{PROC}/{pid}/fd"):
                with contextlib.suppress(OSError):
                    one = os.stat(f"{PROC}/{pid}/fd/{name}")
                    if one.st_nlink == 0 and stat.S_ISREG(one.st_mode):
                        found[one.st_dev, one.st_ino] = one.st_blocks * 512
        with contextlib.suppress(OSError), open(f"{PROC}/{pid}/maps", errors="replace") as file:  # noqa: PTH123
            for line in file:
                if line.endswith(" (deleted)\n"):
                    place, _, _, device, inode, path = line.split(None, 5)
                    if not path.startswith(MEMORY_ONLY):
                        start, end = (int(one, 16) for one in place.split("-"))
                        major, minor = (int(one, 16) for one in device.split(":"))
                        found.setdefault((os.makedev(major, minor), int(inode)), end - start)
    return sum(found.values())


def measure_memory(pid: int) -> int:
    """Bytes of memory that would be free without a process, its part of what it shares included; of files none."""
    with contextlib.suppress(OSError), open(f"{PROC}/{pid}/smaps_rollup") as file:  # noqa: PTH123
        parts = [line.split() for line in file if line.startswith(("Pss_Anon:", "Pss_Shmem:"))]
        return sum(int(words[1]) << 10 for words in parts)
    with contextlib.suppress(OSError), open(f"{PROC}/{pid}/statm") as file:  # noqa: PTH123
        words = file.read().split()
        return (int(words[1]) - int(words[2])) * PAGE
    return 0


class UsageWatch:
    """Measures now and then what a command uses, the less often the longer it takes."""

    def __init__(self, order: dict) -> None:  # type: ignore[type-arg]  # JSON
        self.folders, self.bytes = order["watch"], order["most_bytes"]
        self.processes, self.memory = order["most_processes"], order["most_memory"]
        self.next = {self.check_processes: 0.0, self.check_files: 0.0}

    def check_limits(self) -> None:
        """Measure what is due; an error where a limit was passed."""
        for work in (self.check_processes, self.check_files):
            began = time.monotonic()
            if began >= self.next[work]:
                work()
                self.next[work] = time.monotonic() + max(TICK_S, SHARE * (time.monotonic() - began))

    def check_processes(self) -> None:
        """Refuse more processes or memory than the command may have."""
        there = list_descendants(os.getpid())
        if self.processes and sum(one.threads for one in there.values()) > self.processes:
            raise LimitPassed("processes", f"ran more than {self.processes} processes and threads")
        may_be_over = self.memory and sum(one.held for one in there.values()) > self.memory
        if may_be_over and sum(measure_memory(pid) for pid in there) > self.memory:
            raise LimitPassed("memory", f"used more than {self.memory >> 20} MB of memory")

    def check_files(self) -> None:
        """Refuse more files or bytes than the command may leave; a file counts by the size that it claims."""
        total = measure_deleted_files([*list_descendants(os.getpid())]) if os.path.isdir(PROC) else 0
        number = 0
        for folder in self.folders:
            for one in walk_folder(folder):
                number += 1
                total += max(one.st_blocks * 512, one.st_size if stat.S_ISREG(one.st_mode) else 0)
                if number > MOST_ENTRIES:
                    raise LimitPassed("disk", f"made more than {MOST_ENTRIES} files")
                if total > self.bytes:
                    raise LimitPassed("disk", f"wrote more than {self.bytes >> 20} MB")


def limit_files(most: int) -> None:
    """Limits of the command, set between fork and exec."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def wait_for_end(pid: int, timeout_s: float, watch: UsageWatch) -> int | None:
    """How the command ended; `None` where whoever started us wants it ended."""
    until = time.monotonic() + timeout_s
    ends = [os.pidfd_open(pid)] if sys.platform == "linux" else []  # readable when it has ended
    while True:
        status = reap_children(pid)
        if status is not None:
            return status
        if time.monotonic() > until:
            raise LimitPassed("timeout", f"ended after {timeout_s:g} s")
        watch.check_limits()
        if 0 in select.select([0, *ends], [], [], TICK_S)[0] and not os.read(0, 1):
            return None


def wait_for_wrapper(pid: int) -> None:
    """Let the wrapper end, which outlives what it wraps by a moment: it is nothing that the command left running."""
    until = time.monotonic() + WRAPPER_S
    while time.monotonic() < until and list_names(list_descendants(os.getpid())) == {WRAPPER}:
        reap_children(pid)
        time.sleep(TICK_S / 10)


def end_everything(pid: int, grace_s: float) -> tuple[int, int | None]:
    """End everything that still runs, asked first where there is time; how many, and how the first one ended."""
    status, left = None, 0
    if grace_s:
        left = send_signal(signal.SIGTERM, pid)
        until = time.monotonic() + grace_s
        while time.monotonic() < until and list_descendants(os.getpid()):
            status = status if (found := reap_children(pid)) is None else found
            time.sleep(TICK_S)
    while there := send_signal(signal.SIGKILL, pid):
        left = max(left, there)
        time.sleep(TICK_S)
        status = status if (found := reap_children(pid)) is None else found
    return left, status if (found := reap_children(pid)) is None else found


def run_command(order: dict) -> dict:  # type: ignore[type-arg]  # JSON in, JSON out
    """Run one command from its start to its very end."""
    adopt_orphans()
    began = time.monotonic()
    told = os.open(f"{order['stderr']}.status", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.unlink(f"{order['stderr']}.status")
    for handle in (STATUS_FD, LOST_FD):
        os.dup2(told, handle)
    with open(order["stdin"], "rb") as given, open(order["stdout"], "wb") as out, open(order["stderr"], "wb") as err:  # noqa: PTH123
        hand_over_files(order, [given, out, err], order["user"])
        try:
            child = subprocess.Popen(  # noqa: S603
                order["argv"], cwd=order["cwd"], env=order["env"], stdin=given, stdout=out, stderr=err,
                start_new_session=True, pass_fds=[STATUS_FD, LOST_FD],
                preexec_fn=lambda: limit_files(order["most_bytes"]),
            )  # fmt: skip
        except OSError as error:
            return {"ended": "missing", "code": None, "wall_s": 0.0, "left": 0, "why": str(error)}
        found = finish_command(order, child.pid, began)
        hand_over_files(order, [out, err], os.getuid())
    child.returncode = found["code"] or 0  # it is buried already
    os.lseek(told, 0, os.SEEK_SET)
    said = os.read(told, 4096)
    if LOST in said:
        return found | {"ended": "missing", "code": None, "why": parse_lost_reason(said)}
    if found["ended"] == "exit" and order["is_wrapped"] and ENDED not in said:
        return found | {"ended": "lost", "code": None, "why": "the sandbox could not be made"}
    return found


def parse_lost_reason(said: bytes) -> str:
    """Why a command could not be started; what bubblewrap says of it may follow."""
    words: str = json.JSONDecoder().raw_decode(said.partition(LOST)[2].decode())[0]
    return words


def hand_over_files(order: dict, files: list, user: int) -> None:  # type: ignore[type-arg]
    """Make somebody else the owner of what a command reads and writes, so that it can open it by name."""
    for file in files if order["user"] is not None else ():
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            os.fchown(file.fileno(), user, -1)


def finish_command(order: dict, pid: int, began: float) -> dict:  # type: ignore[type-arg]
    """Wait for a command and clear up behind it; what it left is measured when nothing of it runs any more."""
    watch, why = UsageWatch(order), ""
    try:
        status = wait_for_end(pid, order["timeout_s"], watch)
        which = "stopped" if status is None else "exit"
    except LimitPassed as over:
        which, why, status = over.which, over.why, None
    wall_s = time.monotonic() - began
    if which == "exit":
        wait_for_wrapper(pid)
    left, late = end_everything(pid, order["grace_s"] if which == "timeout" else 0)
    status = late if status is None else status
    if which in ("exit", "timeout"):
        try:
            watch.check_files()
        except LimitPassed as over:
            which, why = over.which, over.why
    code = None if status is None else os.waitstatus_to_exitcode(status)
    return {"ended": which, "code": code, "wall_s": wall_s, "left": left, "why": why}


def ignore_signal(number: int, _: object) -> None:
    """Whoever started us says when to stop, by closing our input; ignored, a signal would be so for the command too."""


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ignore_signal)
    line = bytearray()
    while not line.endswith(b"\n"):
        got = os.read(0, 1)
        if not got:
            return
        line += got
    said = json.dumps(run_command(json.loads(line)))
    with contextlib.suppress(BrokenPipeError):  # nobody is left to hear it
        os.write(1, said.encode() + b"\n")


if __name__ == "__main__":
    main()
