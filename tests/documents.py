"""Every document that a command prints with `--json`, found in the code, and its JSON Schema."""

import importlib
import inspect
import json
import pkgutil
from pathlib import Path
from typing import Any

import msgspec

import assay
from assay.types import Document

SCHEMAS = Path(__file__).parents[1] / "docs/reference/schemas"


def list_documents() -> list[type[Document]]:
    """All kinds of documents, whichever module they stand in."""
    for module in pkgutil.walk_packages(assay.__path__, "assay."):
        if not module.name.endswith("__main__") and "_inside" not in module.name and ".migrations" not in module.name:
            importlib.import_module(module.name)
    return sorted(Document.__subclasses__(), key=read_kind)


def read_kind(document: type[Document]) -> str:
    """What a document says of itself in `kind`."""
    kind = document.__struct_config__.tag
    assert isinstance(kind, str)
    return kind


def render_schemas() -> dict[str, str]:
    """The JSON Schema of each document, by its kind."""
    return {read_kind(one): render_schema(one) for one in list_documents()}


def render_schema(document: type[Document]) -> str:
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **msgspec.json.schema(document, schema_hook=describe_any),
    }
    for part in schema["$defs"].values():
        if "description" in part:
            part["description"] = inspect.cleandoc(part["description"])  # as Python 3.13 keeps a docstring
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def describe_any(_: type) -> dict[str, object]:
    """A value of which nobody says what it is."""
    return {"description": "any value"}
