"""The settings of a command: those that hold here, or those of the last report, with what its options override."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.cli.options import check_word
from assay.config import Config, is_projects, load
from assay.errors import BadInput
from assay.git.repo import open_repo
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.judgement import check_judge, is_judge
from assay.stores import Store, has_store, open_store, pick_store_url

COMMIT = ("confirm", "hard", "off")
ENCODE = msgspec.json.Encoder().encode


class ReportSettings(Struct, frozen=True, kw_only=True):
    """The settings on which the sessions of a report depend."""

    judge: str
    commit: str
    model: str
    url: str
    tokens: int
    votes: int
    repos: tuple[str, ...]


class LastReport(Struct, frozen=True, kw_only=True):
    """The settings of a report, and those without the options it was asked for with."""

    with_flags: ReportSettings
    without: ReportSettings


DECODE = msgspec.json.Decoder(LastReport).decode


def load_settings(**overrides: Any) -> Config:
    """The settings that hold here; overrides by their name in `assay.toml`, `_` for its dots."""
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise BadInput("the folder you are in no longer exists; go to another one") from None
    return load(os.environ, here, **overrides)


def load_config(**overrides: Any) -> Config:
    """The settings for a score; an override that can't be is refused before anything is read."""
    check_word(overrides.get("boundaries_commit"), COMMIT, "--commit")
    config = load_settings(**overrides | {"rework_repos": resolve_repos(overrides.get("rework_repos"))})
    check_judge(config.judge)
    pick_report_time(config)
    return config


def load_last_config(**overrides: Any) -> Config:
    """The settings of the last report with these overrides; those that hold here if they changed since."""
    config = load_config(**overrides)
    report = load_last_report(config)
    if report is None or report.without != pick_report_settings(load_settings()):
        return config
    if not is_judge(report.with_flags.judge):
        return config
    flags = report.with_flags
    is_same = overrides.get("judge") in (None, flags.judge)
    last = {
        "judge": flags.judge,
        "boundaries_commit": flags.commit,
        "model_name": flags.model if is_same else None,
        "model_url": flags.url if is_same else None,
        "model_votes": flags.votes,
        "model_tokens": flags.tokens,
        "rework_repos": [Path(repo) for repo in flags.repos if Path(repo).is_dir()] or None,
    }
    return load_config(**overrides | {name: overrides.get(name) or value for name, value in last.items()})


def resolve_repos(folders: Sequence[Path] | None) -> tuple[str, ...] | None:
    """The full paths of `--repo`; a folder without a git repository is refused."""
    for path in folders or ():
        if not path.expanduser().is_dir():
            raise BadInput(f"--repo {path}: is no folder; give one with a git repository")
        if open_repo(path.expanduser(), may_be_bare=True) is None:
            raise BadInput(f"--repo {path}: is in no git repository")
    return tuple(os.path.realpath(path.expanduser()) for path in folders) if folders else None


# --- how the last report was made: `assay show` says of a session what that report said -----------


def pick_report_settings(config: Config) -> ReportSettings:
    """Those of all settings that a report depends on."""
    return ReportSettings(
        judge=config.judge,
        commit=config.boundaries.commit,
        model=config.model.name,
        url=config.model.url,
        tokens=config.model.tokens,
        votes=config.model.votes,
        repos=config.rework.repos,
    )


def save_last_report(store: Store, config: Config, model: str | None) -> None:
    """Keep how a report was made, and which model was asked where none was named."""
    with_flags = replace(pick_report_settings(config), model=model or config.model.name)
    report = LastReport(with_flags=with_flags, without=pick_report_settings(load_settings()))
    store.sessions.save_last_report(ENCODE(report))


def load_last_report(config: Config) -> LastReport | None:
    """How the last report was made; a store that came with a project chooses no address and no repository."""
    url = pick_store_url(config.store, os.environ)
    if not has_store(url):
        return None
    store = open_store(url)
    try:
        kept = store.sessions.load_last_report()
        report = DECODE(kept) if kept else None
        is_elsewhere = report is not None and bool(report.with_flags.url or report.with_flags.repos)
        return None if is_elsewhere and is_projects(config.store, os.environ, Path.cwd()) else report
    except msgspec.ValidationError:  # of another version
        return None
    finally:
        store.close()
