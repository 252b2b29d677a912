"""`assay`: wires the commands; turns what went wrong into one line and an exit code."""

import os
import sys
from typing import Annotated

import typer

from assay.cli import demo, doctor, show, streams
from assay.errors import AssayError

app = typer.Typer(
    name="assay",
    help="Do your coding agents' sessions land? Reads Claude Code and Codex transcripts, on this machine alone.",
    epilog="Start with `assay demo`, then `assay streams`. Every command takes --help.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("streams")(streams.streams)
app.command("show")(show.show)
app.command("doctor")(doctor.doctor)
app.command("demo")(demo.demo)


Version = Annotated[bool, typer.Option("--version", help="Print the version and leave.")]


@app.callback(invoke_without_command=True)
def root(version: Version = False) -> None:
    if version:
        from assay import __version__  # noqa: PLC0415  only wanted here

        typer.echo(f"assay {__version__}")
        raise typer.Exit


def main() -> None:
    """Run a command; errors of the person's get a line, bugs of ours a traceback."""
    try:
        app()
    except AssayError as error:
        print(f"assay: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
