"""The settings of a command: those that hold here with what its options override, and what the last report knew."""

import getpass
import os
import shlex
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.cli.options import check_word, is_path
from assay.config import Config, is_projects, load
from assay.errors import BadInput
from assay.git.repo import open_repo
from assay.pipeline.inputs import pick_report_time, resolve_path
from assay.pipeline.judgement import check_judge
from assay.stores import Store, has_store, open_store, pick_store_url

COMMIT = ("confirm", "hard", "off")
ADDRESS = "--model-url"
"""What it names is not told: it may hold a key."""
ENCODE = msgspec.json.Encoder().encode


class LastReport(Struct, frozen=True, kw_only=True):
    """What the commands that look closer must know of the last report: its settings hold for it alone."""

    repos: tuple[str, ...] = ()
    """Those that were given with `--repo`."""
    flags: tuple[str, ...] = ()
    """Options with which it was made otherwise than the settings say."""
    judge: str = ""
    url: str = ""
    model: str = ""
    """What the judge at this address called its model, where none was named."""


DECODE = msgspec.json.Decoder(LastReport).decode


def load_settings(**overrides: Any) -> Config:
    """The settings that hold here; overrides by their name in `assay.toml`, `_` for its dots."""
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise BadInput("the folder you are in no longer exists; go to another one") from None
    return load(os.environ, here, **overrides)


def name_person() -> str:
    """Who sits at this machine, as the audit log names them."""
    try:
        return f"user {getpass.getuser()}"
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        return f"user {os.getuid()}"


def load_config(**overrides: Any) -> Config:
    """The settings for a score; an override that can't be is refused before anything is read."""
    check_word(overrides.get("boundaries_commit"), COMMIT, "--commit")
    config = load_settings(**overrides | {"rework_repos": resolve_repos(overrides.get("rework_repos"))})
    try:
        check_judge(config.judge)
    except BadInput as error:
        raise BadInput(f"--judge {overrides['judge']}: {error}" if overrides.get("judge") else str(error)) from None
    pick_report_time(config)
    return config


def load_last_config(**overrides: Any) -> Config:
    """The settings that hold, with the repositories of the last report, and the model that its endpoint named."""
    config = load_config(**overrides)
    report = load_last_report(config)
    found: dict[str, Any] = {}
    if overrides.get("rework_repos") is None and (repos := [Path(one) for one in report.repos if Path(one).is_dir()]):
        found["rework_repos"] = repos
    if not config.model.name and (config.judge, config.model.url) == (report.judge, report.url):
        found["model_name"] = report.model or None
    return load_config(**overrides | found) if found else config


def list_what_ifs(config: Config) -> tuple[str, ...]:
    """The options by which a report is judged otherwise than the settings say: it is told, and nobody goes by it."""
    here, there = list_choices(load_settings()), list_choices(config)
    return tuple(flag if flag == ADDRESS else f"{flag} {value}" for flag, value in there.items() if value != here[flag])


def list_choices(config: Config) -> dict[str, object]:
    """What a report's sessions depend on, by the option that chooses it."""
    model = config.model
    return {
        "--judge": config.judge,
        "--commit": config.boundaries.commit,
        "--model": model.name,
        ADDRESS: model.url,
        "--votes": model.votes,
    }


def resolve_repos(folders: Sequence[Path] | None) -> tuple[str, ...] | None:
    """The full paths of `--repo`; a folder without a git repository is refused."""
    for path in folders or ():
        if not path.expanduser().is_dir():
            raise BadInput(f"--repo {path}: is no folder; give one with a git repository")
        if open_repo(path.expanduser(), may_be_bare=True) is None:
            raise BadInput(f"--repo {path}: is in no git repository")
    return tuple(os.path.realpath(path.expanduser()) for path in folders) if folders else None


# --- the last report ----------------------------------------------------------------------------


def save_last_report(store: Store, config: Config, model: str | None) -> None:
    """Keep how a report was made, and which model was asked where none was named."""
    is_given = config.rework.repos != load_settings().rework.repos
    report = LastReport(
        repos=config.rework.repos if is_given else (),
        flags=list_what_ifs(config),
        judge=config.judge,
        url=config.model.url,
        model="" if config.model.name else model or "",
    )
    store.sessions.save_last_report(ENCODE(report))


def load_last_report(config: Config) -> LastReport:
    """How the last report was made; a store that came with a project chooses no address and no repository."""
    url = pick_store_url(config.store, os.environ)
    if not has_store(url):
        return LastReport()
    with closing(open_store(url)) as store:
        kept = store.sessions.load_last_report()
    try:
        report = DECODE(kept) if kept else LastReport()
    except msgspec.DecodeError:  # of another version
        return LastReport()
    return LastReport(flags=report.flags) if is_projects(config.store, os.environ, Path.cwd()) else report


def check_id(given: str) -> None:
    """Refuse a path: sessions have ids."""
    if is_path(given):
        there = resolve_path(Path(given))
        raise BadInput(f"{there}: is a path, not an id; `assay sessions {shlex.quote(given)}` lists its sessions")
