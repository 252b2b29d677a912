"""`assay completion`: the Tab key of a shell finishes commands and options."""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from assay.cli.options import check_word, options
from assay.cli.output import let_pipe_close, print_note
from assay.errors import BadInput

EXAMPLE = "Example: `assay completion zsh --install`, or `source <(assay completion bash)` for this shell alone."
SHELLS = ("bash", "zsh", "fish", "powershell")
NAME, VARIABLE = "assay", "_ASSAY_COMPLETE"

ShellName = Annotated[
    str | None, typer.Argument(metavar="[SHELL]", help=f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]}; else your own.")
]
Install = Annotated[bool, typer.Option("--install", help="Put it where your shell looks, instead of printing it.")]


class CompletionRequest(Struct, frozen=True, kw_only=True):
    """What `assay completion` takes."""

    shell: ShellName = None
    install: Install = False


@options(CompletionRequest)
def command(request: CompletionRequest) -> None:
    """Have the Tab key finish commands and options: print the script of a shell, or install it."""
    shell = check_word(request.shell, SHELLS, "assay completion") or find_shell()
    scripts = import_module("typer.completion")
    if request.install:
        _, path = scripts.install(shell=shell, prog_name=NAME, complete_var=VARIABLE)
        print_note(f"completion for {shell} is in {path}; it holds in shells that you open from now on")
        return
    let_pipe_close()
    script = scripts.get_completion_script(prog_name=NAME, complete_var=VARIABLE, shell=shell)
    sys.stdout.write(f"{script.strip()}\n")


def find_shell() -> str:
    """The shell that the person uses."""
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in SHELLS:
        raise BadInput(f"can't tell which shell you use; give one of {', '.join(SHELLS)}")
    return shell
