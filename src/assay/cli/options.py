"""What commands take: each option spelled once, and a command made of the fields of its request."""

import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer
from msgspec import NODEFAULT, Struct, structs

from assay.errors import BadInput

Request = TypeVar("Request", bound=Struct)


class Setting(Struct, frozen=True):
    """Marks an option that overrides a setting: its name in `assay.toml`, `_` for its dots."""

    name: str


def options(request: type[Request]) -> Callable[[Callable[[Request], None]], Callable[..., None]]:
    """Make a Typer command of a function that takes one request: each field is an argument or an option."""
    hints = get_type_hints(request, include_extras=True)
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is NODEFAULT else field.default,
            annotation=hints[field.name],
        )
        for field in structs.fields(request)
    ]

    def decorate(function: Callable[[Request], None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            function(request(**given))

        command.__doc__ = function.__doc__
        command.__annotations__ = hints
        vars(command)["__signature__"] = inspect.Signature(parameters)
        return command

    return decorate


def read_overrides(request: Struct) -> dict[str, Any]:
    """The settings that a request overrides, by name; `None` where an option was not given."""
    return {
        mark.name: getattr(request, field)
        for field, hint in get_type_hints(type(request), include_extras=True).items()
        for mark in get_args(hint)
        if isinstance(mark, Setting)
    }


def list_given(request: object) -> list[str]:
    """The options of a request that were given and override a setting."""
    hints = get_type_hints(type(request), include_extras=True)
    marked = {
        name: get_args(hint) for name, hint in hints.items() if any(isinstance(o, Setting) for o in get_args(hint))
    }
    return [
        next((one.param_decls[0] for one in marks if getattr(one, "param_decls", None)), f"--{name}")
        for name, marks in marked.items()
        if getattr(request, name) is not None
    ]


def check_word(word: str | None, allowed: Sequence[str], option: str) -> str | None:
    """Refuse a word that is not among those allowed."""
    if word is not None and word not in allowed:
        raise BadInput(f"{option} {word!r}: give one of {', '.join(allowed)}")
    return word


def is_path(word: str) -> bool:
    """Whether a word can only be a path: no id of a session looks so."""
    return os.sep in word or word.endswith(".jsonl") or word.startswith(("~", "."))


Paths = Annotated[
    list[Path] | None,
    typer.Argument(
        readable=False,
        help="Transcripts or folders of them; without any, the places where agents keep theirs.",
    ),
]
StorePath = Annotated[
    str | None,
    typer.Option("--store", metavar="FILE", help="Where results are kept; else $ASSAY_STORE, else your data folder."),
    Setting("store"),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=0, help="Processes to read with; 0 is one per core.")]
Engine = Annotated[
    str | None,
    typer.Option("--engine", metavar="WHERE", help="Read and judge in `processes` here, or on `ray[://HOST:PORT]`."),
    Setting("engine"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines, and nothing else.")]
Since = Annotated[str | None, typer.Option(metavar="TIME", help="Only what went on after this: 2026-11-01, or 7d.")]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Only what began before this.")]
Project = Annotated[
    str | None,
    typer.Option("--project", metavar="FOLDER", help="Only folders with this in their path; `.` is the current one."),
]
Judge = Annotated[
    str | None,
    typer.Option("--judge", metavar="NAME", help="Who judges; `offline` needs no key and no network."),
    Setting("judge"),
]
Fallback = Annotated[
    str | None,
    typer.Option(
        "--fallback", metavar="JUDGE", help="Who judges where the model can't be asked: `offline`; else exit code 2."
    ),
    Setting("fallback"),
]
Commit = Annotated[
    str | None,
    typer.Option(
        "--commit",
        metavar="HOW",
        help="Does a commit end a session? `confirm`: unless the next prompt goes on with it; `hard`: always; `off`.",
    ),
    Setting("boundaries_commit"),
]
Timezone = Annotated[
    str | None,
    typer.Option("--timezone", metavar="ZONE", help="Where days begin: Europe/Berlin; else this machine's."),
    Setting("timezone"),
]
Repo = Annotated[
    list[Path] | None,
    typer.Option(
        "--repo",
        metavar="FOLDER",
        help="A git repository in which to look for what became of sessions' lines; as often as needed.",
        readable=False,
    ),
    Setting("rework_repos"),
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="The report as it stood then: commits after it are not looked at."),
    Setting("as_of"),
]
ModelName = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="The model to ask; without one, the judge's own choice."),
    Setting("model_name"),
]
ModelUrl = Annotated[
    str | None,
    typer.Option(
        "--model-url", metavar="URL", help="Where it is asked: any endpoint that speaks the judge's protocol."
    ),
    Setting("model_url"),
]
Votes = Annotated[
    int | None,
    typer.Option("--votes", metavar="N", help="Ask about each session N times; most votes decide."),
    Setting("model_votes"),
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="USD", help="Stop asking before this run costs more."),
    Setting("model_max_cost"),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Ask the model without asking you first.")]
Batch = Annotated[
    bool, typer.Option("--batch", help="Ask in batches: cheaper, answered within a day; run the same again to go on.")
]
Again = Annotated[bool, typer.Option("--again", help="Also ask again what the model refused or answered unusably.")]
