"""Starts a command with less than whoever starts it has: limits, no capabilities, another user, folders out of sight.

A program of its own, with no imports of ours: `airlock.py ORDER COMMAND…`, the order in JSON (see `passing`). It is run
outside a sandbox that root makes, inside every sandbox, and in front of commands that have none.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys

NEW_USERS, NEW_MOUNTS = 0x10000000, 0x00020000
READ_ONLY, NO_SETUID, NO_DEVICES, REMOUNT, BIND, WITH_ALL_BELOW, PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
DROP_BOUND, NO_NEW_PRIVILEGES = 24, 38
CAPABILITIES_V3, LAST_CAPABILITY = 0x20080522, 63
SLACK = 64
"""Processes that the kernel allows beyond the limit, so that whoever counts them sees that it was passed."""
COUNTED_BY_NAMESPACE = (5, 14)
"""Before this Linux, a limit of processes counts all of the user's on this machine."""
FIRST_TO_GO = "1000"
NOBODY = 65534
LOST_FD = 8
"""Where whoever keeps the command is told that it could not be started; the command itself never has it."""
LOST = b'"lost": '
SHUT = "/proc/sys/user/max_user_namespaces"
libc = ctypes.CDLL(None, use_errno=True)


KEYRINGS = {"x86_64": 250, "aarch64": 219, "riscv64": 219}
"""The number of the call `keyctl`, which the C library does not offer."""
JOIN_NEW_KEYRING = 1


def call_system(name: str, *words: object) -> None:
    """Call a function of the system; an error bears its name."""
    if getattr(libc, name)(*words) == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def write_text(path: str, text: str) -> None:
    with open(path, "w") as file:  # noqa: PTH123
        file.write(text)


def enter_own_namespace(flags: int) -> None:
    """Move into a user namespace with nobody but us in it; root is nobody there, or it would be all-powerful again."""
    uid, gid = os.getuid(), os.getgid()
    call_system("unshare", NEW_USERS | flags)
    write_text("/proc/self/setgroups", "deny")
    write_text("/proc/self/uid_map", f"{uid or NOBODY} {uid} 1")
    write_text("/proc/self/gid_map", f"{gid or NOBODY} {gid} 1")


def enter_shared_namespace() -> None:
    """As root, move into a user namespace in which everybody keeps his number, and nobody has power outside."""
    own, (ready, go) = os.getpid(), os.pipe()
    helper = os.fork()
    if helper == 0:  # only a process that stays outside may map all numbers
        os.close(go)
        os.read(ready, 1)
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/self/{name}") as file:  # noqa: PTH123
                ranges = [line.split() for line in file]
            write_text(f"/proc/{own}/{name}", "".join(f"{first} {first} {count}\n" for first, _, count in ranges))
        os._exit(0)
    os.close(ready)
    try:
        call_system("unshare", NEW_USERS)
    finally:
        os.close(go)
        status = os.waitpid(helper, 0)[1]
    if status:
        raise OSError(0, "the numbers of users can't be mapped")


def cover_folders(folders: list[str], kept: list[str]) -> None:
    """Put empty folders over some, in a view of the files that is our own; what must stay in sight is put back."""
    call_system("mount", None, b"/", None, WITH_ALL_BELOW | PRIVATE, None)
    outer = [one for one in folders if not any(is_below(one, other) for other in folders)]
    handles = [(one, os.open(one, os.O_PATH)) for one in kept if any(is_below(one, other) for other in outer)]
    for folder in outer:
        call_system("mount", b"none", os.fsencode(folder), b"tmpfs", NO_SETUID | NO_DEVICES, b"size=256k,mode=755")
    for path, handle in handles:
        os.makedirs(path, exist_ok=True)
        call_system("mount", b"/proc/self/fd/%d" % handle, os.fsencode(path), None, BIND | WITH_ALL_BELOW, None)
        os.close(handle)
    for folder in outer:
        flags = REMOUNT | BIND | READ_ONLY | NO_SETUID | NO_DEVICES
        call_system("mount", None, os.fsencode(folder), None, flags, None)
    os.chdir(os.getcwd())


def is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def drop_capabilities() -> None:
    """Keep no capability, and get none by starting another program."""
    for number in range(LAST_CAPABILITY + 1):
        libc.prctl(DROP_BOUND, number, 0, 0, 0)
    if (keyctl := KEYRINGS.get(os.uname().machine)) is not None:
        libc.syscall(keyctl, JOIN_NEW_KEYRING, None)  # the person's keys stay behind; kernels without keys say no
    call_system("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    call_system("capset", (ctypes.c_uint32 * 2)(CAPABILITIES_V3, 0), (ctypes.c_uint32 * 6)())


def become_user(user: int) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def limit_processes(processes: int) -> None:
    """Limits that hold for all that the command starts; the kernel counts processes by user namespace."""
    release = os.uname().release.split(".")
    if processes and (int(release[0]), int(release[1])) >= COUNTED_BY_NAMESPACE:
        resource.setrlimit(resource.RLIMIT_NPROC, (processes + SLACK, processes + SLACK))


def give_up_rights(order: dict) -> None:  # type: ignore[type-arg]  # JSON
    """Give up what the order says, in an order in which each step can still be made."""
    if order.get("users") == "all":
        enter_shared_namespace()
    if order.get("users") == "own":
        enter_own_namespace(NEW_MOUNTS if order.get("covers") else 0)
    if order.get("covers"):
        cover_folders(order["covers"], order["kept"])
    if order.get("is_shut"):
        write_text(SHUT, "0")
    limit_processes(order.get("processes", 0))
    if order.get("is_last") and sys.platform == "linux":
        write_text("/proc/self/oom_score_adj", FIRST_TO_GO)
    if order.get("user"):
        become_user(order["user"])
    if order.get("is_last"):
        if sys.platform == "linux":
            drop_capabilities()
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and so would the command
            signal.signal(number, signal.SIG_DFL)


def main() -> None:
    order, command = json.loads(sys.argv[1]), sys.argv[2:]
    if order.get("is_last"):
        with contextlib.suppress(OSError):
            os.set_inheritable(LOST_FD, False)  # noqa: FBT003
    try:
        give_up_rights(order)
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        said = f"{command[0]} could not be started: {error}"
        with contextlib.suppress(OSError):
            os.write(LOST_FD, LOST + json.dumps(said).encode())
        os.write(2, f"{said}\n".encode())
        os._exit(127)


if __name__ == "__main__":
    main()
