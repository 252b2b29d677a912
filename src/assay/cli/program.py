"""The program `assay`: its commands, each imported when it is called, and what becomes of errors."""

import errno
import os
import sys
from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from assay import __version__
from assay.cli.symbols import prepare_output
from assay.errors import AssayError, BadInput, RunStopped

COMPLETING = "_ASSAY_COMPLETE"
"""Set by a shell that asks how a command line goes on."""
POSIX_ONLY = ("fcntl", "resource")
"""What Python lacks on Windows, and evaluations are run with."""
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

PANELS = {
    "Do your sessions land?": {
        "demo": "Score bundled example transcripts, offline; nothing of yours is read, nothing is kept.",
        "score": "Score your sessions: how many landed, why the others did not, and what to do about it.",
        "sessions": "List sessions: when, where, what for, and whether they crushed.",
        "show": "Show a session on one screen: how it ended and why, evidence, facts and prompts; or a stream.",
        "open": "Look at your sessions in a browser: what is new is read, pages are served on this machine alone.",
        "report": "Write a report to look at or hand on: a page, Markdown, JSON, CSV, or a digest for a mail.",
        "quality": "Show how well sessions were run: every dimension of a profile with score, reason and evidence.",
        "streams": "List conversations with what can be established about them without asking any model.",
    },
    "What moves, what it takes": {
        "compare": "Compare two groups of sessions: weeks, projects, models, branches, or before and after a day.",
        "usage": "Add up what agents used: cost, tokens and active time, by day, week, month, project, model or agent.",
        "advise": "Tell which of your habits go with not landing, how sure that is, and what to tell the agent.",
    },
    "Your word": {
        "session": "Correct where sessions begin, what they are called and how they ended; kept for good.",
        "audit": "Look at sessions drawn at random and say which landed: the score is corrected by your word.",
    },
    "Is a new configuration better?": {
        "eval": "Is the new configuration better, and may it go in? "
        "Tasks run with two configurations become a verdict. "
        "Exit codes: 0 promotable, 1 regressed or mixed, 2 bad input, 3 inconclusive or neutral, 4 invalid, 5 budget.",
    },
    "In the agent": {
        "plugin": "Put the Claude Code plugin in, take it out again, and see whether it works: it notes where sessions "
        "begin and end, and brings /assay:score, /assay:why, /assay:report and /assay:audit.",
        "codex": "Have Codex tell of its turns, and send telemetry to a server; or take that out again. Its rollouts "
        "are read without any of this.",
        "mcp": "Let an agent ask about your sessions (Model Context Protocol, on stdin and stdout); nothing changes.",
        "statusline": "Print one line for Claude Code's status line: the week's score, this session's state, "
        "tokens and cost.",
        "watch": "Show what agents are at now: every conversation of the day, how it stands, and how it is likely "
        "to end.",
    },
    "For a team": {
        "serve": "Receive telemetry and answer questions over HTTP; on this machine alone no key is needed.",
        "ship": "Send what this machine has read to a server, each session once; words only if both ends allow.",
        "work": "Read, judge and tell what came in to a server; as many workers as you like share one PostgreSQL.",
        "keys": "Make, list and revoke the keys of a server; see who did what there.",
    },
    "Other places": {
        "export": "Write sessions, turns, judgements and ledger to a folder of files that `score`, DuckDB and others "
        "can read.",
        "import": "Read graded runs of benchmarks, and keep their verdicts as labels that count as nobody's word.",
        "langfuse": "Read sessions from a Langfuse project, and keep scores in it. "
        "Set LANGFUSE_HOST, _PUBLIC_KEY, _SECRET_KEY.",
    },
    "Settings and trust": {
        "init": "Ask which folders to read, who judges and what must never leave, and write it as `assay.toml`.",
        "doctor": "Tell what was found and where, what was skipped and why, "
        "and which transcripts will soon be deleted.",
        "store": "See what is kept and where; move it, back it up, check it, clear it of old words.",
        "egress": "Show what scoring would send, where to, and what was redacted; nothing is sent.",
        "judges": "Show how good each judge is: measured on other people's labelled sessions, and by your own audit.",
        "skill": "Put the skill `score-session` and its sub-agent where Claude Code looks for them.",
        "profiles": "List, show and check quality profiles: what is asked of a session, and how it is weighed.",
        "completion": "Have the Tab key finish commands and options: print the script of a shell, or install it.",
    },
}
"""What `assay --help` lists, in the order in which people need it: to list the commands, none of them is imported."""
COMMANDS = {name: says for panel in PANELS.values() for name, says in panel.items()}
"""A file of this room each, and what it says of itself."""


