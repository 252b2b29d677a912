"""How the last report of a store was made: `assay show` says of a session what that report said."""

import os
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.cli.shared import settings
from assay.config import Config, is_projects
from assay.stores import Store, has_store, open_store, pick_store_url

ENCODE = msgspec.json.Encoder().encode


class Made(Struct, frozen=True, kw_only=True):
    """The settings on which sessions depend."""

    judge: str
    commit: str
    model: str
    url: str
    tokens: int
    votes: int
    repos: tuple[str, ...]


class Report(Struct, frozen=True, kw_only=True):
    """A report: its settings, and those without the flags it was asked for with."""

    with_flags: Made
    without: Made


DECODE = msgspec.json.Decoder(Report).decode


def made(config: Config) -> Made:
    return Made(
        judge=config.judge,
        commit=config.boundaries.commit,
        model=config.model.name,
        url=config.model.url,
        tokens=config.model.tokens,
        votes=config.model.votes,
        repos=config.rework.repos,
    )


def remember(store: Store, config: Config, model: str | None) -> None:
    """Keep how a report was made, and which model was asked where none was named."""
    with_flags = replace(made(config), model=model or config.model.name)
    store.sessions.save_last_report(ENCODE(Report(with_flags=with_flags, without=made(settings()))))


def last(config: Config) -> Report | None:
    """How the last report was made; a store that came with a project chooses no address and no repository."""
    url = pick_store_url(config.store, os.environ)
    if not has_store(url):
        return None
    store = open_store(url)
    try:
        kept = store.sessions.load_last_report()
        found = DECODE(kept) if kept else None
        is_elsewhere = found is not None and bool(found.with_flags.url or found.with_flags.repos)
        return None if is_elsewhere and is_projects(config.store, os.environ, Path.cwd()) else found
    except msgspec.ValidationError:  # of another version
        return None
    finally:
        store.close()
