"""The page of what Python programs may use: signatures, docstrings and fields as the code has them."""

from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any

import griffe

import assay
from scripts.site_pages.markdown import fit_cell, render_table, show_code

HEAD = """# Python

What a program may import, made from the code; anything else may change. [Use it from
Python](../how-to/from-python.md) shows it at work. Every name is typed, and what reports hold has the fields of
[the JSON](json.md).
"""
TESTING = "[How to test your own source or judge](../how-to/test-your-own-source-or-judge.md) shows these at work.\n"
WIDE = 100


def render_python(sources: Path) -> str:
    """The page."""
    code = griffe.load("assay", search_paths=[str(sources)], submodules=True, resolve_aliases=True)
    parts = [HEAD, "## assay\n"]
    for name in assay.__all__:
        parts += render_object(find_object(code, f"{assay.PLACES[name]}.{name}"), f"assay.{name}")
    parts.append("## assay.errors\n")
    for name, one in code["errors"].members.items():
        if one.kind is griffe.Kind.CLASS and not name.startswith("_"):
            parts += render_object(one, f"assay.errors.{name}")
    parts += ["## assay.testing\n", TESTING]
    for name in code["testing"].exports:
        parts += render_object(code["testing"][str(name)].final_target, f"assay.testing.{name}")
    return "\n".join(parts)


def find_object(code: Any, place: str) -> Any:
    found = code[place.removeprefix("assay.")]
    return found.final_target if found.is_alias else found


def render_object(one: Any, name: str) -> Iterator[str]:
    """A function or a class."""
    yield f"### {name} {{#{name.lower()}}}\n"
    if one.kind is griffe.Kind.FUNCTION:
        yield f"```python\n{write_signature(one, name.rsplit('.', 1)[1])}\n```\n"
        yield say_docstring(one)
        return
    bases = ", ".join(str(base) for base in one.bases)
    yield f"```python\nclass {one.name}{f'({bases})' if bases else ''}\n```\n"
    yield say_docstring(one)
    fields = [field for field in one.members.values() if field.kind is griffe.Kind.ATTRIBUTE and field.annotation]
    rows = [
        (show_code(field.name), show_code(str(field.annotation)), fit_cell(say_docstring(field))) for field in fields
    ]
    yield render_table(("field", "type", "meaning"), [row for row in rows if "ClassVar" not in row[1]])
    methods = [method for key, method in one.members.items() if is_shown_method(key, method)]
    for method in methods:
        yield f"```python\n{write_signature(method, method.name)}\n```\n"
        yield say_docstring(method)


def is_shown_method(key: str, method: Any) -> bool:
    """Whether people call it, and it says what it does."""
    return method.kind is griffe.Kind.FUNCTION and not key.startswith("_") and method.docstring is not None


def say_docstring(one: Any) -> str:
    return f"{cleandoc(one.docstring.value)}\n" if one.docstring else ""


def write_signature(function: Any, name: str) -> str:
    """The first line of a function, broken where it is wide."""
    takes, seen_star = [], False
    for one in function.parameters:
        if one.name in ("self", "cls"):
            continue
        if one.kind is griffe.ParameterKind.keyword_only and not seen_star:
            takes.append("*")
            seen_star = True
        seen_star = seen_star or one.kind is griffe.ParameterKind.var_positional
        star = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(one.kind, "")
        typed = f": {one.annotation}" if one.annotation else ""
        default = f" = {one.default}" if one.default is not None and not star else ""
        takes.append(f"{star}{one.name}{typed}{default}")
    gives = f" -> {function.returns}" if function.returns else ""
    line = f"{name}({', '.join(takes)}){gives}"
    return line if len(line) <= WIDE else "\n".join([f"{name}(", *(f"    {one}," for one in takes), f"){gives}"])
