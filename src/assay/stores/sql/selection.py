"""Conditions of queries: which files lie at or below paths, which streams are meant by them, rows by name."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, FromClause, Integer, Select, and_, case, false, func, not_, or_, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from assay.files import to_folder_prefix
from assay.stores.sql.schema import files, streams

PULLED = "langfuse"
"""The agent of streams that hold what another agent may have written here already."""
GROUP = 50
"""Paths that stand in one bracket: SQLite nests conditions one by one, and gives up at a thousand.

Brackets are kept by saying it twice negated: alternatives of alternatives are written without any.
"""
AT = "@"
"""Between a pulled session's own id and its project."""


class find_place(FunctionElement[int]):  # noqa: N801  SQL calls it, as all its functions, in small letters
    """The place of some text within a text, from 1; 0 where it does not stand there."""

    type = Integer()
    inherit_cache = True


@compiles(find_place)
def render_instr(element: find_place, compiler: SQLCompiler, **more: Any) -> str:
    return f"instr({compiler.process(element.clauses, **more)})"


@compiles(find_place, "postgresql")
def render_strpos(element: find_place, compiler: SQLCompiler, **more: Any) -> str:
    return f"strpos({compiler.process(element.clauses, **more)})"


def match_files_below(roots: Sequence[str], table: FromClause = files) -> ColumnElement[bool]:
    """Files at these paths, or in folders at these paths; "0" is the character after the slash."""
    path = table.c.path
    prefixes = [(root, to_folder_prefix(root)) for root in roots]
    each = [or_(path == root, and_(path > prefix, path < prefix[:-1] + "0")) for root, prefix in prefixes]
    if len(each) <= GROUP:
        return or_(false(), *each)
    groups = [or_(*each[n : n + GROUP]) for n in range(0, len(each), GROUP)]
    return not_(and_(*(not_(one) for one in groups)))


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
    """Streams, but for those that were pulled and are there as a transcript too: these would count twice.

    So would those that an earlier version pulled without their project, where they were pulled again since.
    """
    other = streams.alias()
    here = select(other.c.id).where(other.c.agent != PULLED)
    again = select(strip_project(other)).where(other.c.agent == PULLED, find_place(other.c.id, AT) > 0)
    if roots is not None:
        here, again = (one.where(match_streams_below(roots, other)) for one in (here, again))
    is_once = and_(strip_project(streams).not_in(here), streams.c.id.not_in(again))
    return or_(streams.c.agent != PULLED, is_once)


def strip_project(table: FromClause) -> ColumnElement[str]:
    """The id of a stream without the project that it was pulled from."""
    at = find_place(table.c.id, AT)
    return case((at > 0, func.substr(table.c.id, 1, at - 1)), else_=table.c.id)


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
