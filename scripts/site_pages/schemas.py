"""A page for each kind of JSON document, made from the JSON Schema that is published of it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from scripts.site_pages.markdown import escape, fit_cell, render_table, show_code

ALL = """# JSON Schema

Every `--json`, and every answer of a server, is one *document*, whose `kind` says which of these it is.
[JSON](../json.md) says which command prints it and what its fields mean; the pages here are made from the schemas,
and each leads to its own.
"""
Link = Callable[[str], str]
"""Where a part is described: its name → an address, or nothing."""


def render_schemas(texts: dict[str, str]) -> dict[str, str]:
    """Pages by name: an index, and one for each kind."""
    schemas = {kind: json.loads(text) for kind, text in sorted(texts.items())}
    rows = [
        (f"[`{kind}`]({kind}.md)", fit_cell(find_main(schema).get("description", "")))
        for kind, schema in schemas.items()
    ]
    pages = {"index.md": f"{ALL}\n{render_table(('kind', 'what it is'), rows)}"}
    return pages | {f"{kind}.md": "\n".join(render_schema(kind, schema)) for kind, schema in schemas.items()}


def name_ref(ref: str) -> str:
    return ref.rsplit("/", 1)[1]


def find_main(schema: dict[str, Any]) -> dict[str, Any]:
    """The part of a schema that the document itself is."""
    found: dict[str, Any] = schema["$defs"][name_ref(schema["$ref"])]
    return found


def render_schema(kind: str, schema: dict[str, Any]) -> Iterator[str]:
    """The document's own fields first, then its parts."""
    main = name_ref(schema["$ref"])
    yield f"# {kind}\n"
    yield f"{find_main(schema).get('description', '')}\n"
    yield f"[The schema itself]({kind}.json), JSON Schema 2020-12. [What its fields mean](../json.md).\n"
    yield render_fields(schema["$defs"][main], lambda name: f"#{name.lower()}")
    for name, part in sorted(schema["$defs"].items()):
        if name != main:
            yield f"## {name}\n"
            yield f"{' '.join(part.get('description', '').split())}\n"
            yield render_fields(part, lambda name: f"#{name.lower()}")


def render_fields(part: dict[str, Any], link: Link) -> str:
    """The fields of an object; what else it may be, in a line."""
    if "properties" not in part:
        return f"{say_type(part, link)}\n"
    needed = part.get("required", ())
    rows = [
        (
            show_code(name),
            say_type(field, link),
            say_default(field, is_needed=name in needed),
            fit_cell(field.get("description", "")),
        )
        for name, field in part["properties"].items()
    ]
    has_words = any(row[3] for row in rows)
    head = ("field", "type", "if left out", "meaning")
    return render_table(head if has_words else head[:3], [row if has_words else row[:3] for row in rows])


def say_default(field: dict[str, Any], *, is_needed: bool) -> str:
    return show_code(json.dumps(field["default"], ensure_ascii=False)) if "default" in field and not is_needed else ""


def say_type(field: dict[str, Any], link: Link) -> str:
    """What a field may hold, in words."""
    if "$ref" in field:
        name = name_ref(field["$ref"])
        address = link(name)
        return f"[{name}]({address})" if address else escape(name)
    for either in ("anyOf", "oneOf"):
        if either in field:
            return " or ".join(dict.fromkeys(say_type(one, link) for one in field[either]))
    if "enum" in field:
        return " or ".join(show_code(json.dumps(one, ensure_ascii=False)) for one in field["enum"])
    if field.get("type") == "array":
        return f"list of {say_type(field['items'], link)}" if field.get("items") else "list"
    if field.get("type") == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"by name: {say_type(field['additionalProperties'], link)}"
    kinds = field.get("type", "any value")
    return " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
