"""Changes of an agent's settings as the person sees them: the diff first, then their yes, then what was done."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from msgspec import Struct

from assay.agents.installation import FilePlan
from assay.cli.consent import YES, ask_person
from assay.cli.output import let_pipe_close, print_json
from assay.cli.settings import load_settings
from assay.cli.trouble import build_redaction
from assay.errors import BadInput
from assay.reports.format import format_line, sanitize_text
from assay.sessions.redaction import Redactor
from assay.types import Document

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Change it without asking you first.")]


class SettingsChange(Struct, frozen=True, kw_only=True):
    """One file that was changed."""

    file: str
    changed: bool
    diff: list[str]


class SettingsChanges(Document, frozen=True, kw_only=True, tag="settings_changes"):
    """What became of an agent's settings."""

    files: list[SettingsChange]
    notes: list[str]


def list_lines(plan: FilePlan) -> list[str]:
    """The diff of a file, as it may be shown: settings may hold keys."""
    redact = Redactor(build_redaction(load_settings())).text
    return [sanitize_text(redact(line)) for line in plan.list_differences()]


def ask_to_go_on(plans: Sequence[FilePlan], *, yes: bool, as_json: bool) -> None:
    """Show what changes, and go on or raise: a terminal is asked, a pipe must have said `--yes`."""
    changes = [plan for plan in plans if plan.is_change]
    if not as_json:
        for plan in changes:
            sys.stderr.write("".join(f"{line}\n" for line in list_lines(plan)))
    if not changes or yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput("this would change the settings above; nothing was changed. Add --yes to go on")
    if ask_person("Change this? [y/N] ").strip().lower() not in YES:
        raise BadInput("nothing was changed")


def print_plans(plans: Sequence[FilePlan], notes: Sequence[str], done: str, *, as_json: bool) -> None:
    """Say what was done."""
    redact = Redactor(build_redaction(load_settings())).text
    if as_json:
        changed = [SettingsChange(file=str(plan.path), changed=plan.is_change, diff=list_lines(plan)) for plan in plans]
        print_json(SettingsChanges(files=changed, notes=[redact(note) for note in notes]))
        return
    let_pipe_close()
    for plan in plans:
        says = done if plan.is_change else "nothing to change"
        sys.stdout.write(f"{format_line(str(plan.path), 300)}: {says}\n")
    for note in notes:
        sys.stdout.write(f"{format_line(redact(note), 300)}\n")
