"""`assay init`: three questions become an `assay.toml`: which folders, who judges, and what must never leave."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from msgspec import Struct

from assay.cli.consent import ask_person
from assay.cli.options import AsJson, options
from assay.cli.output import let_pipe_close, print_json, print_note, write_target
from assay.config import NAME, Choices, Config, Model, check_settings, find_users_file, render_settings
from assay.errors import BadInput, ModelUnavailable
from assay.pipeline.inputs import find_files, find_usual_roots, resolve_path
from assay.pipeline.judgement import check_judge, list_model_backends
from assay.pipeline.models import connect_model, needs_model
from assay.reports.format import format_count, format_line, format_list, sanitize_text
from assay.types import Document

EXAMPLE = "Example: `assay init`, or `assay init --judge claude-cli --never email --never ~/src/secret` in a script."
REDACTABLE = ("email", "home", "hosts")
NOTHING = ("", "-", "none", "nothing", "no")

T = TypeVar("T")

Folders = Annotated[
    list[str] | None,
    typer.Option("--path", metavar="FOLDER", help="Read transcripts from here; any number. Else the usual places."),
]
JudgeChoice = Annotated[str | None, typer.Option("--judge", metavar="NAME", help="Who judges; `offline` asks nobody.")]
ModelChoice = Annotated[str, typer.Option("--model", metavar="NAME", help="The model to ask.")]
UrlChoice = Annotated[str, typer.Option("--model-url", metavar="URL", help="Where it is asked.")]
Never = Annotated[
    list[str] | None,
    typer.Option(
        "--never",
        metavar="WHAT",
        help="What must never leave, beside secrets: `email`, `home`, `hosts`, or a folder whose words nobody may see.",
    ),
]
Here = Annotated[bool, typer.Option("--here", help=f"Write ./{NAME} for this project, not your own file.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]
Defaults = Annotated[bool, typer.Option("--defaults", help="Ask nothing; what no flag says is as usual.")]


class InitRequest(Struct, frozen=True, kw_only=True):
    """What `assay init` takes."""

    path: Folders = None
    judge: JudgeChoice = None
    model: ModelChoice = ""
    model_url: UrlChoice = ""
    never: Never = None
    here: Here = False
    force: Force = False
    defaults: Defaults = False
    as_json: AsJson = False


class SettingsFile(Document, frozen=True, kw_only=True, tag="settings_file"):
    """`assay init --json`."""

    path: str
    text: str


@options(InitRequest)
def command(request: InitRequest) -> None:
    """Ask which folders to read, who judges and what must never leave, and write it as `assay.toml`."""
    target = Path(NAME).absolute() if request.here else find_users_file(os.environ)
    if (target.exists() or target.is_symlink()) and not request.force:
        raise BadInput(f"{target}: is there already and stays as it is; edit it, or replace it with --force")
    choices = collect_choices(request)
    text = render_settings(choices)
    check_settings(text, target, is_projects=request.here)
    write_settings(text, target)
    if request.as_json:
        print_json(SettingsFile(path=str(target), text=text))
    else:
        let_pipe_close()
        shown = "".join(f"  {line}\n" if line else "\n" for line in text.splitlines())
        sys.stdout.write(sanitize_text(f"Wrote {target}:\n\n{shown}\nNext: assay score\n"))
    warn_of_judge(choices)


def write_settings(text: str, target: Path) -> None:
    """Write the file, in a folder that is made where there is none."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{target.parent}: can't be made: {error.strerror or error}") from None
    write_target(text.encode(), target, "assay init")


def collect_choices(request: InitRequest) -> Choices:
    """What flags say, and on a terminal what the person answers to the rest."""
    is_asked = not request.defaults and sys.stdin.isatty() and sys.stderr.isatty()
    given = (request.path, request.judge, request.never)
    if not is_asked and not request.defaults and not any(given):
        raise BadInput("nobody is there to be asked; give --path, --judge or --never, or --defaults for the usual")
    paths = read_folders(request.path or ())
    judge = read_judge(request.judge or "offline")
    never = read_never(request.never or (), "--never ")
    if is_asked:
        paths = paths if request.path else ask_until(ask_folders(), lambda said: read_folders(split_answer(said)))
        judge = judge if request.judge else ask_until(ask_judge(), lambda said: read_judge(said.strip() or "offline"))
        never = never if request.never else ask_until(ask_never(), lambda said: read_never(split_answer(said)))
    return Choices(
        paths=paths, judge=judge, model=request.model, url=request.model_url, redacted=never[0], silent=never[1]
    )


def ask_until(question: str, read: Callable[[str], T]) -> T:
    """Ask until the answer can be used; the end of input writes nothing."""
    while True:
        said = ask_person(question)
        if not said:
            raise BadInput("no answer; nothing was written")
        try:
            return read(said)
        except BadInput as error:
            print_note(f"{error}")


def split_answer(said: str) -> list[str]:
    """What stands between commas; a word for nothing is nothing."""
    return [one.strip() for one in said.split(",") if one.strip().lower() not in NOTHING]


def read_folders(given: Sequence[str]) -> list[str]:
    """Folders and files as they are written down; each must be there."""
    for one in given:
        resolve_path(Path(one))
    return [one if one.startswith("~") else os.path.abspath(one) for one in given]


def read_judge(name: str) -> str:
    check_judge(name)
    return name


def read_never(given: Sequence[str], flag: str = "") -> tuple[list[str], list[str]]:
    """What is redacted, and folders that are silent."""
    redacted = [one for one in REDACTABLE if one in given]
    folders = [one for one in given if one not in REDACTABLE]
    for one in folders:
        if "/" not in one and "\\" not in one and not one.startswith("~") and not Path(one).is_dir():
            said = f"{flag}{format_line(one, 60)!r}"
            raise BadInput(f"{said}: give email, home, hosts, or a folder such as ~/src/secret")
    return redacted, [one if one.startswith("~") else os.path.abspath(one) for one in folders]


# --- questions ----------------------------------------------------------------------------------


def ask_folders() -> str:
    """The first question, with what there is."""
    there = [
        f"{agent} has {format_count(find_files([root]).count_files(), 'file')} in {root}"
        for agent, roots in find_usual_roots(os.environ, Path.home()).items()
        for root in roots
        if root.is_dir()
    ]
    found = "; ".join(there) if there else "nothing was found in the usual places"
    return (
        f"1 of 3: which transcripts? ({found})\n"
        "Enter reads the usual places; or give folders, with commas between them: "
    )


def ask_judge() -> str:
    """The second question."""
    models = format_list(sorted(list_model_backends()), 10)
    return (
        "2 of 3: who judges? offline asks nobody and is measured: `assay judges`.\n"
        f"A model ({models}) reads redacted sessions;\n"
        "you are asked before it is. [offline] "
    )


def ask_never() -> str:
    """The third question."""
    return (
        "3 of 3: what must never leave this machine, beside secrets, which never do?\n"
        "Any of email, home (names of home folders), hosts, and folders whose words\n"
        "nobody may see, with commas between them; Enter is nothing more: "
    )


def warn_of_judge(choices: Choices) -> None:
    """Say at once where the judge that was chosen can't be asked yet."""
    config = Config(judge=choices.judge, model=Model(name=choices.model, url=choices.url))
    if not needs_model(config):
        return
    try:
        connect_model(config, os.environ)
    except ModelUnavailable as error:
        print_note(f"{choices.judge} can't be asked yet: {error}")
