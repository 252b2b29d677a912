"""`assay`: wires the commands; turns what went wrong into one line and an exit code."""

import errno
import io
import os
import sys
import traceback
from datetime import UTC, datetime
from importlib import metadata
from types import TracebackType
from typing import Annotated

import typer

from assay.cli import demo, doctor, egress, langfuse, profiles, quality, score, session, sessions, show, streams
from assay.cli import eval as evaluation
from assay.cli.shared import settings
from assay.config import Config, Redaction, Tenant
from assay.errors import AssayError, Stopped
from assay.pipeline import reading
from assay.reports.safe import safe
from assay.sessions.redaction import Options, Redactor

STRICTEST = Config(redaction=Redaction(email=True, home=True, hosts=True), tenants={"": Tenant(opt_out=True)})
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

app = typer.Typer(
    name="assay",
    help="Do your coding agents' sessions land? Reads Claude Code and Codex transcripts, on this machine, "
    "unless you choose a judge that asks a model: `assay egress` shows what that would be sent.",
    epilog="Start with `assay demo`, then `assay score`. Every command takes --help.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("score", epilog=score.EXAMPLE)(score.score)
app.command("sessions", epilog=sessions.EXAMPLE)(sessions.sessions)
app.command("show", epilog=show.EXAMPLE)(show.show)
app.add_typer(session.app, name="session", epilog="Example: `assay session split 3f2a91c0 4`")
app.command("streams", epilog="Example: `assay streams --since 7d --project .`")(streams.streams)
app.command("quality", epilog=quality.EXAMPLE)(quality.quality)
app.add_typer(profiles.app, name="profiles", epilog=profiles.EXAMPLE)
app.add_typer(langfuse.app, name="langfuse", epilog=langfuse.EXAMPLE)
app.add_typer(evaluation.app, name="eval", epilog=evaluation.EXAMPLE)
app.command("egress", epilog=egress.EXAMPLE)(egress.egress_)
app.command("doctor", epilog="Example: `assay doctor`")(doctor.doctor)
app.command("demo", epilog=demo.EXAMPLE)(demo.demo)


Version = Annotated[bool, typer.Option("--version", help="Print the version and leave.")]


@app.callback(invoke_without_command=True)
def root(version: Version = False) -> None:
    if version:
        typer.echo(f"assay {metadata.version('assay')}")
        raise typer.Exit


def told(message: str) -> None:
    """An error goes out like everything else: redacted, and harmless to a terminal."""
    print(f"assay: {safe(Redactor(options(holding(Config()))).text(message))}", file=sys.stderr)


def crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A bug of ours keeps its traceback, without the secrets that a message may quote.

    Where somebody's words are withheld, nobody can tell whose a message quotes: there it is left out.
    """
    held = holding(STRICTEST)
    if any(one.opt_out or one.retention_days is not None for one in held.tenants.values()):
        lines = [*traceback.format_tb(trace), f"{kind.__qualname__}: (its message may quote words that are withheld)\n"]
    else:
        lines = traceback.format_exception(kind, error, trace)
    print(safe(Redactor(options(held)).text("".join(lines))), file=sys.stderr, end="")


def holding(otherwise: Config) -> Config:
    """The settings that hold, if they can be read."""
    try:
        return settings()
    except AssayError:
        return otherwise


def options(config: Config) -> Options:
    """What is redacted."""
    return reading.rules(config, datetime.now(UTC)).options


def main() -> None:
    """Run a command; errors of the person's get a line, bugs of ours a traceback."""
    sys.excepthook = crashed
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no ✓ gets a ?
    try:
        try:
            app()
        finally:
            sys.excepthook = crashed  # the command line library puts its own in place
            sys.stdout.flush()
    except SystemExit as leaving:
        if leaving.code == Stopped.exit_code:  # the command line library takes Ctrl-C for itself
            print(f"assay: {Stopped()}", file=sys.stderr)
        raise
    except AssayError as error:
        told(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print(f"assay: {Stopped()}", file=sys.stderr)
        sys.exit(Stopped.exit_code)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        told(f"can't write the output: {error.strerror}")
        sys.exit(2)
