"""The tables of a lake as the page tells them, read off the code."""

import ast
import inspect
from pathlib import Path
from typing import Any, get_type_hints

from assay.lake import tables
from assay.lake.parquet import build_type

PAGE = Path(__file__).parents[2] / "docs/reference/lake.md"
MARK = "<!-- columns: scripts/tables writes what follows -->\n"


def render_page(page: str) -> str:
    """The page with every table as the code has it."""
    before, mark, _ = page.partition(MARK)
    assert mark
    return before + MARK + "\n".join(map(render_table, tables.TABLES.values()))


def render_table(table: type[Any]) -> str:
    """One table: what it holds, and a row for each column."""
    said = inspect.cleandoc(table.__doc__ or "")
    name, _, about = said.partition(": ")
    lines = [f"\n## {name.strip('`')}\n", f"{about[0].upper()}{about[1:]}\n"]
    lines += ["| column | type | |", "| --- | --- | --- |"]
    notes = read_notes(table)
    for column, hint in get_type_hints(table).items():
        kind = str(build_type(hint)).replace("element: ", "").replace("|", "\\|")
        lines.append(f"| `{column}` | {kind} | {notes.get(column, '')} |")
    return "\n".join(lines) + "\n"


def read_notes(table: type[Any]) -> dict[str, str]:
    """What stands below a field."""
    [node] = [one for one in ast.parse(inspect.getsource(tables)).body if getattr(one, "name", "") == table.__name__]
    assert isinstance(node, ast.ClassDef)
    return {
        field.target.id: " ".join(str(note.value.value).split())
        for field, note in zip(node.body, node.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(note, ast.Expr) and isinstance(note.value, ast.Constant)
    }
