"""Every `--json` is one object with a kind and a version, and fits the JSON Schema that is published of its kind."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from assay.resources import EXAMPLES
from tests.conftest import run
from tests.documents import SCHEMAS, list_documents, read_kind, render_schemas
from tests.tables import each_row

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs/reference/json.md").read_text("utf-8")
PRINTED = {
    "report": "score",
    "sessions": "sessions",
    "session": "show SESSION",
    "stream": "show STREAM",
    "streams": "streams",
    "score_comparison": "compare --before-after 2026-11-05",
    "usage": "usage",
    "advice": "advise",
    "quality": "quality",
    "egress": "egress",
    "doctor": "doctor",
    "judges": "judges",
    "profiles": "profiles list",
    "profile": "profiles show enhanced",
    "profile_checks": "profiles check revised",
    "plan": "eval plan --tasks TASKS --repeats 5",
    "checkups": "eval check TASKS",
}
"""A command for each kind that needs neither a server nor an agent."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("documents")
    shutil.copytree(EXAMPLES / "claude-code", top / ".claude" / "projects")
    assert ask(top, "score").code == 0
    return top


def ask(home: Path, *words: str):
    names = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "XDG_CONFIG_HOME": str(home / "config")}
    return run(*words, env=names, cwd=home)


def test_what_is_published_is_what_the_code_says():
    published = {path.stem: path.read_text("utf-8") for path in SCHEMAS.glob("*.json")}
    assert published == render_schemas(), "run scripts/schemas, and read the difference"


def test_no_two_documents_have_the_same_kind():
    kinds = Counter(map(read_kind, list_documents()))
    assert [kind for kind, n in kinds.items() if n > 1] == []


def test_nothing_but_a_document_is_printed_as_json():
    """`print_json` takes a `Document`, the type checker sees to it; so nobody else may write JSON to stdout."""
    sources = {path.name: path.read_text("utf-8") for path in (ROOT / "src/assay/cli").glob("*.py")}
    again = "asked_before.py"  # it prints what `output` printed before, to the byte
    assert sorted(name for name, text in sources.items() if "stdout.buffer" in text) == [again, "output.py"]
    assert not [name for name, text in sources.items() if re.search(r"(stdout\.write|print)\(encode_json", text)]


@each_row("document", list_documents(), ids=read_kind)
def test_every_kind_is_written_down(document: type):
    assert f'"{read_kind(document)}"' in REFERENCE or f"`{read_kind(document)}`" in REFERENCE


@each_row("kind", sorted(PRINTED))
def test_what_a_command_prints_fits_its_schema(home: Path, kind: str):
    words = PRINTED[kind].replace("TASKS", str(ROOT / "examples/evaluation/tasks"))
    if "SESSION" in words or "STREAM" in words:
        one = ask(home, "sessions", "--json").json["sessions"][0]
        words = words.replace("SESSION", one["id"]).replace("STREAM", one["streams"][0])
    ran = ask(home, *words.split(), "--json")
    found = json.loads(ran.out)
    assert (found["kind"], found["schema_version"]) == (kind, 1)
    schema = json.loads((SCHEMAS / f"{kind}.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(found)
