"""`assay skill`: the skill that scores sessions, and its sub-agent, put where Claude Code looks for them."""

import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from assay.cli.options import AsJson, options
from assay.cli.output import let_pipe_close, print_json
from assay.errors import BadInput
from assay.files import write_atomically
from assay.reports.format import format_line
from assay.types import Document

EXAMPLE = "Example: `assay skill` for this project, `assay skill --into ~/.claude` for all of yours."
PLACES = ("skills/score-session/SKILL.md", "agents/session-scorer.md")
"""The files as they lie in the plugin, and where Claude Code looks for them."""

Into = Annotated[
    Path, typer.Option("--into", metavar="FOLDER", help="Where to put them: `.claude` of a project, or `~/.claude`.")
]
Force = Annotated[bool, typer.Option("--force", help="Also in place of a file that says something else.")]


class SkillRequest(Struct, frozen=True, kw_only=True):
    """What `assay skill` takes."""

    into: Into = Path(".claude")
    force: Force = False
    as_json: AsJson = False


class SkillFiles(Document, frozen=True, kw_only=True, tag="skill_files"):
    """`assay skill --json`: what was written, and what was there already."""

    written: list[str]
    unchanged: list[str]


@options(SkillRequest)
def command(request: SkillRequest) -> None:
    """Put the skill `score-session` and its sub-agent where Claude Code looks for them."""
    found = install_skill(request.into.expanduser(), force=request.force)
    if request.as_json:
        print_json(found)
        return
    let_pipe_close()
    lines = [f"{format_line(path, 300)}: written" for path in found.written]
    lines += [f"{format_line(path, 300)}: there already" for path in found.unchanged]
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def install_skill(folder: Path, *, force: bool = False) -> SkillFiles:
    """Write the files that are not there; one that says something else is only replaced where that is wanted."""
    source = files("assay") / "plugin"
    shipped = {folder / name: (source / name).read_bytes() for name in PLACES}
    try:
        before = {path: path.read_bytes() for path in shipped if path.exists()}
        other = [path for path, content in before.items() if content != shipped[path]]
        if other and not force:
            raise BadInput(f"{other[0]}: is there and says something else; --force replaces it")
        missing = [path for path in shipped if before.get(path) != shipped[path]]
        for path in missing:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, shipped[path])
    except OSError as error:
        raise BadInput(f"{folder}: can't be written: {error.strerror}; give another folder with --into") from None
    return SkillFiles(written=list(map(str, missing)), unchanged=[str(path) for path in shipped if path not in missing])
