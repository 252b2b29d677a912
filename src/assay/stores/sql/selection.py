"""Conditions of queries: which files lie at or below paths, which streams are meant by them, rows by name."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Column, ColumnElement, FromClause, Select, and_, false, func, or_, select

from assay.files import to_folder_prefix
from assay.stores.sql.schema import files, streams

PULLED = "langfuse"
"""The agent of streams that hold what another agent may have written here already."""


def match_files_below(roots: Sequence[str], table: FromClause = files) -> ColumnElement[bool]:
    """Files at these paths, or in folders at these paths; "0" is the character after the slash."""
    path = table.c.path
    prefixes = [(root, to_folder_prefix(root)) for root in roots]
    return or_(
        false(),
        *(or_(path == root, and_(path > prefix, path < prefix[:-1] + "0")) for root, prefix in prefixes),
    )


def select_stream_files(
    condition: ColumnElement[bool], file: FromClause, stream: FromClause = streams
) -> Select[tuple[int]]:
    """Inside of a query of streams: the files of a stream that meet a condition."""
    return select(file.c.id).where(and_(file.c.agent == stream.c.agent, file.c.stream == stream.c.id), condition)


def match_streams_below(roots: Sequence[str], stream: FromClause = streams) -> ColumnElement[bool]:
    """Streams that have a file at or below one of the paths."""
    file = files.alias()
    return select_stream_files(match_files_below(roots, file), file, stream).exists()


def match_streams_once(roots: Sequence[str] | None) -> ColumnElement[bool]:
    """Streams, but for those that were pulled and are there as a transcript too: these would count twice."""
    other = streams.alias()
    here = select(other.c.id).where(other.c.agent != PULLED)
    here = here if roots is None else here.where(match_streams_below(roots, other))
    return or_(streams.c.agent != PULLED, streams.c.id.not_in(here))


def match_streams(
    roots: Sequence[str] | None, since: str = "", until: str = "", project: str = ""
) -> list[ColumnElement[bool]]:
    """What a stream must be like; of what is not given, nothing."""
    return [
        match_streams_once(roots),
        *([] if roots is None else [match_streams_below(roots)]),
        *([streams.c.ended_at >= since] if since else []),
        *([streams.c.began_at < until] if until else []),
        *([match_project(project)] if project else []),
    ]


def match_project(project: str) -> ColumnElement[bool]:
    """Streams of a folder and those below it, or whose folder's path has a word in it."""
    if project.startswith("/"):
        inner = streams.c.project.startswith(to_folder_prefix(project), autoescape=True)
        return or_(streams.c.project == project, inner)
    return func.lower(streams.c.project).contains(project.lower(), autoescape=True)


def match_names(names: Iterable[tuple[str, str]], agent: Column[str], id: Column[str]) -> ColumnElement[bool]:
    """Rows of these agents and ids; SQLite finds them by index, which it does not for pairs in a list of pairs."""
    by_agent: dict[str, set[str]] = {}
    for its_agent, its_id in names:
        by_agent.setdefault(its_agent, set()).add(its_id)
    return or_(false(), *(and_(agent == one, id.in_(sorted(ids))) for one, ids in sorted(by_agent.items())))
