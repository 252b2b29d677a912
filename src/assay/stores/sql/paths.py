"""Which files lie at or below paths, and which streams are told by them."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, FromClause, Select, and_, false, func, or_, select

from assay.stores.sql.schema import files, streams

PULLED = "langfuse"
"""The agent of streams that tell what another agent may have told here already."""


def below(roots: Sequence[str], table: FromClause = files) -> ColumnElement[bool]:
    """Files at these paths, or in folders at these paths."""
    path = table.c.path
    return or_(
        false(),
        *(or_(path == root, and_(path > inside(root), path < inside(root)[:-1] + "0")) for root in roots),
    )


def inside(root: str) -> str:
    """The beginning of every path in a folder; "0" is the character after the slash."""
    return root.rstrip("/") + "/"


def stream_file(which: ColumnElement[bool], some_file: FromClause, of: FromClause = streams) -> Select[tuple[int]]:
    """The files of a stream, in a query of streams, that are such."""
    of_stream = and_(some_file.c.agent == of.c.agent, some_file.c.stream == of.c.id)
    return select(some_file.c.id).where(of_stream, which)


def stream_below(roots: Sequence[str], of: FromClause = streams) -> ColumnElement[bool]:
    """Streams that have a file at or below one of the paths."""
    some_file = files.alias()
    return stream_file(below(roots, some_file), some_file, of).exists()


def told_once(roots: Sequence[str] | None) -> ColumnElement[bool]:
    """Streams, but for those that were pulled and are there as a transcript too: these would count twice."""
    other = streams.alias()
    here = select(other.c.id).where(other.c.agent != PULLED)
    here = here if roots is None else here.where(stream_below(roots, other))
    return or_(streams.c.agent != PULLED, streams.c.id.not_in(here))


def chosen(
    roots: Sequence[str] | None, since: str = "", until: str = "", project: str = ""
) -> list[ColumnElement[bool]]:
    """What a stream must be like; nothing that is not given."""
    return [
        told_once(roots),
        *([] if roots is None else [stream_below(roots)]),
        *([streams.c.ended_at >= since] if since else []),
        *([streams.c.began_at < until] if until else []),
        *([in_project(project)] if project else []),
    ]


def in_project(project: str) -> ColumnElement[bool]:
    """Streams of a folder and those below it, or whose folder's path has a word in it."""
    if project.startswith("/"):
        inner = streams.c.project.startswith(inside(project), autoescape=True)
        return or_(streams.c.project == project, inner)
    return func.lower(streams.c.project).contains(project.lower(), autoescape=True)
