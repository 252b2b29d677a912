"""The one module that runs git: nothing of a repository runs, nothing hangs, no secret of the environment goes along.

An errand names the commands, settings and variables that git gets. `READ` is for
repositories that are analysed: plumbing only, no transport at all. `COPY` makes and reads our own copies of a task's
repository. `LAND` prepares and pushes a branch with the person's own settings and credentials. Transports are allowed
call by call.
"""

import io
import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

from assay.errors import BadInput

TRANSPORTS = ("file", "git", "http", "https", "ssh")
COMMAND_TRANSPORTS = ("ext", "fd")
"""Transports whose address is a command, or an open file of ours."""
SAFE_SETTINGS = (
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=false",
    "log.showSignature=false",
    "log.mailmap=false",
    "mailmap.file=",
    "mailmap.blob=",
    "gpg.program=false",
    "gpg.openpgp.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "commit.gpgSign=false",
    "push.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
)
OFFLINE_SETTINGS = (
    "core.sshCommand=false",
    "core.gitProxy=false",
    "core.askPass=false",
    "credential.helper=",
    "protocol.allow=never",
    *(f"protocol.{name}.allow=never" for name in (*TRANSPORTS, *COMMAND_TRANSPORTS)),
)
"""For whoever has no business on the net: a repository's `protocol.ext.allow` is stronger than our `protocol.allow`."""
GUARDS = {"diff-tree": ("--no-ext-diff", "--no-textconv")}
QUIET_VARIABLES = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_ADVICE": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
}
ALWAYS_PASSED = ("PATH", "HOME", "TMPDIR", "SUDO_UID", "SYSTEMROOT")
MOST_WAITED_S = 1800.0
"""For all of a stream together."""
GitResult = subprocess.CompletedProcess[bytes]
REPOSITORY_FILES = ("HEAD", "objects", "refs")


class Errand(Struct, frozen=True, kw_only=True):
    """What git may do and see while it is run for one purpose."""

    verbs: frozenset[str]
    settings: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    """Variables of the environment that go along; no other does."""
    variables: dict[str, str] = {}
    patience_s: float = 120.0


