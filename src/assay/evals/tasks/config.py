"""Configurations from a folder, or as they stood at a git ref: which agent, how it is started, what it is given."""

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from assay.errors import BadInput
from assay.evals.tasks.folders import Listing, hash_files, hash_values, unpack_folder
from assay.evals.tasks.task import load_toml
from assay.git import COPY, GitRunner, find_repository
from assay.types.value import Row

FILE, FILES, IN_REPOSITORY = "config.toml", "files", ".assay/config.toml"
INSTRUCTIONS = ("CLAUDE.md", "AGENTS.md", ".claude", ".codex", ".agents", ".mcp.json")
"""What a repository tells agents; a bare git ref is a configuration of these."""
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OURS = frozenset({"HOME", "PATH", "TMPDIR", "ASSAY_PROMPT", "ASSAY_RESULT_DIR", "LD_PRELOAD", "LD_LIBRARY_PATH"})
"""Variables that a configuration can't pass through: every trial has its own."""
Agent = Literal["claude-code", "codex", "command"]


class ConfigFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of `config.toml`."""

    agent: Agent
    command: tuple[str, ...] = ()
    """For `command`: what is run; a first word that begins with `./` lies in the configuration's folder."""
    model: str = ""
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    """Names of variables that are passed on; no other is."""


class AgentConfig(Row, frozen=True):
    """An agent and what it is given, ready to run."""

    name: str
    folder: Path
    agent: Agent
    command: tuple[str, ...] = ()
    model: str = ""
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    files: Listing = {}
    """What is laid over the workspace, with hashes."""
    sha256: str = ""
    commit: str = ""
    """Where it was taken from a git ref."""

    @property
    def overlay(self) -> Path:
        """The folder that is laid over the workspace."""
        return self.folder / FILES


def load_config(where: str, keep: Path, repository: Path | None = None) -> AgentConfig:
    """A configuration: a folder, `REF:PATH` for a folder as it was at a git ref, or a bare `REF`.

    A bare ref stands for the instructions of the repository at that commit (`INSTRUCTIONS`) and its
    `.assay/config.toml`; without one the agent is Claude Code. What a ref holds is unpacked below `keep`.
    """
    folder = Path(where).expanduser()
    if folder.is_dir():
        return read_config(folder.resolve(), folder.resolve().name)
    ref, colon, path = where.partition(":")
    home = repository or Path.cwd()
    git = open_git(home, may_be_bare=repository is not None)
    commit = find_commit(git, ref) if git else ""
    if not git or not commit:
        raise BadInput(f"{where}: neither a folder nor a git ref of {home}")
    into = keep / f"{commit[:12]}-{hash_values(path)[:8]}"
    if not into.is_dir():
        half = into.with_name(f"{into.name}.half")
        unpack_commit(git, commit, path if colon else None, half)
        half.rename(into)
    found = read_config(into, where)
    return AgentConfig(**{name: getattr(found, name) for name in AgentConfig.__struct_fields__} | {"commit": commit})


def unpack_commit(git: GitRunner, commit: str, path: str | None, into: Path) -> None:
    """Write what a commit holds of a configuration to a folder."""
    into.mkdir(parents=True, exist_ok=True)
    if path is not None:
        spec = f"{commit}:{path.rstrip('/')}"
        if git.ask("cat-file", "-t", spec) != "tree":
            raise BadInput(f"{path}: no such folder at {commit[:12]}")
        unpack_folder(archive_commit(git, spec), into)
        return
    there = os.fsdecode(git.run("ls-tree", "-z", "--name-only", "--full-tree", commit).stdout).split("\0")
    wanted = [one for one in INSTRUCTIONS if one in there]
    if wanted:
        unpack_folder(archive_commit(git, commit, "--", *wanted), into / FILES)
    told = git.run("cat-file", "blob", f"{commit}:{IN_REPOSITORY}")
    (into / FILE).write_bytes(b'agent = "claude-code"\n' if told.returncode else told.stdout)


def archive_commit(git: GitRunner, *words: str) -> bytes:
    """Files of a commit, in a tar; a repository of our own borrows the objects, so none of the other's filters runs."""
    lent = git.ask("rev-parse", "--path-format=absolute", "--git-path", "objects")
    with tempfile.TemporaryDirectory(prefix="assay-config-") as scratch:
        own = Path(scratch) / "own.git"
        own.mkdir()
        run_git(own, "init", "-q", "--bare", f"--object-format={git.ask('rev-parse', '--show-object-format')}")
        (own / "objects" / "info" / "alternates").write_text(f"{lent}\n", "utf-8")
        return run_git(own, "archive", "--format=tar", *words, is_bare=True)


def read_config(folder: Path, name: str) -> AgentConfig:
    """The configuration in a folder."""
    file = folder / FILE
    told = load_toml(file, ConfigFile)
    wrong = find_problem(told, folder)
    if wrong:
        raise BadInput(f"{file}: {wrong}")
    files = hash_files(folder / FILES)
    beside = {} if told.agent != "command" else hash_files(folder)
    return AgentConfig(
        name=name, folder=folder, agent=told.agent, command=told.command, model=told.model, args=told.args,
        env=told.env, files=files, sha256=hash_values(told, files, beside),
    )  # fmt: skip


def find_problem(told: ConfigFile, folder: Path) -> str:
    """The first thing that is wrong with a configuration."""
    is_command, first = told.agent == "command", next(iter(told.command), "")
    odd = [name for name in told.env if not VARIABLE.fullmatch(name)]
    wrong = {
        'agent = "command" needs command = ["program", …]': is_command and not first,
        f'command is only for agent = "command", this is {told.agent!r}': not is_command and bool(told.command),
        f"{first}: no such program in {folder}": first.startswith("./") and not (folder / first).is_file(),
        f"env holds names of variables, not {', '.join(map(repr, odd))}": bool(odd),
        f"env: every trial has its own {', '.join(sorted(OURS.intersection(told.env)))}": bool(
            OURS.intersection(told.env)
        ),
    }
    return next((why for why, holds in wrong.items() if holds), "")


def pick_variables(config: AgentConfig, env: Mapping[str, str]) -> dict[str, str]:
    """The variables that a configuration asks for; one that is not set is said so before anything is spent."""
    missing = [name for name in config.env if name not in env]
    if missing:
        raise BadInput(f"{config.name}: env asks for {', '.join(missing)}, which is not set")
    return {name: env[name] for name in config.env}


def run_git(folder: Path, *words: str, is_bare: bool = False, transports: Sequence[str] = ()) -> bytes:
    """What git prints in a folder of our own; an error where it fails."""
    done = GitRunner(folder, COPY, is_bare=is_bare).run(*words, transports=transports)
    if done.returncode:
        raise BadInput(f"git {words[0]} in {folder}: {done.stderr.decode(errors='replace').strip()[-300:]}")
    return done.stdout


def find_commit(git: GitRunner, ref: str) -> str:
    """The commit that a ref names; empty for none."""
    return git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")


def open_git(folder: Path, *, may_be_bare: bool = False) -> GitRunner | None:
    """Git for the repository that lies around somebody's folder."""
    home = find_repository(folder, may_be_bare=may_be_bare) if folder.is_dir() else None
    return GitRunner(home.folder, COPY, is_bare=home.is_bare) if home else None
