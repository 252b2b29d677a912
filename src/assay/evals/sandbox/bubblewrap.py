"""The sandbox: bubblewrap where it is installed and works, else a plain temporary directory, which holds little back.

In bubblewrap an agent sees the system's programs, its own, its workspace, home and result folder, and nothing else of
this machine: no tasks, no other configuration, no other trial, nobody's home. It can write nowhere else, has no
capability, makes no namespace, is never this machine's root, and its only network is the loopback, unless the task says
otherwise. In a plain directory it is whoever runs us; where the kernel lets us, it can't see what is hidden.
"""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.errors import BadInput
from assay.evals.sandbox import airlock
from assay.types.value import Row

SYSTEM = ("/usr", "/etc", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/snap")
RESOLVER = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager")
"""Where `/etc/resolv.conf` may lead."""
SECRET = ("/etc/shadow", "/etc/gshadow", "/etc/ssh", "/etc/sudoers", "/etc/sudoers.d", "/etc/krb5.keytab")
ALONE = ("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL")
TO_CHANGE = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_SYS_RESOURCE")
"""What becoming somebody else takes, and shutting the door behind; given up on the way to the command."""
EMPTY_BYTES = "65536"
PROGRAM = "bwrap"
SCRIPT = "/run/assay/airlock.py"
STATUS_FD = 9
"""Where bubblewrap reports that the command itself has ended; a sandbox that could not be made reports nothing."""


class Sandbox(Row, frozen=True):
    """The sandbox of this machine, and why not a better one."""

    kind: Literal["bubblewrap", "plain"]
    program: str = ""
    why: str = ""
    has_users: bool = False
    """Whether commands are in a user namespace of their own, in which they have no power over this machine."""
    is_shut: bool = False
    """Bubblewrap: whether they can't make further ones. Plain: whether what is hidden is out of their sight."""
    user: int | None = None
    """Who runs commands, where it is not whoever runs us: root's commands are not root's."""

    @property
    def name(self) -> str:
        """The name that a run pins, so that all of its trials are held alike."""
        return self.kind if self.is_shut else f"{self.kind}, open"

    @property
    def says(self) -> str:
        """How trials were held, as a sentence for reports."""
        if self.kind == "bubblewrap":
            return "trials ran in bubblewrap" + (f" ({self.why})" if self.why else "")
        hidden = "tasks and results were hidden from them" if self.is_shut else "hidden checks could be read by them"
        return (
            f"trials ran in plain temporary directories ({self.why}): agents could read, change and reach all that "
            f"this user can; {hidden}"
        )


class Mount(Struct, frozen=True, kw_only=True):
    """A folder or file of this machine as it is seen inside."""

    here: Path
    inside: str
    is_writable: bool = False


class SandboxView(Struct, frozen=True, kw_only=True):
    """The part of this machine that a command gets to see."""

    mounts: Sequence[Mount]
    cwd: str
    has_network: bool
    programs: Sequence[Path] = ()
    """Folders of programs outside the system's own, seen where they are."""
    hidden: Sequence[Path] = ()
    """Folders that stay unseen wherever they lie."""
    processes: int = 0
    """How many there may be; 0: the kernel is told nothing."""


def make_scratch_home() -> Path:
    """The folder of all attempts' folders, which no agent sees but for its own; nobody else can put anything there."""
    home = Path(tempfile.gettempdir()) / f"assay-trials-{os.getuid()}"
    with suppress(FileExistsError):
        home.mkdir(mode=0o700)
    known = home.lstat()
    if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.getuid() or known.st_mode & 0o022:
        raise BadInput(f"{home} is not a private folder of yours; move it away, or set TMPDIR to another place")
    return home


@cache
def pick_sandbox(path: str | None = None) -> Sandbox:
    """The best sandbox of this machine; it is tried, because containers often forbid it."""
    program = shutil.which(PROGRAM, path=path)
    if program is None:
        return build_plain_sandbox("bubblewrap is not installed")
    user = airlock.NOBODY if os.geteuid() == 0 else None
    best = Sandbox(kind="bubblewrap", program=program, has_users=True, is_shut=True, user=user)
    if not (trouble := try_sandbox(best)):
        return best
    open_one = replace(best, has_users=False, is_shut=False, why=f"agents may make namespaces: {trouble}")
    return (
        build_plain_sandbox(f"bubblewrap does not work here: {worse}") if (worse := try_sandbox(open_one)) else open_one
    )


@cache
def build_plain_sandbox(why: str) -> Sandbox:
    """A sandbox that holds little back: what is hidden is covered where that works."""
    best = Sandbox(kind="plain", why=why, has_users=True, is_shut=True)
    folder = make_scratch_home() / "tried"  # for good: whoever is killed here leaves nothing new behind
    folder.mkdir(exist_ok=True)
    (folder / "hidden").write_text("")
    look = ["/bin/sh", "-c", 'test ! -e "$0/hidden"', str(folder)]
    trouble = try_sandbox(best, look, [folder]) if sys.platform == "linux" else "it takes Linux"
    return replace(best, has_users=False, is_shut=False, why=f"{why}; {trouble}") if trouble else best


def try_sandbox(sandbox: Sandbox, argv: Sequence[str] = ("true",), hidden: Sequence[Path] = ()) -> str:
    """Why a sandbox does not work here; nothing where it does."""
    room = SandboxView(
        mounts=(), cwd="/", has_network=False, programs=list_search_folders(""), hidden=hidden, processes=64
    )
    words = [
        "/bin/sh",
        "-c",
        f'exec "$@" {STATUS_FD}>/dev/null {airlock.LOST_FD}>&{STATUS_FD}',
        "sh",
        *wrap_command(sandbox, argv, room),
    ]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return "it hangs"
    return (done.stderr.strip()[-160:] or f"exit {done.returncode}") if done.returncode else ""


def wrap_command(sandbox: Sandbox, argv: Sequence[str], room: SandboxView) -> list[str]:
    """The command that runs another one in the sandbox."""
    if sandbox.kind == "plain":
        return build_airlock_command(airlock.__file__, build_plain_order(sandbox, room), argv)
    words = [
        sandbox.program,
        "--die-with-parent",
        "--json-status-fd",
        str(STATUS_FD),
        *ALONE,
        *list_user_flags(sandbox),
    ]
    words += [] if room.has_network else ["--unshare-net"]
    words += list_system_flags()
    words += ["--dev", "/dev", "--remount-ro", "/dev", "--proc", "/proc"]
    for mount in (*room.mounts, Mount(here=Path(airlock.__file__), inside=SCRIPT)):
        words += [*list_parent_flags(Path(mount.inside)), "--bind" if mount.is_writable else "--ro-bind"]
        words += [str(mount.here), mount.inside]
    # Behind the mounts, because programs may lie below one of them, in a temporary folder say.
    words += [
        word
        for one in sorted({*room.programs})
        for word in (*list_parent_flags(one), "--ro-bind-try", str(one), str(one))
    ]
    words += [word for one in list_covered(room) for word in list_cover_flags(str(one))]
    inner: dict[str, object] = {"is_last": True, "processes": room.processes if sandbox.has_users else 0}
    if sandbox.user is not None:
        inner |= {"user": sandbox.user, "is_shut": sandbox.is_shut}
    words += ["--remount-ro", "/", "--chdir", room.cwd, "--", *build_airlock_command(SCRIPT, inner, argv)]
    if sandbox.user is None or not sandbox.has_users:
        return words
    return build_airlock_command(airlock.__file__, {"users": "all"}, words)


def list_user_flags(sandbox: Sandbox) -> list[str]:
    """How bubblewrap is to treat users: as root it is already in a namespace, and has to become somebody else in it."""
    if sandbox.user is not None:
        return [word for one in TO_CHANGE for word in ("--cap-add", one)]
    return ["--unshare-user", "--disable-userns"] if sandbox.is_shut else ["--unshare-user-try"]


def build_plain_order(sandbox: Sandbox, room: SandboxView) -> dict[str, object]:
    """What the airlock takes from a command without a sandbox."""
    hidden = sorted({os.path.realpath(one) for one in room.hidden if one.is_dir()}) if sandbox.is_shut else []
    kept = sorted({os.path.realpath(one) for one in (*(mount.here for mount in room.mounts), *room.programs)})
    order: dict[str, object] = {"is_last": True, "users": "own" if sandbox.has_users else ""}
    order |= {"covers": hidden, "kept": [one for one in kept if Path(one).is_dir()] if hidden else []}
    return order | {"processes": room.processes if sandbox.has_users else 0}


def build_airlock_command(script: str, order: dict[str, object], argv: Sequence[str]) -> list[str]:
    return [sys.executable, "-I", "-S", script, msgspec.json.encode(order).decode(), *argv]


def list_covered(room: SandboxView) -> list[Path]:
    """Hidden folders that would be seen, because they lie in one that is."""
    seen = [*map(Path, SYSTEM), *room.programs]
    return [one for one in room.hidden if one.is_dir() and any(one.is_relative_to(root) for root in seen)]


def list_parent_flags(inside: Path) -> Iterator[str]:
    """The folders above a path; bubblewrap would make them as they are here, where another user may not pass."""
    for above in reversed(inside.parents[:-1]):
        yield from ("--perms", "0755", "--dir", str(above))


def list_cover_flags(folder: str) -> tuple[str, ...]:
    """Flags that put an empty folder, which nobody can fill, over another one."""
    return ("--size", EMPTY_BYTES, "--tmpfs", folder, "--remount-ro", folder)


def list_system_flags() -> Iterator[str]:
    """Flags that show the system's own folders, without what nobody but root should read."""
    for name in (*SYSTEM, *RESOLVER):
        path = Path(name)
        if path.is_symlink() and path.parent == Path("/"):
            yield from ("--symlink", str(path.readlink()), name)
        elif path.exists():
            yield from ("--ro-bind", name, name)
    for name in SECRET:
        path = Path(name)
        if path.is_dir():
            yield from list_cover_flags(name)
        elif path.exists():
            yield from ("--ro-bind", "/dev/null", name)


def find_program_folders(program: str) -> list[Path]:
    """Folders that a program needs: its own, that of the file behind its links, the package it came in."""
    found = []
    for place in {Path(program), Path(program).resolve()}:
        parts = place.parts
        if "node_modules" in parts:
            found.append(Path(*parts[: parts.index("node_modules") + 1]))
        else:
            found.append(find_installation(place.parent))
    return drop_system_folders(found)


def list_search_folders(path: str) -> list[Path]:
    """Folders of a search path that are not the system's own, and those of this very Python."""
    listed = [find_installation(Path(one)) for one in path.split(":") if one.startswith("/") and Path(one).is_dir()]
    return drop_system_folders([*listed, Path(sys.prefix), Path(sys.base_prefix)])


def find_installation(folder: Path) -> Path:
    """What belongs to a folder of programs: all that was installed with them, but never somebody's own files."""
    home = folder.parent
    is_installed = folder.name == "bin" and (home / "lib").is_dir() and len(home.parts) > 2
    return home if is_installed and home.name != ".local" and home != Path.home() else folder


def drop_system_folders(folders: Sequence[Path]) -> list[Path]:
    return [folder for folder in folders if not any(folder.is_relative_to(one) for one in SYSTEM)]
