"""The sandbox: bubblewrap where it is installed and works, else a plain temporary directory, which holds nobody back.

In bubblewrap an agent sees the system's programs, its own, its workspace, home and result folder, and nothing else of
this machine: no tasks, no other configuration, no other trial, nobody's home. It can write nowhere else, all its
processes end with it, and its only network is the loopback, unless the task says otherwise.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec import Struct

from assay.types.value import Row

SYSTEM = ("/usr", "/etc", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/snap")
RESOLVER = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager")
"""Where `/etc/resolv.conf` may lead."""
SECRET = ("/etc/shadow", "/etc/gshadow", "/etc/ssh", "/etc/sudoers", "/etc/sudoers.d", "/etc/krb5.keytab")
ALONE = ("--unshare-user-try", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
PROGRAM = "bwrap"
STATUS_FD = 9
"""Where bubblewrap reports that the command itself has ended; a sandbox that could not be made reports nothing."""


class Sandbox(Row, frozen=True):
    """What trials run in, and why not in something better."""

    kind: Literal["bubblewrap", "plain"]
    program: str = ""
    why: str = ""

    @property
    def says(self) -> str:
        """A sentence for reports."""
        if self.kind == "bubblewrap":
            return "trials ran in bubblewrap"
        return f"trials ran in plain temporary directories ({self.why}): agents could see this machine and its network"


class Mount(Struct, frozen=True, kw_only=True):
    """A folder or file of this machine as it is seen inside."""

    here: Path
    inside: str
    is_writable: bool = False


class Room(Struct, frozen=True, kw_only=True):
    """What a command gets to see."""

    mounts: Sequence[Mount]
    cwd: str
    has_network: bool
    programs: Sequence[Path] = ()
    """Folders of programs outside the system's own, seen where they are."""
    hidden: Sequence[Path] = ()
    """Folders that stay unseen wherever they lie."""


@cache
def pick(path: str | None = None) -> Sandbox:
    """The best sandbox of this machine; it is tried, because containers often forbid it."""
    program = shutil.which(PROGRAM, path=path)
    if program is None:
        return Sandbox(kind="plain", why="bubblewrap is not installed")
    room, made = Room(mounts=(), cwd="/", has_network=False), Sandbox(kind="bubblewrap", program=program)
    try:
        tried = subprocess.run(  # noqa: S603
            ["/bin/sh", "-c", f'exec "$@" {STATUS_FD}>/dev/null', "sh", *wrapped(made, ["true"], room)],
            capture_output=True, text=True, timeout=20, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Sandbox(kind="plain", why="bubblewrap hangs here")
    if tried.returncode:
        return Sandbox(kind="plain", why=f"bubblewrap does not work here: {tried.stderr.strip()[:200]}")
    return made


def wrapped(sandbox: Sandbox, argv: Sequence[str], room: Room) -> list[str]:
    """The command that runs another one in the sandbox."""
    if sandbox.kind == "plain":
        return list(argv)
    words = [
        sandbox.program,
        "--die-with-parent",
        "--json-status-fd",
        str(STATUS_FD),
        *ALONE,
        *([] if room.has_network else ["--unshare-net"]),
    ]
    words += system()
    words += ["--dev", "/dev", "--remount-ro", "/dev", "--proc", "/proc"]
    for mount in room.mounts:
        words += ["--bind" if mount.is_writable else "--ro-bind", str(mount.here), mount.inside]
    # Behind the mounts, because programs may lie below one of them, in a temporary folder say.
    words += [word for one in sorted({*map(str, room.programs)}) for word in ("--ro-bind-try", one, one)]
    words += [word for one in covered(room) for word in ("--tmpfs", str(one))]
    return [*words, "--remount-ro", "/", "--chdir", room.cwd, "--", *argv]


def covered(room: Room) -> list[Path]:
    """Hidden folders that would be seen, because they lie in one that is."""
    seen = [*map(Path, SYSTEM), *room.programs]
    return [one for one in room.hidden if one.is_dir() and any(one.is_relative_to(root) for root in seen)]


def system() -> Iterator[str]:
    """The system's own folders, without what nobody but root should read."""
    for name in (*SYSTEM, *RESOLVER):
        path = Path(name)
        if path.is_symlink() and path.parent == Path("/"):
            yield from ("--symlink", str(path.readlink()), name)
        elif path.exists():
            yield from ("--ro-bind", name, name)
    for name in SECRET:
        path = Path(name)
        if path.is_dir():
            yield from ("--tmpfs", name)
        elif path.exists():
            yield from ("--ro-bind", "/dev/null", name)


def folders_of(program: str) -> list[Path]:
    """Folders that a program needs: its own, that of the file behind its links, the package it came in."""
    found = []
    for place in {Path(program), Path(program).resolve()}:
        parts = place.parts
        if "node_modules" in parts:
            found.append(Path(*parts[: parts.index("node_modules") + 1]))
        else:
            found.append(around(place.parent))
    return outside(found)


def searched(path: str) -> list[Path]:
    """Folders of a search path that are not the system's own, and those of this very Python."""
    listed = [around(Path(one)) for one in path.split(":") if one.startswith("/") and Path(one).is_dir()]
    return outside([*listed, Path(sys.prefix), Path(sys.base_prefix)])


def around(folder: Path) -> Path:
    """What belongs to a folder of programs: all that was installed with them, but never somebody's own files."""
    home = folder.parent
    is_installed = folder.name == "bin" and (home / "lib").is_dir() and len(home.parts) > 2
    return home if is_installed and home.name != ".local" and home != Path.home() else folder


def outside(folders: Sequence[Path]) -> list[Path]:
    return [folder for folder in folders if not any(folder.is_relative_to(one) for one in SYSTEM)]
