"""The page of a server's HTTP API, made from the OpenAPI that the server itself answers with."""

from collections.abc import Iterator
from typing import Any

from assay.server.app import Server
from assay.server.settings import ServerSettings
from scripts.site_pages.markdown import fit_cell, render_table, show_code
from scripts.site_pages.schemas import name_ref, render_fields, say_type

HEAD = """# HTTP API

What [a server](../how-to/run-a-server.md) answers under `/api/v1`, made from its OpenAPI:
[openapi.json](openapi.json), which a server gives at `/api/v1/openapi/openapi.json` too. On this machine no key is
needed; elsewhere it is `Authorization: Bearer KEY` ([keys](commands/keys.md)). Telemetry comes in by
[OTLP](../how-to/score-from-telemetry.md), which has its own specification.
"""


def describe_server() -> dict[str, Any]:
    """The OpenAPI of a server; nothing is opened, and nothing served."""
    server = Server(ServerSettings(store="sqlite://"))
    try:
        return server.litestar.openapi_schema.to_schema()
    finally:
        server.hall.stores.close()
        server.hall.threads.shutdown()


def render_api(described: dict[str, Any]) -> str:
    """The page: every operation, then every part of what is sent and answered."""
    parts = [HEAD]
    operations = [(path, way, one) for path, ways in described["paths"].items() for way, one in ways.items()]
    rows = [
        (f"[`{way.upper()} {path}`](#{one['operationId'].lower()})", fit_cell(one.get("description", "")))
        for path, way, one in operations
    ]
    parts.append(render_table(("request", "what it does"), rows))
    for path, way, one in operations:
        parts += render_operation(path, way, one)
    parts.append("## Parts\n")
    for name, part in sorted(described["components"]["schemas"].items()):
        parts += [
            f"### {name}\n",
            f"{' '.join((part.get('description') or '').split())}\n",
            render_fields(part, link_part),
        ]
    return "\n".join(parts)


def link_part(name: str) -> str:
    return f"#{name.lower()}"


def render_operation(path: str, way: str, operation: dict[str, Any]) -> Iterator[str]:
    """One request: what it takes, and what it answers."""
    yield f"## {way.upper()} {path} {{#{operation['operationId'].lower()}}}\n"
    yield f"{' '.join(operation.get('description', '').split())}\n"
    if takes := operation.get("parameters"):
        rows = [
            (
                show_code(one["name"]),
                one["in"],
                say_type(one["schema"], link_part),
                fit_cell(one.get("description") or ""),
            )
            for one in takes
        ]
        yield render_table(("it takes", "in", "type", "meaning"), rows)
    for media, body in operation.get("requestBody", {}).get("content", {}).items():
        yield f"Body: {show_code(media)}, {say_type(body.get('schema', {}), link_part)}.\n"
    answers = [
        (show_code(status), fit_cell(one.get("description") or ""), name_answer(one))
        for status, one in sorted(operation["responses"].items())
    ]
    yield render_table(("answer", "when", "holds"), answers)


def name_answer(response: dict[str, Any]) -> str:
    """What an answer holds."""
    schemas = [one.get("schema", {}) for one in (response.get("content") or {}).values()]
    names = [name_ref(one["$ref"]) for one in schemas if "$ref" in one]
    return ", ".join(f"[{name}]({link_part(name)})" for name in names)