class Commands(TyperGroup):
    """The commands by name; only the one that is called is imported."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.commands = cast(dict[str, Any], dict.fromkeys(COMMANDS))
        """Names alone, of which the closest is suggested for one that is not there."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """A command as `--help` lists it."""
        if cmd_name not in COMMANDS:
            return None
        listed = typer.Typer(rich_markup_mode="rich")
        panel = next(name for name, inside in PANELS.items() if cmd_name in inside)
        listed.command(cmd_name, help=COMMANDS[cmd_name], rich_help_panel=panel)(lambda: None)
        return typer.main.get_command(listed)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name and command else command, rest


def load_command(name: str) -> Any:
    """A command, or a group of them, from the file that is called like it."""
    try:
        module = import_module(f"assay.cli.{name}")
    except ModuleNotFoundError as error:
        if error.name in POSIX_ONLY:
            raise BadInput(f"assay {name}: not on this system; it needs Linux or macOS (on Windows: WSL)") from None
        raise
    loaded = typer.Typer(rich_markup_mode="rich")
    loaded.callback()(lambda: None)
    if hasattr(module, "app"):
        loaded.add_typer(module.app, name=name, epilog=module.EXAMPLE)
    else:
        loaded.command(name, epilog=module.EXAMPLE, context_settings=getattr(module, "CONTEXT", {}))(module.command)
    return cast(TyperGroup, typer.main.get_command(loaded)).commands[name]


app = typer.Typer(
    name="assay",
    cls=Commands,
    help="Do your coding agents' sessions land? Reads transcripts of Claude Code, Codex and others, on this machine, "
    "unless you choose a judge that asks a model: `assay egress` shows what that would be sent.",
    epilog="Start with `assay demo`, then `assay score`. Every command takes -h.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Version = Annotated[bool, typer.Option("--version", help="Print the version and leave.")]


@app.callback(invoke_without_command=True)
def print_version(version: Version = False) -> None:
    if version:
        typer.echo(f"assay {__version__}")
        raise typer.Exit


def run() -> None:
    """Run a command; errors of the person's get a line, bugs of ours a traceback."""
    sys.excepthook = report_crash
    if COMPLETING in os.environ:
        import_module("typer.completion").completion_init()
    prepare_output()
    try:
        try:
            app()
        finally:
            sys.excepthook = report_crash  # the command line library puts its own in place
            sys.stdout.flush()
    except SystemExit as leaving:
        if leaving.code == RunStopped.exit_code:  # the command line library takes Ctrl-C for itself
            print(f"assay: {RunStopped()}", file=sys.stderr)
        raise
    except AssayError as error:
        report_error(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print(f"assay: {RunStopped()}", file=sys.stderr)
        sys.exit(RunStopped.exit_code)
    except OSError as error:
        leave_unwritten(error)


def leave_unwritten(error: OSError) -> None:
    """Say that the output can't be written, and leave; what else it may be is a bug of ours."""
    if error.errno not in UNWRITABLE:
        raise error
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    report_error(f"can't write the output: {error.strerror}")
    sys.exit(2)


def report_error(message: str) -> None:
    import_module("assay.cli.trouble").report_error(message)


def report_crash(*crash: Any) -> None:
    import_module("assay.cli.trouble").report_crash(*crash)
