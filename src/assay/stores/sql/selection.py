"""Conditions of queries: which files lie at or below paths, which streams are meant by them, rows by name; order."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    FromClause,
    Integer,
    Select,
    and_,
    case,
    false,
    func,
    literal,
    not_,
    or_,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from assay.files import to_folder_prefix
from assay.stores.sql.schema import files, streams
from assay.stores.sql.shipped_tables import shipped_streams
from assay.types.shipping import SHIPPED_ROOT

PULLED = "langfuse"
"""The agent of streams that hold what another agent may have written here already."""
GROUP = 50
"""Paths that stand in one bracket: SQLite nests conditions one by one, and gives up at a thousand.

Brackets are kept by saying it twice negated: alternatives of alternatives are written without any.
"""
TOLD = "otel"
"""The agent of streams that telemetry told of."""
LAST = "\U0010ffff"
"""The last character there is."""
AT, AFTER_AT = "@", "A"
"""Between the vendor's own id and the project that it was pulled from, or the service that told of it."""


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


def is_below(path: str, roots: Sequence[str]) -> bool:
    """Whether a file lies at one of these paths, or in a folder at one of them."""
    return any(path == root or path.startswith(to_folder_prefix(root)) for root in roots)


def has_outside(connection: Connection, roots: Sequence[str]) -> bool:
    """Whether there is a file that lies at none of these paths, nor in folders at them.

    Asked for gap by gap in the order of paths: what lies between is found by index, however many files there are.
    What other machines shipped lies at a root of its own.
    """
    if SHIPPED_ROOT not in roots and connection.execute(select(shipped_streams.c.id).limit(1)).first():
        return True
    if len(roots) > GROUP:
        return connection.execute(select(files.c.id).where(not_(match_files_below(roots))).limit(1)).first() is not None
    spans = sorted(span for root in roots for span in list_spans(root))
    path, low = files.c.path, ""
    for first, behind in spans:
        if first > low and connection.execute(select(path).where(path >= low, path < first).limit(1)).first():
            return True
        low = max(low, behind)
    return connection.execute(select(path).where(path >= low).limit(1)).first() is not None


def list_spans(root: str) -> list[tuple[str, str]]:
    """The paths at and below a path, from the first of each span to what comes behind its last."""
    prefix = to_folder_prefix(root)
    return [(root, f"{root}\x01"), (prefix, f"{prefix[:-1]}0")]


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
    """Streams, but for those whose conversation is there from a source that tells more of it: these would count twice.

    A transcript tells most, then what another machine shipped of its own, telemetry with words, what was pulled,
    telemetry without words. Left out are also
    streams that an earlier version pulled without their project, where they were pulled again since.
    """
    other, base = streams.alias(), strip_project(streams)
    behind = and_(other.c.id > base.concat(AT), other.c.id < base.concat(AFTER_AT))
    transcript = select(other.c.id).where(other.c.agent.not_in((PULLED, TOLD)), other.c.id == base)
    told = select(other.c.id).where(other.c.agent == TOLD, behind, other.c.title != "")
    pulled = select(other.c.id).where(other.c.agent == PULLED, or_(other.c.id == base, behind))
    again = select(other.c.id).where(other.c.agent == PULLED, behind)
    if roots is not None:
        transcript, told, pulled, again = (
            one.where(match_streams_below(roots, other)) for one in (transcript, told, pulled, again)
        )
    once_pulled = and_(~told.exists(), or_(find_place(streams.c.id, AT) > 0, ~again.exists()))
    once_told = or_(streams.c.title != "", ~pulled.exists())
    once = or_(and_(streams.c.agent == PULLED, once_pulled), and_(streams.c.agent == TOLD, once_told))
    if roots is None or SHIPPED_ROOT in roots:
        once = and_(once, ~select(shipped_streams.c.id).where(shipped_streams.c.conversation == base).exists())
    return or_(streams.c.agent.not_in((PULLED, TOLD)), and_(~transcript.exists(), once))


def count_streams(
    connection: Connection, roots: Sequence[str] | None, since: str = "", until: str = "", project: str = ""
) -> int:
    """How many streams there are; only of those that may be left out it is asked one by one whether they are."""
    second, count = streams.c.agent.in_((PULLED, TOLD)), select(func.count()).select_from(streams)
    given = match_streams_given(roots, since, until, project)
    found = int(connection.execute(count.where(~second, *given)).scalar_one())
    if connection.execute(select(streams.c.id).where(second).limit(1)).first() is None:
        return found
    return found + int(connection.execute(count.where(second, match_streams_once(roots), *given)).scalar_one())


def strip_project(table: FromClause) -> ColumnElement[str]:
    """The id of a stream without the project that it was pulled from."""
    at = find_place(table.c.id, AT)
    return case((at > 0, func.substr(table.c.id, 1, at - 1)), else_=table.c.id)


def match_streams(
    roots: Sequence[str] | None, since: str = "", until: str = "", project: str = ""
) -> list[ColumnElement[bool]]:
    """What a stream must be like; of what is not given, nothing."""
    return [match_streams_once(roots), *match_streams_given(roots, since, until, project)]


def match_streams_given(
    roots: Sequence[str] | None, since: str = "", until: str = "", project: str = ""
) -> list[ColumnElement[bool]]:
    """The same, of all sources of a conversation."""
    return [
        *([] if roots is None else [match_streams_below(roots)]),
        *([streams.c.ended_at >= since] if since else []),
        *([streams.c.began_at < until] if until else []),
        *([match_project(project)] if project else []),
    ]


def match_project(project: str, table: FromClause = streams) -> ColumnElement[bool]:
    """Streams of a folder and those below it, or whose folder's path has a word in it."""
    if project.startswith("/"):
        inner = table.c.project.startswith(to_folder_prefix(project), autoescape=True)
        return or_(table.c.project == project, inner)
    return func.lower(table.c.project).contains(project.lower(), autoescape=True)


def match_beginning(column: Column[str], prefix: str) -> ColumnElement[bool]:
    """Texts that begin so, found by index, which SQLite does not for LIKE."""
    return and_(column >= prefix, column < prefix + LAST)


def match_names(names: Iterable[tuple[str, str]], agent: Column[str], id: Column[str]) -> ColumnElement[bool]:
    """Rows of these agents and ids; SQLite finds them by index, which it does not for pairs in a list of pairs."""
    by_agent: dict[str, set[str]] = {}
    for its_agent, its_id in names:
        by_agent.setdefault(its_agent, set()).add(its_id)
    return or_(false(), *(and_(agent == one, id.in_(sorted(ids))) for one, ids in sorted(by_agent.items())))


def to_literal(text: str, column: Column[Any]) -> ColumnElement[Any]:
    """A text as a value of a column."""
    return literal(int(text) if isinstance(column.type, Integer) else text, column.type)


def forget_index(order: Sequence[Column[Any]]) -> list[ColumnElement[Any]]:
    """The same order, by a value that no index knows: SQLite walks through all rows there are for one that does."""
    return [order[0].concat(""), *order[1:]]


def limit_rows(query: Select[Any], offset: int, limit: int | None) -> Select[Any]:
    return query.offset(offset).limit(limit) if offset or limit is not None else query
