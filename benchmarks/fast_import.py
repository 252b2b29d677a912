"""Writes a git repository through one `git fast-import`: tens of thousands of commits in a minute."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ZERO = "0" * 40


class Author(NamedTuple):
    name: str
    email: str
    kind: str
    """`person` or `bot`."""


class Commit(NamedTuple):
    ref: str
    author: Author
    at: float
    message: str
    parents: Sequence[int]
    """Marks."""
    files: Mapping[str, bytes | None]
    """New contents by path; `None` deletes."""
    authored_at: float | None = None
    """Where it differs from when it was committed."""


def environment() -> dict[str, str]:
    """Nobody's settings, and a clock without surprises."""
    none = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    return {"PATH": os.environ["PATH"], "HOME": os.devnull, "LC_ALL": "C", "TZ": "UTC", **none}


def git(repo: Path, *args: str, **more: str) -> str:
    """What a git command prints, with these variables beside our own."""
    done = subprocess.run(["git", "-C", str(repo), *args], env=environment() | more, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape")


class Importer:
    """A new repository; commits are named by marks, counted from 1."""

    def __init__(self, repo: Path) -> None:
        repo.mkdir(parents=True, exist_ok=True)
        git(repo, "init", "-q", "-b", "main")
        self.repo, self.marks = repo, 0
        words = ["git", "-C", str(repo), "-c", "core.compression=1", "-c", "fastimport.unpackLimit=0", "fast-import"]
        options = ["--quiet", "--done", f"--export-marks={repo / '.git' / 'marks'}"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([*words, *options], env=environment(), stdin=pipe, stdout=pipe)

    def commit(self, one: Commit) -> int:
        self.marks += 1
        who, at = f"{one.author.name} <{one.author.email}>", int(one.at)
        authored = int(one.at if one.authored_at is None else one.authored_at)
        parts = [f"commit {one.ref}\nmark :{self.marks}\nauthor {who} {authored} +0000\ncommitter {who} {at} +0000\n"]
        message = one.message.encode()
        parts.append(f"data {len(message)}\n{one.message}\n")
        parts += [f"{word} :{mark}\n" for word, mark in zip(("from", "merge"), one.parents, strict=False)]
        self.write("".join(parts).encode())
        for path, text in sorted(one.files.items()):
            if text is None:
                self.write(f"D {path}\n".encode())
            else:
                self.write(f"M 100644 inline {path}\ndata {len(text)}\n".encode() + text + b"\n")
        self.write(b"\n")
        return self.marks

    def write(self, text: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(text)

    def id_of(self, mark: int) -> str:
        """The id of a commit that was written."""
        assert self.process.stdin
        assert self.process.stdout
        self.write(f"get-mark :{mark}\n".encode())
        self.process.stdin.flush()
        return self.process.stdout.readline().decode().strip()

    def forget(self, ref: str) -> None:
        self.write(f"reset {ref}\nfrom {ZERO}\n\n".encode())

    def close(self) -> dict[int, str]:
        """End; ids of all commits by their marks."""
        self.write(b"done\n")
        self.process.communicate()
        if self.process.returncode:
            raise RuntimeError(f"git fast-import ended with {self.process.returncode}")
        file = self.repo / ".git" / "marks"
        pairs = (line.split() for line in file.read_text().splitlines())
        ids = {int(mark[1:]): commit for mark, commit in pairs}
        file.unlink()
        git(self.repo, "reset", "-q", "--hard", "main")
        return ids