READ = Errand(
    verbs=frozenset("rev-parse rev-list symbolic-ref for-each-ref cat-file diff-tree ls-tree merge-base".split())
    | {"config --get"},
    settings=(
        *OFFLINE_SETTINGS,
        "core.bigFileThreshold=8m",
        "core.quotePath=false",
        f"core.attributesFile={os.devnull}",
        "i18n.logOutputEncoding=UTF-8",
    ),
    passed=("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"),  # for `safe.directory`
    variables={"GIT_CONFIG_NOSYSTEM": "1", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_LITERAL_PATHSPECS": "0", "LC_ALL": "C"},
)
"""To analyse a repository that nobody has to trust."""

COPY = Errand(
    verbs=frozenset("init clone fetch reset config rev-parse ls-tree cat-file archive".split()),
    settings=("safe.directory=*",),
    passed=("SSH_AUTH_SOCK", "HTTPS_PROXY", "SSL_CERT_FILE"),
    variables={"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C.UTF-8"},
    patience_s=600.0,
)
"""To make and read copies of our own."""

LAND = Errand(
    verbs=frozenset(
        "rev-parse remote config init ls-remote fetch read-tree write-tree hash-object update-index cat-file ls-tree "
        "commit-tree push".split()
    ),
    passed=tuple(
        "USER LOGNAME LANG DISPLAY WAYLAND_DISPLAY XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR "
        "DBUS_SESSION_BUS_ADDRESS GNUPGHOME SSH_AUTH_SOCK SSH_AGENT_PID SSH_ASKPASS http_proxy https_proxy all_proxy "
        "no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE GIT_SSH "
        "GIT_SSH_COMMAND GIT_SSH_VARIANT GIT_ASKPASS GIT_CONFIG_GLOBAL GIT_SSL_CAINFO GIT_SSL_CAPATH GH_TOKEN "
        "GITHUB_TOKEN GH_HOST GH_CONFIG_DIR".split()
    ),
    variables={"GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C.UTF-8"},
    patience_s=600.0,
)
"""To push a branch for a person: their settings hold, and what their credential helpers sign in with goes along."""


class GitTimeout(BadInput):
    """Git gave no answer in time, so its process was ended."""


class GitRunner:
    """Git in one folder, on one errand."""

    def __init__(self, folder: Path, errand: Errand, *, is_bare: bool = False) -> None:
        self.folder = folder
        self.errand = errand
        self.is_bare = is_bare
        """The folder is meant to be a bare repository itself; none is ever found by looking around."""
        self.settings: Mapping[str, str] = {}
        """More settings, which nobody sees in a list of processes."""

    def run(
        self, *words: str, given: bytes = b"", transports: Sequence[str] = (), patience_s: float = 0.0
    ) -> GitResult:
        """Run a git command to its end; the result holds its output and exit code."""
        limit = patience_s or self.errand.patience_s
        env = self.build_environment(transports)
        try:
            return subprocess.run(  # noqa: S603
                self.build_command(words), env=env, input=given, capture_output=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            raise self.build_timeout(words[0], limit) from None

    def ask(self, *words: str) -> str:
        """The output of a git command, stripped; empty where the command fails."""
        done = self.run(*words)
        return "" if done.returncode else os.fsdecode(done.stdout).strip()

    def start(self, *words: str, stdin: IO[bytes] | None = None, stderr: IO[bytes] | None = None) -> "GitProcess":
        """Start a git command whose output is read bit by bit."""
        process = subprocess.Popen(  # noqa: S603
            self.build_command(words),
            env=self.build_environment(()),
            stdin=stdin or subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr or subprocess.DEVNULL,
        )
        return GitProcess(process, self.errand.patience_s, self.build_timeout(words[0], self.errand.patience_s))

    def build_command(self, words: Sequence[str]) -> list[str]:
        program = shutil.which("git")
        if program is None:
            raise BadInput("git: not found; install it")
        verb, *rest = words
        if not self.errand.verbs.intersection((verb, " ".join(words[:2]))):
            raise ValueError(f"git {verb}: not on this errand")
        bare = f"safe.bareRepository={'all' if self.is_bare else 'explicit'}"
        settings = [word for pair in (*SAFE_SETTINGS, *self.errand.settings, bare) for word in ("-c", pair)]
        return [program, "-C", str(self.folder), "--no-pager", *settings, verb, *GUARDS.get(verb, ()), *rest]

    def build_environment(self, transports: Sequence[str]) -> dict[str, str]:
        """The variables git gets: few of the person's, and none that a hook set for another repository."""
        kept = {name: os.environ[name] for name in (*ALWAYS_PASSED, *self.errand.passed) if name in os.environ}
        more = {"GIT_ALLOW_PROTOCOL": ":".join(transports), "GIT_CEILING_DIRECTORIES": str(self.folder.parent)}
        for n, (key, value) in enumerate(self.settings.items()):
            more |= {f"GIT_CONFIG_KEY_{n}": key, f"GIT_CONFIG_VALUE_{n}": value}
        return kept | QUIET_VARIABLES | self.errand.variables | more | {"GIT_CONFIG_COUNT": str(len(self.settings))}

    def build_timeout(self, verb: str, seconds: float) -> GitTimeout:
        return GitTimeout(f"{self.folder}: git gave no answer within {seconds:g} s ({verb})")


class GitProcess:
    """A git command that is running; leaving the `with` block ends it."""

    def __init__(self, process: subprocess.Popen[bytes], patience_s: float, silent: GitTimeout) -> None:
        assert process.stdout
        self.process = process
        self.patience_s = patience_s
        self.out = io.BufferedReader(TimedPipe(process.stdout, patience_s, silent), 1 << 16)

    def write(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def wait_for_exit(self) -> int:
        """The exit code, once all output was read."""
        try:
            return self.process.wait(self.patience_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        if self.process.poll() is None:
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                if pipe:
                    pipe.close()
            except OSError:  # what was not sent any more
                continue
        self.process.wait()

    def __enter__(self) -> "GitProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class TimedPipe(io.RawIOBase):
    """A pipe from git that raises `GitTimeout` instead of waiting for ever."""

    def __init__(self, pipe: IO[bytes], patience_s: float, silent: GitTimeout) -> None:
        self.pipe = pipe
        self.patience_s = patience_s
        self.build_timeout = silent
        self.left_s = MOST_WAITED_S

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        began = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self.pipe, selectors.EVENT_READ)
            if not selector.select(min(self.patience_s, self.left_s)):
                raise self.build_timeout
        self.left_s -= time.monotonic() - began
        return os.readv(self.pipe.fileno(), [buffer])


class RepositoryHome(Struct, frozen=True):
    """The folder of a repository, and whether it is a bare one."""

    folder: Path
    is_bare: bool


def find_repository(path: Path, *, may_be_bare: bool = False) -> RepositoryHome | None:
    """The repository that a path is in; `None` where there is none.

    A bare repository is none unless the path itself is meant to be one: it may lie as ordinary files in a clone, with
    settings that somebody else wrote.
    """
    here = one = os.path.realpath(path)
    while True:  # texts, not paths: a report looks around every folder that sessions were worked in
        inner = os.path.join(one, ".git")
        if is_there(inner) and (os.path.isfile(inner) or is_git_folder(inner)):
            return RepositoryHome(Path(one), is_bare=False)
        if is_git_folder(one):
            if may_be_bare and one == here:
                return RepositoryHome(Path(one), is_bare=True)
            raise BadInput(f"{one}: a bare git repository is only read where you name it with --repo")
        outer = os.path.dirname(one)
        if outer == one:
            return None
        one = outer


def is_there(path: str) -> bool:
    """Whether there is something at a path; where nobody may look, that is an error."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    return True


def is_git_folder(folder: str) -> bool:
    """Whether a folder holds the files that every git folder has."""
    return all(os.path.lexists(os.path.join(folder, name)) for name in REPOSITORY_FILES)


def find_transport(url: str) -> str:
    """The transport git would use for an address; an address that is a command is an error."""
    scheme, double, _ = url.partition("::")
    if not double or "/" in scheme:
        scheme, has_scheme, _ = url.partition("://")
        before, colon, _ = url.partition(":")
        is_ssh = bool(colon) and "/" not in before
        scheme = scheme if has_scheme else "ssh" if is_ssh else "file"
    if scheme in COMMAND_TRANSPORTS:
        raise BadInput(f"{scheme}:: names a command, not an address; give one that begins with https:// or ssh://")
    return scheme.removeprefix("git+").removesuffix("+git").replace("ssh+git", "ssh")
