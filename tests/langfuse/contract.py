"""Whether requests and answers are what Langfuse's own specification says: both sides of the stand-in are checked."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from assay.testing.langfuse import LangfuseServer

SPEC = json.loads((Path(__file__).parent / "openapi.json").read_text())


@cache
def validator(schema: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({**json.loads(schema), "components": SPEC["components"]})


def against(schema: Any, value: Any) -> list[str]:
    found = validator(json.dumps(schema, sort_keys=True)).iter_errors(value)
    return [f"{'/'.join(map(str, one.path))}: {one.message[:200]}" for one in found]


def operation(method: str, path: str) -> dict[str, Any] | None:
    exact = SPEC["paths"].get(path)
    if exact is None:
        head = path.rpartition("/")[0]
        exact = next((ops for known, ops in SPEC["paths"].items() if known.startswith(head + "/{")), None)
    return (exact or {}).get(method.lower())


def request_faults(method: str, path: str, query: dict[str, str], body: Any) -> list[str]:
    """What is wrong with a request; scores as a list came after this edition of the specification."""
    known = operation(method, path)
    if known is None:
        return [f"{method} {path} is in no specification"]
    faults = [f"query {name} is not known" for name in query if name not in known["query"]]
    for name, value in query.items():
        if known["query"].get(name, {}).get("type") in (["integer", "null"], "integer") and not value.isdigit():
            faults.append(f"query {name}={value} is no number")
    if "body" in known:
        bodies = body if isinstance(body, list) else [body]
        faults += [fault for one in bodies for fault in against(known["body"], one)]
    return faults


def answer_faults(method: str, path: str, status: int, body: Any) -> list[str]:
    """What is wrong with an answer; what a list of scores is answered with came later, too."""
    known = operation(method, path)
    if known is None or (path, status) in {("/api/public/scores", 202), ("/api/public/scores", 207)}:
        return []
    schema = known["answers"].get(str(status)) or known["answers"].get("200")
    return against(schema, body) if schema else []


class CheckedServer(LangfuseServer):
    """A Langfuse server that notes every request and answer which the specification forbids."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.violations: list[str] = []

    def inspect(self, method: str, path: str, query: dict[str, str], body: Any, status: int, answer: Any) -> None:
        self.violations += request_faults(method, path, query, body)
        if status < 300:
            self.violations += answer_faults(method, path, status, answer)
