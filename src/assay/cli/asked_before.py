"""A command that was run before, and would print the same again, is answered before anything is imported.

What a command prints depends on the command line, the folder, the environment, the terminal, the settings, the program
itself (all of which make its *key*), on the store, the transcripts, the repositories and time. Under its key lies a
small file in the person's own cache, which names the store and the row in it where the words are; there they are
dropped as soon as anything changes. Everything else is looked at here, and anything unusual is left to the program.
Only what the person's own cache vouches for by a hash is ever printed: a store may have come from elsewhere.
"""

import json
import os
import signal
import sys
import time
from hashlib import blake2b
from typing import Any

from assay import __version__
from assay.listing import STORED, Folders, find_kind, find_state, list_places, look_at, looked_at, sign_folders

PASSING = ("_", "SHLVL", "OLDPWD", "PWD")
"""Variables that differ from call to call, and that nothing depends on: the folder itself is part of the key."""
INSTALLED = ("-info", ".pth", ".egg", ".egg-link")
"""How what a package manager writes beside packages is called."""
LOCALTIME = "/etc/localtime"
BESIDE = ("-wal", "-shm", "-journal")
"""What lies beside a store while somebody uses it, or after they were killed."""
READ_ROW = "SELECT body FROM printed WHERE id = ?"
FORMAT = 1

Header = dict[str, Any]
asked = ""
"""The key of this command, once it was asked for."""


def is_asked() -> bool:
    """Whether a person asks, not their shell, on a system whose files are told apart as we do it."""
    return os.name == "posix" and "_ASSAY_COMPLETE" not in os.environ


def find_answer() -> bytes | None:
    """What the command would print, where that is known."""
    global asked
    try:
        asked = hash_key()
        pointer = read_pointer(asked)
        body = read_body(pointer) if pointer else None
        if body is None:
            return None
        header, _, printed = body.partition(b"\n")
        return printed if is_lasting(json.loads(header)) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def print_answer(answer: bytes) -> None:
    """Print what was printed before, to somebody who may leave early."""
    if hasattr(signal, "SIGPIPE") and sys.stdout is sys.__stdout__:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.stdout.buffer.write(answer)
    sys.stdout.flush()


def hash_key() -> str:
    """A hash of all that a command's words depend on, but for what is read: store, transcripts, repositories, time."""
    env = sorted((name, value) for name, value in os.environ.items() if name not in PASSING)
    here = os.getcwd()
    parts = [FORMAT, __version__, sys.version, sys.executable, sys.flags, sys.argv, here, env, os.getuid()]
    parts += [sys.path, [list_installed(one) for one in sys.path], sign_program()]
    parts += [os.path.realpath(LOCALTIME), find_state(os.path.realpath(LOCALTIME))]
    parts += [describe_stream(number) for number in (0, 1, 2)]
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def sign_program() -> list[object]:
    """The files of this program: a new version, or a change to one that is worked on, has other ones."""
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found: list[object] = []
    waiting = [top]
    while waiting:
        with os.scandir(waiting.pop()) as listed:
            for entry in listed:
                if not entry.is_dir():
                    state = entry.stat()
                    found.append((entry.name, state.st_ino, state.st_size, state.st_mtime_ns))
                elif entry.name != "__pycache__":
                    waiting.append(entry.path)
    return found


def list_installed(place: str) -> object:
    """Packages at a place from which Python imports: what another one brings may change everything."""
    try:
        return sorted(name for name in os.listdir(place or ".") if name.endswith(INSTALLED))
    except OSError:
        return find_state(place)


def describe_stream(number: int) -> object:
    """Whether one of the three streams is a terminal, and how large."""
    try:
        return os.isatty(number), *os.get_terminal_size(number)
    except OSError:
        return os.isatty(number)


# --- where it lies --------------------------------------------------------------------------------


def find_cache() -> str:
    """The folder of pointers, in the person's own cache."""
    home = os.path.expanduser("~")
    usual = os.path.join(home, "Library", "Caches") if sys.platform == "darwin" else os.path.join(home, ".cache")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or usual, "assay", "printed")


def read_pointer(key: str) -> Header | None:
    """Where an answer lies; nothing where there is none, or somebody else may have written it."""
    try:
        opened = os.open(os.path.join(find_cache(), key), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with open(opened, "rb") as file:  # noqa: PTH123
        state = os.fstat(opened)
        if state.st_uid != os.getuid() or state.st_mode & 0o077:
            return None
        found = json.loads(file.read())
    return found if isinstance(found, dict) else None


def read_body(pointer: Header) -> bytes | None:
    """What a store keeps of an answer, as it was kept: in the very file that was meant, while nobody has it open."""
    path = str(pointer["store"])
    if find_kind(path) != pointer["file"] or any(os.path.lexists(path + end) for end in BESIDE):
        return None
    import sqlite3  # noqa: PLC0415  not before there is something to read
    from urllib.parse import quote  # noqa: PLC0415

    try:
        opened = sqlite3.connect(f"file:{quote(os.fsencode(path))}?immutable=1", uri=True)
        try:
            row = opened.execute(READ_ROW, (pointer["id"],)).fetchone()
        finally:
            opened.close()
    except sqlite3.Error:
        return None
    is_it = row is not None and blake2b(row[0], digest_size=32).hexdigest() == pointer["hash"]
    return bytes(row[0]) if is_it else None


# --- whether it holds -----------------------------------------------------------------------------


def is_lasting(header: Header) -> bool:
    """Whether all that an answer depends on outside of its store is what it was."""
    return (
        header["since"] <= time.time() <= header["until"]
        and all(find_kind(path) == kind for path, kind in header["kinds"].items())
        and all(find_state(path) == state for path, state in header["states"].items())
        and (header["places"] is None or are_listed(header["places"], header["others"], header["listing"]))
    )


def are_listed(places: list[str], others: str, listing: str) -> bool:
    """Whether folders list what they did; else whoever goes on from here need not look at them again."""
    roots = find_roots(places)
    closed: list[tuple[str, str]] = []
    there = [root for root in roots if os.path.exists(root)]
    found = {(root, others): look_at(root, others) for root in there}
    looked_at.update(found)
    is_same = describe_listing(roots, list_places(there, closed, others)) == listing and not closed
    if not is_same:
        looked_at.update(found)
    return is_same


def find_roots(places: list[str]) -> list[str]:
    """Where places lead."""
    return [*dict.fromkeys(os.path.realpath(os.path.expanduser(one)) for one in places if one not in STORED)]


def describe_listing(roots: list[str], folders: Folders) -> str:
    """Which of the roots are there, and a hash of what they list."""
    return " ".join([*(str(int(os.path.exists(root))) for root in roots), *roots, sign_folders(folders)])
