"""The reference of an evaluation's files says what the code takes: every field, and its default."""

import re
from pathlib import Path

import msgspec
from msgspec import NODEFAULT, Struct

from assay.evals.checks import ROOM, find_kind
from assay.evals.running.transcript import COST_FILE, ClaimedCost
from assay.evals.tasks import config, task
from assay.plugins import list_names
from tests.tables import each_row

PAGE = (Path(__file__).parents[2] / "docs/reference/evaluations.md").read_text("utf-8")
TAKEN: dict[str, type[Struct]] = {
    task.FILE: task.TaskFile,
    config.FILE: config.ConfigFile,
    COST_FILE: ClaimedCost,
    **{kind: find_kind(kind).Spec for kind in list_names(ROOM)},
}


def read_section(title: str) -> dict[str, str]:
    """The fields that a section names, with their defaults."""
    section = re.split(r"^#+ ", PAGE.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.MULTILINE))


def describe_default(field: msgspec.structs.FieldInfo) -> str:
    if field.default is NODEFAULT:
        return "–"
    if field.default is None:
        return "none"
    if isinstance(field.default, float):
        return f"`{field.default:g}`"
    return f"`{msgspec.json.encode(field.default).decode()}`"


@each_row("title", sorted(TAKEN))
def test_every_field_is_told_with_its_default(title: str):
    fields = msgspec.structs.fields(TAKEN[title])
    assert read_section(title) == {field.name: describe_default(field) for field in fields}
