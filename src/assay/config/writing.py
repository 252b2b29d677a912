"""A person's choices as an `assay.toml`: few lines, each with what it means, and sound before it is written."""

import json
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from assay.config.loading import check_project_file, read_values

HEAD = "# Settings of Assay, by `assay init`; docs/reference/config.md has the others."
ABOUT = {
    "paths": "read where a command is given nothing",
    "judge": "a model is only asked once you agree",
    "model.name": "the model that is asked",
    "model.url": "where it is asked",
    "redaction.email": "e-mail addresses become markers before anything leaves",
    "redaction.home": "names of home folders become markers",
    "redaction.hosts": "host names and addresses become markers",
}
PRIVATE = "private"
"""The tenant whose words never leave."""


class Choices(Struct, frozen=True, kw_only=True):
    """What `assay init` asks for."""

    paths: list[str] = []
    """Empty: where the agents keep their transcripts."""
    judge: str = "offline"
    model: str = ""
    url: str = ""
    redacted: list[str] = []
    """Of `email`, `home` and `hosts`."""
    silent: list[str] = []
    """Folders whose words nobody may see."""


def render_settings(choices: Choices) -> str:
    """The choices as TOML."""
    top: dict[str, object] = {"paths": list(choices.paths)} if choices.paths else {}
    lines = [HEAD, "", *render_values(top | {"judge": choices.judge})]
    model = {"model.name": choices.model, "model.url": choices.url}
    sections: dict[str, dict[str, object]] = {
        "model": {name: value for name, value in model.items() if value},
        "redaction": {f"redaction.{name}": True for name in choices.redacted},
    }
    for section, values in sections.items():
        lines += ["", f"[{section}]", *render_values(values)] if values else []
    if choices.silent:
        lines += ["", f"[tenants.{PRIVATE}]  # no judge sees a word of these, reports have numbers"]
        lines += [f"projects = {render_value(list(choices.silent))}", "opt_out = true"]
    return "\n".join([*lines, ""])


def render_values(values: Mapping[str, object]) -> list[str]:
    return [
        f"{name.rpartition('.')[2]} = {render_value(value)}" + (f"  # {ABOUT[name]}" if name in ABOUT else "")
        for name, value in values.items()
    ]


def render_value(value: object) -> str:
    """A value as TOML has it: text, lists of text and truth are written as in JSON."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def check_settings(text: str, path: Path, *, is_projects: bool) -> None:
    """Refuse a text of which not all may stand in a file at this place."""
    values = read_values(text, path)
    if is_projects:
        check_project_file(values, path)
