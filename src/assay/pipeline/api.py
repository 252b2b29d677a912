"""What `assay score` does, for Python: `assay.score`."""

import os
from collections.abc import Sequence
from pathlib import Path

from assay.config import Config, load, store_url, zone
from assay.errors import BadInput
from assay.pipeline import given
from assay.pipeline.pool import cores
from assay.pipeline.scan import scan
from assay.pipeline.scoring import Choice, Run, scored
from assay.scores.report import Report
from assay.stores.sql import open_store

AnyPath = str | os.PathLike[str]


def score(  # noqa: PLR0913  a choice each, all by name
    paths: AnyPath | Sequence[AnyPath] | None = None,
    *,
    since: str | None = None,
    until: str | None = None,
    project: str | None = None,
    store: AnyPath | None = None,
    jobs: int = 0,
    judge: str | None = None,
    timezone: str | None = None,
    repos: AnyPath | Sequence[AnyPath] | None = None,
    as_of: str | None = None,
) -> Report:
    """Find transcripts, judge what is new in them, and report on their sessions.

    `paths` are transcripts or folders of them; without any, the places where the agents keep theirs are looked through.
    `since` and `until` are a day (`"2026-11-01"`), a time, or how long ago (`"7d"`); `project` is a folder or a part of
    its path. `store` is the file in which results are kept, so that nothing is judged twice; without one it is the same
    that the command line uses. `jobs` is the number of processes, 0 for one per core. `judge` and `timezone` are as in
    `assay.toml`, which holds where they are not given. `repos` are git repositories in which to look for what became of
    sessions' lines; without any, those in which sessions were run. `as_of` is a day or a time: the report as of then.

    Raises `assay.errors.BadInput` where there is nothing to read or something that was given can't be used.
    """
    config = load(
        os.environ,
        Path.cwd(),
        store=store and os.fspath(store),
        judge=judge,
        timezone=timezone,
        rework_repos=None if repos is None else tuple(map(str, listed(repos))),
        as_of=as_of,
    )
    choice = Choice(
        since=given.moment(since, "since", zone(config)),
        until=given.moment(until, "until", zone(config)),
        project=given.project(project),
    )
    return score_paths(listed(paths), config, choice, jobs or cores())


def score_paths(paths: Sequence[Path], config: Config, choice: Choice, jobs: int) -> Report:
    """Bring the store up to date with the paths, or with the usual places, and report."""
    found = given.given_or_usual(paths)
    opened = open_store(store_url(config.store, os.environ))
    try:
        if not found.files and not paths and not opened.known(found.roots):
            raise given.nowhere()
        changes = scan(opened, found, jobs, lambda *_: None)
        with Run(opened, changes.roots, config, jobs) as run:
            return scored(run, choice, changes.unreadable).report
    finally:
        opened.close()


def listed(paths: AnyPath | Sequence[AnyPath] | None) -> list[Path]:
    """One path, or several, or none."""
    if paths is None:
        return []
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not several:
        raise BadInput("paths is empty; leave it out to look where the agents keep their transcripts")
    return [Path(path) for path in several]
