"""A page for each command, made from what the command line itself is made of."""

from collections.abc import Iterator
from typing import Any

from assay.cli.program import COMMANDS, PANELS, load_command
from scripts.site_pages.markdown import fit_cell, render_table, show_code

ALL = """# Commands

Every command takes `-h`. Exit codes: 0 fine, 2 something you can mend (one line says what, where and what to do), 5
`--max-cost` was reached, 130 stopped by Ctrl-C; `assay eval` has [its own](eval.md) beside them. These pages are
made from the code, and say what `-h` says.
"""
FOUND_FIRST = "---\nsearch:\n  boost: 3\n---\n\n"
"""Who looks for an option wants the command that takes it."""
BY_ITSELF = "<boolean>"
"""What a switch is said to take."""


def render_commands() -> dict[str, str]:
    """Pages by name: an index, and one for each command."""
    parts = [ALL]
    for panel, inside in PANELS.items():
        rows = [(f"[`assay {name}`]({name}.md)", fit_cell(says)) for name, says in inside.items()]
        parts += [f"## {panel}\n", render_table(("command", "what it does"), rows)]
    pages = {"index.md": "\n".join(parts)}
    return pages | {f"{name}.md": "\n".join(render_command(name)) for name in COMMANDS}


def render_command(name: str) -> Iterator[str]:
    """One command, and all that a group holds."""
    command = load_command(name)
    yield f"{FOUND_FIRST}# assay {name}\n"
    yield from describe(command, f"assay {name}")
    for inner, one in getattr(command, "commands", {}).items():
        if not one.hidden:
            yield f"## assay {name} {inner}\n"
            yield from describe(one, f"assay {name} {inner}")


def describe(command: Any, words: str) -> Iterator[str]:
    """What it does, how it is called, and what it takes."""
    context = command.context_class(command, info_name=words)
    yield f"{' '.join((command.help or '').split())}\n"
    yield f"```text\n{' '.join([words, *command.collect_usage_pieces(context)])}\n```\n"
    if command.epilog:
        yield f"{command.epilog}\n"
    if inside := getattr(command, "commands", None):
        shown = [(inner, one) for inner, one in inside.items() if not one.hidden]
        rows = [
            (f"[`{words} {inner}`](#{'-'.join([*words.split(), inner])})", fit_cell(one.help)) for inner, one in shown
        ]
        yield render_table(("command", "what it does"), rows)
    yield render_table(
        ("it takes", "", "meaning"), [list_cells(one, context) for one in command.params if not one.hidden]
    )


def list_cells(param: Any, context: Any) -> tuple[str, str, str]:
    """An argument or an option, as a row."""
    takes = param.make_metavar(context)
    if not param.opts[0].startswith("-"):
        return show_code(takes), "", fit_cell(param.help or "")
    names = ", ".join(map(show_code, [*param.opts, *param.secondary_opts]))
    default = "" if param.default in (None, False, 0, "", ()) or param.required else f" Default: `{param.default}`."
    needed = " Must be given." if param.required else ""
    return names, "" if takes == BY_ITSELF else show_code(takes), fit_cell(f"{param.help or ''}{default}{needed}")
